// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/options.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

namespace shm::nvm {
namespace {

constexpr std::size_t kDefaultPage = std::size_t{256} << 10;
constexpr std::size_t kSmallestPage = 4096, kLargestPage = std::size_t{64} << 20;
// For each PE of the node, and for the node.  An access needs two pages at most.
constexpr std::size_t kFramesOfPe = 8, kFewestFrames = 16;

Status check_folder(const std::string& folder, const char* variable) {
  struct stat status;
  if (stat(folder.c_str(), &status) != 0)
    return Status::error(std::string(variable) + ": " + folder + ": " + std::strerror(errno));
  if (!S_ISDIR(status.st_mode))
    return Status::error(std::string(variable) + ": " + folder + " is not a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return Status::error(std::string(variable) + ": no files can be made in " + folder + ": " +
                         std::strerror(errno));
  return {};
}

std::size_t up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

Result<Options> Options::read(const Env& env, std::size_t default_heap) {
  Options options;
  constexpr std::string_view kScheme = "nvm:";
  if (env.heap.starts_with(kScheme)) {
    options.folder = env.heap.substr(kScheme.size());
    options.is_default = true;
  } else if (!env.heap.empty() && env.heap != "dram") {
    return Status::error("SHMEM_HEAP is '" + env.heap + "'; allowed are dram and nvm:<folder>");
  } else {
    options.folder = env.nvm_dir;
  }
  if (options.is_default && options.folder.empty())
    return Status::error("SHMEM_HEAP is 'nvm:'; the folder for the files is missing, as in nvm:/mnt/ssd");
  if (!options.wanted()) return options;
  if (Status status = check_folder(options.folder, options.is_default ? "SHMEM_HEAP" : "SHMEM_NVM_DIR");
      !status.ok())
    return status;
  options.page_bytes = env.nvm_page.value_or(kDefaultPage);
  if (!std::has_single_bit(options.page_bytes) || options.page_bytes < kSmallestPage ||
      options.page_bytes > kLargestPage) {
    return Status::error("SHMEM_NVM_PAGE is " + std::to_string(options.page_bytes) +
                         " bytes; allowed are powers of two from 4k to 64m");
  }
  options.user_bytes = options.is_default ? env.symmetric_size.value_or(4 * default_heap)
                                          : env.nvm_size.value_or(4 * default_heap);
  options.cache_bytes = env.nvm_cache.value_or(default_heap / 2);
  options.engine = env.nvm_engine == "uring"  ? Engine::uring
                   : env.nvm_engine == "sync" ? Engine::sync
                                              : Engine::automatic;
  return options;
}

std::size_t Options::segment_bytes() const {
  return up(user_bytes + user_bytes / 2 + (std::size_t{8} << 20), std::max(page_bytes, std::size_t{2} << 20));
}

PoolShape Options::shape(int node_size, int job_size) const {
  const std::size_t least = std::max(kFewestFrames, kFramesOfPe * static_cast<std::size_t>(node_size));
  return {page_bytes, std::max(cache_bytes / page_bytes, least), segment_bytes() / page_bytes, job_size,
          node_size};
}

}  // namespace shm::nvm
