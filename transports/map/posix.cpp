// SPDX-License-Identifier: BSD-3-Clause
// The mapper `posix`: a file of shm_open, whose name is removed when all have attached.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <thread>

#include "transports/map/full_shm.hpp"
#include "transports/map/mappers.hpp"
#include "transports/map/short_name.hpp"

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;

class PosixMapper final : public Mapper {
 public:
  ~PosixMapper() override { all_attached(); }
  const char* name() const override { return "posix"; }

  Result<int> open(const NodeMember& member) override {
    name_full_shm();
    const std::string name = short_name("/atoll.", member.key, NAME_MAX);
    if (member.node_rank != 0) return attach(name, member.timeout);
    const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return Status::error("shm_open(" + name + "): " + std::strerror(errno));
    name_ = name;
    return file;
  }

  void all_attached() override {
    if (!name_.empty()) shm_unlink(name_.c_str());
    name_.clear();
  }

 private:
  // Somebody else may have made the object, or be let in to it.
  static Result<int> checked(const std::string& name, int file) {
    struct stat info {};
    if (fstat(file, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 077) == 0) return file;
    close(file);
    return Status::error("/dev/shm" + name + " does not belong to this user alone; who made it?");
  }

  static Result<int> attach(const std::string& name, double timeout) {
    const auto deadline = Clock::now() + std::chrono::duration<double>(timeout);
    auto pause = std::chrono::microseconds(100);
    while (Clock::now() < deadline) {
      const int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
      if (file >= 0) return checked(name, file);
      if (errno != ENOENT) return Status::error("shm_open(" + name + "): " + std::strerror(errno));
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(2000));
    }
    return late_leader("make its object in /dev/shm", timeout);
  }

  std::string name_;  // leader only, while the name exists
};

}  // namespace

std::unique_ptr<Mapper> make_posix_mapper() { return std::make_unique<PosixMapper>(); }

}  // namespace shm
