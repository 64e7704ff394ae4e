// SPDX-License-Identifier: BSD-3-Clause
#include "remote/lent_pages.hpp"

namespace shm::remote {

void LentPages::read(pages::PageNumber page, std::size_t within, std::byte* into, std::size_t n,
                     Completion& done) {
  range_.servers().read(place(page, within), into, n, done);
}

void LentPages::write(pages::PageNumber page, std::size_t within, const std::byte* from, std::size_t n,
                      Completion& done) {
  range_.servers().write(place(page, within), from, n, done);
}

}  // namespace shm::remote
