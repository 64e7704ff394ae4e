// SPDX-License-Identifier: BSD-3-Clause
// The NVM heap as the core sees it: a region with put, get, atomics and waits of its own.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "core/progress.hpp"
#include "core/region.hpp"
#include "core/runtime.hpp"
#include "nvm/coherence/awaited_answers.hpp"
#include "nvm/coherence/delegation.hpp"
#include "nvm/coherence/gathering.hpp"
#include "nvm/coherence/migration.hpp"
#include "nvm/hold_alarm.hpp"
#include "nvm/options.hpp"
#include "nvm/pager.hpp"
#include "nvm/pages.hpp"
#include "nvm/storage/open_device.hpp"
#include "pages/mappings.hpp"
#include "pages/pager_faults.hpp"
#include "pages/pool.hpp"
#include "pages/spare_mappings.hpp"
#include "pages/thread_read_ahead.hpp"

namespace shm::nvm {

/// Thread safety: as Region; open(), start() and stop() while no other thread is inside the library.
class Heap final : public Region, private Host, private Outlet {
 public:
  /// `device`: where this PE's pages lie; null: on a file in the folder of the options.
  static Result<std::unique_ptr<Heap>> open(const Options& options, std::unique_ptr<Device> device = nullptr);
  ~Heap() override;

  /// After all PEs of the node have opened it, and before the first stops it.
  void start();
  /// First step of the end: nothing of this PE's is under way any more, and pages no longer leave.  When all
  /// PEs of the job have taken it, nobody sends anything any more: then stop().
  void rest();
  void stop();

  /// For SHMEM_INFO.
  std::string describe() const;

  /// Named objects: this PE's part of what lies at `address`, which is the first of whole pages.

  /// From now on the n bytes are those of the object.
  void attach(std::uintptr_t address, std::size_t n, std::unique_ptr<Store> object, std::uint64_t epoch);
  /// Whether this job has an object of that name open.
  bool has_open(const std::string& name) const;
  /// The last epoch of the object that begins at `address`; nothing if none does.
  std::optional<std::uint64_t> epoch_of(std::uintptr_t address) const;
  /// Prepares the next epoch; after all PEs have, the one before may be forgotten.
  void prepare_epoch(std::uintptr_t address);
  void settle_epoch(std::uintptr_t address);

  /// Makes [address, address + n) of this PE's segment resident where it is mapped, until unpin().  Returns
  /// false if that is more than a quarter of the node's pages, with those pinned already.
  bool pin(std::uintptr_t address, std::size_t n, Access access);
  /// Returns false if that range has not been pinned.
  bool unpin(std::uintptr_t address, std::size_t n);

  /// What the program says of [address, address + n) of this PE's segment; (*): of pages that lie in it
  /// wholly.
  enum class Advice : std::uint8_t {
    overwrite,   // (*) it will be written before it is read: what it holds is lost
    sequential,  // it will be used from its beginning to its end
    soon,        // it will be used
    later,       // (*) it will not be used for a while
  };
  void advise(std::uintptr_t address, std::size_t n, Advice advice);

  std::size_t page_bytes() const { return pool_.shape().page_bytes; }
  const std::string& folder() const { return options_.folder; }
  IoEngine engine() const { return options_.engine; }

  void put(Context*, std::uintptr_t to, const void* source, std::size_t n, int pe, bool nbi) override;
  void get(Context*, void* dest, std::uintptr_t from, std::size_t n, int pe, bool nbi) override;
  void amo(Context*, std::uintptr_t at, AtomicOp, AtomicType, const void* value, const void* compare,
           void* fetch, int pe, bool nbi) override;
  void load(std::uintptr_t address, void* value, std::size_t n) override;
  void bring(std::uintptr_t address, int pe, bool writes) override;
  bool better_there(std::uintptr_t address, int pe, bool writes) override;
  void* ptr(std::uintptr_t address, int pe) override;
  void quiet(Context&) override;
  void quiet_ends() override;
  /// Messages may meet pages on their way: what is behind a fence begins when all before it is complete.
  void fence(Context& context) override { quiet(context); }
  /// A block of four pages or more begins at a page, so that it lies in no more pages than it needs.
  std::size_t alignment_for(std::size_t n) const override { return n >= 4 * page_bytes() ? page_bytes() : 1; }
  bool reserve(std::uintptr_t address, std::size_t n) override;
  void discard(const Call&, std::uintptr_t address, std::size_t n) override;
  void will_overwrite(std::uintptr_t address, std::size_t n) override {
    advise(address, n, Advice::overwrite);
  }
  const char* keeps_size(std::uintptr_t address) const override;

 private:
  Heap(const Options& options, const PoolShape& shape, std::byte* segment);
  std::byte* latch_whole_here(const Context* context, std::uintptr_t address, std::size_t n, int pe,
                              const void* other, Access access, PageNumber& page);
  static bool is_behind(const Context* context, PageNumber page, int pe);
  // A part of a put or get that lies in one page: `n` bytes at `within` of it, and at `memory`.
  struct Piece {
    PageNumber page;
    std::size_t within, n;
    std::byte* memory;
    Access access;
  };
  // Operations that were sent and are not answered: how many, long ones more than once, and above
  // kUnansweredCount a bit for some of the pages that they change.
  using Unanswered = std::atomic<std::uint64_t>;
  static constexpr std::uint64_t kUnansweredCount = 0xffff;
  static std::uint64_t bit_of(PageNumber page);
  struct PageAsked;
  [[gnu::noinline]] void move(Context* context, std::uintptr_t address, std::byte* memory, std::size_t n,
                              int pe, Access access, bool nbi);
  static Operation operation_for(const Piece& piece);
  void copy(std::byte* page, const Piece& piece) const;
  bool copy_if_here(const Piece& piece);
  void bring_and_copy(std::span<const Piece> pieces);
  void wait_for_one_of(std::span<const std::optional<PageAsked>> asked) const;
  void finish(const PageAsked& asked);
  bool writes_whole_page(const Piece& piece) const {
    return piece.access == Access::write && piece.n == page_bytes();
  }
  void copy_later(const Context& context, std::span<const Piece> pieces);
  void copy_deferred(const Context& context);
  std::byte* latch(PageNumber page, Access access);
  std::byte* latch_here(PageNumber page, Access access);
  std::byte* ask_to_latch(PageNumber page, Access access);
  void bring(PageNumber page, Access access);
  bool send_hint(const RequestQueue::Hint& hint);
  bool is_pinned(std::uintptr_t address, std::size_t n, bool to_write);
  bool goes_there(PageNumber page, Access access, std::size_t n, bool waited);
  struct Pages {
    PageNumber first, last;  // without `last`
  };
  Pages pages_of(std::uintptr_t address, std::size_t n) const;
  Pages whole_pages_of(std::uintptr_t address, std::size_t n) const;
  bool command(RangeCommand command, const Pages& pages, Store* object = nullptr, std::uint64_t number = 0);
  void await_pager(const Ticket& ticket);
  PagerRounds* own_rounds() const;
  static bool poll_pager(void* heap);
  static bool poll_gathered(void* heap);
  static bool listen_for_faults(void* heap);
  static void flush_gathered(void* heap) { static_cast<Heap*>(heap)->gathering_.flush(); }
  FrameNumber ask_for_page(PageRequest::Kind kind, PageNumber page, Access access);
  PagerRounds* ask(const Ticket& ticket, PageRequest::Kind kind, PageNumber page, Access access);
  static FrameNumber answer_to(const Ticket& ticket);
  template <class Visit>
  void for_pieces(std::uint64_t offset, std::size_t n, int pe, std::size_t largest, Visit visit);
  // `results`: where what the answer brings goes; null: it brings nothing.
  void send(Operation operation, const std::byte* data, void* results, int pe, Unanswered& unanswered);
  static void note_posted();
  static void wait_for_answers(const Unanswered& unanswered, std::uint64_t most_left, int pe);
  std::size_t execute_at_once(const Operation& operation, const std::byte* data, std::byte* answer);
  MessageLimits limits() const { return {pool_.shape(), nodes_, rt.me}; }
  static void on_operation(void* heap, int from_pe, const std::byte* message, std::size_t n);
  static void on_pager_message(void* heap, int from_pe, const std::byte* message, std::size_t n);
  static void on_answer(void* heap, int from_pe, const std::byte* message, std::size_t n);

  // Host, for the pager.
  bool map(std::byte* at, std::size_t offset, std::size_t n, bool writable) override;
  bool protect(std::byte* at, std::size_t n, bool writable) override;
  bool unmap(std::byte* at, std::size_t n) override;
  bool has_room() const override;
  bool give_up_spares() override;
  void make_spares() override;
  void answer(int pe, const std::byte* message, std::size_t n) override;
  void send(int pe, const std::byte* message, std::size_t n) override;
  void put(int pe, std::uint64_t offset, const std::byte* bytes, std::size_t n, Completion& done) override;
  bool messages_follow_puts() const override;
  void get(int pe, std::uint64_t offset, std::byte* bytes, std::size_t n, Completion& done) override;
  void drive() override;
  bool idle() const override;
  void send(MessageId id, int pe, const std::byte* message, std::size_t n);
  bool will_answer_calls() const override;

  // Outlet, for what is gathered.
  void send_operations(int pe, const std::byte* message, std::size_t n) override;
  void hold() override { alarm_.set(); }

  std::byte* const segment_;
  const Pool pool_;
  const Options options_;
  Mappings mappings_;           // for threads that have faulted, as is
  ThreadReadAhead read_ahead_;  // this
  std::optional<PagerFaults> faults_;
  const Nodes nodes_;
  MigrationPolicy migration_;
  DelegationPolicy delegation_;
  AwaitedAnswers awaited_;
  HoldAlarm alarm_;
  Gathering gathering_;

  Mutex mutex_;  // of what follows
  std::multimap<std::pair<std::uintptr_t, std::size_t>, Access> pins_
      GUARDED_BY(mutex_);  // by address and size
  // Of long nonblocking puts and gets, whose pages are on their way if they have to be read, by context.
  // They are copied by quiet().
  struct Deferred {
    std::vector<Piece> pieces;
    std::size_t being_copied = 0;  // that are no longer in `pieces`
  };
  std::unordered_map<const Context*, Deferred> deferred_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> deferred_count_{0};  // of all, with those that are being copied
  Channel* channel_ = nullptr;                  // of pages
  struct OpenObject {
    std::string name;
    std::uint64_t epoch;
    std::size_t n;
  };
  std::map<std::uintptr_t, OpenObject> open_objects_;  // named ones, by address; only inside collective calls
  SpareMappings spare_mappings_;                       // the pager's
  std::unique_ptr<Pager> pager_;
};

/// The job's, or null.
inline Heap* heap_of_job() { return static_cast<Heap*>(rt.paged); }

}  // namespace shm::nvm
