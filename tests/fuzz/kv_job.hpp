// SPDX-License-Identifier: BSD-3-Clause
// A table of a job of two PEs without the job: this is PE 0, whose shard is here, and PE 1 is the input.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <memory>

#include "core/progress.hpp"
#include "core/runtime.hpp"
#include "kv/table.hpp"
#include "sink_network.hpp"

namespace shm::fuzz {

/// So many zeros, between pages that are nobody's: an allocation of that size takes longer than an input.
class Zeros {
 public:
  explicit Zeros(std::size_t n)
      : bytes_((n + 63) / 64 * 64), all_((bytes_ + kPage - 1) / kPage * kPage + 2 * kPage) {
    void* const memory = mmap(nullptr, all_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(memory);
    if (mprotect(base_ + kPage, all_ - 2 * kPage, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~Zeros() { munmap(base_, all_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;

  std::byte* get() const { return base_ + all_ - kPage - bytes_; }

 private:
  static constexpr std::size_t kPage = 4096;
  const std::size_t bytes_, all_;
  std::byte* base_;
};

class KvJob {
 public:
  KvJob(std::uint64_t key_bytes, std::uint64_t value_bytes)
      : layout(kv::make_layout(key_bytes, value_bytes, 12, 1, false)), memory_(layout.bytes) {
    be_one_of_two(network, progress);
    shard.prepare(0);
    table = std::make_unique<kv::Table>(0, nullptr, false);
    table->use(layout, memory_.get());
  }
  ~KvJob() {
    table.reset();
    be_no_pe();
  }
  KvJob(const KvJob&) = delete;
  KvJob& operator=(const KvJob&) = delete;

  SinkNetwork network;
  const kv::ShardLayout layout;

 private:
  Progress progress{network, &network.channel, 0};
  const Zeros memory_;

 public:
  const kv::Shard<kv::Mapped> shard{kv::Mapped(memory_.get()), layout};
  std::unique_ptr<kv::Table> table;
};

}  // namespace shm::fuzz
