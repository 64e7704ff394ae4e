// SPDX-License-Identifier: BSD-3-Clause
// What the engines on a file have in common.  Known to file_device.cpp, uring_device.cpp and their test only.
#pragma once

#include <memory>
#include <utility>

#include "nvm/pages.hpp"
#include "nvm/storage/open_device.hpp"
#include "pages/device.hpp"

namespace shm::nvm {

/// A file that is open, and closed in the end.  Can be moved.
class OpenFile {
 public:
  OpenFile() = default;
  OpenFile(int fd, std::string path, std::uint64_t size) : fd_(fd), path_(std::move(path)), size_(size) {}
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&&) = delete;

  // The file is at least size() bytes long.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  bool direct() const { return direct_; }

  /// Switches to O_DIRECT if the file system takes such transfers.
  void try_direct();

 private:
  int fd_ = -1;
  std::string path_;
  std::uint64_t size_ = 0;
  bool direct_ = false;
};

/// All of a device on a file but its transfers.
class FileDevice : public Device {
 public:
  std::string describe() const override;
  Status reserve(std::uint64_t offset, std::uint64_t n) override;
  Status release(std::uint64_t offset, std::uint64_t n) override;
  Status persist() override;

 protected:
  FileDevice(OpenFile file, std::string engine) : file_(std::move(file)), engine_(std::move(engine)) {}
  const OpenFile& file() const { return file_; }

 private:
  Status failed(const char* what, std::uint64_t offset, std::uint64_t n, int why) const;
  // Both return errno.  rewrite() writes what is there, or zeros, for file systems without fallocate().
  int occupy(std::uint64_t offset, std::uint64_t n);
  int rewrite(std::uint64_t offset, std::uint64_t n, bool as_it_is);

  OpenFile file_;
  const std::string engine_;  // for describe()
  int lost_ = 0;              // errno of the first persist() that failed
};

/// io_uring on the file, which is moved from only if this succeeds.
Result<std::unique_ptr<Device>> make_uring_device(OpenFile& file);

/// Carries out a transfer that begin() has prepared, and waits for the system.
void move_bytes(int fd, Transfer& transfer);

/// Whether [offset, offset + n) consists of blocks of a device of this size.
bool lies_within(std::uint64_t size, std::uint64_t offset, std::uint64_t n);

/// Prepares a transfer that is started.  False: it cannot be (error says EINVAL) and has ended.
bool begin(Transfer& transfer, std::uint64_t device_size);

/// How many bytes to ask the system for next: what is left, or as much of it as one call can move.
std::size_t next_piece(const Transfer& transfer);

/// Accounts for an attempt to move the next piece: `result` is the number of bytes moved or -errno.  True:
/// the transfer has ended; false: what is left must be tried (again).
bool account(Transfer& transfer, long result);

}  // namespace shm::nvm
