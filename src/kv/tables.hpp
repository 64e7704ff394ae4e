// SPDX-License-Identifier: BSD-3-Clause
// All tables of the job.
#pragma once

#include "kv/table.hpp"

namespace shm::kv {

/// Collective over the world, with the same arguments.  Null on all PEs: no memory; a line has said so.
Table* create_table(Call call, const shmemx_kv_options_t& options);
void destroy_table(Call call, Table* table);
/// FULL: as it was.
Status resize_table(Call call, Table& table, std::uint64_t capacity);

/// Ends those that the program has left; nobody uses them any more, and nothing is under way.
void forget_tables();

}  // namespace shm::kv
