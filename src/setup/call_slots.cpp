// SPDX-License-Identifier: BSD-3-Clause
#include "setup/call_slots.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/fatal.hpp"

namespace shm {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kSlotTypes[] = {R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT};
#elif defined(__aarch64__)
constexpr std::uint32_t kSlotTypes[] = {R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT};
#else
constexpr std::uint32_t kSlotTypes[] = {0};
#endif

// A loaded program or library.
struct Loaded {
  std::uintptr_t base;
  std::span<const ElfW(Phdr)> headers;

  bool holds(std::uintptr_t address) const {
    for (const ElfW(Phdr) & header : headers) {
      if (header.p_type == PT_LOAD && address - base - header.p_vaddr < header.p_memsz) return true;
    }
    return false;
  }
  bool holds(const void* address) const { return holds(reinterpret_cast<std::uintptr_t>(address)); }
};

// The linker's locks are not held when this returns: dlsym() takes them in another order.
std::vector<Loaded> all_loaded() {
  std::vector<Loaded> found;
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) {
    static_cast<std::vector<Loaded>*>(to)->push_back({info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}});
    return 0;
  };
  dl_iterate_phdr(add, &found);
  return found;
}

const Loaded* that_holds(const std::vector<Loaded>& all, const void* address) {
  for (const Loaded& each : all) {
    if (each.holds(address)) return &each;
  }
  return nullptr;
}

// What the dynamic section says.
struct Tables {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  std::span<const ElfW(Rela)> relocations[2];  // of all, of the PLT
};

Tables tables_of(const Loaded& object) {
  Tables tables;
  const ElfW(Dyn)* entry = nullptr;
  for (const ElfW(Phdr) & header : object.headers) {
    if (header.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(object.base + header.p_vaddr);
  }
  if (entry == nullptr) return tables;
  std::uintptr_t at[2] = {}, strings = 0, symbols = 0;
  std::size_t bytes[2] = {};
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_RELA: at[0] = entry->d_un.d_ptr; break;
      case DT_RELASZ: bytes[0] = entry->d_un.d_val; break;
      case DT_JMPREL: at[1] = entry->d_un.d_ptr; break;
      case DT_PLTRELSZ: bytes[1] = entry->d_un.d_val; break;
      case DT_STRTAB: strings = entry->d_un.d_ptr; break;
      case DT_SYMTAB: symbols = entry->d_un.d_ptr; break;
      default: break;
    }
  }
  // The linker has added where the object lies, but not for the one that the kernel gives.
  if (strings == 0 || symbols == 0 || !object.holds(strings) || !object.holds(symbols)) return tables;
  tables.strings = reinterpret_cast<const char*>(strings);
  tables.symbols = reinterpret_cast<const ElfW(Sym)*>(symbols);
  for (int i = 0; i < 2; ++i) {
    if (at[i] != 0 && object.holds(at[i]))
      tables.relocations[i] = {reinterpret_cast<const ElfW(Rela)*>(at[i]), bytes[i] / sizeof(ElfW(Rela))};
  }
  return tables;
}

bool may_be_of_api(std::string_view name) {
  return name.starts_with("sh") || name == "start_pes" || name == "_my_pe" || name == "_num_pes";
}

class Leader {
 public:
  Leader(const Loaded& own, const Loaded& target, void* library, const Loaded* between)
      : own_(own), target_(target), library_(library), between_(between) {}

  void lead(const Loaded& object) const {
    const Tables tables = tables_of(object);
    for (const auto& relocations : tables.relocations) {
      for (const ElfW(Rela) & each : relocations) lead(object, tables, each);
    }
  }

 private:
  void lead(const Loaded& object, const Tables& tables, const ElfW(Rela) & relocation) const {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
    if (type != kSlotTypes[0] && type != kSlotTypes[1]) return;
    const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(relocation.r_info)];
    const char* name = tables.strings + symbol.st_name;
    if (&object == between_ && *name == 'p') ++name;
    if (symbol.st_shndx != SHN_UNDEF || !may_be_of_api(name)) return;
    auto* slot = reinterpret_cast<std::uintptr_t*>(object.base + relocation.r_offset);
    const std::uintptr_t now = std::atomic_ref(*slot).load(std::memory_order_relaxed);
    // One that is filled at the first call is filled with what its name means then.
    const bool here = own_.holds(now) || (object.holds(now) && means_own(object, name));
    void* other = here ? dlsym(library_, name) : nullptr;
    if (other != nullptr && target_.holds(other)) set(object, slot, reinterpret_cast<std::uintptr_t>(other));
  }

  bool means_own(const Loaded& object, const char* name) const {
    const void* meant = dlsym(RTLD_DEFAULT, name);
    return meant == nullptr || own_.holds(meant) || object.holds(meant);  // the last: its own PLT
  }

  // Slots that were filled before the program began have been made read-only.
  static void set(const Loaded& object, std::uintptr_t* slot, std::uintptr_t value) {
    const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto at = reinterpret_cast<std::uintptr_t>(slot);
    bool read_only = false;
    for (const ElfW(Phdr) & header : object.headers) {
      if (header.p_type == PT_GNU_RELRO) read_only |= at - object.base - header.p_vaddr < header.p_memsz;
    }
    auto* page = reinterpret_cast<void*>(at / page_bytes * page_bytes);
    if (read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
      return warn("SHMEM_TRACE, SHMEM_STATS, SHMEM_CHECKS=full: some calls are not seen: %s",
                  strerror(errno));
    std::atomic_ref(*slot).store(value, std::memory_order_relaxed);
    if (read_only) mprotect(page, page_bytes, PROT_READ);
  }

  const Loaded& own_;
  const Loaded& target_;
  void* library_;
  const Loaded* between_;
};

}  // namespace

void lead_calls_to(const void* in, const void* between) {
  const std::vector<Loaded> all = all_loaded();
  const Loaded* own = that_holds(all, reinterpret_cast<const void*>(&lead_calls_to));
  const Loaded* target = that_holds(all, in);
  Dl_info file{};
  if (own == nullptr || target == nullptr || dladdr(in, &file) == 0) return;
  void* library = dlopen(file.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return;
  const Leader leader(*own, *target, library, between != nullptr ? that_holds(all, between) : nullptr);
  for (const Loaded& object : all) {
    if (&object != own && &object != target) leader.lead(object);
  }
  dlclose(library);
}

}  // namespace shm
