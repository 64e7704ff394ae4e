// SPDX-License-Identifier: BSD-3-Clause
// broadcast: the root's block to all members.
#include "base/copy_bytes.hpp"
#include "coll/choose.hpp"
#include "coll/collectives.hpp"
#include "coll/internode.hpp"
#include "coll/paged.hpp"

namespace shm {
namespace {

// Phase 1, of the speaker (the root, or on other nodes the leader once it has the data): here they are.
// Phase 2, of the others, unless the data rode along: I have copied them.
class Broadcast {
 public:
  Broadcast(Group& g, Call call, void* dest, const void* source, std::size_t n, int root)
      : g_(g), call_(call), dest_(dest), source_(source), n_(n), root_(root) {
    at_root_node_ = g.node_of[static_cast<std::size_t>(root)] == g.node;
    inline_ = choose(Collective::broadcast, n, g.size(), g.one_node()) == Algorithm::inlined;
    phase_ = take_phases(g, 2);
  }

  void run() {
    if (at_root_node_ ? g_.me() == root_ : g_.leads()) {
      speak();
    } else {
      listen();
    }
  }

 private:
  // The root's node is served first: its PEs copy while the data travel.
  void speak() {
    const bool is_root = g_.me() == root_;
    void* data = is_root ? const_cast<void*>(source_) : dest_;
    if (is_root && !inline_) at_member(g_, call_, "source", source_, n_, root_);  // others will read it
    if (!is_root) internode_broadcast(g_, phase_, root_, data, n_);
    publish(g_, phase_, data, inline_ ? n_ : 0);
    if (is_root && !g_.one_node()) internode_broadcast(g_, phase_, root_, data, n_);
    if (inline_) return;
    for (int i = 0; i < g_.local_size(); ++i) {
      if (i != g_.local) await(g_, i, phase_ + 1);
    }
  }

  void listen() {
    const int speaker = at_root_node_ ? root_ : g_.locals().front();
    const Cell& cell = await(g_, position_of(speaker), phase_);
    if (inline_) {
      std::memcpy(dest_, cell.payload, n_);
      return;
    }
    const std::byte* from = at_root_node_ ? at_member(g_, call_, "source", source_, n_, speaker)
                                          : at_member(g_, call_, "dest", dest_, n_, speaker);
    copy_bytes(dest_, from, n_);
    publish(g_, phase_ + 1);
  }

  int position_of(int member) const {
    if (g_.one_node()) return member;
    const std::vector<int>& locals = g_.locals();
    int position = 0;
    while (locals[static_cast<std::size_t>(position)] != member) ++position;
    return position;
  }

  Group& g_;
  const Call call_;
  void* dest_;
  const void* source_;
  const std::size_t n_;
  const int root_;
  bool at_root_node_;
  bool inline_;
  std::uint64_t phase_;
};

}  // namespace

void broadcast(Group& g, Call call, void* dest, const void* source, std::size_t n, int root, bool root_too) {
  if (n == 0) return;
  if (g.size() > 1 && is_paged(dest, source)) [[unlikely]]
    return paged_broadcast(g, call, dest, source, n, root, root_too);
  if (g.size() > 1) Broadcast(g, call, dest, source, n, root).run();
  if (root_too && g.me() == root && dest != source) copy_bytes(dest, source, n);
}

}  // namespace shm
