// SPDX-License-Identifier: BSD-3-Clause
// All tables of the job.
#pragma once

#include "kv/table.hpp"

namespace shm::kv {

/// Opens a named symmetric object (setup/named).
using OpenNamed = void* (*)(Call, const char* name, std::size_t size);

/// Collective over the world, with the same arguments.  Null on all PEs: no memory, or a named object that
/// cannot be opened or is something else; a line has said so.
Table* create_table(Call call, const shmemx_kv_options_t& options, OpenNamed open);
void destroy_table(Call call, Table* table);
/// FULL: as it was.
Status resize_table(Call call, Table& table, std::uint64_t capacity);

/// Ends those that the program has left; nobody uses them any more, and nothing is under way.
void forget_tables();

}  // namespace shm::kv
