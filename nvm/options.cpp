// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/options.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/human.hpp"
#include "heap/node_memory.hpp"
#include "pages/addresses.hpp"

namespace shm::nvm {
namespace {

constexpr std::size_t kDefaultPage = std::size_t{256} << 10;
constexpr std::size_t kLargestPage = std::size_t{64} << 20;
// Pages in memory where nothing is set: a page in use by its owner is a mapping, and the gap behind it
// another one.
constexpr std::size_t kDefaultFrames = 16384;
// For each PE of the node, and for the node: more than the four pages that an instruction needs at a time
// (nvm/README.md).
constexpr std::size_t kFramesOfPe = 8, kFewestFrames = 16;

// Whether the words of SHMEM_NVM_POLICY (base/env.def) are those of pages/policies.def, in that order.
consteval bool policies_are_those_of_the_variable() {
  std::string_view words;
#define ENV(NAME, KIND, MEMBER, DEFAULT, HELP) \
  if (std::string_view(#NAME) == "NVM_POLICY") words = DEFAULT;
#include "base/env.def"
#undef ENV
  for (const auto& policy : pages::kPolicies) {
    if (!words.starts_with(policy.word)) return false;
    words.remove_prefix(policy.word.size());
    if (&policy == std::end(pages::kPolicies) - 1) break;
    if (!words.starts_with('|')) return false;
    words.remove_prefix(1);
  }
  return words.empty();
}
static_assert(policies_are_those_of_the_variable(),
              "SHMEM_NVM_POLICY in base/env.def has other words than pages/policies.def");

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

// How many pages may be mapped at a time, with some thousand mappings left for the program.
std::size_t most_frames() {
  const std::size_t limit = pages::mapping_limit();
  constexpr std::size_t kOthers = 8192;
  return limit > 2 * kOthers ? (limit - kOthers) / 2 : kFewestFrames;
}

std::size_t smallest_page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Result<Options> Options::read(const Env& env, std::size_t default_heap) {
  Options options;
  constexpr std::string_view kScheme = "nvm:";
  if (env.heap.starts_with(kScheme)) {
    options.folder = env.heap.substr(kScheme.size());
    options.is_default = true;
  } else if (env.heap == "remote") {
    if (env.memory_servers.value_or(0) == 0)
      return Status::error(
          "SHMEM_HEAP is 'remote', but the job has no memory servers; start it with oshrun --memory-servers "
          "1, or more, or set SHMEM_MEMORY_SERVERS");
    options.on_servers = true;
    options.is_default = true;
  } else if (!env.heap.empty() && env.heap != "dram") {
    return Status::error("SHMEM_HEAP is '" + env.heap + "'; allowed are dram, nvm:<folder> and remote");
  } else {
    options.folder = env.nvm_dir;
  }
  if (options.is_default && options.folder.empty() && !options.on_servers)
    return Status::error("SHMEM_HEAP is 'nvm:'; the folder for the files is missing, as in nvm:/mnt/ssd");
  if (!options.wanted()) return options;
  if (Status status = options.on_servers
                          ? Status()
                          : check_folder(options.folder, options.is_default ? "SHMEM_HEAP" : "SHMEM_NVM_DIR");
      !status.ok())
    return status;
  options.cache_bytes = env.nvm_cache.value_or(default_heap / 2);
  options.cache_asked = env.nvm_cache.has_value();
  std::size_t page = kDefaultPage;
  while (page < kLargestPage && options.cache_bytes / page > kDefaultFrames) page *= 2;
  options.page_bytes = env.nvm_page.value_or(page);
  if (!std::has_single_bit(options.page_bytes) || options.page_bytes < smallest_page() ||
      options.page_bytes > kLargestPage) {
    return Status::error("SHMEM_NVM_PAGE is " + std::to_string(options.page_bytes) +
                         " bytes; allowed are powers of two from " + std::to_string(smallest_page()) +
                         " to 64m");
  }
  options.user_bytes = options.is_default ? env.symmetric_size.value_or(4 * default_heap)
                                          : env.nvm_size.value_or(4 * default_heap);
  options.engine = env.nvm_engine == "uring"  ? IoEngine::uring
                   : env.nvm_engine == "sync" ? IoEngine::sync
                                              : IoEngine::automatic;
  options.replacement = policy_called(env.nvm_policy);
  options.cooperative = env.nvm_cooperative;
  options.remote_ops = env.nvm_remote_ops;
  options.most_ahead = env.nvm_ahead;
  return options;
}

std::size_t Options::segment_bytes() const {
  return round_up(user_bytes + user_bytes / 2 + (std::size_t{8} << 20),
                  std::max(page_bytes, std::size_t{2} << 20));
}

// More bytes under way than this make a disk no faster, and pages that wait for their use keep others out.
std::size_t Options::ahead(std::size_t frames) const {
  constexpr std::size_t kMostBytes = std::size_t{4} << 20, kMost = 32, kLeast = 2;
  const std::size_t most = std::clamp(kMostBytes / page_bytes, kLeast, kMost);
  return std::min<std::size_t>(most_ahead.value_or(most), frames / 16);
}

PoolShape Options::shape(int node_size, int job_size) const {
  const std::size_t least = std::max(kFewestFrames, kFramesOfPe * static_cast<std::size_t>(node_size));
  return {page_bytes, std::clamp(cache_bytes / page_bytes, least, std::max(least, most_frames())),
          segment_bytes() / page_bytes, job_size, node_size};
}

std::string Options::other_size(const PoolShape& shape) const {
  const std::size_t asked = cache_bytes / page_bytes;
  if (!cache_asked || shape.frames == asked) return {};
  const auto human = [](std::size_t bytes) { return human_bytes(bytes); };
  const std::string instead =
      "SHMEM_NVM_CACHE is " + human(cache_bytes) + ", but " + human(shape.frames * page_bytes) +
      " of memory are used on a node: " + std::to_string(shape.frames) + " pages of " + human(page_bytes);
  return shape.frames < asked
             ? instead + ", as Linux permits no more mappings (vm.max_map_count); raise SHMEM_NVM_PAGE"
             : instead + ", the fewest for its PEs; lower SHMEM_NVM_PAGE, or raise SHMEM_NVM_CACHE";
}

}  // namespace shm::nvm
