// SPDX-License-Identifier: BSD-3-Clause
#include "base/call_checks.hpp"

namespace shm {

constinit std::atomic<const CallChecks*> call_checks{nullptr};

}  // namespace shm
