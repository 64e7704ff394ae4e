// SPDX-License-Identifier: BSD-3-Clause
// How threads of a node use a page, and what its page cache (nvm/coherence/page_cache) keeps of it beside the
// protocol's state.
#pragma once

#include <cstdint>

#include "nvm/coherence/moesif.hpp"

namespace shm::model {

enum class Use : std::uint8_t {
  once,   // one access
  latch,  // copies for a while, which nobody interrupts
  pin,    // keeps the page for a while; others may read it, or what they want waits
  fill,   // writes all of it; if it has to come, it comes without data, and is closed until then
};

struct Access {
  nvm::Event event;
  Use use;
};
/// A fill is granted before all others.
inline constexpr Access kAccesses[] = {
    {nvm::Event::local_write, Use::fill},  {nvm::Event::local_read, Use::once},
    {nvm::Event::local_write, Use::once},  {nvm::Event::local_read, Use::latch},
    {nvm::Event::local_write, Use::latch}, {nvm::Event::local_read, Use::pin},
    {nvm::Event::local_write, Use::pin}};

inline constexpr std::uint8_t kToRead = 1, kToWrite = 2;  // PackedPage::latched, pinned
inline std::uint8_t right_for(nvm::Event event) {
  return event == nvm::Event::local_read ? kToRead : kToWrite;
}

/// PackedPage::driver. Frames count only where they are few (Options::frames).
enum DriverFlag : std::uint8_t {
  kClosed = 1,       // a message waits for the last latch, and nobody gets another one
  kFilling = 2,      // a thread writes all of the page
  kAwaitsFrame = 4,  // an access, until there is a frame for its page
  kHasFrame = 8,
  kExpected = 16,  // the frame is for what the home has been asked for
  kLoading = 32,   // the device reads into the frame, for an operation
};

}  // namespace shm::model
