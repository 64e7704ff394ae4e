// SPDX-License-Identifier: BSD-3-Clause
// The file of a table (format: files.cpp), as PE 0 reads it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "kv/tables.hpp"

namespace shm::kv {

/// Looks whether the file is whole, and then gives each element to `put`, until that returns something else
/// than OK, which is the result.  SHMEMX_KV_FILE: nothing is believed of the file, and a line has said why.
/// Takes no more memory than the file has bytes.
Code read_table_file(
    Call call, const std::string& path,
    const std::function<Code(std::span<const std::byte> key, std::span<const std::byte> value)>& put);

}  // namespace shm::kv
