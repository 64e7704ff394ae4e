// SPDX-License-Identifier: BSD-3-Clause
// The file of a named object: one that was written, with bytes changed anywhere, with checksums that are
// right again or not; and files that were never one.  It is checked, opened, read and written; it may be
// refused.
#include "ending_device.hpp"
#include "fuzz.hpp"
#include "nvm/storage/store.hpp"
#include "nvm/storage/store_check.hpp"

namespace shm::fuzz {
namespace {

using namespace nvm;

using Image = std::vector<std::byte>;

// The image, which stays the caller's.
class ImageDevice final : public EndingDevice {
 public:
  explicit ImageDevice(Image& image) : image_(image) {}
  std::string describe() const override { return "memory"; }
  Status reserve(std::uint64_t, std::uint64_t) override { return {}; }
  Status release(std::uint64_t offset, std::uint64_t n) override {
    if (offset <= image_.size() && n <= image_.size() - offset)
      std::fill_n(image_.begin() + static_cast<std::ptrdiff_t>(offset), n, std::byte{});
    return {};
  }
  Status persist() override { return {}; }
  void start(Transfer& transfer) override {
    end(transfer);
    const bool within = transfer.offset <= image_.size() && transfer.n <= image_.size() - transfer.offset;
    transfer.error = within ? 0 : EIO;
    if (!within) return;
    if (transfer.kind == Transfer::Kind::read) {
      std::memcpy(transfer.data, image_.data() + transfer.offset, transfer.n);
    } else {
      std::memcpy(image_.data() + transfer.offset, transfer.data, transfer.n);
    }
  }

 private:
  Image& image_;
};

constexpr std::uint64_t kBlocks = 4;
const Identity kObject{
    .name = "field", .id = 77, .bytes = kBlocks * kBlock, .npes = 2, .pe = 1, .block = kBlock};

// Memory that transfers may want aligned.
struct alignas(kBlock) AlignedBlock {
  std::byte bytes[kBlock];
};

int carry_out(Store& store, Transfer::Kind kind, std::uint64_t block, AlignedBlock& data) {
  Transfer transfer{kind, block * kBlock, data.bytes, kBlock, 0};
  return carry_out_all(store, {&transfer, 1});
}

// Of two epochs, with what each of them holds.
const Image& written() {
  static const Image image = [] {
    Image made(FileLayout(kObject.bytes, kObject.block).file_bytes());
    auto store = std::move(Store::make(std::make_unique<ImageDevice>(made), "image", kObject).value());
    static_cast<void>(store->begin_at(0));
    static AlignedBlock data;
    for (std::uint64_t epoch = 1; epoch < 4; ++epoch) {
      for (std::uint64_t block = 0; block < 3; ++block) {
        std::memset(data.bytes, static_cast<int>(16 * epoch + block), kBlock);
        if (block < epoch) static_cast<void>(carry_out(*store, Transfer::Kind::write, block, data));
      }
      static_cast<void>(store->prepare(epoch));
      if (epoch != 3) static_cast<void>(store->settle(epoch));
    }
    store.reset();
    return made;
  }();
  return image;
}

SlotBlock slot_at(const Image& image, int slot) {
  SlotBlock block{};
  std::memcpy(static_cast<void*>(&block), image.data() + FileLayout::slot(slot), sizeof block);
  return block;
}

void change(Input& input, Image& image) {
  const unsigned where = input.below(4);
  std::uint64_t at = 0;
  if (where < 2) {  // a field of a header
    at = FileLayout::slot(static_cast<int>(where)) + input.below(sizeof(Header));
  } else if (where == 2) {  // an entry of a table
    at = kTablesStart + input.below(2) * kBlock + input.below(8 * (kBlocks + 1));
  } else {
    at = input.word<std::uint64_t>();
  }
  const bool alike = input.below(4) == 0;  // many of one kind: a name without an end, say
  auto value = static_cast<std::byte>(input.byte());
  for (unsigned n = 1 + input.below(alike ? 96 : 8); n > 0; --n, ++at) {
    image[at % image.size()] = value;
    if (!alike) value = static_cast<std::byte>(input.byte());
  }
}

// As if it had been written so: what the header says of its table, and its own checksum.
void repair(Image& image, int slot, bool table) {
  Header header = slot_at(image, slot).header;
  const std::uint32_t home = header.root.place - 1;
  if (table && home < static_cast<std::uint32_t>(kHomes)) {
    const std::byte* chunk = image.data() + kTablesStart + home * kBlock;
    header.root.checksum = checksum_of(header.id, kDataLevel + 1, 0, chunk, kBlock);
  }
  const SlotBlock whole = make_slot(header);
  std::memcpy(image.data() + FileLayout::slot(slot), static_cast<const void*>(&whole), sizeof whole);
}

// As nvm/storage/store_files does before anything else is read: the file is as long as its header says.
bool is_long_enough(const Image& image) {
  const SlotBlock blocks[kSlots] = {slot_at(image, 0), slot_at(image, 1)};
  const Slots slots = read_slots(blocks);
  if (slots.state != Slots::State::object) return true;
  return FileLayout(slots.any().bytes, slots.any().block).file_bytes() <= image.size();
}

void use(Image& image, Input& input) {
  ImageDevice device(image);
  Slots slots;
  static_cast<void>(check_device(device, "image", slots));
  Identity asked = kObject;
  if (slots.state == Slots::State::object) asked = identity_of(slots.any());
  auto opened = Store::open(std::make_unique<ImageDevice>(image), "image", asked);
  if (!opened.ok()) return;
  Store& store = *opened.value();
  const std::vector<std::uint64_t> epochs = store.epochs();
  if (epochs.empty()) std::abort();
  const std::uint64_t epoch = input.below(2) == 0 ? epochs.front() : epochs.back();
  if (!store.begin_at(epoch).ok() || store.identity().block != kBlock) return;
  static AlignedBlock data;
  for (std::uint64_t block = 0; block * kBlock < store.size(); ++block)
    static_cast<void>(carry_out(store, Transfer::Kind::read, block, data));
  static_cast<void>(
      carry_out(store, Transfer::Kind::write, input.below(4) * kBlock < store.size() ? 0 : 1, data));
  static_cast<void>(store.prepare(epoch + 1));
  static_cast<void>(store.settle(epoch + 1));
}

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  Image image = written();
  const unsigned how = input.below(8);
  if (how == 0) {  // not one of ours at all
    const Bytes bytes = input.rest();
    std::ranges::fill(image, std::byte{});
    std::ranges::copy(bytes, image.begin());
  } else {
    for (unsigned changes = input.below(5); changes > 0; --changes) change(input, image);
    if ((how & 1) != 0) repair(image, 0, (how & 2) != 0);
    if ((how & 4) != 0) repair(image, 1, (how & 2) != 0);
  }
  if (is_long_enough(image)) use(image, input);
}

}  // namespace shm::fuzz
