// SPDX-License-Identifier: BSD-3-Clause
// When the library is loaded: what the environment asks for.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/env.hpp"
#include "end.hpp"
#include "start.hpp"
#include "statics.hpp"

namespace remote_malloc {
namespace {

// Whether a loaded object names Atoll among those that it needs.
bool needs_atoll(const link_map& object) {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  for (const ElfW(Dyn)* entry = object.l_ld; strings != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && std::string_view(strings + entry->d_un.d_val).starts_with("libatoll.so"))
      return true;
  }
  return false;
}

// Such a program, or a library of it, is OpenSHMEM's, and says itself when all its PEs start.
bool program_needs_atoll() {
  link_map *mine = nullptr, *first = nullptr;
  Dl_info info;
  dladdr1(reinterpret_cast<const void*>(&enable), &info, reinterpret_cast<void**>(&mine), RTLD_DL_LINKMAP);
  for (first = mine; first != nullptr && first->l_prev != nullptr;) first = first->l_prev;
  for (const link_map* object = first; object != nullptr; object = object->l_next) {
    if (object != mine && needs_atoll(*object)) return true;
  }
  return false;
}

[[gnu::constructor]] void load() {
  const char* text = std::getenv("SHMEM_REMOTE_MALLOC");
  if (text == nullptr || text[0] == '\0') return;
  const std::optional<std::size_t> bytes = shm::parse_size(text);
  if (!bytes) {
    dprintf(
        STDERR_FILENO,
        "libshmem_remote: SHMEM_REMOTE_MALLOC is '%s'; allowed is the size of the smallest allocation that "
        "is to be remote, such as 8m, or 0 for none\n",
        text);
    _exit(1);
  }
  if (*bytes == 0) return;
  const char* statics = std::getenv("SHMEM_REMOTE_BSS");
  if (statics != nullptr && statics[0] != '\0' && shm::is_on(statics)) statics::enable();
  end_with_process();
  enable(*bytes, program_needs_atoll());
}

}  // namespace
}  // namespace remote_malloc
