// SPDX-License-Identifier: BSD-3-Clause
// All tables of the job.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kv/table.hpp"

namespace shm::kv {

/// By number, without kOfTeam.  Null: one that is being made, or could not be.
using Tables = std::vector<std::unique_ptr<Table>>;
/// Which of them a packet of requests is for.  Ends the job if it is none, or has ended, or is of a team that
/// the sender is not in.  REQUIRES: the packet has a head.
Table& table_for(const Tables& all, int from, const std::byte* message);

/// Opens a named symmetric object (setup/named_objects).
using OpenNamed = void* (*)(Call, const char* name, std::size_t size);

/// Collective over the world, with the same arguments.  Null on all PEs: no memory, or a named object that
/// cannot be opened or is something else; a line has said so.
Table* create_table(Call call, const shmemx_kv_options_t& options, OpenNamed open);
/// Collective over the team, with the same arguments.  Null on all of its PEs: no memory, or no more teams; a
/// line has said so.
Table* create_table_on(Call call, shmem_team_t team, const shmemx_kv_options_t& options);
/// What follows is collective over the table's members.
void destroy_table(Call call, Table* table);
/// What PEs have issued on it is complete, and all mean the same one.
void settle_table(Call call, Table& table);
/// SHMEMX_KV_FILE: a line has said why (kv/files.cpp).
Code export_table(Call call, Table& table, const char* path);
Code import_table(Call call, Table& table, const char* path);
/// Removes what was there before any PE called it.
void clear_table(Call call, Table& table);
/// FULL: as it was.
Code resize_table(Call call, Table& table, std::uint64_t capacity);

/// Completes what this PE has issued on those that the program has left to shmem_finalize.
void quiet_tables(Call call);
/// Ends them; nobody uses them any more, on any PE.
void end_tables();

}  // namespace shm::kv
