// SPDX-License-Identifier: BSD-3-Clause
// A list of tagged receives at an endpoint of its own.
//
// What no receive fits waits inside libfabric.  Each poll asks for it (FI_PEEK | FI_CLAIM) and takes it
// (FI_CLAIM). rxm has one record for each receive and for each claim, so the list leaves some over.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "ofi/endpoint.hpp"
#include "transports/matcher.hpp"

namespace shm::ofi {

class TaggedMatcher final : public Matcher {
 public:
  TaggedMatcher(std::unique_ptr<Endpoint> endpoint, bool reports_unmatched);
  ~TaggedMatcher() override;

  std::string describe() const override;
  Result<std::vector<std::byte>> address() override { return endpoint_->name(); }
  Status connect(int npes, const AddressLookup& lookup) override;
  bool post(Receive& receive) override;
  std::size_t most_receives() const override { return most_receives_; }
  bool has_room() override;
  void cancel(Receive& receive) override;
  void send(int pe, std::uint64_t tag, const void* bytes, std::size_t n) override;
  bool poll(const ArrivalSink& sink) override;
  int wait_fd() const override { return endpoint_->wait_fd(); }
  bool may_block() override;

 private:
  static constexpr std::size_t kSpareReceives = 8;
  static constexpr std::size_t kAtOnce = 16;  // completions

  struct Unsent {
    int pe;
    std::uint64_t tag;
    std::vector<std::byte> bytes;
  };

  // All with lock_.
  bool inject(int pe, std::uint64_t tag, const void* bytes, std::size_t n);
  void send_held_back();
  void peek();
  void claim(std::uint64_t tag);
  std::size_t reap(Arrival (&arrivals)[kAtOnce]);
  bool take_error(Arrival& arrival);
  bool take(const fi_cq_tagged_entry& entry, Arrival& arrival);

  const std::unique_ptr<Endpoint> endpoint_;
  const bool reports_unmatched_;
  const std::size_t most_receives_;
  std::mutex poller_;  // held by the thread that polls, while its sink runs too; before lock_
  std::mutex lock_;    // of the endpoint and what follows; for a call of the provider
  std::vector<fi_addr_t> peers_;
  std::deque<Unsent> unsent_;
  std::size_t posted_ = 0;
  enum class Peek : std::uint8_t { none, asked, claimed } peek_ = Peek::none;
  fi_context2 peek_context_{};
  std::vector<std::byte> unmatched_;  // what was claimed; used by the thread with poller_
};

}  // namespace shm::ofi
