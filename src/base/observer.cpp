// SPDX-License-Identifier: BSD-3-Clause
#include "base/observer.hpp"

namespace shm {

constinit std::atomic<const Observer*> observer{nullptr};

}  // namespace shm
