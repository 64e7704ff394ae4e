// SPDX-License-Identifier: BSD-3-Clause
#include "remote/swap_engine.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "pages/local_pages.hpp"
#include "remote/lent_pages.hpp"
#include "remote/paper_pages.hpp"

namespace shm::remote {
namespace {

static_assert(SwapEngine::kFewestFrames >= pages::LocalPages::kFewestFrames &&
              SwapEngine::kFewestFrames >= PaperPages::kFewestFrames);

/// Pages, with what they stand on.
template <class Pages, class Under>
class EngineOf final : public SwapEngine {
 public:
  EngineOf(std::unique_ptr<Pages> pages, std::unique_ptr<Under> under, const Mechanisms& mechanisms)
      : under_(std::move(under)), pages_(std::move(pages)), lays_out_(mechanisms.huge) {
    if (mechanisms.sweeper) pages_->start();
  }
  ~EngineOf() override { pages_->stop(); }

  std::byte* base() const override { return pages_->base(); }
  std::size_t size() const override { return pages_->size(); }
  bool contains(const void* address) const override { return pages_->contains(address); }
  std::size_t offset_of(const void* address) const override { return pages_->offset_of(address); }
  const pages::Windows& windows() const override { return pages_->windows(); }
  Status add_window(std::size_t offset, std::size_t n, std::byte* at) override {
    if constexpr (std::is_same_v<Pages, pages::LocalPages>) return pages_->add_window(offset, n, at);
    return Status::error("the protocols of the paper know no such memory; allowed is SHMEM_SWAP=direct");
  }
  void lay_out() const override {
    if (lays_out_) pages_->lay_out();
  }
  void forget(std::size_t offset, std::size_t n) override { pages_->forget(offset, n); }
  void overwrite(std::size_t offset, std::size_t n) override { pages_->overwrite(offset, n); }
  void read(std::size_t offset, void* into, std::size_t n) override { pages_->read(offset, into, n); }
  void write(std::size_t offset, const void* from, std::size_t n) override { pages_->write(offset, from, n); }
  bool pin(std::size_t offset, std::size_t n, pages::Access access) override {
    return pages_->pin(offset, n, access);
  }
  bool unpin(std::size_t offset, std::size_t n) override { return pages_->unpin(offset, n); }
  bool any_pinned(std::size_t offset, std::size_t n) override { return pages_->any_pinned(offset, n); }
  const pages::LocalStatistics& statistics() const override { return pages_->statistics(); }
  const pages::SwapStages& stages() const override { return pages_->stages(); }

 private:
  const std::unique_ptr<Under> under_;
  const std::unique_ptr<Pages> pages_;
  const bool lays_out_;
};

template <class Pages, class Under>
Result<std::unique_ptr<SwapEngine>> engine_of(Result<std::unique_ptr<Pages>> pages,
                                              std::unique_ptr<Under> under, const Mechanisms& mechanisms) {
  if (!pages.ok()) return pages.status();
  return std::unique_ptr<SwapEngine>(
      std::make_unique<EngineOf<Pages, Under>>(std::move(pages.value()), std::move(under), mechanisms));
}

Result<std::unique_ptr<SwapEngine>> open_direct(const LentRange& range,
                                                const SwapEngine::Settings& settings) {
  const Mechanisms& mechanisms = settings.mechanisms;
  auto lent = std::make_unique<LentPages>(range);
  // Each has a frame that no other page can get meanwhile.
  const auto reads = static_cast<unsigned>(std::min<std::size_t>(settings.reads, settings.frames / 2));
  Result<std::unique_ptr<pages::LocalPages>> pages = pages::LocalPages::create(
      *lent, {.page_bytes = range.shape().page_bytes,
              .frames = settings.frames,
              .bytes = range.shape().bytes,
              .read_slots = reads,
              .ahead = mechanisms.ahead ? static_cast<unsigned>(settings.ahead) : 0});
  return engine_of(std::move(pages), std::move(lent), mechanisms);
}

Result<std::unique_ptr<SwapEngine>> open_paper(const LentRange& range, SwapProtocol protocol,
                                               const SwapEngine::Settings& settings) {
  struct Nothing {};
  return engine_of(PaperPages::create(range, {protocol, settings.frames}), std::unique_ptr<Nothing>(),
                   Mechanisms());
}

}  // namespace

Result<std::unique_ptr<SwapEngine>> SwapEngine::open(const LentRange& range, const Settings& settings) {
  switch (settings.swap) {
    case Swap::r3: return open_paper(range, SwapProtocol::r3, settings);
    case Swap::r58: return open_paper(range, SwapProtocol::r58, settings);
    case Swap::r77: return open_paper(range, SwapProtocol::r77, settings);
    case Swap::direct: break;
  }
  return open_direct(range, settings);
}

}  // namespace shm::remote
