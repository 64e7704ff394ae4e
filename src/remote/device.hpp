// SPDX-License-Identifier: BSD-3-Clause
// A device on memory servers: for pages that nvm's pagers move (SHMEM_HEAP=remote).
#pragma once

#include <cstdint>
#include <memory>

#include "pages/device.hpp"
#include "remote/lent_range.hpp"

namespace shm::remote {

/// As Device demands, on `range`, whose pages are those that are reserved and released: transfers are of
/// whole pages, or of parts.
std::unique_ptr<pages::Device> make_device(std::unique_ptr<LentRange> range);

}  // namespace shm::remote
