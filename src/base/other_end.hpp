// SPDX-License-Identifier: BSD-3-Clause
// Whose the other end of a connection is, as the kernel knows it: TCP itself says nothing of users.
#pragma once

namespace shm {

enum class OtherEnd {
  this_user,
  another_user,  // of this host, or one that is closed already: that is nobody's
  another_host,
  unknown,  // the kernel does not say: neither by netlink (tcp_diag) nor by /proc/net/tcp, or in a user
            // namespace that shows strangers as this user
};

/// Of a connected TCP socket, IPv4 or IPv6.  About 5 us; where the kernel has no tcp_diag, it reads all of
/// /proc/net/tcp.  prepare_other_end() opens a descriptor for good, so that this needs none.  Thread safety:
/// any thread.
OtherEnd other_end_of(int connection);
void prepare_other_end();

/// The same without netlink, which other_end_of() tries first.  IPv4 only.  For tests.
OtherEnd other_end_by_table(int connection);

}  // namespace shm
