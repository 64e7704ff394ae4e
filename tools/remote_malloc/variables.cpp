// SPDX-License-Identifier: BSD-3-Clause
#include "variables.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

namespace remote_malloc::variables {
namespace {

constexpr std::size_t kAlignment = 32;  // that compilers give to large arrays: so little may be between two

// ---- the program headers

struct Loaded {
  std::uintptr_t bias = 0;  // of addresses in the file
  std::span<const ElfW(Phdr)> headers;
};

// dl_iterate_phdr calls this for the executable first; returning 1 stops there.
int note_executable(dl_phdr_info* info, std::size_t, void* result) {
  *static_cast<Loaded*>(result) = {info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}};
  return 1;
}

void add_segments(const Loaded& loaded, Executable& executable) {
  std::uintptr_t read_only_end = 0;
  for (const ElfW(Phdr) & header : loaded.headers) {
    if (header.p_type == PT_GNU_RELRO) read_only_end = loaded.bias + header.p_vaddr + header.p_memsz;
  }
  for (const ElfW(Phdr) & header : loaded.headers) {
    if (header.p_type != PT_LOAD || (header.p_flags & PF_W) == 0) continue;
    const std::uintptr_t start = loaded.bias + header.p_vaddr, end = start + header.p_memsz;
    const std::uintptr_t begin = std::clamp(read_only_end, start, end);
    executable.writable.push_back({begin, end});
    executable.zeroed.push_back({std::max(begin, start + header.p_filesz), end});
  }
}

// ---- the file

/// A file in memory, as long as one lives.
class Mapped {
 public:
  explicit Mapped(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    if (file >= 0 && fstat(file, &info) == 0 && info.st_size > 0) {
      bytes_ = static_cast<std::size_t>(info.st_size);
      at_ = mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    if (file >= 0) close(file);
  }
  ~Mapped() {
    if (at_ != MAP_FAILED) munmap(at_, bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  /// `count` objects at `offset`; none if the file has not as many.
  template <class T>
  std::span<const T> read(std::size_t offset, std::size_t count) const {
    if (at_ == MAP_FAILED || offset > bytes_ || count > (bytes_ - offset) / sizeof(T) ||
        offset % alignof(T) != 0)
      return {};
    return {reinterpret_cast<const T*>(static_cast<const char*>(at_) + offset), count};
  }

 private:
  void* at_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

// Whether this is the file of what is loaded: with `ld.so program` it is another one.
bool is_file_of(const Mapped& file, const ElfW(Ehdr) & header, const Loaded& loaded) {
  const auto headers = file.read<ElfW(Phdr)>(header.e_phoff, header.e_phnum);
  return !headers.empty() && headers.size() == loaded.headers.size() &&
         std::memcmp(headers.data(), loaded.headers.data(), headers.size_bytes()) == 0;
}

void add_symbols(std::span<const ElfW(Sym)> symbols, std::uintptr_t bias, Executable& executable) {
  for (const ElfW(Sym) & symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0)
      continue;
    const Range range{bias + symbol.st_value, bias + symbol.st_value + symbol.st_size};
    if (std::ranges::any_of(executable.writable, [&](const Range& in) { return in.holds(range); }))
      executable.known.push_back(range);
  }
}

void add_variables(const Mapped& file, const Loaded& loaded, Executable& executable) {
  const auto header = file.read<ElfW(Ehdr)>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64 || !is_file_of(file, header[0], loaded))
    return;
  for (const ElfW(Shdr) & section : file.read<ElfW(Shdr)>(header[0].e_shoff, header[0].e_shnum)) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    executable.all_are_known |= section.sh_type == SHT_SYMTAB;
    add_symbols(file.read<ElfW(Sym)>(section.sh_offset, section.sh_size / sizeof(ElfW(Sym))), loaded.bias,
                executable);
  }
}

// ---- what is large

// What of `all` none of the known variables has: `known` is in order.
void add_unknown(const Range& all, std::span<const Range> known, std::size_t least,
                 std::vector<Range>& found) {
  std::uintptr_t free = all.begin;
  const auto add_until = [&](std::uintptr_t end) {
    if (end > free && end - free >= least) found.push_back({free, end});
  };
  for (const Range& variable : known) {
    if (variable.end <= all.begin || variable.begin >= all.end) continue;
    add_until(variable.begin);
    free = std::max(free, variable.end);
  }
  add_until(all.end);
}

}  // namespace

Executable of_this_process() {
  Loaded loaded;
  dl_iterate_phdr(note_executable, &loaded);
  Executable executable;
  add_segments(loaded, executable);
  add_variables(Mapped("/proc/self/exe"), loaded, executable);
  return executable;
}

std::vector<Range> large(const Executable& executable, std::size_t least) {
  const auto by_begin = [](const Range& a, const Range& b) { return a.begin < b.begin; };
  std::vector<Range> known = executable.known, found;
  std::ranges::sort(known, by_begin);
  std::ranges::copy_if(known, std::back_inserter(found),
                       [&](const Range& one) { return one.bytes() >= least; });
  if (!executable.all_are_known) {
    for (const Range& zeroed : executable.zeroed) add_unknown(zeroed, known, least, found);
  }
  std::ranges::sort(found, by_begin);
  const auto any_between = [&](std::uintptr_t begin, std::uintptr_t end) {
    return std::ranges::any_of(known,
                               [&](const Range& one) { return one.begin >= begin && one.begin < end; });
  };
  std::vector<Range> joined;
  for (const Range& one : found) {
    if (!joined.empty() && (one.begin <= joined.back().end || (one.begin - joined.back().end < kAlignment &&
                                                               !any_between(joined.back().end, one.begin)))) {
      joined.back().end = std::max(joined.back().end, one.end);
    } else {
      joined.push_back(one);
    }
  }
  return joined;
}

}  // namespace remote_malloc::variables
