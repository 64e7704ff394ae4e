// SPDX-License-Identifier: BSD-3-Clause
// Where figures come from: machine, job and library.
#pragma once

#include <string>
#include <string_view>

namespace bench {

/// Lines that begin with '#'.
std::string environment_text(const char* command, int nodes);
/// One line, an object with the member "environment".
std::string environment_json(const char* command, int nodes);
/// What is wrong with measuring this build, or "".
const char* build_warning();

/// As a string of JSON.
std::string quoted(std::string_view text);

}  // namespace bench
