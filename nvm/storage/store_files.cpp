// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/store_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <thread>
#include <tuple>

#include "nvm/storage/file_device.hpp"

namespace shm::nvm {
namespace {

constexpr char kBeforePe[] = ".pe";
constexpr char kSuffix[] = ".atoll";
constexpr char kInUse[] = "a job, or a tool, is using it; wait until that has ended";

Status cannot(const std::string& what, const std::string& path, const std::string& why) {
  return Status::error("cannot " + what + " " + path + ": " + why);
}

// For reading only, and without its lock.
OpenFile open_to_read(const std::string& path) {
  return {open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), path, 0};
}

// Takes its lock.  False: somebody keeps it.  A process that was killed has its io_uring, and with that the
// lock, until the system has ended what was under way there, which is after the process is gone.
bool lock_soon(const OpenFile& file, std::chrono::milliseconds patience = kDying) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (flock(file.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kDying / 1000);
  }
  return true;
}

// What lies beyond the end of the file reads as zeros.
int read_block(int fd, std::uint64_t offset, SlotBlock& block) {
  auto* at = reinterpret_cast<char*>(&block);
  for (std::size_t done = 0; done < sizeof block;) {
    const ssize_t n = pread(fd, at + done, sizeof block - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}

Result<Slots> read_file(const OpenFile& file) {
  struct stat found {};
  if (fstat(file.fd(), &found) != 0 || !S_ISREG(found.st_mode))
    return cannot("read", file.path(), "it is not a regular file; give the object another name");
  SlotBlock blocks[kSlots] = {};
  for (int slot = 0; slot < kSlots; ++slot) {
    const int error = read_block(file.fd(), FileLayout::slot(slot), blocks[slot]);
    if (error != 0) return cannot("read", file.path(), std::strerror(error));
  }
  return read_slots(blocks);
}

bool kept_anything(const Slots& slots) {
  return slots.state == Slots::State::object && slots.epochs().back() > 0;
}

std::string numbers(const Found& part) {
  const std::string first = std::to_string(part.epochs[0]);
  return part.count == 2 ? first + " and " + std::to_string(part.epochs[1]) : first;
}

// The newest epoch of the first part that all parts hold.
bool common_epoch(std::span<const Found> found, std::uint64_t& epoch) {
  const auto holds = [](const Found& part, std::uint64_t wanted) {
    return std::find(part.epochs, part.epochs + part.count, wanted) != part.epochs + part.count;
  };
  for (std::uint64_t i = found[0].count; i-- > 0;) {
    epoch = found[0].epochs[i];
    if (std::ranges::all_of(found, [&](const Found& part) { return holds(part, epoch); })) return true;
  }
  return false;
}

// Makes way for a new part.
Status remove_useless(const std::string& path, const Identity& object) {
  const OpenFile file = open_to_read(path);
  if (file.fd() < 0 && errno == ENOENT) return {};
  if (file.fd() < 0) return cannot("make", path, std::strerror(errno));
  if (!lock_soon(file)) return cannot("make", path, kInUse);
  Result<Slots> slots = read_file(file);
  if (!slots.ok()) return slots.status();
  if (slots.value().state == Slots::State::other || kept_anything(slots.value()))
    return cannot("make", path,
                  "there is a file that holds something; open the object '" + object.name +
                      "' as it is, or remove it (shmem_nvm remove)");
  if (unlink(path.c_str()) == 0) return {};
  return cannot("remove", path, std::string(std::strerror(errno)) + "; it is of no use, remove it by hand");
}

Result<std::unique_ptr<Store>> make_store(const StoreOptions& options, const std::string& path) {
  Identity object = options.object;
  if (const std::string why = FileLayout::problem(object.bytes, object.block); !why.empty())
    return Status::error("cannot make the NVM object '" + object.name + "': " + why);
  if (Status status = remove_useless(path, object); !status.ok()) return status;
  object.made = std::time(nullptr);
  const FileLayout layout(object.bytes, object.block);
  auto device = open_device({path, layout.file_bytes(), true, options.engine, options.direct});
  if (!device.ok()) return device.status();
  auto store = Store::make(std::move(device.value()), path, object);
  if (!store.ok()) unlink(path.c_str());
  return store;
}

}  // namespace

Status wait_until_unused(const std::string& path, std::chrono::milliseconds patience) {
  const OpenFile file = open_to_read(path);
  if (file.fd() < 0) return cannot("open", path, std::strerror(errno));
  return lock_soon(file, patience) ? Status() : cannot("open", path, kInUse);
}

std::string object_file(const std::string& folder, const std::string& name, int pe) {
  return folder + "/" + name + kBeforePe + std::to_string(pe) + kSuffix;
}

Result<Slots> slots_of(const std::string& path) {
  const OpenFile file = open_to_read(path);
  if (file.fd() < 0) return cannot("read", path, std::strerror(errno));
  return read_file(file);
}

Result<Found> look(const std::string& folder, const Identity& asked) {
  if (const std::string why = name_problem(asked.name); !why.empty())
    return Status::error("no NVM object can be called so: " + why);
  const std::string path = object_file(folder, asked.name, asked.pe);
  const OpenFile file = open_to_read(path);
  if (file.fd() < 0 && errno == ENOENT) return Found{.pe = asked.pe};
  if (file.fd() < 0) return cannot("open", path, std::strerror(errno));
  Result<Slots> read = read_file(file);
  if (!read.ok()) return read.status();
  const Slots& slots = read.value();
  if (slots.state == Slots::State::nothing) return Found{.pe = asked.pe};
  if (const std::string why = unusable(slots); !why.empty()) return cannot("open", path, why);
  const std::string why = mismatch(identity_of(slots.any()), asked);
  if (!why.empty() && !kept_anything(slots)) return Found{.pe = asked.pe};
  if (!why.empty()) return cannot("open", path, why);
  Found found{.pe = asked.pe, .id = slots.any().id};
  for (const std::uint64_t epoch : slots.epochs()) found.epochs[found.count++] = epoch;
  return found;
}

Result<Plan> agree(const std::string& name, std::span<const Found> found) {
  const auto cannot_open = [&](const std::string& why) {
    return Status::error("cannot open the NVM object '" + name + "': " + why);
  };
  const auto kept = std::ranges::find_if(
      found, [](const Found& part) { return part.count > 0 && part.epochs[part.count - 1] > 0; });
  const auto other = std::ranges::find_if(found, [&](const Found& part) { return part.id != found[0].id; });
  const bool one_object = found[0].id != 0 && other == found.end();
  if (!one_object && kept == found.end()) return Plan{true, 0};
  if (!one_object) {
    const auto missing = std::ranges::find_if(found, [](const Found& part) { return part.id == 0; });
    const auto pe_of = [](auto part) { return std::to_string(part->pe); };
    if (missing != found.end())
      return cannot_open("PE " + pe_of(missing) + " has no part of it, and PE " + pe_of(kept) +
                         " has; restore all its files, or remove it (shmem_nvm remove)");
    return cannot_open(
        "the parts of PE " + std::to_string(found[0].pe) + " and PE " + pe_of(other) +
        " are not of the same object; restore the files of one, or remove it (shmem_nvm remove)");
  }
  Plan plan;
  if (common_epoch(found, plan.epoch)) return plan;
  for (const Found& part : found) {
    const Found pair[] = {found[0], part};
    if (!common_epoch(pair, plan.epoch))
      return cannot_open("PE " + std::to_string(found[0].pe) + " has epoch " + numbers(found[0]) +
                         " and PE " + std::to_string(part.pe) + " epoch " + numbers(part) +
                         "; restore all its files from the same time, or remove it (shmem_nvm remove)");
  }
  return cannot_open(
      "its parts hold no epoch that all have; restore all its files from the same time, or "
      "remove it (shmem_nvm remove)");
}

Result<std::unique_ptr<Store>> open_store(const StoreOptions& options) {
  const Identity& object = options.object;
  if (const std::string why = name_problem(object.name); !why.empty())
    return Status::error("no NVM object can be called so: " + why);
  const std::string path = object_file(options.folder, object.name, object.pe);
  if (options.make) return make_store(options, path);
  // Before anything is opened to be written: what the file is.
  Result<Slots> slots = slots_of(path);
  if (!slots.ok()) return slots.status();
  std::string why = unusable(slots.value());
  if (why.empty()) why = mismatch(identity_of(slots.value().any()), object);
  if (!why.empty()) return cannot("open", path, why);
  if (Status unused = wait_until_unused(path); !unused.ok()) return unused;
  const FileLayout layout(object.bytes, slots.value().any().block);
  auto device = open_device({path, layout.file_bytes(), true, options.engine, options.direct});
  if (!device.ok()) return device.status();
  return Store::open(std::move(device.value()), path, object);
}

void remove_unused_part(const std::string& folder, const Identity& part) {
  const std::string path = object_file(folder, part.name, part.pe);
  const OpenFile locked = open_to_read(path);
  if (locked.fd() < 0 || !lock_soon(locked)) return;
  Result<Slots> slots = read_file(locked);
  if (slots.ok() && !kept_anything(slots.value())) unlink(path.c_str());
}

Result<std::vector<PartFile>> find_parts(const std::string& folder) {
  std::vector<PartFile> parts;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().filename();
    if (!file.ends_with(kSuffix)) continue;
    const std::size_t suffix = file.size() - std::strlen(kSuffix);
    const std::size_t before = file.rfind(kBeforePe, suffix);
    if (before == std::string::npos) continue;
    PartFile part{file.substr(0, before), -1, folder + "/" + file};
    const char* digits = file.data() + before + std::strlen(kBeforePe);
    const auto number = std::from_chars(digits, file.data() + suffix, part.pe);
    const bool whole = number.ec == std::errc() && number.ptr == file.data() + suffix && part.pe >= 0;
    if (whole && name_problem(part.name).empty() && part.path == object_file(folder, part.name, part.pe))
      parts.push_back(part);
  }
  if (error) return cannot("read the folder", folder, error.message());
  std::ranges::sort(parts, {}, [](const PartFile& part) { return std::tie(part.name, part.pe); });
  return parts;
}

Removal remove_object(const std::string& folder, const std::string& name) {
  Removal removal;
  Result<std::vector<PartFile>> parts = find_parts(folder);
  removal.status = parts.status();
  if (!removal.status.ok()) return removal;
  std::erase_if(parts.value(), [&](const PartFile& part) { return part.name != name; });
  if (parts.value().empty())
    removal.status =
        Status::error("there is no NVM object '" + name + "' in " + folder + " (shmem_nvm list)");
  std::vector<OpenFile> locked;
  for (const PartFile& part : parts.value()) {
    locked.push_back(open_to_read(part.path));
    if (locked.back().fd() >= 0 && !lock_soon(locked.back()))
      removal.status = cannot("remove", part.path, kInUse);
    if (!removal.status.ok()) return removal;
  }
  for (const PartFile& part : parts.value()) {
    if (unlink(part.path.c_str()) == 0)
      removal.removed.push_back(part.path);
    else if (removal.status.ok())
      removal.status = cannot("remove", part.path,
                              std::string(std::strerror(errno)) + "; of the object's files " +
                                  std::to_string(removal.removed.size()) + " are gone, remove the others");
  }
  return removal;
}

}  // namespace shm::nvm
