// SPDX-License-Identifier: BSD-3-Clause
// Whether the files of an object are whole: reads all that any epoch refers to, and changes nothing.
//
// Thread safety: all.
#pragma once

#include <string>
#include <vector>

#include "nvm/pages.hpp"
#include "nvm/storage/store_files.hpp"
#include "nvm/storage/store_format.hpp"
#include "nvm/storage/store_table.hpp"
#include "pages/device.hpp"

namespace shm::nvm {

/// What is wrong with the part on this device, which nobody else uses; each a sentence that begins with
/// `file`.  Sets `slots` to what it holds.
Defects check_device(Device& device, const std::string& file, Slots& slots);

/// What is wrong with an object whose files are `parts`, all of one name.  `all_here`: every part ought to
/// be among them.  A part that a job uses is named as what cannot be checked.
Defects check_object(const std::vector<PartFile>& parts, bool all_here);

}  // namespace shm::nvm
