// SPDX-License-Identifier: BSD-3-Clause
#include "setup/named_objects.hpp"

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fatal.hpp"
#include "base/random.hpp"
#include "boot/boot.hpp"
#include "coll/barrier.hpp"
#include "coll/check_same.hpp"
#include "coll/memory.hpp"
#include "core/order.hpp"
#include "core/remote.hpp"
#include "core/runtime.hpp"
#include "nvm/heap.hpp"
#include "nvm/storage/store_files.hpp"

namespace shm {
namespace {

// What a PE has found of its part, for PE 0.
struct Report {
  nvm::Found found;
  bool failed;
};

// What PE 0 decides of them.
struct Decision {
  bool failed;
  nvm::Plan plan;
  std::uint64_t id;
};

// Where they meet: symmetric memory.
struct Meeting {
  Decision decision;
  Report reports[1];  // of all PEs
};

nvm::Identity asked_object(const char* name, std::size_t size) {
  nvm::Identity asked;
  asked.name = name;
  asked.bytes = size;
  asked.npes = static_cast<int>(rt.npes);
  asked.pe = rt.me;
  asked.made = std::time(nullptr);
  return asked;
}

Report report_of(Call call, const nvm::Identity& asked) {
  Report report{.found = {}, .failed = false};
  if (nvm::heap_of_job()->has_open(asked.name)) {
    if (rt.me == 0)
      warn(
          "%s: this job has '%s' open already; end it first: shmem_free, or shmemx_kv_destroy of a "
          "table (one that all PEs have left ends in the next shmemx_kv_create)",
          call.name, asked.name.c_str());
    report.failed = true;
    return report;
  }
  Result<nvm::Found> found = nvm::look(nvm::heap_of_job()->folder(), asked);
  if (found.ok()) {
    report.found = found.value();
  } else {
    report.failed = true;
    warn("%s: %s", call.name, found.status().text().c_str());
  }
  return report;
}

Decision decide(Call call, const nvm::Identity& asked, const Report* reports) {
  Decision decision{.failed = false, .plan = {}, .id = 0};
  std::vector<nvm::Found> all;
  for (int pe = 0; pe < asked.npes; ++pe) {
    const Report& report = reports[pe];
    decision.failed |= report.failed;
    all.push_back(report.found);
  }
  if (decision.failed) return decision;
  Result<nvm::Plan> plan = nvm::agree(asked.name, all);
  if (!plan.ok()) {
    warn("%s: %s", call.name, plan.status().text().c_str());
    decision.failed = true;
    return decision;
  }
  decision.plan = plan.value();
  if (decision.plan.make) decision.id = random_number();
  return decision;
}

// What all PEs are to do.
Decision meet(Call call, const nvm::Identity& asked) {
  const std::size_t bytes = sizeof(Meeting) + sizeof(Report) * rt.npes;
  auto* meeting = static_cast<Meeting*>(allocate(call, bytes, 0, true, Where::memory));
  if (meeting == nullptr)
    fatal("%s: no memory is left in the symmetric heap: %zu bytes are needed", call.name, bytes);
  const Report report = report_of(call, asked);
  remote_put(call, rt.world_context, &meeting->reports[rt.me], &report, sizeof report, 0, Blocking::yes);
  quiet(rt.world_context, call);
  sync_world(call);
  if (rt.me == 0) meeting->decision = decide(call, asked, meeting->reports);
  sync_world(call);
  Decision decision;
  remote_get(call, rt.world_context, &decision, &meeting->decision, sizeof decision, 0, Blocking::yes);
  release(call, meeting);
  return decision;
}

// This PE's part, begun at the epoch on which all have agreed; null: a line has said why not.
std::unique_ptr<nvm::Store> open_part(Call call, nvm::Identity asked, const Decision& decision) {
  asked.id = decision.id;
  Result<std::unique_ptr<nvm::Store>> store = nvm::open_store({.folder = nvm::heap_of_job()->folder(),
                                                               .object = asked,
                                                               .make = decision.plan.make,
                                                               .engine = nvm::heap_of_job()->engine()});
  Status status = store.status();
  if (status.ok()) status = store.value()->begin_at(decision.plan.epoch);
  if (status.ok()) status = store.value()->reserve(0, store.value()->size());
  if (status.ok()) return std::move(store.value());
  warn("%s: %s", call.name, status.text().c_str());
  return nullptr;
}

}  // namespace

void* open_named(Call call, const char* name, std::size_t size) {
  check_started(call);
  if (nvm::heap_of_job() == nullptr) {
    if (rt.me == 0)
      warn("%s: there is no NVM heap; set SHMEM_HEAP=nvm:<folder>, or SHMEM_NVM_DIR to a folder", call.name);
    return nullptr;
  }
  if (nvm::heap_of_job()->folder().empty()) {
    if (rt.me == 0)
      warn(
          "%s: the heap lies in the memory of memory servers, where objects cannot stay; set "
          "SHMEM_HEAP=nvm:<folder>",
          call.name);
    return nullptr;
  }
  if (name == nullptr || size == 0)
    fatal("%s: %s", call.name,
          name == nullptr ? "name is NULL" : "size is 0; allowed is what an object can hold");
  if (const std::string problem = nvm::name_problem(name); !problem.empty()) {
    if (rt.me == 0) warn("%s: %s", call.name, problem.c_str());
    return nullptr;
  }
  check_same(call, {{"name", std::hash<std::string_view>()(name), false}, {"size", size}});
  const nvm::Identity asked = asked_object(name, size);
  const Decision decision = meet(call, asked);
  if (decision.failed) return nullptr;
  const std::size_t page = nvm::heap_of_job()->page_bytes();
  const std::size_t pages = (size + page - 1) / page * page;
  void* object = allocate_addresses(call, pages, page);
  if (object == nullptr) {
    if (rt.me == 0) warn("%s: the NVM heap has no %zu bytes left for '%s'", call.name, pages, name);
    return nullptr;
  }
  std::unique_ptr<nvm::Store> part = open_part(call, asked, decision);
  const bool failed = part == nullptr;
  if (!failed)
    nvm::heap_of_job()->attach(reinterpret_cast<std::uintptr_t>(object), pages, std::move(part),
                               decision.plan.epoch);
  if (all_succeeded(call, failed)) {
    tell_of_block(call, object, size);
    return object;
  }
  release(call, object);
  if (decision.plan.make) nvm::remove_unused_part(nvm::heap_of_job()->folder(), asked);
  return nullptr;
}

void persist_named(Call call, void* object) {
  check_started(call);
  const auto address = reinterpret_cast<std::uintptr_t>(object);
  if (nvm::heap_of_job() == nullptr || !nvm::heap_of_job()->epoch_of(address))
    fatal("%s: object %p is no open object; allowed are pointers that shmemx_nvm_open returned", call.name,
          object);
  quiet(rt.world_context, call);
  // An epoch that some PEs have and others have not would make the object unusable: who finds a difference
  // never comes to the barrier below.
  check_same(call, {{"object", address - rt.paged->base(), false}});
  nvm::heap_of_job()->prepare_epoch(address);
  sync_world(call);  // all PEs have the epoch: it is the object's, whatever happens now
  nvm::heap_of_job()->settle_epoch(address);
  // A file has room for two epochs.  What is written from now on is a third one to a PE that has not settled.
  sync_world(call);
}

}  // namespace shm
