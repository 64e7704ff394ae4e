// SPDX-License-Identifier: BSD-3-Clause
#include "setup/setup.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "base/crash.hpp"
#include "base/env_names.hpp"
#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "base/wait_report.hpp"
#include "coll/active.hpp"
#include "coll/barrier.hpp"
#include "coll/choose.hpp"
#include "coll/memory.hpp"
#include "coll/rendezvous.hpp"
#include "coll/staging.hpp"
#include "coll/teams.hpp"
#include "core/order.hpp"
#include "core/progress.hpp"
#include "core/session.hpp"
#include "heap/core_file.hpp"
#include "heap/heap.hpp"
#include "kv/tables.hpp"
#include "nvm/heap.hpp"
#include "remote/device.hpp"
#include "remote/lent_range.hpp"
#include "setup/exit.hpp"
#include "setup/full_checks.hpp"
#include "setup/info.hpp"
#include "setup/internal_layout.hpp"
#include "setup/listen_to_peers.hpp"
#include "setup/memory_link.hpp"
#include "setup/observation.hpp"
#include "setup/process_state.hpp"
#include "setup/remote_memory.hpp"
#include "setup/serve_memory.hpp"
#include "setup/statistics.hpp"
#include "shmem.h"

namespace shm {
namespace {

// Lives from the first init to the end of the process; what other threads may still use is never destroyed.
ProcessState* state = nullptr;
std::atomic<int> starts{0};  // inits not yet finalized
Mutex start_mutex;
nvm::Heap* nvm_heap GUARDED_BY(start_mutex) = nullptr;  // null: there is none

std::string& network_found = *new std::string;  // written by init only

std::vector<std::ptrdiff_t> heap_deltas GUARDED_BY(start_mutex), static_deltas GUARDED_BY(start_mutex);

// A forked child must not act for its parent: calls in it find the library not started.
void forget_in_child() {
  rt.npes = 0;
  rt.heap = rt.statics = {};
  rt.progress = nullptr;
  starts.store(0);
}

// Where the segments of node peers are mapped, relative to this PE's.
void fill_deltas() REQUIRES(start_mutex) {
  const NodeMemory& memory = *state->memory;
  const Job& job = state->boot->job();
  const auto size = static_cast<std::size_t>(job.size);
  heap_deltas.assign(size, kNoMapping);
  static_deltas.assign(size, kNoMapping);
  const PeRecord& mine = memory.record(job.rank);
  for (int pe = 0; pe < job.size; ++pe) rt.same_statics &= same_statics(memory.record(pe), mine);
  for (std::size_t i = 0; i < job.node_pes.size(); ++i) {
    const auto node_rank = static_cast<int>(i);
    const auto pe = static_cast<std::size_t>(job.node_pes[i]);
    heap_deltas[pe] = memory.heap(node_rank) - memory.heap(rt.node_rank);
    if (!same_statics(memory.record(job.node_pes[i]), mine)) continue;
    static_deltas[pe] = memory.statics(node_rank) - reinterpret_cast<std::byte*>(memory.own_statics().base);
  }
  static_deltas[static_cast<std::size_t>(job.rank)] = 0;
}

// Polls before a waiting PE yields: about 20 us when each PE of the host has a core, hardly any when not.
unsigned default_spin(int pes) { return each_has_a_core(pes) ? 2000 : 20; }

void fill_runtime() REQUIRES(start_mutex) {
  const Job& job = state->boot->job();
  NodeMemory& memory = *state->memory;
  rt.me = job.rank;
  rt.node_pes = job.node_pes;
  rt.node_rank = job.node_rank();
  rt.leaders = state->leaders;
  rt.node_number = static_cast<int>(std::find(rt.leaders.begin(), rt.leaders.end(), rt.node_pes.front()) -
                                    rt.leaders.begin());
  rt.user_heap = state->user_heap;
  rt.memory = &memory;
  rt.boot = state->boot;
  rt.network = state->network.get();
  network_found = rt.network != nullptr ? rt.network->describe() : "";
  rt.spin_polls = static_cast<unsigned>(rt.env.spin.value_or(default_spin(pes_of_host(job))));
  fill_deltas();
  std::size_t heap_size = memory.heap_stride() - memory.own_bytes();
  for (int pe = 0; pe < job.size; ++pe)
    heap_size = std::min<std::size_t>(heap_size, memory.record(pe).heap_size);
  const bool with_staging = state->nvm.wanted();
  rt.heap = {reinterpret_cast<std::uintptr_t>(memory.heap(rt.node_rank)), heap_size, heap_deltas.data(),
             internal_bytes(with_staging)};
  rt.own_memory = {rt.heap.origin + memory.heap_stride() - memory.own_bytes(), memory.own_bytes()};
  set_staging(with_staging ? memory.heap(rt.node_rank) + kStagingAt : nullptr);
  rt.statics = {memory.own_statics().base, memory.own_statics().size, static_deltas.data(), 0};
}

Status open_services() {
  if (Status status = overrule_choice(rt.env.algorithms); !status.ok()) return status;
  if (rt.network != nullptr) {
    rt.world_context.channel = rt.network->open_channel();
    open_parcels();
    rt.progress = new Progress(*rt.network, rt.world_context.channel, rt.env.agent_spin_us.value_or(50));
    rt.progress->start();
  }
  const std::size_t for_checks = begin_checks();
  if (rt.me != 0) return {};
  auto* base = reinterpret_cast<std::byte*>(rt.heap.base);
  auto allocator = HeapAllocator::create(base, rt.heap.size, rt.user_heap + for_checks);
  if (!allocator.ok()) return allocator.status();
  rt.allocator = allocator.value().release();
  return {};
}

// Where the pages of the heap lie; null: in files, which the heap opens itself.
std::unique_ptr<pages::Device> device_of_heap() REQUIRES(start_mutex) {
  if (!state->nvm.on_servers) return nullptr;
  const remote::Placement::Shape shape =
      remote::LentRange::shape_for(state->nvm.segment_bytes(), state->nvm.page_bytes,
                                   bytes_per_server(rt.env, state->boot->job().servers));
  return remote::make_device(std::make_unique<remote::LentRange>(*state->servers, shape));
}

// The pool is prepared by one PE of the node for all; none uses it before.
Status open_nvm() REQUIRES(start_mutex) {
  if (!state->nvm.wanted()) return {};
  Result<std::unique_ptr<nvm::Heap>> heap = nvm::Heap::open(state->nvm, device_of_heap());
  if (heap.ok()) nvm_heap = heap.value().release();
  if (!heap.ok()) state->memory->block().failed.store(1);
  if (Status status = state->memory->wait_for_all(); !heap.ok() || !status.ok())
    return heap.ok() ? status : heap.status();
  leave_area_out_of_core(reinterpret_cast<void*>(nvm_heap->base()), nvm_heap->size());
  nvm_heap->start();
  rt.paged = nvm_heap;
  rt.paged_by_default = state->nvm.is_default;
  rt.paged_text = nvm_heap->describe();
  rt.paged_limit = state->nvm.user_bytes;
  if (rt.me != 0) return {};
  const nvm::PoolShape shape =
      state->nvm.shape(static_cast<int>(rt.node_pes.size()), state->boot->job().size);
  if (const std::string other = state->nvm.other_size(shape); !other.empty()) warn("%s", other.c_str());
  auto allocator = HeapAllocator::create(reinterpret_cast<std::byte*>(nvm_heap->base()), nvm_heap->size(),
                                         state->nvm.user_bytes);
  if (!allocator.ok()) return allocator.status();
  rt.paged_allocator = allocator.value().release();
  return {};
}

// A network that has pinned the segments would go on writing to pages that were given back.
NodeMemory::Pages unused_pages() {
  return rt.network != nullptr && rt.network->pins_segments() ? NodeMemory::Pages::kept
                                                              : NodeMemory::Pages::given_back;
}

// No PE of the node uses the pool any more when this returns.
Status close_nvm(Call call) REQUIRES(start_mutex) {
  if (nvm_heap == nullptr) return {};
  nvm_heap->rest();
  sync_world(call);  // no pager sends anything any more
  nvm_heap->stop();
  leave_area_out_of_core(nullptr, 0);
  delete rt.paged_allocator;
  rt.paged_allocator = nullptr;
  rt.paged = nullptr;
  delete nvm_heap;
  nvm_heap = nullptr;
  Status status = state->memory->wait_for_all();
  if (rt.node_rank == 0) state->memory->empty_pool(unused_pages());
  return status;
}

// Twice: before the first handlers of ours are there, which pass on to this one, and when the node is known.
void report_crashes_of_pe(const NodeMemory* memory) {
  const std::string& words = rt.env.backtrace;
  CrashReport report;
  report.spoken = words != "none" && words != "0";
  report.of_each = words == "all";
  report.shown = memory != nullptr ? &memory->block().crash_shown : nullptr;
  if (rt.env.core != "all") report.choose_core = choose_core_memory;
  if (memory != nullptr && report.choose_core != nullptr) memory->limit_core(rt.env.core == "own");
  report_crashes(report);
  set_fatal_note(report_caller);
}

Status join_world() REQUIRES(start_mutex) {
  if (state != nullptr) {
    if (state->servers != nullptr && !state->boot->comes_back())
      return Status::error("the memory servers of the job have ended with its first shmem_finalize");
    return state->boot->join(rt.env);
  }
  Result<std::unique_ptr<Boot>> boot = make_boot();
  if (!boot.ok()) return boot.status();
  if (Status status = boot.value()->join(rt.env); !status.ok()) return status;
  Boot* joined = boot.value().release();  // lives as long as the process
  const Job& job = joined->job();
  if (job.is_server()) {
    const int code = serve_memory(*joined, rt.env);
    fflush(nullptr);
    _exit(code);
  }
  set_identity(job.rank, job.size, job.host);
  report_crashes_of_pe(nullptr);
  Result<std::unique_ptr<ProcessState>> made = make_process_state(*joined, rt.env);
  if (!made.ok()) {  // other PEs may be waiting for this one
    warn("%s", made.status().text().c_str());
    joined->abort(kErrorExit, nullptr);
    _exit(kErrorExit);
  }
  state = made.value().release();
  report_crashes_of_pe(state->memory.get());
  become_pe(*joined);
  pthread_atfork(nullptr, nullptr, forget_in_child);
  return {};
}

Status start_first(int thread_level, bool ends_by_itself) REQUIRES(start_mutex) {
  Result<Env> env = Env::read();
  if (!env.ok()) return env.status();
  rt.env = env.value();
  set_debug(rt.env.debug);
  note_start(ends_by_itself);
  take_stats();  // what the last finalize itself took
  if (Status status = join_world(); !status.ok()) {
    note_end_of_start();
    return status;
  }
  fill_runtime();
  rt.thread_level = thread_level;
  rt.parallel_contexts = false;
  if (Status status = open_services(); !status.ok()) return status;
  if (Status status = open_nvm(); !status.ok()) return status;
  if (state->servers != nullptr) {
    const int pes = pes_of_host(state->boot->job());
    if (Status status = open_remote_memory(*state->servers, rt.env, pes); !status.ok()) return status;
  }
  rt.npes = static_cast<unsigned>(state->boot->job().size);  // last: operations are possible from here on
  open_teams();
  answer_wait_questions(rt.me, static_cast<int>(rt.npes), static_cast<double>(rt.env.wait_report.value_or(0)),
                        state->boot->job().by_oshrun ? state->boot->job().id : "");
  sync_world({"shmem_init"});
  listen_to_peers(*state->memory);
  begin_full_checks();
  begin_observation();
  if (rt.me == 0) {
    for (const std::string& sentence : remarks_on_variables()) warn("%s", sentence.c_str());
  }
  debug("process %d, node %d of %zu, rank %d on it; heap of %zu bytes at %#zx, variables at %#zx; %s",
        getpid(), rt.node_number, rt.leaders.size(), rt.node_rank, rt.user_heap, rt.heap.base,
        rt.statics.base, rt.network != nullptr ? rt.network->describe().c_str() : "no network");
  print_start_information(*state);
  return {};
}

constexpr const char* kForOthersToEnd = "for other PEs to call it too";

// A PE may stop to drive the network only when no peer waits for it any more; a barrier over the network
// itself cannot tell, as its own last messages are still to be acknowledged.
void close_services(Call call) REQUIRES(start_mutex) {
  watch_peers(nullptr);
  if (rt.progress != nullptr) {
    quiet(rt.world_context, call);
    finish_parcels(call);
  }
  if (state->servers != nullptr) state->servers->finish();
  if (rt.progress != nullptr || state->servers != nullptr) {
    const OutsideWait wait(call.name, kForOthersToEnd);
    // It fails where another has died, of which the launcher has more to say.
    if (Status status = rt.boot->barrier(); !status.ok())
      lost_peer("shmem_finalize: %s", status.text().c_str());
  }
  if (rt.progress != nullptr) {
    rt.progress->stop();
    delete rt.progress;
    rt.progress = nullptr;
    close_parcels();
    rt.network->close_channel(rt.world_context.channel);
    rt.world_context.channel = nullptr;
  }
  delete rt.allocator;
  rt.allocator = nullptr;
}

// Ends what start_first() began.  The process state stays: other threads of the program may still use its
// variables.
void stop_last(Call call) REQUIRES(start_mutex) {
  destroy_contexts(nullptr);
  kv::quiet_tables(call);
  quiet(rt.world_context, call);
  stop_session(rt.world_context);
  sync_world(call);  // from here on nobody's operation is executed here any more, nor counted
  if (rt.env.stats) print_statistics();
  end_observation();
  end_full_checks();
  kv::end_tables();
  close_remote_memory();
  if (Status status = close_nvm(call); !status.ok()) warn("%s: %s", call.name, status.text().c_str());
  end_checks();
  rt.memory->empty_heap(kInternalBytes, unused_pages());
  sync_world(call);  // nobody may start anew, and write, before all pages are gone
  close_services(call);
  close_active_sets();
  close_teams();
  rt.npes = 0;
  rt.heap = rt.statics = {};
  state->boot->leave();
  // A PE of this node that went on to MPI_Init before a peer has left would have its fence, which the node's
  // PMIx server counts, completed without that peer.
  const OutsideWait wait(call.name, kForOthersToEnd);
  if (Status status = state->memory->wait_for_all(); !status.ok())
    warn("shmem_finalize: %s", status.text().c_str());
}

}  // namespace

Status start_library(int thread_level, bool ends_by_itself) {
  const LockGuard lock(start_mutex);
  if (starts.load() == 0) {
    if (Status status = start_first(thread_level, ends_by_itself); !status.ok()) return status;
  }
  starts.fetch_add(1);
  note_end_of_start();
  return {};
}

void stop_library(Call call) {
  const LockGuard lock(start_mutex);
  if (starts.load() > 1) {
    quiet(rt.world_context, call);
    sync_world(call);
  } else {
    stop_last(call);
  }
  starts.fetch_sub(1);
}

bool library_started() { return starts.load() > 0; }

const char* network_text() { return network_found.c_str(); }

void abandon_library() { starts.store(0); }

}  // namespace shm
