// SPDX-License-Identifier: BSD-3-Clause
// Connections of other users of this host to libfabric's listeners: closed before libfabric reads a byte of
// them.
//
// Libfabric knows a peer by the address and port that it names, and believes it.  So whoever may connect
// could pose as a PE.  The kernel knows whose a connection on this host is (base/other_end.hpp); it does not
// for other hosts.
#pragma once

#include "ofi/loader.hpp"

namespace shm::ofi {

/// Lets libfabric's calls of accept() ask whose a connection is.  Returns false if it calls none, as where it
/// is built without the tcp provider.  Once in a process, before an endpoint is opened.
bool guard_listeners(const Library& library);

}  // namespace shm::ofi
