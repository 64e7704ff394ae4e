// SPDX-License-Identifier: BSD-3-Clause
// What the system lets a process have: raised where that is allowed, named where it runs out.
#pragma once

#include <cstddef>
#include <string>

namespace shm {

/// Raises the limit of open files to `files` if it is lower, as far as the hard limit allows.  Returns the
/// limit then in force.
std::size_t allow_open_files(std::size_t files);

/// Raises the limit of locked memory to the hard limit, for providers that pin what is registered.
void allow_locked_memory();

/// What this process may lock once that is done, in bytes; SIZE_MAX: there is no limit.
std::size_t allowed_locked_memory();

/// Memory that a network is to pin: of each of so many processes, and what they share.
struct ToPin {
  std::size_t own = 0, shared = 0;  // bytes
  int processes = 1;
};

/// Why that cannot be pinned on a host with so much memory, if each process may lock so much, and what to do;
/// empty: it can.
std::string why_not_pinned(const ToPin& pages, std::size_t memory, std::size_t allowed);

/// What this process may map, in bytes; SIZE_MAX: there is no limit.
std::size_t allowed_address_space();

/// As ftruncate(); but what the limit of file sizes (ulimit -f) forbids fails with EFBIG, where ftruncate()
/// would end the process by SIGXFSZ.
int set_file_size(int file, std::size_t bytes);

/// Whether this process can open no file more.
bool open_files_are_used_up();

/// Whether this process can start no four threads more, as many as libpmix starts at a time.
bool threads_are_used_up();

/// For the end of a message about `error` (errno): "; this process may have 32 open files (ulimit -n)", or
/// nothing where no limit is known to be behind it.
std::string limit_behind(int error);

/// The same for memory that a provider cannot pin.
std::string limit_of_locked_memory();

/// The same for a thread or a process that could not be started.
std::string limit_of_threads();

}  // namespace shm
