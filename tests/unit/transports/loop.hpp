// SPDX-License-Identifier: BSD-3-Clause
// A network inside one process, for unit tests: several Network objects that reach each other's memory.
//
// An operation completes when its initiator polls, in the order of issue; a message is delivered when its
// target polls.  So a test decides, poll by poll, what has happened and what has not.
#pragma once

#include <memory>

#include "net.hpp"

namespace shm {

/// What the networks of one "job" share.  Lives as long as any of them.
class LoopFabric;
std::shared_ptr<LoopFabric> make_loop_fabric();

/// One PE's network.  Contracts: Network.  Copies up to 1024 bytes; all atomics; no descriptor to wait on.
/// Networks of a job are destroyed only when none of them has operations outstanding.
std::unique_ptr<Network> open_loop(std::shared_ptr<LoopFabric> fabric);

}  // namespace shm
