// SPDX-License-Identifier: BSD-3-Clause
// usage: fuzz_<target> FILE|FOLDER...
// Gives a target each file, and each of a folder: without libFuzzer, by any compiler.  Exit code 0: none has
// crashed; 2: there was no file.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz.hpp"

namespace {

std::vector<std::filesystem::path> files_of(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::filesystem::path> files = files_of(argc, argv);
  for (const auto& path : files) {
    std::printf("%s\n", path.filename().c_str());
    std::fflush(stdout);  // the last name is that of an input which crashes
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s cannot be read\n", path.c_str());
      return 2;
    }
    // In memory of exactly that size, as libFuzzer has it.
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    shm::fuzz::fuzz_one_input(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 2 : 0;
}
