// SPDX-License-Identifier: BSD-3-Clause
// Devices on files: io_uring, or pread and pwrite.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "nvm/pages.hpp"
#include "pages/device.hpp"

namespace shm::nvm {

/// How transfers are carried out.
enum class IoEngine {
  automatic,  // io_uring if the system permits it, else sync
  uring,      // io_uring or an error
  sync,       // pread and pwrite in start()
};

struct DeviceOptions {
  std::string path;        // of the file
  std::uint64_t size = 0;  // no offset lies beyond it; takes no room by itself
  bool keep = false;       // see open_device()
  IoEngine engine = IoEngine::automatic;
  bool direct = true;    // past the page cache (O_DIRECT) where the file system permits it
  bool to_read = false;  // see open_device()
};

/// The device on the file at options.path.
/// keep == false: the file must not exist; it is made, and its name is gone when this returns, so however the
/// job ends nothing is left behind. keep == true: an existing file is used with its contents, else one is
/// made; the name stays.  to_read == true, with keep: the file must exist, and is never written to, nor is
/// its size changed, so that it may lie where nothing can be.  The file is locked (flock) until the device is
/// destroyed: a second device on it, of this process or another, is refused.
Result<std::unique_ptr<Device>> open_device(const DeviceOptions& options);

}  // namespace shm::nvm
