// SPDX-License-Identifier: BSD-3-Clause
#include "setup/remote_memory.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/host_memory.hpp"
#include "base/human.hpp"
#include "core/region.hpp"
#include "setup/memory_link.hpp"

namespace shm {
namespace {

constexpr std::size_t kDefaultPage = std::size_t{2} << 20;
constexpr std::size_t kSmallestPage = 4096, kLargestPage = std::size_t{64} << 20;
constexpr unsigned kMostReads = 64;
constexpr std::size_t kPartOfHost = 4;  // local memory, where nothing is set

remote::Area* area = nullptr;
remote::Servers* memory_servers = nullptr;

// Of SHMEM_SWAP, a Choice.
remote::Swap swap_named(const std::string& name) {
  return name == "r3"    ? remote::Swap::r3
         : name == "r58" ? remote::Swap::r58
         : name == "r77" ? remote::Swap::r77
                         : remote::Swap::direct;
}

// Of SHMEM_REMOTE_WITHOUT.
Result<remote::Mechanisms> mechanisms_without(std::string_view words) {
  remote::Mechanisms made;
  const std::pair<std::string_view, bool*> known[] = {
      {"ahead", &made.ahead}, {"sweeper", &made.sweeper}, {"huge", &made.huge}};
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(','));
    const auto* const found = std::ranges::find(known, word, &std::pair<std::string_view, bool*>::first);
    if (found == std::end(known))
      return Status::error("SHMEM_REMOTE_WITHOUT has '" + std::string(word) +
                           "'; allowed are ahead, sweeper and huge, with commas");
    *found->second = false;
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return made;
}

Result<remote::Area::Settings> read_settings(const Env& env, int pes_on_host, int server_count) {
  remote::Area::Settings made;
  made.page_bytes = env.remote_page.value_or(kDefaultPage);
  if (!std::has_single_bit(made.page_bytes) || made.page_bytes < kSmallestPage ||
      made.page_bytes > kLargestPage) {
    return Status::error("SHMEM_REMOTE_PAGE is " + std::to_string(made.page_bytes) +
                         " bytes; allowed are powers of two from 4k to 64m");
  }
  const std::size_t share = host_memory() / kPartOfHost / static_cast<std::size_t>(std::max(pes_on_host, 1));
  made.local_bytes = env.remote_local.value_or(share);
  const std::size_t least = remote::SwapEngine::kFewestFrames * made.page_bytes;
  if (made.local_bytes < least) {
    return Status::error("SHMEM_REMOTE_LOCAL is " + human_bytes(made.local_bytes) + "; allowed is from " +
                         human_bytes(least) + " on, " + std::to_string(remote::SwapEngine::kFewestFrames) +
                         " pages (SHMEM_REMOTE_PAGE)");
  }
  made.server_bytes = bytes_per_server(env, server_count);
  // More than the servers lend is never in use.
  const std::size_t all = made.server_bytes * static_cast<std::size_t>(std::max(server_count, 1));
  made.local_bytes = std::max(least, std::min(made.local_bytes, all));
  made.ahead = env.remote_ahead.value_or(1);
  const std::uint64_t reads = env.remote_reads.value_or(2);
  if (reads == 0 || reads > kMostReads)
    return Status::error("SHMEM_REMOTE_READS is " + std::to_string(reads) + "; allowed are 1 to " +
                         std::to_string(kMostReads));
  made.reads = static_cast<unsigned>(reads);
  made.swap = swap_named(env.swap);
  Result<remote::Mechanisms> mechanisms = mechanisms_without(env.remote_without);
  if (!mechanisms.ok()) return mechanisms.status();
  made.mechanisms = mechanisms.value();
  return made;
}

}  // namespace

remote::Area* remote_area() { return area; }

std::vector<remote::ServerUse> memory_server_uses() {
  return memory_servers != nullptr ? memory_servers->uses() : std::vector<remote::ServerUse>();
}

void begin_memory_server_uses_anew() {
  if (memory_servers != nullptr) memory_servers->begin_uses_anew();
}

Result<std::size_t> take_over_memory(void* at, std::size_t bytes) {
  Result<std::span<std::byte>> taken = area->take_over(at, bytes);
  if (!taken.ok()) return taken.status();
  add_private_pages(reinterpret_cast<std::uintptr_t>(taken.value().data()), taken.value().size());
  return taken.value().size();
}

Status open_remote_memory(remote::Servers& servers, const Env& env, int pes_on_host) {
  Result<remote::Area::Settings> settings = read_settings(env, pes_on_host, servers.count());
  if (!settings.ok()) return settings.status();
  Result<std::unique_ptr<remote::Area>> opened = remote::Area::open(servers, settings.value());
  if (!opened.ok()) return opened.status();
  area = opened.value().release();
  memory_servers = &servers;
  begin_memory_server_uses_anew();
  add_private_pages(area->base(), area->size());
  return {};
}

void close_remote_memory() {
  remove_private_pages();
  memory_servers = nullptr;
  delete std::exchange(area, nullptr);
}

}  // namespace shm
