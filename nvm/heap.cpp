// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/heap.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fatal.hpp"
#include "base/human.hpp"
#include "base/service_thread.hpp"
#include "base/stats.hpp"
#include "boot/boot.hpp"
#include "core/address.hpp"
#include "core/progress.hpp"
#include "core/wait.hpp"
#include "heap/node_memory.hpp"
#include "pages/copy.hpp"
#include "pages/fault.hpp"

namespace shm::nvm {

/// What a thread waits for: answers to so many operations.
struct Awaiting {
  std::atomic<std::uint32_t> left{0};
};

namespace {

constexpr const char* kName = "the NVM heap";
constexpr std::size_t kBounce = 16384;
// Signals that a thread takes which writes a whole page: those of its own faults, and those that ask the
// process to end.
constexpr std::initializer_list<int> kOfFaultsAndEnds = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL, SIGTRAP, SIGABRT,
                                                         SIGSYS,  SIGTERM, SIGINT, SIGHUP, SIGQUIT};

// Addresses where every access is a fault.  A system call of our own, as ThreadSanitizer takes mmap for a
// write of the range, and the program's threads may be about to access it.
std::byte* reserve_addresses(std::byte* at, std::size_t n) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at == nullptr ? 0 : MAP_FIXED);
  const long segment = syscall(SYS_mmap, at, n, PROT_NONE, flags, -1, 0L);
  return segment == -1 ? nullptr : reinterpret_cast<std::byte*>(segment);
}

// At a multiple of what blocks may ask to be aligned to.
std::byte* reserve_aligned(std::size_t n) {
  std::byte* around = reserve_addresses(nullptr, n + kLargestAlignment);
  if (around == nullptr) return nullptr;
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(around)) % kLargestAlignment;
  if (before != 0) munmap(around, before);
  if (before != kLargestAlignment) munmap(around + before + n, kLargestAlignment - before);
  return around + before;
}

Operation operation_on(Operation::Kind kind, PageNumber page, std::size_t within, std::size_t n) {
  Operation operation{};
  operation.kind = kind;
  operation.page = page;
  operation.offset = static_cast<std::uint32_t>(within);
  operation.n = static_cast<std::uint32_t>(n);
  return operation;
}

// Whose pager gets messages.  What needs no answer (Event::last_copy) may come when the heap has gone.
SpinLock receiver_lock;
Heap* receiver GUARDED_BY(receiver_lock) = nullptr;

void set_receiver(Heap* heap) {
  const LockGuard guard(receiver_lock);
  receiver = heap;
}

std::string file_of(const std::string& folder) {
  return folder + "/atoll." + rt.boot->job().id + "." + std::to_string(getpid()) + ".pe" +
         std::to_string(rt.me) + ".nvm";
}

}  // namespace

Result<std::unique_ptr<Heap>> Heap::open(const Options& options) {
  const PoolShape shape = options.shape(static_cast<int>(rt.node_pes.size()), rt.boot->job().size);
  const std::size_t bytes = options.segment_bytes();
  std::byte* segment = reserve_aligned(bytes);
  if (segment == nullptr)
    return Status::error("cannot reserve " + std::to_string(bytes) +
                         " bytes of addresses for the NVM heap: " + std::strerror(errno));
  madvise(segment, bytes, MADV_DONTFORK);
  Result<std::unique_ptr<Device>> device =
      open_device({file_of(options.folder), bytes, false, options.engine, true});
  if (!device.ok()) return device.status();
  std::unique_ptr<Heap> heap(new Heap(options, shape, segment));
  if (rt.node_rank == 0) heap->pool_.prepare();
  heap->pager_ =
      std::make_unique<Pager>(static_cast<Host&>(*heap), heap->pool_, heap->nodes_, std::move(device.value()),
                              Pager::Settings{rt.me, segment, true, options.cooperative,
                                              options.ahead(shape.frames), options.replacement});
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::nvm_operation), on_operation, heap.get());
  set_receiver(heap.get());
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::nvm_page), on_pager_message, nullptr);
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::nvm_answer), on_answer, heap.get());
  return heap;
}

Heap::Heap(const Options& options, const PoolShape& shape, std::byte* segment)
    : Region(kName, reinterpret_cast<std::uintptr_t>(segment), shape.segment_pages * shape.page_bytes),
      segment_(segment),
      pool_(rt.memory->pool(), shape),
      options_(options),
      nodes_{rt.memory->placement(rt.leaders), rt.node_number} {}

void Heap::start() {
  if (rt.network != nullptr) channel_ = rt.network->open_channel();
  pager_->start();
  watch_faults({segment_, size(), &pool_, rt.me, rt.node_rank, rt.progress});
  add_region(this);
}

void Heap::rest() {
  const Ticket ticket(pool_, rt.node_rank);
  ticket.request().kind = PageRequest::Kind::rest;
  await_pager(ticket);
}

void Heap::stop() {
  remove_region(this);
  end_watch();
  pager_->stop();
  if (channel_ != nullptr) rt.network->close_channel(channel_);
}

Heap::~Heap() {
  set_receiver(nullptr);
  munmap(segment_, size());
}

std::string Heap::describe() const {
  return human_bytes(static_cast<double>(options_.user_bytes)) + " per PE in files (" + pager_->describe() +
         "), " + std::to_string(pool_.shape().frames) + " pages of " +
         human_bytes(static_cast<double>(pool_.shape().page_bytes)) + " in memory";
}

// The pager's host.

// Each page that is mapped is a mapping of the system's, and so is each gap between such pages.
bool Heap::map(std::byte* at, std::size_t offset, std::size_t n, bool writable) {
  if (!rt.memory->map_pool_also(offset, n, at, writable)) return false;
  madvise(at, n, MADV_DONTFORK);
  spare_mappings_.make();  // where they had to be given up
  return true;
}

bool Heap::protect(std::byte* at, std::size_t n, bool writable) {
  return mprotect(at, n, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

bool Heap::unmap(std::byte* at, std::size_t n) {
  bool unmapped;
  do {
    unmapped = reserve_addresses(at, n) != nullptr;
  } while (!unmapped && spare_mappings_.give_up());
  if (unmapped) madvise(at, n, MADV_DONTFORK);
  // The next map() takes away what is still there.
  return unmapped || mprotect(at, n, PROT_NONE) == 0;
}

bool Heap::give_up_spares() { return spare_mappings_.give_up(); }

void Heap::answer(int pe, const std::byte* message, std::size_t n) {
  if (pe == rt.me) return on_answer(this, pe, message, n);
  rt.progress->send(pe, static_cast<std::uint16_t>(MessageId::nvm_answer), message, n);
}

void Heap::send(int pe, const std::byte* message, std::size_t n) {
  rt.progress->send(pe, static_cast<std::uint16_t>(MessageId::nvm_page), message, n);
}

void Heap::put(int pe, std::uint64_t offset, const std::byte* bytes, std::size_t n, Completion& done) {
  channel_->ops->put(channel_, pe, {SegmentId::pool, offset}, bytes, n, false, &done);
}

void Heap::get(int pe, std::uint64_t offset, std::byte* bytes, std::size_t n, Completion& done) {
  channel_->ops->get(channel_, pe, bytes, {SegmentId::pool, offset}, n, &done);
}

void Heap::drive() { rt.progress->poll(); }

// Other nodes.

void Heap::on_operation(void* heap, int, const std::byte* message, std::size_t n) {
  static_cast<Heap*>(heap)->pager_->hand(message, n);
}

void Heap::on_pager_message(void*, int, const std::byte* message, std::size_t n) {
  const LockGuard guard(receiver_lock);
  if (receiver != nullptr) receiver->pager_->receive(message, n);
}

void Heap::on_answer(void* heap, int, const std::byte* message, std::size_t) {
  Answer answer;
  std::memcpy(&answer, message, sizeof answer);
  auto& awaiting = *reinterpret_cast<Awaiting*>(answer.token);
  // With the release of send(): what the sender did comes before what is done here.  The message says so too,
  // but by way of other processes.
  (void)awaiting.left.load(std::memory_order_acquire);
  static_cast<Heap*>(heap)->migration_.learn(answer.page, answer.contended != 0);
  if (answer.n != 0) copy_in(answer.dest, message + sizeof answer, answer.n);
  // The last use of it: release, so that who sees 0 sees the data.
  awaiting.left.fetch_sub(1, std::memory_order_release);
}

// Sends an operation to the home of its page, which has it executed where the page is.
void Heap::send(Operation operation, const std::byte* data, int pe, Awaiting& awaiting) {
  std::byte message[sizeof operation + kLargestOperation];
  const std::size_t n = data != nullptr ? operation.n : 0;
  operation.token = reinterpret_cast<std::uintptr_t>(&awaiting);
  operation.pe = rt.me;
  std::memcpy(message, &operation, sizeof operation);
  if (data != nullptr) std::memcpy(message + sizeof operation, data, n);
  awaiting.left.fetch_add(1, std::memory_order_release);
  count(Stat::page_sent);
  if (pe == rt.me) return pager_->hand(message, sizeof operation + n);
  rt.progress->send(pe, static_cast<std::uint16_t>(MessageId::nvm_operation), message, sizeof operation + n);
}

// Until all that was sent is applied.
void Heap::wait(const Awaiting& awaiting, int pe) const {
  if (awaiting.left.load(std::memory_order_acquire) == 0) return;
  wait_for([&] { return awaiting.left.load(std::memory_order_acquire) == 0; },
           [&](WaitRecord& record) {
             describe_wait(record, "an operation on the NVM heap", pe, "for PE %d to have it applied", pe);
           });
}

// Pages that are here, or come here.

// Where the page is, until unlatch().  Null: it is not here, or not in the right state.
std::byte* Heap::latch_here(PageNumber page, Access access) {
  const FrameNumber frame = pool_.word(page).latch(access);
  if (frame == kNoFrame) return nullptr;
  Frame& meta = pool_.frame(frame);
  if (const std::uint8_t touched = meta.touched.load(std::memory_order_relaxed); touched != kTouched) {
    meta.touched.store(kTouched, std::memory_order_relaxed);
    if (touched == kAhead) [[unlikely]]
      send_hint({page, RequestQueue::What::used});
  }
  count_roughly(Stat::page_hits);
  return pool_.bytes(frame);
}

// Returns false if there is no room for the hint: of most nothing is lost but time.
bool Heap::send_hint(const RequestQueue::Hint& hint) {
  const int to = nodes_.caching_pe(pool_.pe_of(hint.page), nodes_.here);
  return pool_.requests_of(nodes_.node_rank_of(to)).queue.post_hint(hint);
}

std::byte* Heap::latch(PageNumber page, Access access) {
  std::byte* at = latch_here(page, access);
  return at != nullptr ? at : ask_to_latch(page, access);
}

std::byte* Heap::ask_to_latch(PageNumber page, Access access) {
  count(Stat::page_misses);
  return pool_.bytes(ask_for_page(PageRequest::Kind::latch, page, access));
}

// Writes all of a page that is not here, which then need not be read.  Whoever wants it waits until it is
// filled.  So would a signal handler that interrupted this thread: signals wait, but for those that end it.
void Heap::put_whole_page(PageNumber page, const std::byte* data) {
  const SignalsBlocked blocked(kOfFaultsAndEnds);
  count(Stat::page_misses);
  bool unfilled = false;
  const FrameNumber frame = ask_for_page(PageRequest::Kind::fill, page, Access::write, &unfilled);
  copy_in(pool_.bytes(frame), data, pool_.shape().page_bytes);
  if (!unfilled) return pool_.word(page).unlatch();
  frame_left();
  while (!send_hint({page, RequestQueue::What::filled})) sched_yield();
}

FrameNumber Heap::ask_for_page(PageRequest::Kind kind, PageNumber page, Access access, bool* unfilled) {
  const Ticket ticket(pool_, rt.node_rank);
  PageRequest& request = ticket.request();
  request.kind = kind;
  request.access = access;
  request.page = page;
  const int pe = pool_.pe_of(page);
  ticket.post(nodes_.node_rank_of(nodes_.caching_pe(pe, nodes_.here)));
  wait_for([&] { return ticket.done(); },
           [&](WaitRecord& record) {
             describe_wait(record, "an operation on the NVM heap", pe, "for a page of PE %d to be loaded",
                           pe);
           });
  if (request.frame == kNoFrame)
    fatal("an operation on the NVM heap is still under way while another thread finalizes");
  frame_taken();
  if (unfilled != nullptr) *unfilled = request.unfilled;
  return request.frame;
}

// Whether an operation on a page that is not here goes to where it is, rather than the page comes here.
bool Heap::goes_there(PageNumber page, std::size_t n) {
  return options_.remote_ops && rt.progress != nullptr && n <= kLargestOperation &&
         !migration_.charge_operation(page, n, pool_.shape().page_bytes);
}

void Heap::bring(std::uintptr_t address, int pe, bool writes) {
  const PageNumber page = pool_.number(pe, address - base());
  const Access access = writes ? Access::write : Access::read;
  if (!permits(pool_.word(page).state(), access)) bring(page, access);
}

void Heap::bring(PageNumber page, Access access) {
  ask_to_latch(page, access);
  pool_.word(page).unlatch();
}

bool Heap::better_there(std::uintptr_t address, int pe, bool writes) {
  const PageNumber page = pool_.number(pe, address - base());
  const Access access = writes ? Access::write : Access::read;
  if (permits(pool_.word(page).state(), access)) {
    delegation_.note_use(page);
    return false;
  }
  if (!options_.remote_ops || rt.progress == nullptr) return false;
  if (!delegation_.should_bring(page, pool_.shape().page_bytes)) return true;
  bring(page, access);
  delegation_.note_arrival(page);
  return false;
}

// Calls piece(page, offset in the page, done so far, n) for each part of a range within a page.
template <class Piece>
void Heap::for_pieces(std::uint64_t offset, std::size_t n, int pe, std::size_t largest, Piece piece) {
  const std::size_t page_bytes = pool_.shape().page_bytes;
  for (std::size_t done = 0; done < n;) {
    const auto within = static_cast<std::size_t>((offset + done) % page_bytes);
    const std::size_t part = std::min({n - done, page_bytes - within, largest});
    piece(pool_.number(pe, offset + done), within, done, part);
    done += part;
  }
}

// The straight path: all of [address, address + n) of PE `pe` lies in one page that is here, and no page of
// the heap is needed for what it is copied from or to.  Latches the page, and returns where the bytes are;
// else null.
std::byte* Heap::latch_whole_here(std::uintptr_t address, std::size_t n, int pe, const void* other,
                                  Access access, PageNumber& page) {
  const std::uint64_t offset = address - base();
  const std::size_t within = offset % pool_.shape().page_bytes;
  if (within + n > pool_.shape().page_bytes || in_region(other)) return nullptr;
  page = pool_.number(pe, offset);
  std::byte* at = latch_here(page, access);
  return at != nullptr ? at + within : nullptr;
}

void Heap::put(Context&, std::uintptr_t to, const void* source, std::size_t n, int pe, bool) {
  PageNumber page;
  std::byte* at = latch_whole_here(to, n, pe, source, Access::write, page);
  if (at == nullptr) return put_slowly(to, source, n, pe);
  copy_in(at, source, n);
  pool_.word(page).unlatch();
}

void Heap::get(Context& context, void* dest, std::uintptr_t from, std::size_t n, int pe, bool nbi) {
  PageNumber page;
  const std::byte* at = latch_whole_here(from, n, pe, dest, Access::read, page);
  if (at == nullptr) {
    if (!nbi || !defer_get(context, dest, from, n, pe)) get_slowly(dest, from, n, pe);
    return;
  }
  copy_out(dest, at, n);
  pool_.word(page).unlatch();
}

// Sends for the pages of a large get, which quiet() will do.  Returns false if it is to be done now.
bool Heap::defer_get(Context& context, void* dest, std::uintptr_t from, std::size_t n, int pe) {
  if (n <= kLargestOperation || in_region(dest)) return false;
  for_pieces(from - base(), n, pe, n, [&](PageNumber page, std::size_t, std::size_t, std::size_t) {
    if (pool_.word(page).state() == PageState::invalid) send_hint({page, RequestQueue::What::bring});
  });
  const LockGuard guard(mutex_);
  deferred_[&context].push_back({dest, from, n, pe});
  deferred_count_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Heap::quiet(Context& context) {
  if (deferred_count_.load(std::memory_order_relaxed) == 0) return;
  std::vector<DeferredGet> gets;
  {
    const LockGuard guard(mutex_);
    const auto found = deferred_.find(&context);
    if (found == deferred_.end()) return;
    gets = std::move(found->second);
    deferred_.erase(found);
  }
  for (const DeferredGet& get : gets) get_slowly(get.dest, get.from, get.n, get.pe);
  deferred_count_.fetch_sub(gets.size(), std::memory_order_relaxed);
}

void Heap::put_slowly(std::uintptr_t to, const void* source, std::size_t n, int pe) {
  const auto* from = static_cast<const std::byte*>(source);
  const bool bounce = in_region(source);
  std::byte buffer[kBounce];
  Awaiting awaiting;
  for_pieces(to - base(), n, pe, bounce ? kBounce : n,
             [&](PageNumber page, std::size_t within, std::size_t done, std::size_t part) {
               const std::byte* data = from + done;
               if (bounce) data = static_cast<std::byte*>(std::memcpy(buffer, data, part));
               std::byte* at = latch_here(page, Access::write);
               if (at == nullptr && goes_there(page, part))
                 return send(operation_on(Operation::Kind::put, page, within, part), data, pe, awaiting);
               if (at == nullptr && part == page_bytes()) return put_whole_page(page, data);
               if (at == nullptr) at = ask_to_latch(page, Access::write);
               copy_in(at + within, data, part);
               pool_.word(page).unlatch();
             });
  wait(awaiting, pe);
}

void Heap::get_slowly(void* dest, std::uintptr_t from, std::size_t n, int pe) {
  auto* to = static_cast<std::byte*>(dest);
  const bool bounce = in_region(dest);
  std::byte buffer[kBounce];
  Awaiting awaiting;
  for_pieces(from - base(), n, pe, bounce ? kBounce : n,
             [&](PageNumber page, std::size_t within, std::size_t done, std::size_t part) {
               std::byte* data = bounce ? buffer : to + done;
               const std::byte* at = latch_here(page, Access::read);
               if (at == nullptr && goes_there(page, part)) {
                 Operation operation = operation_on(Operation::Kind::get, page, within, part);
                 operation.dest = data;
                 send(operation, nullptr, pe, awaiting);
                 if (bounce) wait(awaiting, pe);
               } else {
                 if (at == nullptr) at = ask_to_latch(page, Access::read);
                 copy_out(data, at + within, part);
                 pool_.word(page).unlatch();
               }
               if (bounce) std::memcpy(to + done, buffer, part);
             });
  wait(awaiting, pe);
}

void Heap::amo(Context&, std::uintptr_t at, AtomicOp op, AtomicType type, const void* value,
               const void* compare, void* fetch, int pe, bool) {
  const std::uint64_t offset = at - base();
  const PageNumber page = pool_.number(pe, offset);
  const std::size_t within = offset % pool_.shape().page_bytes;
  Operation operation = operation_on(Operation::Kind::amo, page, within, atomic_size(type));
  operation.op = op;
  operation.type = type;
  // By value: they may lie in the heap themselves.
  if (op != AtomicOp::fetch) std::memcpy(&operation.value, value, atomic_size(type));
  if (op == AtomicOp::compare_swap) std::memcpy(&operation.compare, compare, atomic_size(type));
  std::uint64_t old = 0;
  std::byte* frame = latch_here(page, access_of(operation));
  if (frame == nullptr && goes_there(page, operation.n)) {
    Awaiting awaiting;
    operation.dest = reinterpret_cast<std::byte*>(&old);
    send(operation, nullptr, pe, awaiting);
    wait(awaiting, pe);
  } else {
    if (frame == nullptr) frame = ask_to_latch(page, access_of(operation));
    atomic_apply(op, type, frame + within, &operation.value, &operation.compare, &old);
    pool_.word(page).unlatch();
  }
  if (fetch != nullptr) std::memcpy(fetch, &old, atomic_size(type));
}

// Not by its address: a thread that waits in a fault would not drive the network.
void Heap::load(std::uintptr_t address, void* value, std::size_t n) {
  const std::uint64_t offset = address - base();
  const PageNumber page = pool_.number(rt.me, offset);
  copy_out(value, latch(page, Access::read) + offset % pool_.shape().page_bytes, n);
  pool_.word(page).unlatch();
  // What precedes the update is to be seen.
  std::atomic_thread_fence(std::memory_order_acquire);
}

void* Heap::ptr(std::uintptr_t address, int pe) {
  return pe == rt.me ? reinterpret_cast<void*>(address) : nullptr;
}

// The pages in which [address, address + n) of this PE lies.
Heap::Pages Heap::pages_of(std::uintptr_t address, std::size_t n) const {
  const std::uint64_t offset = address - base();
  return {pool_.number(rt.me, offset), pool_.number(rt.me, offset + n - 1) + 1};
}

// Those that lie in it from their beginning to their end.
Heap::Pages Heap::whole_pages_of(std::uintptr_t address, std::size_t n) const {
  const std::uint64_t offset = address - base();
  return {pool_.number(rt.me, offset + page_bytes() - 1), pool_.number(rt.me, offset + n)};
}

bool Heap::command(RangeCommand command, const Pages& pages, Store* object, std::uint64_t number) {
  if (pages.first >= pages.last) return true;
  const Ticket ticket(pool_, rt.node_rank);
  fill_in(ticket.request(), command, pages.first, pages.last, object, number);
  await_pager(ticket);
  return !ticket.request().failed;
}

// Hands the request to this PE's pager.  The network has to be driven: pages may be on their way.
void Heap::await_pager(const Ticket& ticket) {
  ticket.post(rt.node_rank);
  wait_for([&] { return ticket.done(); },
           [](WaitRecord& record) {
             describe_wait(record, "the NVM heap", WaitRecord::kNobody, "for pages on their way");
           });
}

bool Heap::reserve(std::uintptr_t address, std::size_t n) {
  return command(RangeCommand::room, pages_of(address, n));
}

void Heap::discard(const Call& call, std::uintptr_t address, std::size_t n) {
  open_objects_.erase(address);
  if (is_pinned(address, n, false)) {
    fatal("%s: pages of the block at %p are pinned; call shmemx_nvm_unpin first", call.name,
          reinterpret_cast<void*>(address));
  }
  // The first and the last page may be other blocks' too, and stay.
  command(RangeCommand::drop, whole_pages_of(address, n));
}

}  // namespace shm::nvm
