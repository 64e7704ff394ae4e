// SPDX-License-Identifier: BSD-3-Clause
// The file of a table that shmemx_kv_import reads: one that was written, with fields and bytes changed,
// its checksum right again or not; and files that were never one.  What is right is read as it was written.
#include "kv/files.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "fuzz.hpp"
#include "kv/hash.hpp"
#include "kv/layout.hpp"

namespace shm::fuzz {
namespace {

using Elements = std::vector<std::pair<Bytes, Bytes>>;

constexpr std::array<char, 8> kMagic{'A', 't', 'o', 'l', 'l', ' ', 'k', 'v'};

// A file in memory, which can be opened by its name as often as one likes.
class MemoryFile {
 public:
  explicit MemoryFile(const Bytes& bytes) : file_(memfd_create("table", MFD_CLOEXEC)) {
    const auto n = static_cast<ssize_t>(bytes.size());
    if (file_ < 0 || write(file_, bytes.data(), bytes.size()) != n) std::abort();
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  const int file_;
};

// near(), and whether that was right.
class Fields {
 public:
  explicit Fields(Input& input) : input_(input) {}
  template <class Word>
  void append(Bytes& to, Word right) {
    const auto word = static_cast<Word>(input_.near(right));
    right_ = right_ && word == right;
    fuzz::append(to, word);
  }
  bool right() const { return right_; }

 private:
  Input& input_;
  bool right_ = true;
};

struct Made {
  Bytes file;
  Elements elements;
  bool right;
};

Made make(Input& input) {
  Made made;
  Fields fields(input);
  append(made.file, kMagic);
  fields.append(made.file, std::uint32_t{1});
  fields.append(made.file, std::uint32_t{0x01020304});
  for (unsigned count = input.below(6); count > 0; --count) {
    Bytes key(1 + input.below(24), static_cast<std::byte>(input.byte()));
    Bytes value(input.below(16) == 0 ? input.below(3000) : input.below(40));
    fields.append(made.file, std::uint64_t{key.size()});
    fields.append(made.file, std::uint64_t{value.size()});
    made.file.insert(made.file.end(), key.begin(), key.end());
    made.file.insert(made.file.end(), value.begin(), value.end());
    made.elements.emplace_back(std::move(key), std::move(value));
  }
  fields.append(made.file, std::uint64_t{0});
  fields.append(made.file, std::uint64_t{0});
  fields.append(made.file, std::uint64_t{made.elements.size()});
  const bool changed = input.below(8) == 0;
  if (changed) made.file[input.below(static_cast<unsigned>(made.file.size()))] ^= std::byte{1};
  const bool summed = !changed || input.below(2) != 0;  // as if it had been written so
  const std::uint64_t sum = summed ? XXH3_64bits(made.file.data(), made.file.size()) : 0;
  fields.append(made.file, sum);
  const bool whole = input.below(8) != 0;
  if (!whole) {
    if (input.below(2) == 0)
      made.file.push_back(std::byte{});
    else
      made.file.resize(input.below(static_cast<unsigned>(made.file.size())));
  }
  made.right = fields.right() && !changed && whole;
  return made;
}

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  Made made;
  if (input.below(8) == 0) {
    made = {input.rest(), {}, false};
  } else {
    made = make(input);
  }
  const std::size_t room = input.below(4) == 0 ? input.below(4) : 1000;
  const MemoryFile file(made.file);
  Elements found;
  const kv::Code status = kv::read_table_file(
      {"shmemx_kv_import"}, file.path(),
      [&](std::span<const std::byte> key, std::span<const std::byte> value) {
        if (key.empty() || key.size() > kv::kLongestKey || value.size() > kv::kLongestValue) std::abort();
        if (found.size() == room) return SHMEMX_KV_FULL;
        found.emplace_back(Bytes(key.begin(), key.end()), Bytes(value.begin(), value.end()));
        return SHMEMX_KV_OK;
      });
  if (status == SHMEMX_KV_FILE && !found.empty()) std::abort();
  if (!made.right) return;
  const bool fits = made.elements.size() <= room;
  if (status != (fits ? SHMEMX_KV_OK : SHMEMX_KV_FULL)) std::abort();
  if (!fits) made.elements.resize(room);
  if (found != made.elements) std::abort();
}

}  // namespace shm::fuzz
