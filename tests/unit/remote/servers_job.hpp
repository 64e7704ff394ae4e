// SPDX-License-Identifier: BSD-3-Clause
// PEs and memory servers in one process, on the loop network.  A thread drives the servers.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/huge_pages.hpp"
#include "base/service_thread.hpp"
#include "loop.hpp"
#include "net.hpp"
#include "remote/lender.hpp"
#include "remote/paper_suspension.hpp"
#include "remote/servers.hpp"

namespace shm::remote::test {

inline std::vector<std::vector<std::byte>> link_addresses;

/// One at a time.
class ServersJob {
 public:
  /// What is put around the links of PEs.
  using Around = std::function<std::unique_ptr<Network>(std::unique_ptr<Network>)>;

  ServersJob(
      int pes, int servers, std::size_t bytes, double patience = 10,
      const Around& around = [](std::unique_ptr<Network> link) { return link; })
      : pes_(pes) {
    const std::shared_ptr<LoopFabric> fabric = make_loop_fabric();
    std::vector<std::unique_ptr<Network>> links;
    link_addresses.clear();
    for (int rank = 0; rank < pes + servers; ++rank) {
      links.push_back(rank < pes ? around(open_loop(fabric)) : open_loop(fabric));
      if (rank >= pes) {
        Result<LentMemory> memory = LentMemory::create(bytes);
        EXPECT_TRUE(memory.ok());
        lenders_.emplace_back(std::move(memory.value()), pes);
        EXPECT_TRUE(links.back()->add_segment(SegmentId::lent, lent(rank - pes), bytes).ok());
      }
      link_addresses.push_back(std::move(links.back()->address().value()));
    }
    for (int rank = 0; rank < pes; ++rank) servers_.emplace_back(Servers::Settings{pes, servers, patience});
    for (int rank = 0; rank < pes + servers; ++rank) {
      const auto which = static_cast<std::size_t>(rank);
      const MessageSink sink =
          rank < pes
              ? Servers::sink(servers_[which])
              : MessageSink([this, rank](int from, std::uint16_t id, const std::byte* m, std::size_t n) {
                  lender(rank - pes_).receive(from, id, m, n);
                });
      const auto lookup =
          +[](int of) { return std::span<const std::byte>(link_addresses[static_cast<std::size_t>(of)]); };
      EXPECT_TRUE(links[which]->connect(rank, pes + servers, lookup, sink).ok());
      if (rank < pes) {
        servers_[which].open(std::move(links[which]));
      } else {
        lender(rank - pes).open(links[which]->open_channel(), false);
        server_links_.push_back(std::move(links[which]));
      }
    }
    // As another process would, it goes on while the threads of this one are suspended.
    driver_ = start_service_thread("servers", [this] {
      is_no_user_thread();
      while (!stop_) {
        rounds_.fetch_add(1);
        for (const auto& link : server_links_) link->poll();
        std::this_thread::yield();
      }
    });
  }
  ~ServersJob() {
    servers_.clear();
    stop_ = true;
    driver_.join();
    for (std::size_t server = 0; server < lenders_.size(); ++server) {
      Channel* channel = lenders_[server].channel();
      while (!channel->ops->idle(channel)) server_links_[server]->poll();
      server_links_[server]->close_channel(channel);
    }
  }

  Servers& servers(int pe) { return servers_[static_cast<std::size_t>(pe)]; }
  Lender& lender(int server) { return lenders_[static_cast<std::size_t>(server)]; }
  std::byte* lent(int server) { return lender(server).memory().base(); }
  /// Until all that was sent has been heard.
  void settle() {
    for (Servers& servers : servers_) servers.poll();
    for (const int until = rounds_ + 3; rounds_ < until;) std::this_thread::yield();
  }
  void wait(int pe, const Completion& done) {
    while (!done.done()) servers(pe).poll();
  }

 private:
  const int pes_;
  std::deque<Lender> lenders_;
  std::deque<Servers> servers_;
  std::vector<std::unique_ptr<Network>> server_links_;
  std::atomic<bool> stop_{false};
  std::atomic<int> rounds_{0};
  std::thread driver_;
};

}  // namespace shm::remote::test
