// SPDX-License-Identifier: BSD-3-Clause
#include "setup/process_state.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/fatal.hpp"
#include "base/host_memory.hpp"
#include "base/huge_pages.hpp"
#include "base/human.hpp"
#include "base/limits.hpp"
#include "core/progress.hpp"
#include "kv/own_memory.hpp"
#include "setup/announcement.hpp"
#include "setup/internal_layout.hpp"
#include "setup/memory_link.hpp"
#include "transports/registry.hpp"

namespace shm {
namespace {

constexpr std::size_t kLargestDefault = std::size_t{64} << 30;

// What an allocator of `user` bytes needs: half as much again for its size classes and fragmentation.
std::size_t range_for(std::size_t user) { return user + user / 2 + (std::size_t{8} << 20); }

// What one PE's segment spans for `user` bytes: our own memory, those, and what the PE gives out by itself.
// Address space only: nothing is committed before it is touched.
std::size_t heap_stride(std::size_t user, bool with_staging, std::size_t own) {
  return round_up(internal_bytes(with_staging) + range_for(user) + own, kLargestAlignment);
}

// One blob per node: a head and the records of its PEs with their ranks.  Both ends run the same library.
struct NodeHead {
  std::uint64_t user_heap;
  std::uint64_t nvm_bytes, nvm_page;  // nvm::Options; 0: none
  std::int32_t members;
};

std::vector<std::byte> pack_node(const ProcessState& state) {
  const std::vector<int>& node_pes = state.boot->job().node_pes;
  const NodeHead head{state.user_heap, state.nvm.user_bytes, state.nvm.page_bytes,
                      static_cast<std::int32_t>(node_pes.size())};
  std::vector<std::byte> blob(sizeof head + node_pes.size() * (sizeof(std::int32_t) + sizeof(PeRecord)));
  std::byte* at = blob.data();
  std::memcpy(at, &head, sizeof head);
  at += sizeof head;
  for (std::size_t i = 0; i < node_pes.size(); ++i) {
    std::memcpy(at, &node_pes[i], sizeof(std::int32_t));
    std::memcpy(at + sizeof(std::int32_t), &state.memory->control(static_cast<int>(i)).record,
                sizeof(PeRecord));
    at += sizeof(std::int32_t) + sizeof(PeRecord);
  }
  return blob;
}

// Leader: enters the PEs of another node into the node's table.  Returns false if the blob is not what it
// should be.
bool unpack_node(const ProcessState& state, const std::vector<std::byte>& blob, NodeHead& common) {
  NodeHead head{};
  if (blob.size() < sizeof head) return false;
  std::memcpy(&head, blob.data(), sizeof head);
  constexpr std::size_t kEntry = sizeof(std::int32_t) + sizeof(PeRecord);
  if (blob.size() != sizeof head + static_cast<std::size_t>(head.members) * kEntry) return false;
  common.user_heap = std::min(common.user_heap, head.user_heap);
  common.nvm_bytes = std::min(common.nvm_bytes, head.nvm_bytes);
  common.nvm_page = head.nvm_page;
  const std::byte* at = blob.data() + sizeof head;
  for (int i = 0; i < head.members; ++i, at += kEntry) {
    std::int32_t rank = -1;
    std::memcpy(&rank, at, sizeof rank);
    if (rank < 0 || rank >= state.boot->job().size) return false;
    std::memcpy(&state.memory->record(rank), at + sizeof rank, sizeof(PeRecord));
  }
  return true;
}

// A record's leader is stored plus one until the table is complete, so that 0 means "not known yet".
bool known(const ProcessState& state, int rank) { return state.memory->record(rank).leader != 0; }

// Leader: fetches one blob per node.  The lowest rank not yet known is always the leader of its node.
Status collect_nodes(ProcessState& state) {
  const int size = state.boot->job().size;
  NodeHead common{state.user_heap, state.nvm.user_bytes, state.nvm.page_bytes, 0};
  for (int rank = 0; rank < size; ++rank) {
    if (known(state, rank)) continue;
    Result<std::vector<std::byte>> bytes = state.boot->fetch(rank);
    if (!bytes.ok()) return bytes.status();
    Announcement announcement;
    if (!Announcement::unpack(bytes.value(), announcement) ||
        !unpack_node(state, announcement.node, common) || !known(state, rank)) {
      return Status::error("PE " + std::to_string(rank) +
                           " sent addresses that make no sense; do all PEs run the same version?");
    }
    if (common.nvm_page != state.nvm.page_bytes) {
      return Status::error(
          "the NVM heap has pages of " + std::to_string(state.nvm.page_bytes) + " bytes here and of " +
          std::to_string(common.nvm_page) + " on the node of PE " + std::to_string(rank) +
          " (0: none); set SHMEM_HEAP, SHMEM_NVM_DIR and SHMEM_NVM_PAGE to the same on all nodes");
    }
  }
  state.memory->block().common_heap = common.user_heap;
  state.memory->block().common_nvm = common.nvm_bytes;
  return {};
}

// Endpoints for contexts of threads: as many as cores can drive at once, but each costs 37 MiB.  Measured:
// see transports/ofi/README.md.
std::uint64_t default_context_endpoints() {
  constexpr int kMost = 4;
  cpu_set_t cpus;
  const int cores = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
  return cores > 1 ? static_cast<std::uint64_t>(std::min(cores, kMost)) : 0;
}

// A connection takes one descriptor, a second one for a moment, and PEs may connect to each other at once.
void allow_connections(const Job& job) {
  constexpr std::size_t kOfNetwork = 32, kOfPeer = 2;
  const std::size_t others = static_cast<std::size_t>(job.processes()) - job.node_pes.size();
  const std::size_t needed = kOfNetwork + kOfPeer * others;
  const std::size_t allowed = allow_open_files(2 * needed);
  if (allowed < needed)
    warn("connections to %zu PEs and servers may need %zu open files%s", others, needed,
         limit_behind(EMFILE).c_str());
}

// Before it is pinned: a host of which more is pinned than it has comes to a halt.
Status check_pinned(const ProcessState& state) {
  if (!state.network->pins_segments()) return {};
  const ToPin pages = registered_memory(state);
  const std::string why = why_not_pinned(pages, host_memory(), allowed_locked_memory());
  if (why.empty()) return {};
  return Status::error(state.network->describe() + " pins the " + human_bytes(pages.own + pages.shared) +
                       " that each PE registers: " + why);
}

Status open_network(ProcessState& state, const Env& env, const NodeMember& member) {
  const NetworkOptions options{
      .provider = env.provider,
      .interface = env.interface,
      .one_host = state.boot->job().one_host,
      .context_endpoints = env.context_endpoints.value_or(default_context_endpoints()),
      .faults = env.faults.value_or(0),
      .failing_operation = env.fault_at.value_or(0),
      .amo = env.amo,
      .pack = env.pack,
      .mshrs = static_cast<unsigned>(env.nic_mshrs),
      .subentries = static_cast<unsigned>(env.nic_subentries),
      .crowded = !each_has_a_core(pes_of_host(state.boot->job()))};
  allow_connections(state.boot->job());
  Result<std::unique_ptr<Network>> network = make_network(options);
  if (!network.ok()) return network.status();
  state.network = std::move(network.value());
  if (Status status = check_pinned(state); !status.ok()) return status;
  NodeMemory& memory = *state.memory;
  const StaticRange& statics = memory.own_statics();
  Status status =
      state.network->add_segment(SegmentId::heap, memory.heap(member.node_rank), memory.heap_stride());
  if (status.ok() && statics.size > 0) {
    status =
        state.network->add_segment(SegmentId::statics, reinterpret_cast<void*>(statics.base), statics.size);
  }
  if (status.ok() && memory.pool() != nullptr)
    status = state.network->add_segment(SegmentId::pool, memory.pool(), memory.pool_bytes());
  if (!status.ok()) return status;
  Result<std::vector<std::byte>> address = state.network->address();
  if (!address.ok()) return address.status();
  PeRecord& record = memory.control(member.node_rank).record;
  record.address_size = static_cast<std::uint32_t>(address.value().size());
  std::memcpy(record.address, address.value().data(), address.value().size());
  return {};
}

// The one exchange of the job.
Status exchange(ProcessState& state, const NodeMember& member, MemoryLink& link) {
  const bool several_nodes = state.network != nullptr;
  if (!several_nodes && state.boot->job().servers == 0) return {};
  const bool speaks = several_nodes && member.node_rank == 0;
  Status status = state.boot->exchange(
      Announcement{link.address(), speaks ? pack_node(state) : std::vector<std::byte>()}.pack());
  if (!status.ok()) state.memory->block().failed.store(1);
  return status;
}

Status connect_servers(ProcessState& state, const Env& env, MemoryLink& link) {
  const Job& job = state.boot->job();
  if (job.servers == 0) return {};
  state.servers =
      std::make_unique<remote::Servers>(remote::Servers::Settings{job.size, job.servers, env.remote_timeout});
  Result<std::unique_ptr<Network>> network = link.connect(*state.boot, remote::Servers::sink(*state.servers));
  if (!network.ok()) return network.status();
  state.servers->open(std::move(network.value()));
  return {};
}

// All nodes learn of each other: one PE a node publishes, one PE a node fetches.
Status connect_nodes(ProcessState& state, const NodeMember& member) {
  const Job& job = state.boot->job();
  if (member.node_rank == 0) {
    if (Status status = collect_nodes(state); !status.ok()) {
      state.memory->block().failed.store(1);
      return status;
    }
  }
  if (Status status = state.memory->wait_for_all(); !status.ok()) return status;
  state.user_heap = state.memory->block().common_heap;
  state.nvm.user_bytes = state.memory->block().common_nvm;
  static const NodeMemory* table = nullptr;
  table = state.memory.get();
  return state.network->connect(
      job.rank, job.size,
      [](int pe) {
        const PeRecord& record = table->record(pe);
        return std::span<const std::byte>(record.address, record.address_size);
      },
      Progress::deliver);
}

void find_leaders(ProcessState& state) {
  for (int rank = 0; rank < state.boot->job().size; ++rank) {
    if (state.memory->record(rank).leader == rank + 1) state.leaders.push_back(rank);
  }
}

// Who shares memory with whom, and where this node's memory is mapped here.
NodeMap node_map(const ProcessState& state) {
  const Job& job = state.boot->job();
  const NodeMemory& memory = *state.memory;
  NodeMap map{memory.placement(state.leaders), {}, {}};
  for (std::size_t i = 0; i < job.node_pes.size(); ++i) {
    const auto node_rank = static_cast<int>(i);
    const bool own = job.node_pes[i] == job.rank;
    std::byte* statics =
        own ? reinterpret_cast<std::byte*>(memory.own_statics().base) : memory.statics(node_rank);
    map.segments.push_back({NodeMap::Segment{memory.heap(node_rank), memory.heap_stride()},
                            NodeMap::Segment{statics, memory.record(job.node_pes[i]).static_size}});
    map.shared_slots.push_back(memory.heap(node_rank) + kSharedSlotsAt);
  }
  return map;
}

// One node: the table is filled from the slots, no exchange.
void fill_table(const ProcessState& state) {
  const std::vector<int>& node_pes = state.boot->job().node_pes;
  for (std::size_t i = 0; i < node_pes.size(); ++i) {
    state.memory->record(node_pes[i]) = state.memory->control(static_cast<int>(i)).record;
  }
  state.memory->block().common_heap = state.user_heap;
  state.memory->block().common_nvm = state.nvm.user_bytes;
}

// Who knows the job, and the names of its other nodes, still does not know this one.
NodeMember member_of(const Job& job, const Env& env, std::uint64_t token) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, token);
  std::string key =
      job.id + "." + std::to_string(geteuid()) + "." + std::to_string(job.node_pes.front()) + "." + digits;
  for (char& c : key) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return {key, job.node_rank(), static_cast<int>(job.node_pes.size()), env.init_timeout};
}

}  // namespace

std::size_t default_heap(int pes_on_host) {
  const std::size_t share = host_memory() / 2 / static_cast<std::size_t>(std::max(pes_on_host, 1));
  // Each PE of a node maps the heaps of all, with what an allocator needs behind a heap and behind what the
  // PE gives out by itself: 1.9 times as much. The rest is for all else.
  const std::size_t mapped = allowed_address_space() / 4 / static_cast<std::size_t>(std::max(pes_on_host, 1));
  return std::min(std::min(share, mapped) / kHugePage * kHugePage, kLargestDefault);
}

HeapSizes heap_sizes(const Env& env, const nvm::Options& nvm, std::size_t in_memory) {
  const std::size_t user = nvm.is_default ? in_memory : env.symmetric_size.value_or(in_memory);
  const std::size_t own = kv::own_range(env.kv_team_size.value_or(user / 4));
  return {user, own, heap_stride(user, nvm.wanted(), own)};
}

ToPin registered_memory(const ProcessState& state) {
  const NodeMemory& memory = *state.memory;
  return {memory.heap_stride() + memory.own_statics().size,
          memory.pool() != nullptr ? memory.pool_bytes() : 0, pes_of_host(state.boot->job())};
}

int pes_of_host(const Job& job) { return job.one_host ? job.size : static_cast<int>(job.node_pes.size()); }

bool each_has_a_core(int pes) {
  cpu_set_t cpus;
  const bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  // A bound PE sees only its own cores: then the launcher found enough for all.
  const long cores = known && CPU_COUNT(&cpus) > 1 ? CPU_COUNT(&cpus) : sysconf(_SC_NPROCESSORS_ONLN);
  return pes <= cores;
}

Result<std::unique_ptr<ProcessState>> make_process_state(Boot& boot, const Env& env) {
  auto state = std::make_unique<ProcessState>();
  state->boot = &boot;
  const Job& job = state->boot->job();
  Result<std::uint64_t> token = boot.node_token();
  if (!token.ok()) return token.status();
  const NodeMember member = member_of(job, env, token.value());
  const std::size_t in_memory = default_heap(pes_of_host(job));
  Result<nvm::Options> nvm = nvm::Options::read(env, in_memory);
  if (!nvm.ok()) return nvm.status();
  state->nvm = std::move(nvm.value());
  if (state->nvm.on_servers && !env.symmetric_size) {
    state->nvm.user_bytes = bytes_per_server(env, job.servers) * static_cast<std::size_t>(job.servers) /
                            static_cast<std::size_t>(job.size);
  }
  const HeapSizes sizes = heap_sizes(env, state->nvm, in_memory);
  state->user_heap = sizes.user;
  const std::size_t pool_bytes =
      state->nvm.wanted() ? state->nvm.shape(member.node_size, job.size).bytes() : 0;
  if (state->user_heap > (std::size_t{1} << 45)) {
    return Status::error(variable_in_use("SYMMETRIC_SIZE") + " is " + std::to_string(state->user_heap) +
                         " bytes; allowed is up to 32t");
  }
  if (env.kv_team_size.value_or(0) > (std::size_t{1} << 45)) {
    return Status::error("SHMEM_KV_TEAM_SIZE is " + std::to_string(*env.kv_team_size) +
                         " bytes; allowed is up to 32t");
  }
  const std::unique_ptr<Mapper> mapper = make_mapper(env.mapper);
  state->mapper = mapper->name();
  const bool full = env.checks == Checks::full;
  const NodeShape shape{member.node_size, job.size, sizes.segment, pool_bytes, sizes.own, sizes.user, full};
  Result<std::unique_ptr<NodeMemory>> memory = NodeMemory::create(*mapper, member, shape);
  if (!memory.ok()) return memory.status();
  state->memory = std::move(memory.value());
  state->memory->control(member.node_rank).record.leader = job.node_pes.front() + 1;
  Status status;
  const bool one_node = member.node_size == job.size;
  MemoryLink link;
  if (!one_node) status = open_network(*state, env, member);
  if (status.ok() && job.servers != 0) {
    Result<MemoryLink> opened = MemoryLink::open(env, job, nullptr);
    status = opened.status();
    if (opened.ok()) link = std::move(opened.value());
  }
  if (!status.ok()) state->memory->block().failed.store(1);
  if (status.ok()) status = state->memory->wait_for_all();
  if (status.ok()) status = exchange(*state, member, link);
  if (!status.ok()) return status;
  if (one_node) {
    if (member.node_rank == 0) fill_table(*state);
    status = state->memory->wait_for_all();
  } else {
    status = connect_nodes(*state, member);
  }
  if (status.ok()) status = connect_servers(*state, env, link);
  if (!status.ok()) return status;
  find_leaders(*state);
  if (!one_node) state->network->join_node(node_map(*state));
  return state;
}

}  // namespace shm
