// SPDX-License-Identifier: BSD-3-Clause
#include "kv/handle.hpp"

#include "core/progress.hpp"
#include "core/wait.hpp"
#include "kv/table.hpp"

namespace shm::kv {

bool end_if_complete(Handle*& handle) {
  if (handle != nullptr) {
    if (!handle->is_complete()) return false;
    delete handle;
    handle = nullptr;
  }
  return true;
}

bool test(Handle*& handle) {
  if (end_if_complete(handle)) return true;
  handle->table->client().flush();
  rt.progress->poll();
  return end_if_complete(handle);
}

void wait(Call call, Handle*& handle) {
  if (end_if_complete(handle)) return;
  handle->table->client().flush();
  Client::wait(call, handle->left, WaitRecord::kNobody);
  end_if_complete(handle);
}

std::size_t wait_any(Call call, Handle** handles, std::size_t count) {
  const auto complete = [&] {
    for (std::size_t i = 0; i < count; ++i)
      if (handles[i] != nullptr && handles[i]->is_complete()) return i;
    return count;
  };
  std::size_t found = complete(), some = count;
  for (std::size_t i = 0; found == count && i < count; ++i) {
    if (handles[i] == nullptr) continue;
    handles[i]->table->client().flush();
    some = i;
  }
  if (found == count && some != count)
    wait_for([&] { return (found = complete()) != count; },
             [&](WaitRecord& record) {
               describe_wait(record, call.name, WaitRecord::kNobody, "for one of %zu requests", count);
             });
  if (found != count) end_if_complete(handles[found]);
  return found;
}

}  // namespace shm::kv
