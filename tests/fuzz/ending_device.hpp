// SPDX-License-Identifier: BSD-3-Clause
// A device of pages whose transfers have ended when they are asked for.
#pragma once

#include <deque>

#include "pages/device.hpp"

namespace shm::fuzz {

class EndingDevice : public pages::Device {
 public:
  pages::Transfer* finished() override {
    if (ended_.empty()) return nullptr;
    pages::Transfer* first = ended_.front();
    ended_.pop_front();
    return first;
  }
  std::size_t under_way() const override { return ended_.size(); }

 protected:
  void end(pages::Transfer& transfer) { ended_.push_back(&transfer); }

 private:
  std::deque<pages::Transfer*> ended_;
};

}  // namespace shm::fuzz
