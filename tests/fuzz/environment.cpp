// SPDX-License-Identifier: BSD-3-Clause
// The environment: each line of the input is a variable, NAME=VALUE, or the number of one of ours and its
// value.
#include <cstdlib>

#include "base/env.hpp"
#include "base/env_names.hpp"
#include "fuzz.hpp"

namespace shm::fuzz {
namespace {

constexpr const char* kNames[] = {
#define ENV(NAME, KIND, member, def, help) "SHMEM_" #NAME,
#include "base/env.def"
#undef ENV
    "SMA_VERSION",
    "SMA_INFO",
    "SMA_DEBUG",
    "SMA_SYMMETRIC_SIZE",
};

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  std::vector<std::string> names;
  for (const std::string& line : input.lines()) {
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    const bool named = equals != line.npos && equals != 0;
    std::string name =
        named ? line.substr(0, equals) : kNames[static_cast<unsigned char>(line[0]) % std::size(kNames)];
    // None that the sanitizers, the C library or this program read.
    if (!name.starts_with("SHMEM_") && !name.starts_with("SMA_")) continue;
    setenv(name.c_str(), line.c_str() + (named ? equals + 1 : 1), 1);
    names.push_back(std::move(name));
  }
  Result<Env> env = Env::read();
  if (env.ok()) static_cast<void>(env.value().describe());
  static_cast<void>(remarks_on_variables());
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace shm::fuzz
