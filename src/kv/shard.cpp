// SPDX-License-Identifier: BSD-3-Clause
#include "kv/shard.hpp"

#include "kv/shard_operations.hpp"

namespace shm::kv {

template class Shard<Mapped>;
template class Shard<Paged>;

}  // namespace shm::kv
