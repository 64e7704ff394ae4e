// SPDX-License-Identifier: BSD-3-Clause
#include "setup/tool_library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/fatal.hpp"

namespace shm {
namespace {

// Beside this library, not beside a link that it was loaded by.  Empty: this is no library, as in programs
// that test its insides.
std::string own_folder() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&load_tool_library), &self) == 0 || self.dli_fname == nullptr) return "";
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(self.dli_fname, nullptr), &std::free);
  const std::string path = real != nullptr ? real.get() : self.dli_fname;
  const std::size_t slash = path.rfind('/');
  return path.find(".so") == path.npos || slash == path.npos ? "" : path.substr(0, slash + 1);
}

}  // namespace

void* load_tool_library(const char* name, const char* variable) {
  const std::string folder = own_folder();
  void* library = folder.empty() ? nullptr : dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* why = folder.empty() ? "it lies beside libatoll.so, and that is not used here" : dlerror();
  warn("%s needs %s, which cannot be loaded: %s", variable, name, why);
  return nullptr;
}

}  // namespace shm
