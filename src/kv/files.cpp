// SPDX-License-Identifier: BSD-3-Clause
// A table as a file, of the byte order of the machine:
//
//   FileHead | { key_bytes (8) | value_bytes (8) | key | value } ... | FileEnd
//
// FileEnd is where an element would be, with a key of 0 bytes.  The checksum is XXH3 of all that is before
// it.
#include "kv/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "base/fatal.hpp"
#include "kv/hash.hpp"
#include "kv/tables.hpp"

namespace shm::kv {
namespace {

struct FileHead {
  char magic[8] = {'A', 't', 'o', 'l', 'l', ' ', 'k', 'v'};
  std::uint32_t version = 1;
  std::uint32_t order = 0x01020304;
};
struct FileElement {
  std::uint64_t key_bytes, value_bytes;
};
struct FileEnd {
  FileElement none{0, 0};
  std::uint64_t elements = 0;
  std::uint64_t checksum = 0;
};

class File {
 public:
  File(Call call, const std::string& path, const char* mode)
      : call_(call), path_(path), file_(std::fopen(path.c_str(), mode)) {
    XXH3_64bits_reset(&sum_);
    struct stat what {};
    if (file_ == nullptr || fstat(fileno(file_), &what) != 0) {
      fail(std::strerror(errno));
    } else if (S_ISREG(what.st_mode)) {
      left_ = static_cast<std::uint64_t>(what.st_size);
    } else if (*mode == 'r') {
      fail("it is no file that can be read twice");
    }
  }
  ~File() {
    if (file_ != nullptr) std::fclose(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return file_ != nullptr; }
  bool good() const { return good_; }
  void fail(const char* why) {
    if (good_) warn("%s: %s: %s", call_.name, path_.c_str(), why);
    good_ = false;
  }
  void write(const void* bytes, std::size_t n) {
    if (n == 0 || !good_) return;
    XXH3_64bits_update(&sum_, bytes, n);
    if (std::fwrite(bytes, n, 1, file_) != 1) fail(std::strerror(errno));
  }
  bool read(void* bytes, std::size_t n) {
    if (!good_ || n == 0) return good_;
    if (std::fread(bytes, n, 1, file_) != 1)
      fail(std::ferror(file_) != 0 ? std::strerror(errno) : "it is cut short");
    left_ -= std::min<std::uint64_t>(left_, n);
    XXH3_64bits_update(&sum_, bytes, n);
    return good_;
  }
  // Whether it had so many bytes more when it was opened.
  bool has(std::uint64_t bytes) {
    if (bytes > left_) fail("it is cut short");
    return good_;
  }
  std::uint64_t sum() const { return XXH3_64bits_digest(&sum_); }
  // On the disk, all of it.
  void finish() {
    if (good_ && (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0)) fail(std::strerror(errno));
  }
  bool is_at_end() { return std::fgetc(file_) == EOF; }

 private:
  const Call call_;
  const std::string path_;
  std::FILE* file_;
  std::uint64_t left_ = 0;  // of what is read
  XXH3_state_t sum_;
  bool good_ = true;
};

bool write_all(Call call, Table& table, const std::string& path) {
  const std::string unfinished = path + ".unfinished";
  File file(call, unfinished, "wb");
  const FileHead head;
  FileEnd end;
  file.write(&head, sizeof head);
  std::vector<std::byte> bytes;
  for (int pe = 0; pe < table.members().size(); ++pe) {
    const auto write = [&](const ScanHead& found, const std::byte* key, const std::byte* value) {
      const FileElement element{found.key_bytes, found.value_bytes};
      file.write(&element, sizeof element);
      file.write(key, found.key_bytes);
      file.write(value, found.value_bytes);
      ++end.elements;
      return true;
    };
    for (std::uint64_t cursor = 0;
         file.good() && table.scan(call, pe, &cursor, bytes, write) == SHMEMX_KV_OK;) {
    }
  }
  file.write(&end.none, sizeof end.none);
  file.write(&end.elements, sizeof end.elements);
  end.checksum = file.sum();
  file.write(&end.checksum, sizeof end.checksum);
  file.finish();
  if (file.good() && std::rename(unfinished.c_str(), path.c_str()) != 0) file.fail(std::strerror(errno));
  if (!file.good() && file.is_open()) unlink(unfinished.c_str());
  return file.good();
}

// f(key, key_bytes, value, value_bytes) for each element until it returns false; whether the file is whole as
// far as it has been read.
template <class F>
bool read_all(Call call, const std::string& path, F f) {
  File file(call, path, "rb");
  FileHead head;
  const FileHead wanted;
  if (!file.read(&head, sizeof head)) return false;
  if (std::memcmp(&head, &wanted, sizeof head) != 0) {
    file.fail("it is no table of this version, which shmemx_kv_export has written");
    return false;
  }
  std::vector<std::byte> key, value;
  for (std::uint64_t elements = 0;; ++elements) {
    FileElement element;
    if (!file.read(&element, sizeof element)) return false;
    if (element.key_bytes == 0) {
      FileEnd end;
      if (!file.read(&end.elements, sizeof end.elements)) return false;
      const std::uint64_t sum = file.sum();
      if (!file.read(&end.checksum, sizeof end.checksum)) return false;
      if (element.value_bytes != 0 || end.elements != elements || end.checksum != sum || !file.is_at_end())
        file.fail("its checksum is wrong");
      return file.good();
    }
    if (element.key_bytes > kLongestKey || element.value_bytes > kLongestValue) {
      file.fail("it has an element of a length that none has");
      return false;
    }
    if (!file.has(element.key_bytes + element.value_bytes)) return false;
    key.resize(element.key_bytes);
    value.resize(element.value_bytes);
    if (!file.read(key.data(), key.size()) || !file.read(value.data(), value.size())) return false;
    if (!f(key, value)) return true;
  }
}

using Bytes = std::span<const std::byte>;

Code put_one(Call call, Table& table, Bytes key, Bytes value) {
  if (key.size() > table.layout().key_bytes || value.size() > table.layout().value_bytes)
    return SHMEMX_KV_TOO_LARGE;
  ValueRoom none;
  return table.execute(
      call,
      {.op = KvOp::put, .key = table.key(key.data(), key.size()), .value = value.data(), .n = value.size()},
      none);
}

// What the first PE has found, on all PEs.
Code agree(Call call, const Members& members, Code mine) {
  for (const Code code : {SHMEMX_KV_FILE, SHMEMX_KV_FULL, SHMEMX_KV_TOO_LARGE, SHMEMX_KV_COLLISION})
    if (!members.all_succeeded(call, mine == code)) return code;
  return SHMEMX_KV_OK;
}

}  // namespace

Code read_table_file(Call call, const std::string& path, const std::function<Code(Bytes, Bytes)>& put) {
  Code status = SHMEMX_KV_OK;
  const auto look = [](Bytes, Bytes) { return true; };
  const auto put_while_possible = [&](Bytes key, Bytes value) {
    return (status = put(key, value)) == SHMEMX_KV_OK;
  };
  if (!read_all(call, path, look) || !read_all(call, path, put_while_possible)) return SHMEMX_KV_FILE;
  return status;
}

Code export_table(Call call, Table& table, const char* path) {
  settle_table(call, table);
  const bool failed = table.members().me() == 0 && !write_all(call, table, path);
  return agree(call, table.members(), failed ? SHMEMX_KV_FILE : SHMEMX_KV_OK);
}

Code import_table(Call call, Table& table, const char* path) {
  settle_table(call, table);
  Code status = SHMEMX_KV_OK;
  if (table.members().me() == 0) {
    const auto put = [&](Bytes key, Bytes value) { return put_one(call, table, key, value); };
    status = read_table_file(call, path, put);
  }
  return agree(call, table.members(), status);
}

}  // namespace shm::kv
