// SPDX-License-Identifier: BSD-3-Clause
#include "heap/statics.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

namespace shm {
namespace {

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}
std::uintptr_t page_down(std::uintptr_t a) { return a & ~(page_size() - 1); }
std::uintptr_t page_up(std::uintptr_t a) { return page_down(a + page_size() - 1); }

void mix(std::uint64_t& hash, const void* data, std::size_t n) {  // FNV-1a
  for (std::size_t i = 0; i < n; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3U;
}

// The end of what the executable's file provides; beyond it everything started as zeros.
std::uintptr_t initialised_end = 0;

struct Constants {
  std::uintptr_t base;
  std::size_t size;
};
std::vector<Constants>& constants() {
  static auto& segments = *new std::vector<Constants>;
  return segments;
}

void mix_build_id(std::uint64_t& hash, std::uintptr_t notes, std::size_t size) {
  for (std::uintptr_t at = notes; at + sizeof(ElfW(Nhdr)) <= notes + size;) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    const std::uintptr_t name = at + sizeof *note;
    const std::uintptr_t text = name + ((note->n_namesz + 3U) & ~3U);
    if (note->n_type == NT_GNU_BUILD_ID) mix(hash, reinterpret_cast<const void*>(text), note->n_descsz);
    at = text + ((note->n_descsz + 3U) & ~3U);
  }
}

// dl_iterate_phdr calls this for the executable first; returning 1 stops there.
int inspect_executable(dl_phdr_info* info, std::size_t, void* result) {
  auto& range = *static_cast<StaticRange*>(result);
  std::uintptr_t first = UINTPTR_MAX, last = 0, relro_end = 0;
  std::uint64_t layout = 0xcbf29ce484222325U;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uintptr_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_RELRO) relro_end = start + header.p_memsz;
    if (header.p_type == PT_NOTE) mix_build_id(layout, start, header.p_memsz);
    if (header.p_type != PT_LOAD) continue;
    if ((header.p_flags & PF_W) == 0) {
      if ((header.p_flags & PF_R) != 0) constants().push_back({start, header.p_filesz});
      mix(layout, &header.p_filesz, sizeof header.p_filesz);
      continue;
    }
    first = std::min(first, start);
    last = std::max(last, start + header.p_memsz);
    initialised_end = std::max(initialised_end, start + header.p_filesz);
    mix(layout, &header.p_vaddr, sizeof header.p_vaddr);
    mix(layout, &header.p_memsz, sizeof header.p_memsz);
  }
  if (last == 0) return 1;
  // Pages that hold relocations are read-only by now, and nothing of the program's.
  range.base = page_up(std::max(first, relro_end));
  if (relro_end <= first) range.base = page_down(first);
  range.size = page_up(last) - range.base;
  range.layout = layout;
  return 1;
}

// Which pages from `start` on hold something: bit 63 of a pagemap entry is "present", bit 62 "swapped".
std::vector<bool> populated(std::uintptr_t start, std::size_t pages) {
  std::vector<bool> result(pages, true);
  const int pagemap = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) return result;  // copy all: slower, never wrong
  std::vector<std::uint64_t> entries(pages);
  const std::size_t bytes = pages * sizeof(std::uint64_t);
  const auto at = static_cast<off_t>(start / page_size() * sizeof(std::uint64_t));
  if (pread(pagemap, entries.data(), bytes, at) == static_cast<ssize_t>(bytes)) {
    for (std::size_t i = 0; i < pages; ++i) result[i] = (entries[i] >> 62) != 0;
  }
  close(pagemap);
  return result;
}

// By a bare system call: AddressSanitizer keeps redzones between globals, and looks into memcpy and pwrite.
bool write_pages(int file, std::uintptr_t from, std::size_t n, std::uint64_t offset) {
  while (n > 0) {
    const ssize_t written = syscall(SYS_pwrite64, file, from, n, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    from += static_cast<std::size_t>(written);
    offset += static_cast<std::size_t>(written);
    n -= static_cast<std::size_t>(written);
  }
  return true;
}

// What the fork handlers need; set once, and empty in a child, whose variables are its own.
struct SharedStatics {
  StaticRange range;
  int file = -1;
  std::uint64_t offset = 0;
} shared;

// What the child of this thread's fork gets; null: there was no memory for it.
thread_local void* childs_copy = nullptr;

// Reads what the file holds of the range; holes are skipped, so that a large .bss stays uncommitted.
bool read_statics(char* to) {
  const auto start = static_cast<off_t>(shared.offset),
             end = static_cast<off_t>(shared.offset + shared.range.size);
  for (off_t at = start; at < end;) {
    const off_t data = lseek(shared.file, at, SEEK_DATA);
    if (data < 0 || data >= end) return true;
    off_t hole = lseek(shared.file, data, SEEK_HOLE);
    if (hole < 0 || hole > end) hole = end;
    for (at = data; at < hole;) {
      const ssize_t got = pread(shared.file, to + (at - start), static_cast<std::size_t>(hole - at), at);
      if (got <= 0) return false;
      at += got;
    }
  }
  return true;
}

// Before a fork: the copy must be made here, as the parent may write on before the child runs for the first
// time.
void copy_for_child() {
  if (shared.range.size == 0) return;
  void* copy = mmap(nullptr, shared.range.size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (copy == MAP_FAILED) return;
  childs_copy = copy;
  if (read_statics(static_cast<char*>(copy))) return;
  munmap(copy, shared.range.size);
  childs_copy = nullptr;
}

void drop_childs_copy() {
  if (childs_copy != nullptr) munmap(childs_copy, shared.range.size);
  childs_copy = nullptr;
}

// In the child: the private copy takes the place of the shared pages.  Async-signal-safe calls only.
void make_private() {
  const std::size_t size = shared.range.size;
  if (size == 0) return;
  void* copy = childs_copy;
  auto* place = reinterpret_cast<void*>(shared.range.base);
  if (copy == nullptr || mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
    _exit(127);
  childs_copy = nullptr;
  shared.range.size = 0;
}

}  // namespace

bool is_constant(std::uintptr_t address, std::size_t n) {
  return std::any_of(constants().begin(), constants().end(), [=](const Constants& segment) {
    const std::uintptr_t offset = address - segment.base;
    return offset < segment.size && n <= segment.size - offset;
  });
}

StaticRange find_statics() {
  StaticRange range;
  constants().clear();
  dl_iterate_phdr(inspect_executable, &range);
  return range;
}

Status share_statics(const StaticRange& range, int file, std::uint64_t offset) {
  if (range.size == 0) return {};
  const std::uintptr_t zeros = std::clamp(page_up(initialised_end), range.base, range.base + range.size);
  const std::size_t initialised = zeros - range.base;
  bool copied = initialised == 0 || write_pages(file, range.base, initialised, offset);
  const std::vector<bool> used = populated(zeros, (range.size - initialised) / page_size());
  for (std::size_t i = 0; copied && i < used.size(); ++i) {
    const std::size_t at = initialised + i * page_size();
    if (used[i]) copied = write_pages(file, range.base + at, page_size(), offset + at);
  }
  if (!copied)
    return Status::error(std::string("cannot copy the program's variables to shared memory: ") +
                         std::strerror(errno));
  void* place = reinterpret_cast<void*>(range.base);
  if (mmap(place, range.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return Status::error(std::string("cannot map the program's variables onto shared memory: ") +
                         std::strerror(errno));
  }
  shared = {range, file, offset};
  pthread_atfork(copy_for_child, drop_childs_copy, make_private);
  return {};
}

}  // namespace shm
