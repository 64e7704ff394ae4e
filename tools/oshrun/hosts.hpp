// SPDX-License-Identifier: BSD-3-Clause
// The hosts that -H and --hostfile name, and how many processes each of them gets. Pure; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oshrun {

/// A host in the order of the list. A name that comes several times is one host; without numbers each mention
/// is a place then. Names that may mean one host, such as n1, N1 and n1.domain, are an error of the list.
struct Host {
  std::string name;
  std::optional<int> places;  // how many processes it may get; none: not said

  bool operator==(const Host&) const = default;
};

/// `error` is empty, or one line that ends the launcher.
struct HostList {
  std::vector<Host> hosts;
  std::string error;
};

/// "a,b:2,c" of the option `option`.
HostList parse_host_list(const std::string& option, std::string_view list);
/// The lines of a hostfile: NAME, NAME:PLACES or NAME slots=PLACES, and comments behind '#'. Other words
/// NAME=VALUE of a line, such as Open MPI's max_slots, are an error: they would mean nothing here.
HostList parse_hostfile(const std::string& file, std::string_view text);

/// Whether the list counts places at all.
bool counted(const std::vector<Host>& hosts);
/// How many processes the list has places for: where nothing is said, one for each host.
int places(const std::vector<Host>& hosts);

/// Processes for each host, in the order of the list; hosts without any are left out. Hosts share evenly if
/// no place is counted; otherwise each gets what it has places for, the first ones first, and too few places
/// are an error.
struct Placement {
  std::vector<Host> hosts;
  std::string error;
};
Placement place(const std::vector<Host>& hosts, int processes);

/// Whether `name` is the host that calls itself `this_host`: by that name, without the domain of one of them,
/// or as loopback.
bool is_this_host(std::string_view name, std::string_view this_host);

/// Empty, or one line: hosts of a list that are this one by its own name and by the loopback's.
std::string named_twice(const std::vector<Host>& hosts, std::string_view this_host);

}  // namespace oshrun
