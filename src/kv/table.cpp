// SPDX-License-Identifier: BSD-3-Clause
#include "kv/table.hpp"

#include "base/wait_record.hpp"

namespace shm::kv {

Table::Table(std::uint32_t number, UserHash hash, bool named)
    : hash_(hash), named_(named), parts_(rt.npes, nullptr), client_(number, rt.npes), server_(number) {}

Table::~Table() { magic_ = 0; }

void Table::use(const Layout& layout, std::byte* memory) {
  layout_ = layout;
  memory_ = memory;
  paged_ = on_nvm(memory);
  if (paged_) return;
  for (const int pe : rt.node_ranks)
    parts_[static_cast<std::size_t>(pe)] = at_peer(rt.heap, reinterpret_cast<std::uintptr_t>(memory), pe);
}

// Returns false if that needs the help of another node.
bool Table::carry_out(int pe, const Request& request, Result& result, Status& status) {
  if (std::byte* there = part(pe); there != nullptr) {
    status = Part<Mapped>(Mapped(there), layout_).execute(request, result, kUnlimited);
  } else if (paged_) {
    status = Part<Paged>(Paged(memory_, pe), layout_).execute(request, result, kUnlimited);
  } else {
    return false;
  }
  count_local();
  return true;
}

Status Table::get_elsewhere(Call call, const Key& key, void* value, std::size_t room, std::uint64_t& n) {
  Result result{value, 0};
  const Status status = execute(call, {.op = Op::get, .key = key, .n = room}, result);
  n = result.n;
  return status;
}

// One request to another node, there and back.
Status Table::await(Call call, int pe, const Request& request, void* value, std::uint64_t* n) {
  count_remote();
  Status status = SHMEMX_KV_PENDING;
  std::atomic<std::uint64_t> left{1};
  Pending pending;
  pending.status = &status;
  pending.value = value;
  pending.n = n;
  pending.left = &left;
  client_.issue(call, pe, request, pending);
  client_.flush(pe);
  Client::wait(call, left, pe);
  return status;
}

Status Table::execute(Call call, const Request& request, Result& result) {
  const int pe = pe_of_key(request.key);
  Status status;
  return carry_out(pe, request, result, status) ? status : await(call, pe, request, result.value, &result.n);
}

void Table::issue(Call call, const Request& request, void* value, Later later) {
  const int pe = pe_of_key(request.key);
  Result result{value, 0};
  Status status;
  if (carry_out(pe, request, result, status)) {
    if (later.n != nullptr) *later.n = result.n;
    if (later.status != nullptr) *later.status = status;
    return;
  }
  count_remote();
  auto* pending = new Pending;
  pending->status = later.status;
  pending->value = value;
  pending->n = later.n;
  pending->mine = true;
  pending->left = &client_.unattended();
  if (later.status != nullptr) *later.status = SHMEMX_KV_PENDING;
  pending->left->fetch_add(1, std::memory_order_relaxed);
  client_.issue(call, pe, request, *pending);
}

void Table::quiet(Call call) {
  if (client_.unattended().load(std::memory_order_acquire) == 0) return;
  client_.flush();
  Client::wait(call, client_.unattended(), WaitRecord::kNobody);
}

std::uint64_t Table::count(Call call) {
  std::uint64_t total = 0;
  std::vector<std::uint64_t> others(rt.npes, 0);
  std::vector<Pending> pending(rt.npes);
  std::atomic<std::uint64_t> left{0};
  for (unsigned pe = 0; pe < rt.npes; ++pe) {
    Result result;
    Status status;
    if (carry_out(static_cast<int>(pe), {.op = Op::count, .key = {}}, result, status)) {
      total += result.n;
      continue;
    }
    pending[pe].n = &others[pe];
    pending[pe].left = &left;
    left.fetch_add(1, std::memory_order_relaxed);
    client_.issue(call, static_cast<int>(pe), {.op = Op::count, .key = {}}, pending[pe]);
    client_.flush(static_cast<int>(pe));
  }
  Client::wait(call, left, WaitRecord::kNobody);
  for (const std::uint64_t elements : others) total += elements;
  return total;
}

void Table::Batch::add(std::size_t i, const Request& request, void* value) {
  const int pe = table_.pe_of_key(request.key);
  Result result{value, 0};
  if (table_.carry_out(pe, request, result, statuses_[i])) return;
  Pending& pending = pending_[i];
  pending.status = &statuses_[i];
  pending.value = value;
  pending.left = &left_;
  left_.fetch_add(1, std::memory_order_relaxed);
  table_.count_remote();
  table_.client_.issue(call_, pe, request, pending);
}

void Table::Batch::wait() {
  if (left_.load(std::memory_order_acquire) == 0) return;
  table_.client_.flush();
  Client::wait(call_, left_, WaitRecord::kNobody);
}

}  // namespace shm::kv
