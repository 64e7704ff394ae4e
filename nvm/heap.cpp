// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/heap.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fatal.hpp"
#include "base/human.hpp"
#include "base/wait_report.hpp"
#include "boot/boot.hpp"
#include "core/address.hpp"
#include "core/progress.hpp"
#include "core/wait.hpp"
#include "heap/node_memory.hpp"
#include "nvm/coherence/operations.hpp"
#include "pages/addresses.hpp"
#include "pages/copy.hpp"
#include "pages/wait_for_tickets.hpp"

namespace shm::nvm {
namespace {

constexpr const char* kName = "the NVM heap";

// Whose pager gets messages.  What needs no answer (Event::last_copy, Event::dropped) may come when the heap
// has gone, but not when the job has another one: a barrier of all PEs, and so all messages before it, lie
// between.
SpinLock receiver_lock;
Heap* receiver GUARDED_BY(receiver_lock) = nullptr;

void set_receiver(Heap* heap) {
  const LockGuard guard(receiver_lock);
  receiver = heap;
}

// Microseconds, for the agent: while a thread waits for a page, peers are listened to so often.
constexpr long kBetweenLooks = 250'000;

constexpr const char* kOperation = "an operation of the NVM heap";

std::string file_of(const std::string& folder) {
  return folder + "/atoll." + rt.boot->job().id + "." + std::to_string(getpid()) + ".pe" +
         std::to_string(rt.me) + ".nvm";
}

}  // namespace

Result<std::unique_ptr<Heap>> Heap::open(const Options& options, std::unique_ptr<Device> device) {
  const PoolShape shape = options.shape(static_cast<int>(rt.node_pes.size()), rt.boot->job().size);
  const std::size_t bytes = options.segment_bytes();
  // At a multiple of what blocks may ask to be aligned to.
  std::byte* segment = pages::reserve_aligned(bytes, kLargestAlignment);
  if (segment == nullptr)
    return Status::error("cannot reserve " + std::to_string(bytes) +
                         " bytes of addresses for the NVM heap: " + std::strerror(errno));
  madvise(segment, bytes, MADV_DONTFORK);
  if (device == nullptr) {
    Result<std::unique_ptr<Device>> file =
        open_device({file_of(options.folder), bytes, false, options.engine, true});
    if (!file.ok()) return file.status();
    device = std::move(file.value());
  }
  std::unique_ptr<Heap> heap(new Heap(options, shape, segment));
  if (rt.node_rank == 0) heap->pool_.prepare();
  heap->pager_ =
      std::make_unique<Pager>(static_cast<Host&>(*heap), heap->pool_, heap->nodes_, std::move(device),
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
      mappings_(*this, pool_, segment),
      read_ahead_(options.ahead(shape.frames)),
      nodes_{rt.memory->placement(rt.leaders), rt.node_number},
      gathering_(*this, static_cast<std::size_t>(shape.job_size), rt.env.pack != "off") {}

void Heap::start() {
  if (rt.network != nullptr) channel_ = rt.network->open_channel(ChannelUse::service);
  pager_->start();
  faults_.emplace(
      PagedSegment{segment_, size(), pool_, rt.me, rt.node_rank, rt.progress, mappings_, read_ahead_});
  add_region(this);
  if (rt.progress != nullptr) {
    alarm_.start(*rt.progress);
    Progress::add_poller(poll_pager, this);
    Progress::add_poller(poll_gathered, this);
    Progress::add_poller(listen_for_faults, this);
    rt.progress->add_source({-1, [](void*) { return true; }, &faults_, kBetweenLooks});
    Progress::set_flusher(flush_gathered, this);
  }
  pager_->share_rounds();
}

// This PE's pager, if who posts a request to it may make its rounds instead of waking it.
PagerRounds* Heap::own_rounds() const { return pager_->shares_rounds() ? pager_.get() : nullptr; }

bool Heap::poll_pager(void* heap) { return static_cast<Heap*>(heap)->pager_->answer_calls(); }

bool Heap::poll_gathered(void* heap) {
  Heap& self = *static_cast<Heap*>(heap);
  if (!self.alarm_.went_off()) [[likely]]
    return false;
  if (self.gathering_.holds()) self.alarm_.set();  // sending to one PE may wait, and others' are held as well
  if (self.gathering_.tick()) self.alarm_.set();
  return true;
}

// For threads whose loads and stores wait for pages.
bool Heap::listen_for_faults(void*) {
  listen_for_outside_waits();
  return false;
}

void Heap::rest() {
  const Ticket ticket(pool_, rt.node_rank);
  ticket.request().kind = PageRequest::Kind::rest;
  await_pager(ticket);
}

void Heap::stop() {
  remove_region(this);
  faults_.reset();
  pager_->stop();
  if (rt.progress != nullptr) {
    Progress::set_flusher(nullptr, nullptr);
    rt.progress->remove_source(&faults_);
    Progress::remove_poller(listen_for_faults, this);
    Progress::remove_poller(poll_gathered, this);
    Progress::remove_poller(poll_pager, this);
    alarm_.stop(*rt.progress);
  }
  if (channel_ == nullptr) return;
  wait_for([this] { return idle(); },
           [](WaitRecord& record) {
             describe_wait(record, "shmem_finalize", WaitRecord::kNobody,
                           "for other PEs to take what pages were sent to them");
           });
  rt.network->close_channel(channel_);
}

Heap::~Heap() {
  set_receiver(nullptr);
  munmap(segment_, size());
}

std::string Heap::describe() const {
  return human_bytes(options_.user_bytes) + " per PE " +
         (options_.on_servers ? "in the memory of " : "in files (") + pager_->describe() +
         (options_.on_servers ? ", " : "), ") + std::to_string(pool_.shape().frames) + " pages of " +
         human_bytes(pool_.shape().page_bytes) + " in memory";
}

// The pager's host.

// Each page that is mapped is a mapping of the system's, and so is each gap between such pages.
bool Heap::map(std::byte* at, std::size_t offset, std::size_t n, bool writable) {
  if (!rt.memory->map_pool_also(offset, n, at, writable)) return false;
  madvise(at, n, MADV_DONTFORK);
  return true;
}

bool Heap::protect(std::byte* at, std::size_t n, bool writable) {
  return mprotect(at, n, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

bool Heap::unmap(std::byte* at, std::size_t n) {
  bool unmapped;
  do {
    unmapped = pages::reserve_addresses(at, n) != nullptr;
  } while (!unmapped && spare_mappings_.give_up());
  if (unmapped) madvise(at, n, MADV_DONTFORK);
  // The next map() takes away what is still there.
  return unmapped || mprotect(at, n, PROT_NONE) == 0;
}

bool Heap::has_room() const { return spare_mappings_.exist(); }
bool Heap::give_up_spares() { return spare_mappings_.give_up(); }
void Heap::make_spares() { spare_mappings_.make(); }

void Heap::answer(int pe, const std::byte* message, std::size_t n) {
  if (pe == rt.me) return on_answer(this, pe, message, n);
  send(MessageId::nvm_answer, pe, message, n);
}

void Heap::send(int pe, const std::byte* message, std::size_t n) {
  send(MessageId::nvm_page, pe, message, n);
}

void Heap::send(MessageId id, int pe, const std::byte* message, std::size_t n) {
  channel_->ops->send(channel_, pe, static_cast<std::uint16_t>(id), message, n);
  rt.progress->rouse();
}

void Heap::put(int pe, std::uint64_t offset, const std::byte* bytes, std::size_t n, Completion& done) {
  channel_->ops->put(channel_, pe, {SegmentId::pool, offset}, bytes, n, false, &done);
  rt.progress->rouse();
}

void Heap::get(int pe, std::uint64_t offset, std::byte* bytes, std::size_t n, Completion& done) {
  channel_->ops->get(channel_, pe, bytes, {SegmentId::pool, offset}, n, &done);
  rt.progress->rouse();
}

bool Heap::messages_follow_puts() const {
  return channel_->ops->messages_follow_puts != nullptr && channel_->ops->messages_follow_puts(channel_);
}

void Heap::send_operations(int pe, const std::byte* message, std::size_t n) {
  rt.progress->send(pe, static_cast<std::uint16_t>(MessageId::nvm_operation), message, n);
}

void Heap::drive() { rt.progress->poll(); }

bool Heap::idle() const { return channel_ == nullptr || channel_->ops->idle(channel_); }

bool Heap::will_answer_calls() const { return Progress::polling(); }

// Other nodes.

// Most pages that several nodes use by small operations are at their homes, in use by nobody: then the pager
// need not be woken for one.  Answers to what is executed here at once leave together.
void Heap::on_operation(void* heap, int from, const std::byte* message, std::size_t n) {
  Heap& self = *static_cast<Heap*>(heap);
  check_message(from, kOperation, wrong_with_operations(message, n, from, self.limits()));
  std::byte answers[kMaxMessage];
  std::size_t answered = 0;
  for (std::size_t at = 0; at < n;) {
    Operation operation;
    std::memcpy(&operation, message + at, sizeof operation);
    if (answered + answer_bytes(operation) > sizeof answers) {
      self.answer(from, answers, answered);
      answered = 0;
    }
    std::size_t answer = 0;
    if (!operation.stays_behind || !self.pager_->any_handed(from))
      answer = self.execute_at_once(operation, message + at + sizeof operation, answers + answered);
    if (answer == 0) self.pager_->hand(message + at, operation_bytes(operation));
    answered += answer;
    at += record_bytes(operation);
  }
  if (answered != 0) self.answer(from, answers, answered);
}

// Returns 0 if the page is not here, or not in the right state, or pinned; else how long the answer is.
std::size_t Heap::execute_at_once(const Operation& operation, const std::byte* data, std::byte* answer) {
  const FrameNumber frame = pool_.word(operation.page).latch(access_of(operation));
  if (frame == kNoFrame) return 0;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with that of pin()
  const bool pinned = is_pinned_against(pool_.frame(frame), operation, nodes_);
  const std::size_t n = pinned ? 0 : execute(operation, data, pool_, frame, nodes_, answer);
  pool_.word(operation.page).unlatch();
  return n;
}

void Heap::on_pager_message(void*, int from, const std::byte* message, std::size_t n) {
  const LockGuard guard(receiver_lock);
  if (receiver == nullptr) return;
  check_message(from, kPagerMessage, wrong_with_page_messages(message, n, from, receiver->limits()));
  receiver->pager_->receive(message, n);
}

// Those of operations to one home, of one context, are counted together.
void Heap::on_answer(void* heap, int from, const std::byte* message, std::size_t n) {
  Heap& self = *static_cast<Heap*>(heap);
  struct {
    Unanswered* unanswered = nullptr;
    int home = -1;
    std::uint32_t answers = 0, weight = 0;
  } these;
  const auto count_these = [&] {
    if (these.answers != 0 && these.home != rt.me) self.gathering_.answered(these.home, these.answers);
    // The last use of it: release, so that who sees 0 sees the data.
    if (these.answers != 0) these.unanswered->fetch_sub(these.weight, std::memory_order_release);
    these = {};
  };
  const auto take = [&](const AwaitedAnswers::Taken& taken, const std::byte* brought) {
    const auto& [asked, answer] = taken;
    const int home = self.pool_.pe_of(asked.page);
    if (asked.unanswered != these.unanswered || home != these.home) {
      count_these();
      these.unanswered = asked.unanswered;
      these.home = home;
      // With the release of send(): what the sender did comes before what is done here.  The message says so
      // too, but by way of other processes.
      (void)asked.unanswered->load(std::memory_order_acquire);
    }
    self.migration_.learn(answer.page, answer.contended != 0);
    if (answer.n != 0) copy_in(asked.results, brought, answer.n);
    ++these.answers;
    these.weight += asked.weight;
  };
  self.awaited_.take(from, message, n, self.limits(), take);
  count_these();
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

// Hands the request to this PE's pager.
void Heap::await_pager(const Ticket& ticket) {
  PagerRounds* const rounds = own_rounds();
  ticket.post(rt.node_rank, rounds == nullptr);
  wait_until_done(ticket, WaitReason([](WaitRecord& record) {
                    describe_wait(record, "the NVM heap", WaitRecord::kNobody, "for pages on their way");
                  }),
                  rounds);
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
