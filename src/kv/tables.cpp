// SPDX-License-Identifier: BSD-3-Clause
#include "kv/tables.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "coll/barrier.hpp"
#include "coll/check_same.hpp"
#include "coll/collectives.hpp"
#include "coll/memory.hpp"
#include "coll/teams.hpp"
#include "core/order.hpp"
#include "core/progress.hpp"
#include "kv/batch.hpp"
#include "kv/executor.hpp"
#include "kv/functions.hpp"
#include "kv/matched.hpp"
#include "kv/message_check.hpp"
#include "kv/own_memory.hpp"

namespace shm::kv {
namespace {

SharedMutex mutex;
// By number: how many were created before it.  Those that have ended stay, empty, so that their handles can
// be told.  Never destroyed: requests may arrive while a thread runs exit().
Tables& tables GUARDED_BY(mutex) = *new Tables;
// Those of teams, by the number that this PE has given them.
Tables& tables_of_teams GUARDED_BY(mutex) = *new Tables;
std::vector<Table*>& live GUARDED_BY(mutex) = *new std::vector<Table*>;  // those that have not ended
Mutex serving_mutex;           // several threads may create tables of teams
bool serving = false;          // since the library was started
Executor* executor = nullptr;  // from the first table on NVM that other nodes share, to end_tables()

// Of a table in memory.
Shard<Mapped> own_shard(const Table& table) { return Shard<Mapped>(Mapped(table.memory()), table.layout()); }

Table& table_for(int from, const std::byte* message) {
  const SharedLockGuard guard(mutex);
  const bool of_team = (head_at<KvPacketHead>(message).table & kOfTeam) != 0;
  return table_for(of_team ? tables_of_teams : tables, from, message);
}

void on_request(void*, int from, const std::byte* message, std::size_t n) {
  check_message(from, kTableRequests,
                wrong_with_packet(message, n, KvPacketHead::requests, KvPacketHead::run));
  Table& table = table_for(from, message);
  if (table.is_paged()) return executor->add(from, message, n);
  table.server().take(own_shard(table), from, message, n);
}

// In the executor's thread.
void on_paged_request(int from, const std::byte* message, std::size_t n) {
  Table& table = table_for(from, message);
  table.with_mine([&](const auto& shard) { table.server().take(shard, from, message, n); });
}

void on_reply(void*, int from, const std::byte* message, std::size_t n) { take_replies(from, message, n); }

bool resume(void*) {
  bool worked = false;
  const SharedLockGuard guard(mutex);
  for (Table* table : live) {
    worked |= !table->is_paged() && table->server().resume(own_shard(*table));
    worked |= table->client().send_held();
  }
  return worked;
}

// While packets are held the agent looks again and again, for as long as that lasts.
bool holds_nothing(void*) { return !Client::any_holds(); }

// Of SHMEM_CTX_DEFAULT, and barriers.
void complete_unattended() {
  if (Client::any_unattended()) quiet_tables({"shmem_quiet"});
}

void serve() {
  const LockGuard guard(serving_mutex);
  if (serving || rt.progress == nullptr) return;
  serving = true;
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::kv_request), on_request, nullptr);
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::kv_reply), on_reply, nullptr);
  Progress::add_poller(resume, nullptr);
  constexpr long kNoLimit = 1'000'000'000;
  rt.progress->add_source({-1, holds_nothing, &serving, kNoLimit});
  set_quiet_service(complete_unattended);
}

// Who carries out requests on tables on NVM.  Collective; false everywhere if one PE has no thread for it.
bool start_executor(Call call) {
  if (rt.progress == nullptr) return true;
  bool failed = false;
  try {
    if (executor == nullptr) executor = new Executor(on_paged_request);
  } catch (const std::system_error& error) {
    failed = true;
    warn("%s: a table on NVM needs a thread: %s", call.name, error.what());
  }
  return all_succeeded(call, failed);
}

// Waits until nobody carries anything out.
void rest_executor() {
  if (executor != nullptr) executor->rest();
}

// What tells one hash function from another.  It may look at as many bytes as the longest key has.
std::uint64_t sign(UserHash hash, std::uint64_t key_bytes) {
  const std::vector<char> key(key_bytes, 'k');
  return hash_of({hash, true}, key.data(), key.size());
}
KeyHash hash_for(const shmemx_kv_options_t& options) {
  return {options.hash, options.report_collisions != 0};
}

// Where shards are.
enum class Place : std::uint8_t { memory, pages, own_memory };

bool wants_matched(Place place) {
  return rt.env.kv_match == "entry" && rt.network != nullptr && place == Place::memory;
}
Place place_of(const Table& table) {
  if (table.is_of_team()) return Place::own_memory;
  return table.is_paged() ? Place::pages : Place::memory;
}

// Bytes that all of the members still have there.
std::uint64_t bytes_left(Call call, const Members& members) {
  return members.is_world() ? free_bytes(call) : members.least_of(call, own_bytes_free());
}

// For a PE, where the program leaves it to the library.  In memory, where what is not touched costs nothing:
// 64 times what was asked for, but no more than an eighth of what there is, if that is not too little for
// elements of the longest; and where there is not so much, half of what there is.  On NVM, where all of it is
// taken: that, and for slots as much again.
std::uint64_t usual_bytes(Call call, const Members& members, const ShardShape& shape, Place place,
                          bool inlined) {
  constexpr std::uint64_t kTimes = 64;
  const std::uint64_t longest = bytes_for(shape, true);
  if (place == Place::pages) return inlined ? 2 * longest : longest;
  const std::uint64_t all = bytes_left(call, members);
  if (longest <= all) return std::max(longest, std::min(all / 8, longest * kTimes));
  return std::max(bytes_for(shape, false), all / 2);
}

// `bytes`: of memory for a PE; 0: the library chooses.  A table of the other engine, which looks after each
// home, does not grow.
ShardLayout layout_for(Call call, const Members& members, const ShardShape& shape, KeyHash hash,
                       std::uint64_t bytes, Place place) {
  ShardLayout layout =
      make_layout(shape.key_bytes, shape.value_bytes, shape.capacity, shape.npes, shape.report_collisions);
  if (!wants_matched(place)) {
    if (bytes == 0) bytes = usual_bytes(call, members, shape, place, layout.inlined);
    layout = make_layout(shape, {bytes, place == Place::pages});
  }
  layout.hash = hash;
  return layout;
}

void empty_shard(std::byte* memory, const ShardLayout& layout, UserHash hash) {
  std::memset(memory, 0, layout.orders_at);
  std::memset(memory + layout.directory_at, 0, layout.end_of(layout.first_segments) - layout.directory_at);
  Table::with_shard(layout, memory, [&](const auto& shard) { shard.prepare(sign(hash, layout.key_bytes)); });
}

// Memory for this PE's shard of a table of a team, empty; null on all members if one has not enough.
std::byte* make_own_shard(Call call, const Members& members, const ShardLayout& layout, UserHash hash) {
  std::byte* memory = allocate_own(layout.bytes);
  if (memory == nullptr)
    warn(
        "%s: no %zu bytes are left for tables of teams, which each PE needs; set SHMEM_KV_TEAM_SIZE to more "
        "than %zu, or ask for less capacity",
        call.name, static_cast<std::size_t>(layout.bytes), own_bytes());
  if (memory != nullptr) empty_shard(memory, layout, hash);
  if (members.all_succeeded(call, memory == nullptr)) return memory;
  if (memory != nullptr) release_own(memory);
  return nullptr;
}

// Memory for all shards, empty; null everywhere if there is not enough.
std::byte* make_shards(Call call, const Members& members, const ShardLayout& layout, UserHash hash) {
  if (!members.is_world()) return make_own_shard(call, members, layout, hash);
  auto* memory = static_cast<std::byte*>(allocate(call, layout.bytes, 64, false));
  if (memory == nullptr) {
    if (rt.me == 0 && layout.bytes == kNoMemory) {
      warn("%s: the table would be larger than any memory; ask for less capacity, or shorter keys and values",
           call.name);
    } else if (rt.me == 0) {
      warn("%s: the symmetric heap has no %zu bytes left, which each PE needs; set %s to more", call.name,
           static_cast<std::size_t>(layout.bytes), variable_in_use("SYMMETRIC_SIZE").c_str());
    }
    return nullptr;
  }
  empty_shard(memory, layout, hash);
  return memory;
}

// What make_shards() gave.  Collective over the members, who use it no more.
void release_shards(Call call, const Members& members, std::byte* memory) {
  if (members.is_world()) return release(call, memory);
  release_own(memory);
}

// Where the members have their shards of a table of a team, and its numbers there.
std::vector<MemberShard> tell_where(Call call, const Members& members, const std::byte* memory,
                                    std::uint32_t number) {
  return members.tell_all(call, {reinterpret_cast<std::uintptr_t>(memory) - rt.heap.origin, number});
}

// The shards of a named table, made or as they were left; null everywhere: a line has said why.
std::byte* open_shards(Call call, const ShardLayout& layout, const shmemx_kv_options_t& options,
                       OpenNamed open) {
  auto* memory = static_cast<std::byte*>(open(call, options.name, layout.bytes));
  if (memory == nullptr) return nullptr;
  const bool failed = Table::with_shard(layout, memory, [&](const auto& shard) {
    using Origin = typename std::decay_t<decltype(shard)>::Origin;
    const Origin origin = shard.origin(sign(options.hash, options.key_bytes));
    if (origin == Origin::empty) shard.prepare(sign(options.hash, options.key_bytes));
    return origin == Origin::other;
  });
  if (failed)
    warn(
        "%s: '%s' is no table of this shape; allowed are the key_bytes, value_bytes, capacity, hash, "
        "report_collisions and memory_bytes that it was created with",
        call.name, options.name);
  if (all_succeeded(call, failed)) return memory;
  release(call, memory);
  return nullptr;
}

void open_matched(Call call, Table& table) {
  if (!wants_matched(place_of(table))) return;
  table.set_matched(MatchedEngine::open(call, {table.number(), table.layout(), table.memory(), table.hash()}));
}

void close_matched(Call call, Table& table) {
  if (std::unique_ptr<MatchedEngine> engine = table.take_matched())
    MatchedEngine::close(call, std::move(engine));
}

// All elements of this PE, into the new shard.
template <class From, class To>
Code move_elements(const From& from, const To& to, const Table& table) {
  const ShardLayout& layout = table.layout();
  std::vector<std::byte> key(padded(layout.key_bytes)), value(padded(layout.value_bytes) + 1);
  Element element{key.data(), key.size(), 0, value.data(), value.size(), 0};
  for (std::uint64_t cursor = 0; from.next(cursor, element) == SHMEMX_KV_OK;) {
    ValueRoom result;
    const KvRequest request{.op = KvOp::put,
                            .key = table.key(key.data(), element.key_bytes),
                            .value = value.data(),
                            .n = element.value_bytes};
    if (const Code status = to.execute(request, result, kUnlimited); status != SHMEMX_KV_OK) return status;
  }
  return SHMEMX_KV_OK;
}

}  // namespace

Table& table_for(const Tables& all, int from, const std::byte* message) {
  const std::uint32_t number = head_at<KvPacketHead>(message).table & ~kOfTeam;
  if (number >= all.size() || all[number] == nullptr || !all[number]->is_table()) [[unlikely]]
    refuse_message(from, kTableRequests, "for a table that is not there");
  if (all[number]->members().member(from) < 0) [[unlikely]]
    refuse_message(from, kTableRequests, "for a table of a team that it is not in");
  return *all[number];
}

// A copy, for what polls: resume() takes the lock.
static std::vector<Table*> live_now() {
  const SharedLockGuard guard(mutex);
  return live;
}

// From here on nobody polls it, nor is in it.  Not under the lock that polling takes.  Returns false if
// another thread has done so.
static bool retire(Table& table) {
  table.client().rest();
  const LockGuard guard(mutex);
  if (std::erase(live, &table) == 0) return false;
  table.end();
  return true;
}

// Ends those of the world that all PEs have left.  Collective over the world, in which all are in the same
// call.  They are in the order in which they were created, on all PEs.
static void end_left_tables(Call call) {
  constexpr std::size_t kAtOnce = 64;
  std::vector<Table*> all = live_now();
  std::erase_if(all, [](const Table* table) { return table->is_of_team(); });
  for (std::size_t first = 0; first < all.size(); first += kAtOnce) {
    const std::size_t n = std::min(kAtOnce, all.size() - first);
    std::uint64_t left = 0;
    for (std::size_t i = 0; i < n; ++i) left |= std::uint64_t{all[first + i]->is_left()} << i;
    reduce_inline(world_group(), kReduction<ReduceOp::bit_and, std::uint64_t>, &left, &left, 1);
    for (std::size_t i = 0; i < n; ++i)
      if ((left >> i) % 2 != 0) destroy_table(call, all[first + i]);
  }
}

static void check_same_options(Call call, const Members& members, const shmemx_kv_options_t& options) {
  const std::string_view name = options.name != nullptr ? options.name : "";
  members.check_same(call, {{"key_bytes", options.key_bytes},
                            {"value_bytes", options.value_bytes},
                            {"capacity", options.capacity},
                            {"hash", sign(options.hash, options.key_bytes), false},
                            {"report_collisions", options.report_collisions != 0},
                            {"memory_bytes", options.memory_bytes},
                            {"name", hash_of(nullptr, name.data(), name.size()), false}});
}

Table* create_table(Call call, const shmemx_kv_options_t& options, OpenNamed open) {
  check_same_options(call, Members(), options);
  end_left_tables(call);
  const ShardShape shape{options.key_bytes, options.value_bytes, options.capacity, rt.npes,
                         options.report_collisions != 0};
  const bool on_pages = options.name != nullptr || rt.paged_by_default;
  const Members world;
  const ShardLayout layout = layout_for(call, world, shape, hash_for(options), options.memory_bytes,
                                        on_pages ? Place::pages : Place::memory);
  std::byte* memory = options.name != nullptr ? open_shards(call, layout, options, open)
                                              : make_shards(call, world, layout, options.hash);
  if (memory == nullptr) return nullptr;
  if (in_region(memory) && !start_executor(call)) {
    release(call, memory);
    return nullptr;
  }
  Table* table;
  {
    const LockGuard guard(mutex);
    const auto number = static_cast<std::uint32_t>(tables.size());
    tables.push_back(std::make_unique<Table>(number, hash_for(options), options.name != nullptr));
    table = tables.back().get();
    table->use(layout, memory);
    table->set_budget(options.memory_bytes);
    live.push_back(table);
  }
  serve();
  open_matched(call, *table);
  sync_world(call);
  return table;
}

// Ends, on this PE, those of teams that all members have left.  Each has completed what it had issued before
// it said so, and returned from all collective calls on the table.
static void end_left_of_teams() {
  const auto all_have_left = [](const Table* table) {
    return table->is_of_team() && table->is_left() &&
           table->have_left() == static_cast<std::uint64_t>(table->members().size());
  };
  std::vector<Table*> left;
  {
    const SharedLockGuard guard(mutex);
    std::ranges::copy_if(live, std::back_inserter(left), all_have_left);
  }
  for (Table* table : left) {
    if (!retire(*table)) continue;
    release_own(table->memory());
    forget_team(table->members().team());
  }
}

// Who has left cannot come.
static void check_nobody_left(Call call, const Table& table) {
  if (table.is_of_team() && table.have_left() != 0)
    fatal("%s: %zu of the table's %d PEs have left it (shmemx_kv_leave), and all must call this", call.name,
          static_cast<std::size_t>(table.have_left()), table.members().size());
}

// A number of this PE's for a table of a team.
static std::uint32_t next_of_teams() {
  const LockGuard guard(mutex);
  tables_of_teams.emplace_back();
  return static_cast<std::uint32_t>(tables_of_teams.size() - 1) | kOfTeam;
}

// No packet comes for it before all members have it.
static Table* create_table_of(Call call, const Members& members, const shmemx_kv_options_t& options) {
  const ShardShape shape{options.key_bytes, options.value_bytes, options.capacity,
                         static_cast<unsigned>(members.size()), options.report_collisions != 0};
  const ShardLayout layout =
      layout_for(call, members, shape, hash_for(options), options.memory_bytes, Place::own_memory);
  std::byte* memory = make_shards(call, members, layout, options.hash);
  if (memory == nullptr) return nullptr;
  const std::uint32_t number = next_of_teams();
  const std::vector<MemberShard> told = tell_where(call, members, memory, number);
  auto made = std::make_unique<Table>(number, hash_for(options), members, told);
  Table* table = made.get();
  table->use(layout, memory, told);
  table->set_budget(options.memory_bytes);
  {
    const LockGuard guard(mutex);
    tables_of_teams[number & ~kOfTeam] = std::move(made);
    live.push_back(table);
  }
  serve();
  members.sync(call);
  return table;
}

Table* create_table_on(Call call, shmem_team_t team, const shmemx_kv_options_t& options) {
  const Members theirs(call, team);
  if (options.name != nullptr)
    fatal(
        "%s: name is '%s'; allowed is NULL: tables of teams are in memory; one with a name is made by "
        "shmemx_kv_create, for all PEs",
        call.name, options.name);
  check_same_options(call, theirs, options);
  end_left_of_teams();
  shmem_team_t own = SHMEM_TEAM_INVALID;
  if (split_team(call, team, {0, 1, theirs.size()}, 0, &own) != 0) {
    if (theirs.me() == 0)
      warn("%s: there are too many teams already, and a table takes one; destroy some, or tables of teams",
           call.name);
    return nullptr;
  }
  const Members members(call, own);
  Table* table = create_table_of(call, members, options);
  if (table == nullptr) destroy_team(call, own);
  return table;
}

void settle_table(Call call, Table& table) {
  check_nobody_left(call, table);
  table.quiet(call);
  table.members().check_same(call, {{"kv", table.number(), false}});
}

void destroy_table(Call call, Table* table) {
  settle_table(call, *table);  // nobody asks any more
  if (!table->is_of_team()) rest_executor();
  close_matched(call, *table);
  release_shards(call, table->members(), table->memory());
  retire(*table);
  if (table->is_of_team()) destroy_team(call, table->members().team());
}

// A table that cannot be resized.
static Code keep(Call call, Table& table) {
  open_matched(call, table);
  table.members().sync(call);
  return SHMEMX_KV_FULL;
}

Code resize_table(Call call, Table& table, std::uint64_t capacity) {
  const ShardLayout& old = table.layout();
  const Members& members = table.members();
  check_nobody_left(call, table);
  table.quiet(call);
  members.check_same(call, {{"kv", table.number(), false}, {"capacity", capacity}});
  if (members.is_world()) end_left_tables(call);
  const ShardShape shape{old.key_bytes, old.value_bytes, capacity, static_cast<unsigned>(members.size()),
                         old.report_collisions};
  const std::uint64_t bytes = table.budget() == 0 ? 0 : std::max(table.budget(), bytes_for(shape, true));
  const ShardLayout layout = layout_for(call, members, shape, table.hash(), bytes, place_of(table));
  if (members.is_world()) rest_executor();
  close_matched(call, table);
  std::byte* memory = make_shards(call, members, layout, table.hash().user);
  if (memory == nullptr) return keep(call, table);
  const bool failed = table.with_mine([&](const auto& from) {
    return Table::with_shard(layout, memory,
                             [&](const auto& to) { return move_elements(from, to, table) != SHMEMX_KV_OK; });
  });
  if (!members.all_succeeded(call, failed)) {
    release_shards(call, members, memory);
    return keep(call, table);
  }
  std::byte* before = table.memory();
  const std::vector<MemberShard> told =
      members.is_world() ? std::vector<MemberShard>() : tell_where(call, members, memory, 0);
  {
    const LockGuard guard(mutex);  // whoever polls looks at all tables
    members.is_world() ? table.use(layout, memory) : table.use(layout, memory, told);
  }
  open_matched(call, table);
  members.sync(call);
  release_shards(call, members, before);
  return SHMEMX_KV_OK;
}

void clear_table(Call call, Table& table) {
  settle_table(call, table);
  table.remove_mine_if(
      {[](const void*, std::size_t, const void*, std::size_t, void*) { return 1; }, nullptr});
  table.members().sync(call);
}

void quiet_tables(Call call) {
  for (Table* table : live_now()) table->quiet(call);
}

void end_tables() {
  {
    const LockGuard guard(serving_mutex);
    if (serving) {
      set_quiet_service(nullptr);
      Progress::remove_poller(resume, nullptr);
      rt.progress->remove_source(&serving);
    }
    serving = false;
  }
  std::vector<std::unique_ptr<MatchedEngine>>
      engines;  // end not under the lock: they have pollers of their own
  for (Table* table : live_now()) engines.push_back(table->take_matched());
  engines.clear();
  rest_executor();
  delete std::exchange(executor, nullptr);
  for (Table* table : live_now()) retire(*table);
  end_own_memory();
  forget_functions();
}

}  // namespace shm::kv
