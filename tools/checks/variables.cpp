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
#include <iterator>
#include <span>
#include <string_view>

namespace checks {
namespace {

using Bytes = std::span<const std::byte>;

// The file, mapped.
class File {
 public:
  explicit File(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info {};
    if (file >= 0 && fstat(file, &info) == 0 && info.st_size > 0) {
      void* mapped = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED)
        bytes_ = {static_cast<const std::byte*>(mapped), static_cast<std::size_t>(info.st_size)};
    }
    if (file >= 0) close(file);
  }
  ~File() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// `count` of T from `offset` on; empty: the file ends before.
  template <class T>
  std::span<const T> at(std::uint64_t offset, std::uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T) || offset % alignof(T) != 0)
      return {};
    return {reinterpret_cast<const T*>(bytes_.data() + offset), static_cast<std::size_t>(count)};
  }

 private:
  Bytes bytes_;
};

// Names of the linker's for ends of what it has put together; they name no variable.
bool is_the_linkers(std::string_view name) {
  constexpr std::string_view kNames[] = {
      "_end",       "end",     "_edata",       "edata",       "__bss_start", "__bss_end__", "__bss_start__",
      "_bss_end__", "__end__", "_bss_start__", "__TMC_END__", "data_start",  "__data_start"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

bool is_variable(const ElfW(Sym) & symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
         (type == STT_OBJECT || type == STT_COMMON || type == STT_NOTYPE);
}

std::vector<Variable> symbols_of(const File& file, std::uintptr_t bias) {
  std::vector<Variable> found;
  const auto head = file.at<ElfW(Ehdr)>(0, 1);
  if (head.empty() || std::memcmp(head[0].e_ident, ELFMAG, SELFMAG) != 0) return found;
  const auto sections = file.at<ElfW(Shdr)>(head[0].e_shoff, head[0].e_shnum);
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& names = sections[section.sh_link];
    const auto text = file.at<char>(names.sh_offset, names.sh_size);
    for (const ElfW(Sym) & symbol :
         file.at<ElfW(Sym)>(section.sh_offset, section.sh_size / sizeof(ElfW(Sym)))) {
      if (!is_variable(symbol) || symbol.st_name >= text.size()) continue;
      const char* name = text.data() + symbol.st_name;
      std::string own(name, strnlen(name, text.size() - symbol.st_name));
      if (!own.empty() && own[0] != '$' && !is_the_linkers(own))
        found.push_back({bias + symbol.st_value, symbol.st_size, std::move(own)});
    }
  }
  return found;
}

}  // namespace

std::vector<Variable> apart(std::vector<Variable> all, const shm::CheckedRange& range) {
  std::erase_if(all, [&](const Variable& each) {
    return each.base - range.base >= range.size || each.size > range.size - (each.base - range.base);
  });
  std::ranges::sort(all, [](const Variable& a, const Variable& b) {
    if (a.base != b.base) return a.base < b.base;
    return a.size != b.size ? a.size > b.size : a.name < b.name;
  });
  std::vector<Variable> few;
  for (Variable& each : all) {
    const bool inside = !few.empty() && each.base < few.back().end();
    if (inside) {
      few.back().size = std::max(few.back().end(), each.end()) - few.back().base;
    } else if (few.empty() || each.base != few.back().base) {
      few.push_back(std::move(each));
    }
  }
  for (std::size_t i = 0; i < few.size(); ++i) {
    const std::uintptr_t next = i + 1 < few.size() ? few[i + 1].base : range.base + range.size;
    if (few[i].size == 0) few[i].size = next - few[i].base;
  }
  return few;
}

std::vector<Variable> variables_of_program(const shm::CheckedRange& range) {
  std::uintptr_t bias = 0;
  const auto first = [](dl_phdr_info* info, std::size_t, void* to) {
    *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
    return 1;  // the executable comes first
  };
  dl_iterate_phdr(first, &bias);
  return apart(symbols_of(File("/proc/self/exe"), bias), range);
}

}  // namespace checks
