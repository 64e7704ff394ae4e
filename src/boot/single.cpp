// SPDX-License-Identifier: BSD-3-Clause
// A job of one PE, started by hand: nobody to ask and nobody to tell.
#include <unistd.h>

#include <random>

#include "base/fatal.hpp"
#include "base/random.hpp"
#include "boot/boot.hpp"

namespace shm {
namespace {

class SingleBoot final : public Boot {
 public:
  Status join(const Env& env) override {
    if (env.memory_servers.value_or(0) != 0) {
      return Status::error(
          "SHMEM_MEMORY_SERVERS asks for memory servers, which a launcher has to start: use "
          "oshrun -n 1 --memory-servers " +
          std::to_string(*env.memory_servers));
    }
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    job_.host = host;
    job_.node_pes = {0};
    job_.id = "single-" + std::to_string(getpid()) + "-" + std::to_string(std::random_device{}());
    return {};
  }
  const Job& job() const override { return job_; }
  Result<std::uint64_t> node_token() override { return random_number(); }
  Status exchange(const std::vector<std::byte>& mine) override {
    mine_ = mine;
    return {};
  }
  Result<std::vector<std::byte>> fetch(int) override { return mine_; }
  Status barrier() override { return {}; }
  void leave() override {}
  std::string host_of(int) const override { return job_.host; }
  void abort(int, const char* suspicion) override {
    if (suspicion != nullptr) print_line(suspicion);
  }

 private:
  Job job_;
  std::vector<std::byte> mine_;
};

}  // namespace

std::unique_ptr<Boot> make_single_boot() { return std::make_unique<SingleBoot>(); }

}  // namespace shm
