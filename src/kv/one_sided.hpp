// SPDX-License-Identifier: BSD-3-Clause
// Gets of other nodes' elements that this PE carries out by reading (kv/far_get), one or many at a time.
#pragma once

#include <span>
#include <vector>

#include "base/wait_record.hpp"
#include "kv/client.hpp"
#include "kv/far_get.hpp"
#include "kv/members.hpp"

namespace shm::kv {

/// Of a table in memory.  Thread safety: all of it.
class OneSidedGets final : public FarReads {
 public:
  /// Whether SHMEM_KV_GET, or what is known of the network, says that gets are carried out so.
  static bool are_wanted();

  /// All of the table, and stay where they are; `places`: of the members' shards, from the start of their
  /// heap segments.
  OneSidedGets(const ShardLayout& layout, const Client& client, const Members& members,
               const std::vector<std::uint64_t>& places)
      : client_(client),
        members_(members),
        places_(places),
        shards_(layout, static_cast<unsigned>(places.size())) {}

  /// Whether it is for them: a get, or whether there is an element, of what travels in packets.
  bool fits(const KvRequest& request) const;

  struct Wanted {
    Key key;
    int pe;  // among the members
    void* value;
    std::uint64_t room;
    bool only_whether;  // there is one: how long it is does not matter
    // What it gives, if it is answered: n with OK and TOO_LARGE.
    bool is_answered = false;
    Code status = SHMEMX_KV_NOT_FOUND;
    std::uint64_t n = 0;
  };
  /// What is not answered the PE is to be asked.
  void get(Call call, Wanted& wanted);
  /// The same of all of them, several at a time.
  void get_all(Call call, std::span<Wanted> all);

 private:
  static constexpr std::size_t kAtOnce = 16;

  void read(int pe, std::uint64_t at, void* to, std::size_t n, Completion* completion) override;
  bool may_begin(const Wanted& wanted) const;
  static void finish(const FarGet& get, Wanted& wanted);

  const Client& client_;
  const Members& members_;
  const std::vector<std::uint64_t>& places_;
  FarShards shards_;
};

}  // namespace shm::kv
