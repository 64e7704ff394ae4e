// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/guarded_listeners.hpp"

#include <link.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/other_end.hpp"
#include "base/stats.hpp"
#include "ofi/connection_tokens.hpp"

namespace shm::ofi {
namespace {

// What a connection that is refused counts as: nothing if it is gone.
enum class Verdict : std::uint8_t { may_come, gone, refused };

Verdict verdict_on(int listener, int connection) {
  forget_connection(connection);
  if (!SocketPlace::of(connection).has_value()) return Verdict::may_come;  // no internet
  const Shown shown = what_is_shown(listener, connection);
  if (shown == Shown::nothing) return Verdict::gone;
  const bool ours = shown == Shown::token && other_end_of(connection) != OtherEnd::another_user;
  return ours ? Verdict::may_come : Verdict::refused;
}

int accept_guarded(int listener, sockaddr* address, socklen_t* length) {
  const int connection = accept(listener, address, length);
  if (connection < 0) return connection;
  const Verdict verdict = verdict_on(listener, connection);
  if (verdict == Verdict::may_come) return connection;
  close(connection);
  if (verdict == Verdict::refused) count(Stat::refused_connections);
  errno = EAGAIN;  // as if nobody had come
  return -1;
}

// Of one loaded object: what its dynamic section says.
struct Tables {
  std::uintptr_t inside;  // an address in the object
  ElfW(Addr) base = 0;
  const ElfW(Dyn) * dynamic = nullptr;
  std::uintptr_t read_only = 0, read_only_end = 0;  // after relocation

  const ElfW(Dyn) * entry(ElfW(Sxword) tag) const {
    for (const ElfW(Dyn)* at = dynamic; at->d_tag != DT_NULL; ++at)
      if (at->d_tag == tag) return at;
    return nullptr;
  }
  // The loader of glibc has added the base to addresses; others leave them as they are in the file.
  template <class T>
  const T* table(ElfW(Sxword) tag) const {
    const ElfW(Dyn)* at = entry(tag);
    if (at == nullptr) return nullptr;
    const ElfW(Addr) address = at->d_un.d_ptr;
    return reinterpret_cast<const T*>(address < base ? base + address : address);
  }
  std::size_t size(ElfW(Sxword) tag) const {
    const ElfW(Dyn)* at = entry(tag);
    return at != nullptr ? at->d_un.d_val : 0;
  }
};

int find_tables(dl_phdr_info* object, std::size_t, void* argument) {
  Tables& tables = *static_cast<Tables*>(argument);
  bool is_it = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD) is_it = is_it || tables.inside - begin < part.p_memsz;
    if (part.p_type == PT_DYNAMIC) tables.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (part.p_type == PT_GNU_RELRO) tables.read_only = begin, tables.read_only_end = begin + part.p_memsz;
  }
  tables.base = object->dlpi_addr;
  if (is_it) return 1;
  tables = {.inside = tables.inside};
  return 0;
}

// Stores into a page that may be read-only since the object was loaded.
bool store(const Tables& tables, std::uintptr_t slot, std::uintptr_t value) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(slot / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(reinterpret_cast<std::uintptr_t*>(slot), value, __ATOMIC_RELEASE);
  // As the loader has done it: up to the last page that is read-only as a whole.
  if (slot >= tables.read_only / page * page && slot < tables.read_only_end / page * page)
    mprotect(begin, page, PROT_READ);
  return true;
}

// Replaces what the object calls by `name`, in one of its tables of relocations.
bool replace(const Tables& tables, const ElfW(Rela) * relocations, std::size_t bytes, const char* name,
             std::uintptr_t value) {
  const auto* symbols = tables.table<ElfW(Sym)>(DT_SYMTAB);
  const auto* names = tables.table<char>(DT_STRTAB);
  if (relocations == nullptr || symbols == nullptr || names == nullptr) return false;
  bool replaced = false;
  for (std::size_t i = 0; i < bytes / sizeof *relocations; ++i) {
    const std::size_t symbol = relocations[i].r_info >> 32;  // ELF64_R_SYM
    if (symbol == 0 || std::strcmp(names + symbols[symbol].st_name, name) != 0) continue;
    replaced = store(tables, tables.base + relocations[i].r_offset, value) || replaced;
  }
  return replaced;
}

template <class Function>
bool replace(const Tables& tables, const char* name, Function* value) {
  const auto address = reinterpret_cast<std::uintptr_t>(value);
  const bool called =
      replace(tables, tables.table<ElfW(Rela)>(DT_JMPREL), tables.size(DT_PLTRELSZ), name, address);
  const bool read = replace(tables, tables.table<ElfW(Rela)>(DT_RELA), tables.size(DT_RELASZ), name, address);
  return called || read;
}

}  // namespace

Guard guard_listeners(const Library& library) {
  prepare_other_end();
  Tables tables{.inside = reinterpret_cast<std::uintptr_t>(library.getinfo)};
  if (dl_iterate_phdr(find_tables, &tables) == 0 || tables.dynamic == nullptr) return Guard::none;
  if (!replace(tables, "accept", &accept_guarded)) return Guard::none;
  // Who can read a token must be able to write one, and the other way round: listen() decides, so it is last.
  const bool tokens = replace(tables, "connect", &connect_with_token) &&
                      replace(tables, "getsockopt", &getsockopt_with_token) &&
                      replace(tables, "listen", &listen_guarded);
  return tokens ? Guard::tokens : Guard::users;
}

}  // namespace shm::ofi
