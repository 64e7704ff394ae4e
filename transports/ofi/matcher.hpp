// SPDX-License-Identifier: BSD-3-Clause
// A list of tagged receives at an endpoint of its own.
//
// What no receive fits waits inside libfabric.  Each poll asks for it (FI_PEEK | FI_CLAIM) and takes it
// (FI_CLAIM). rxm has one record for each receive and for each claim, so the list leaves some over.
//
// Each message begins with the receiver's cookie, which it tells its peers with its address.  A receive that
// matched one without it goes to the end of the list; what its tag fits is `unmatched` meanwhile.
#pragma once

#include <atomic>
#include <deque>

#include "base/mutex.hpp"
#include "base/random.hpp"
#include "ofi/endpoint.hpp"
#include "transports/matcher.hpp"

namespace shm::ofi {

class TaggedMatcher final : public Matcher {
 public:
  TaggedMatcher(std::unique_ptr<Endpoint> endpoint, bool reports_unmatched);
  ~TaggedMatcher() override;

  std::string describe() const override;
  Result<std::vector<std::byte>> address() override;
  Result<int> connect(int npes, const AddressLookup& lookup) override;
  bool post(TaggedReceive& receive) override;
  std::size_t most_receives() const override { return most_receives_; }
  bool has_room() override;
  void cancel(TaggedReceive& receive) override;
  void send(int list, std::uint64_t tag, const void* bytes, std::size_t n) override;
  bool poll(const ArrivalSink& sink) override;
  int wait_fd() const override { return endpoint_->wait_fd(); }
  bool may_block() override;

 private:
  static constexpr std::size_t kSpareReceives = 8;
  static constexpr std::size_t kAtOnce = 16;  // completions

  struct Peer {
    int pe = 0;
    fi_addr_t address = FI_ADDR_UNSPEC;
    std::uint64_t cookie = 0;  // that it wants to see
  };
  struct Unsent {
    int list;
    std::uint64_t tag;
    std::vector<std::byte> bytes;
  };

  long post_at_provider(TaggedReceive& receive) REQUIRES(lock_);
  bool is_ours(std::size_t bytes, std::uint64_t cookie) const;
  void refuse() REQUIRES(lock_);
  void refuse(TaggedReceive& receive) REQUIRES(lock_);
  void post_refused() REQUIRES(lock_);
  bool inject(int list, std::uint64_t tag, const void* bytes, std::size_t n) REQUIRES(lock_);
  void send_held_back() REQUIRES(lock_);
  bool waits_for_poll() const REQUIRES(lock_) {
    return !unsent_.empty() || !refused_.empty() || !withdrawn_.empty();
  }
  void peek() REQUIRES(lock_);
  void claim(std::uint64_t tag) REQUIRES(poller_, lock_);
  std::size_t reap(Arrival (&arrivals)[kAtOnce]) REQUIRES(poller_, lock_);
  bool take_error(Arrival& arrival) REQUIRES(lock_);
  bool take(const fi_cq_tagged_entry& entry, Arrival& arrival) REQUIRES(poller_, lock_);

  const std::unique_ptr<Endpoint> endpoint_;
  const bool reports_unmatched_;
  const std::size_t most_receives_;
  Mutex poller_ ACQUIRED_BEFORE(lock_);  // held by the thread that polls, while its sink runs too
  Mutex lock_;                           // of the endpoint and what follows; for a call of the provider
  const std::uint64_t cookie_ = random_number();  // of each message to this endpoint
  std::vector<Peer> peers_ GUARDED_BY(lock_);  // by list; none is ever taken out: rxm knows it by its address
  std::vector<TaggedReceive*> refused_ GUARDED_BY(lock_);  // matched a message of nobody: to be posted again
  std::vector<TaggedReceive*> withdrawn_ GUARDED_BY(lock_);  // of these, cancelled: to be reported
  std::deque<Unsent> unsent_ GUARDED_BY(lock_);
  std::size_t posted_ GUARDED_BY(lock_) = 0;
  enum class Peek : std::uint8_t { none, asked, claimed } peek_ GUARDED_BY(lock_) = Peek::none;
  fi_context2 peek_context_ GUARDED_BY(lock_){};
  std::uint64_t unmatched_cookie_ GUARDED_BY(lock_) = 0;
  std::uint64_t refusals_ GUARDED_BY(lock_) = 0;
  std::vector<std::byte> unmatched_ GUARDED_BY(poller_);  // what was claimed
};

}  // namespace shm::ofi
