// SPDX-License-Identifier: BSD-3-Clause
#include "remote/lent_pages.hpp"

#include <algorithm>

namespace shm::remote {
namespace {

// Calls move(offset, bytes, piece) for the pieces of n bytes, of `least` bytes each or more.
template <class Move>
void in_pieces(std::size_t n, std::size_t least, pages::PageTransfer& transfer, Move move) {
  const std::size_t most = pages::PageTransfer::kMostPieces;
  const std::size_t piece = std::max(least, (n + most - 1) / most);
  transfer.begin(static_cast<unsigned>((n + piece - 1) / piece));
  unsigned number = 0;
  for (std::size_t done = 0; done < n; done += piece)
    move(done, std::min(piece, n - done), transfer.piece(number++));
}

}  // namespace

void LentPages::read(pages::PageNumber page, std::size_t within, std::byte* into, std::size_t n,
                     pages::PageTransfer& transfer) {
  const Place from = place(page, within);
  in_pieces(n, piece_, transfer, [&](std::size_t offset, std::size_t bytes, Completion& done) {
    range_.servers().read({from.server, from.offset + offset}, into + offset, bytes, done);
  });
}

void LentPages::write(pages::PageNumber page, std::size_t within, const std::byte* from, std::size_t n,
                      pages::PageTransfer& transfer) {
  const Place to = place(page, within);
  in_pieces(n, piece_, transfer, [&](std::size_t offset, std::size_t bytes, Completion& done) {
    range_.servers().write({to.server, to.offset + offset}, from + offset, bytes, done);
  });
}

}  // namespace shm::remote
