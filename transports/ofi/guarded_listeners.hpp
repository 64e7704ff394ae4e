// SPDX-License-Identifier: BSD-3-Clause
// Connections of strangers to libfabric's listeners: closed before libfabric reads a byte of them.
//
// Libfabric knows a peer by the address and port that it names, and believes it.  So whoever may connect
// could pose as a PE.  The kernel knows whose a connection on this host is (base/other_end.hpp), and who does
// not begin with what only the job knows is none of its processes (connection_tokens.hpp).
#pragma once

#include "ofi/loader.hpp"

namespace shm::ofi {

/// Changes what libfabric calls to listen, connect and accept.  Guard::none if it does not call accept().
/// Whether a provider does so for an endpoint says ConnectionTokens::heard_of_listen(): it may be in an object
/// of its own.  Once in a process, before an endpoint is opened.
Guard guard_listeners(const Library& library);

}  // namespace shm::ofi
