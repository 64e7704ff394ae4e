// SPDX-License-Identifier: BSD-3-Clause
// usage: make_object <folder> <name> <npes> <blocks> <epochs> [hold]
//
// Makes a named object, all PEs' parts of it, and persists so many epochs; the last one is prepared but not
// settled by PE 0.  hold: keeps the parts open until its input ends, after a line "open".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "nvm/storage/store_files.hpp"

namespace {

using namespace shm::nvm;

alignas(kBlock) std::byte block[kBlock];

void expect(const shm::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.text().c_str());
  std::exit(1);
}

void write_block(Store& store, std::uint64_t at, int value) {
  std::memset(block, value, sizeof block);
  Transfer write{Transfer::Kind::write, at * kBlock, block, kBlock};
  store.start(write);
  store.submit();
  while (store.finished() == nullptr) {
  }
  expect(write.error == 0 ? shm::Status() : shm::Status::error(std::strerror(write.error)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const int npes = std::atoi(argv[3]);
  const std::uint64_t blocks = std::strtoull(argv[4], nullptr, 10);
  const std::uint64_t epochs = std::strtoull(argv[5], nullptr, 10);
  std::vector<std::unique_ptr<Store>> parts;
  for (int pe = 0; pe < npes; ++pe) {
    const Identity object{
        .name = argv[2], .id = 1 + blocks, .bytes = blocks * kBlock, .npes = npes, .pe = pe};
    auto part = open_store({.folder = argv[1], .object = object, .make = true});
    expect(part.status());
    parts.push_back(std::move(part.value()));
    expect(parts.back()->begin_at(0));
  }
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    for (auto& part : parts) {
      for (std::uint64_t at = 0; at < blocks; ++at) write_block(*part, at, static_cast<int>(epoch + at));
      expect(part->prepare(epoch));
    }
    for (auto& part : parts) {
      if (epoch < epochs || part != parts.front()) expect(part->settle(epoch));
    }
  }
  if (argc > 6) {
    std::puts("open");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
  }
  return 0;
}
