// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/file_device.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <thread>

#include "pages/buffer.hpp"

namespace shm::nvm {
namespace {

constexpr std::size_t kMaxPiece = std::size_t{1} << 30;  // a call moves less than 2 GiB
constexpr std::uint64_t kMaxRoom = std::uint64_t{1} << 30;
constexpr std::uint64_t kMinRoom = std::uint64_t{1} << 20;
constexpr int kMaxStalls = 1'000'000;  // about a second of EAGAIN

// Zeros, or nothing if there is no memory.
AlignedBuffer aligned_blocks(std::size_t n) {
  AlignedBuffer blocks = aligned_buffer(n);
  if (blocks) std::memset(blocks.get(), 0, n);
  return blocks;
}

class SyncDevice final : public FileDevice {
 public:
  SyncDevice(OpenFile file, const std::string& remark)
      : FileDevice(std::move(file), "pread and pwrite" + remark) {}

  void start(Transfer& transfer) override {
    if (begin(transfer, file().size())) move_bytes(file().fd(), transfer);
    ended_.push_back(&transfer);
  }
  Transfer* finished() override {
    if (ended_.empty()) return nullptr;
    Transfer* first = ended_.front();
    ended_.pop_front();
    return first;
  }
  std::size_t under_way() const override { return ended_.size(); }

 private:
  std::deque<Transfer*> ended_;
};

Status cannot(const std::string& what, const std::string& path, int why, const std::string& advice) {
  return Status::error("cannot " + what + " " + path + " for the NVM heap: " + std::strerror(why) + "; " +
                       advice);
}

// The descriptor, or -1 and errno; `made`: the file did not exist.
int open_or_make(const DeviceOptions& options, bool& made) {
  made = false;
  if (options.to_read) return open(options.path.c_str(), O_RDONLY | O_CLOEXEC);
  int fd = open(options.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  made = fd >= 0;
  if (fd < 0 && errno == EEXIST && options.keep) fd = open(options.path.c_str(), O_RDWR | O_CLOEXEC);
  return fd;
}

Status opening_failed(const DeviceOptions& options, int why) {
  if (options.to_read) return cannot("read", options.path, why, "this user must be able to read it");
  switch (why) {
    case EEXIST:
    case EISDIR: return cannot("make", options.path, why, "remove it or choose another folder");
    case ENOSPC:
    case EDQUOT: return cannot("make", options.path, why, "free some space or choose another folder");
    default:
      return cannot("make", options.path, why,
                    "choose a folder that is there on every node, and that this user may make files in");
  }
}

// Refuses what is not a file, or is another device's.
Status claim(int fd, const DeviceOptions& options) {
  struct stat found {};
  if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode))
    return Status::error("cannot keep an NVM heap in " + options.path +
                         ": it is not a regular file; give the name of a file");
  // Elsewhere than EWOULDBLOCK the file system has no locks, and it is up to the user.
  if (options.keep && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Status::error("cannot keep an NVM heap in " + options.path +
                         ": another job or PE has it open; wait until that has ended or choose another name");
  return {};
}

// Gives the file its size if it is smaller.
Status grow(int fd, const std::string& path, std::uint64_t size) {
  rlimit limit{};
  // Going beyond it ends the process by a signal.
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur)
    return Status::error("cannot give " + path + " the " + std::to_string(size) +
                         " bytes of the NVM heap: the limit of file sizes is " +
                         std::to_string(limit.rlim_cur) + "; raise it (ulimit -f) or ask for less");
  struct stat found {};
  if (fstat(fd, &found) == 0 && static_cast<std::uint64_t>(found.st_size) >= size) return {};
  if (ftruncate(fd, static_cast<off_t>(size)) == 0) return {};
  return Status::error("cannot give " + path + " the " + std::to_string(size) +
                       " bytes of the NVM heap: " + std::strerror(errno) +
                       "; ask for less, or choose a file system that has files of that size");
}

// The name of a new file is durable only when its directory is.
Status persist_name(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int why = fd < 0 ? errno : 0;
  if (fd >= 0) {
    do {
      why = fsync(fd) == 0 ? 0 : errno;
    } while (why == EINTR);
    close(fd);
    // File systems that cannot (EINVAL and the like) need not.
    if (why != EIO && !says_full(why)) return {};
  }
  return Status::error("cannot make the name " + path + " (NVM heap) durable: " + std::strerror(why) +
                       "; choose another folder, look at the system's log");
}

}  // namespace

OpenFile::OpenFile(OpenFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      size_(other.size_),
      direct_(other.direct_) {}

OpenFile::~OpenFile() {
  if (fd_ >= 0) close(fd_);
}

void OpenFile::try_direct() {
  const int flags = fcntl(fd_, F_GETFL);
  if (flags < 0 || fcntl(fd_, F_SETFL, flags | O_DIRECT) != 0) return;
  // Some take the flag and refuse the transfers.
  const AlignedBuffer block = aligned_blocks(kBlock);
  Transfer probe{Transfer::Kind::read, 0, block.get(), kBlock};
  if (block) move_bytes(fd_, probe);
  direct_ = block && probe.error == 0;
  if (!direct_) fcntl(fd_, F_SETFL, flags);
}

std::string FileDevice::describe() const {
  return engine_ + (file_.direct() ? ", O_DIRECT" : ", page cache");
}

Status FileDevice::failed(const char* what, std::uint64_t offset, std::uint64_t n, int why) const {
  std::string text = "cannot " + std::string(what) + " " + std::to_string(n) + " bytes at offset " +
                     std::to_string(offset) + " of " + file_.path() + " (NVM heap): " + std::strerror(why);
  struct statvfs space {};
  if (why == ENOSPC && fstatvfs(file_.fd(), &space) == 0)
    text += ", " + std::to_string(space.f_bavail * space.f_frsize) + " bytes are free";
  return Status::error(text + (says_full(why) ? "; ask for less, free some space or choose another folder"
                                              : "; choose a folder on another file system"));
}

Status FileDevice::reserve(std::uint64_t offset, std::uint64_t n) {
  if (!lies_within(file_.size(), offset, n)) return failed("make room for", offset, n, EINVAL);
  const int why = occupy(offset, n);
  return why == 0 ? Status() : failed("make room for", offset, n, why);
}

int FileDevice::occupy(std::uint64_t offset, std::uint64_t n) {
  // A signal makes some file systems drop what a call has done so far, so after one the calls do less.
  std::uint64_t piece = kMaxRoom;
  while (n > 0) {
    const std::uint64_t now = std::min(n, piece);
    if (fallocate(file_.fd(), 0, static_cast<off_t>(offset), static_cast<off_t>(now)) == 0) {
      offset += now;
      n -= now;
    } else if (errno == EINTR) {
      piece = std::max(piece / 2, kMinRoom);
    } else if (errno == EOPNOTSUPP || errno == ENOSYS) {
      return rewrite(offset, n, true);
    } else {
      return errno;
    }
  }
  return 0;
}

int FileDevice::rewrite(std::uint64_t offset, std::uint64_t n, bool as_it_is) {
  const AlignedBuffer blocks = aligned_blocks(kMinRoom);
  if (!blocks) return ENOMEM;
  while (n > 0) {
    const std::uint64_t now = std::min(n, kMinRoom);
    Transfer read{Transfer::Kind::read, offset, blocks.get(), now};
    Transfer write{Transfer::Kind::write, offset, blocks.get(), now};
    if (as_it_is) move_bytes(file_.fd(), read);
    if (read.error == 0) move_bytes(file_.fd(), write);
    if (read.error != 0 || write.error != 0) return read.error != 0 ? read.error : write.error;
    offset += now;
    n -= now;
  }
  return 0;
}

Status FileDevice::release(std::uint64_t offset, std::uint64_t n) {
  if (!lies_within(file_.size(), offset, n)) return failed("give back", offset, n, EINVAL);
  if (n == 0) return {};
  int why;
  do {
    const int made = fallocate(file_.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               static_cast<off_t>(offset), static_cast<off_t>(n));
    why = made == 0 ? 0 : errno;
  } while (why == EINTR);
  // The room cannot be given back there, but what was written goes.
  if (why == EOPNOTSUPP || why == ENOSYS) why = rewrite(offset, n, false);
  return why == 0 ? Status() : failed("give back", offset, n, why);
}

Status FileDevice::persist() {
  // The system reports a lost write to one call only and calls the next one a success.
  while (lost_ == 0 && fdatasync(file_.fd()) != 0) {
    if (errno != EINTR) lost_ = errno;
  }
  if (lost_ == 0) return {};
  return Status::error("cannot make the writes to " + file_.path() +
                       " (NVM heap) durable: " + std::strerror(lost_) +
                       "; what it holds is not to be relied on, look at the system's log");
}

bool lies_within(std::uint64_t size, std::uint64_t offset, std::uint64_t n) {
  return offset % kBlock == 0 && n % kBlock == 0 && offset <= size && n <= size - offset;
}

bool begin(Transfer& transfer, std::uint64_t device_size) {
  const bool good = lies_within(device_size, transfer.offset, transfer.n) &&
                    reinterpret_cast<std::uintptr_t>(transfer.data) % kBlock == 0;
  transfer.error = good ? 0 : EINVAL;
  transfer.done = 0;
  transfer.stalls = 0;
  return good;
}

std::size_t next_piece(const Transfer& transfer) { return std::min(transfer.n - transfer.done, kMaxPiece); }

bool account(Transfer& transfer, long result) {
  if (result > 0) {
    transfer.done += static_cast<std::size_t>(result);
    transfer.stalls = 0;
    return transfer.done == transfer.n;
  }
  if (result < 0) {
    if ((result == -EINTR || result == -EAGAIN) && ++transfer.stalls < kMaxStalls) return false;
    transfer.error = static_cast<int>(-result);
  } else if (transfer.kind == Transfer::Kind::read) {  // the end of the file: nothing was written here
    if (transfer.done < transfer.n) std::memset(transfer.data + transfer.done, 0, transfer.n - transfer.done);
    transfer.done = transfer.n;
  } else if (transfer.done < transfer.n) {  // no byte, no reason
    transfer.error = EIO;
  }
  return true;
}

void move_bytes(int fd, Transfer& transfer) {
  long result;
  do {
    std::byte* at = transfer.data + transfer.done;
    const auto offset = static_cast<off_t>(transfer.offset + transfer.done);
    const std::size_t n = next_piece(transfer);
    result = transfer.kind == Transfer::Kind::read ? pread(fd, at, n, offset) : pwrite(fd, at, n, offset);
    if (result < 0) {
      result = -errno;
      std::this_thread::yield();  // EAGAIN: others have what we lack
    }
  } while (!account(transfer, result));
}

Result<std::unique_ptr<Device>> open_device(const DeviceOptions& options) {
  if (options.size > std::numeric_limits<std::int64_t>::max() - kBlock)
    return cannot("make", options.path, EFBIG, "ask for less than 8 EiB");
  const std::uint64_t size = (options.size + kBlock - 1) / kBlock * kBlock;
  bool made = false;
  const int fd = open_or_make(options, made);
  if (fd < 0) return opening_failed(options, errno);
  OpenFile file(fd, options.path, size);
  if (!options.keep) unlink(options.path.c_str());
  // Nothing is removed here: whoever was faster with the lock may have begun to use the file that we made.
  if (Status claimed = claim(fd, options); !claimed.ok()) return claimed;
  Status usable = options.to_read ? Status() : grow(fd, options.path, size);
  if (usable.ok() && made && options.keep) usable = persist_name(options.path);
  if (!usable.ok()) {
    if (made && options.keep) unlink(options.path.c_str());
    return usable;
  }
  if (options.direct && size > 0) file.try_direct();

  std::string remark;
  if (options.engine != IoEngine::sync) {
    auto uring = make_uring_device(file);
    if (uring.ok() || options.engine == IoEngine::uring) return uring;
    remark = " (" + uring.status().text() + ")";
  }
  return std::unique_ptr<Device>(std::make_unique<SyncDevice>(std::move(file), remark));
}

}  // namespace shm::nvm
