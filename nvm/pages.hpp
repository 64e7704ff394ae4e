// SPDX-License-Identifier: BSD-3-Clause
// The NVM heap is made of pages: frames, words, requests and devices (src/pages) go by their own names in it.
#pragma once

namespace shm::pages {}

namespace shm::nvm {
using namespace pages;
}
