// SPDX-License-Identifier: BSD-3-Clause
#include "kv/part.hpp"

#include "kv/part_operations.hpp"

namespace shm::kv {

template class Part<Mapped>;
template class Part<Paged>;

}  // namespace shm::kv
