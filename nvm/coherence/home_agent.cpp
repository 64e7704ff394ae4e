// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/home_agent.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "nvm/coherence/message_check.hpp"
#include "nvm/coherence/migration.hpp"

namespace shm::nvm {
namespace {

// A message to the device, the device's answer.
void become_answer(Message& message, Event kind) {
  std::swap(message.from, message.to);
  message.kind = kind;
  message.data = kind == Event::loaded;
}

}  // namespace

void HomeAgent::take(Delivery delivery) {
  if (part_for(delivery.message.kind) == Part::device) return start(std::move(delivery));
  if (delivery.away) return await_buffer(std::move(delivery));
  if (delivery.operation != nullptr) {
    DirectoryEntry& entry = entry_of(delivery.page);
    if (delivery.message.kind != Event::absent) {
      delivery.message.tag = ++tags_;
      issuers_[tags_] = delivery.operation->head().pe;
    } else if (!was_sent(entry, delivery)) {
      refuse_message(channel_.sender_of(delivery.message), kPagerMessage,
                     "with an operation that it was not sent");
    }
    entry.operations[delivery.message.tag] = std::move(delivery.operation);
  }
  const PageNumber page = delivery.page;
  serve(delivery);
  bring_if_better(page);
}

// Operations that wait here go to a page on another node one by one, each by a message: where they are worth
// the page's journey it comes, behind them.
void HomeAgent::bring_if_better(PageNumber page) {
  const auto found = directory_.find(page);
  if (found == directory_.end()) return;
  const std::size_t cost = found->second.operations.size() * std::size_t{kMessageCost};
  if (cost < pool_.shape().page_bytes + kMessageCost) return;
  const ForwarderStack& holders = found->second.directory.holders;
  if (!holders.empty() && !holders.contains(home_.node)) cache_.call_back(page);
}

// Whether what comes back is the operation that the home has sent last, of which it knows so much: one that
// waits here must not be replaced.
bool HomeAgent::was_sent(const DirectoryEntry& entry, const Delivery& absent) {
  const Message& asked = entry.directory.request;
  const Event kind = access_of(absent.operation->head()) == Access::read ? Event::ask_get : Event::ask_put;
  return !entry.operations.contains(absent.message.tag) && absent.message.tag == asked.tag &&
         absent.message.requester == asked.requester && kind == asked.kind;
}

// Versions go on where the page's last directory was forgotten, as nodes may remember them longer.
HomeAgent::DirectoryEntry& HomeAgent::entry_of(PageNumber page) {
  const auto [found, is_new] = directory_.try_emplace(page);
  if (is_new) found->second.directory.version = last_version_;
  return found->second;
}

void HomeAgent::forget(PageNumber page) {
  const auto found = directory_.find(page);
  last_version_ = std::max(last_version_, found->second.directory.version);
  directory_.erase(found);
}

void HomeAgent::serve(Delivery& delivery) {
  DirectoryEntry& entry = this->entry_of(delivery.page);
  const Directory& directory = entry.directory;
  const Event served = directory.request.kind;
  const bool executed = directory.phase == Phase::finish && delivery.message.kind == Event::done &&
                        (served == Event::ask_get || served == Event::ask_put);
  const std::uint64_t tag = directory.request.tag;
  const bool was_busy = entry.directory.busy();
  const std::size_t had_it = entry.directory.holders.nodes().size();
  out_.clear();
  if (!nvm::serve(entry.directory, delivery.message, home_, out_)) {
    fatal("internal error: PE %d, home of page %llu, did not expect %s from PE %d", me_,
          static_cast<unsigned long long>(delivery.page), name(delivery.message.kind),
          channel_.sender_of(delivery.message));
  }
  if (executed) note_executed(tag);
  busy_ += static_cast<std::size_t>(entry.directory.busy()) - static_cast<std::size_t>(was_busy);
  for (const Message& message : out_) route(entry, message, delivery);
  if (!entry.directory.busy() && had_it > 1) tell_last_holder(delivery.page, entry.directory);
  if (entry.directory.blank()) forget(delivery.page);
}

void HomeAgent::note_executed(std::uint64_t tag) {
  const auto found = issuers_.find(tag);
  channel_.executed(found->second);
  issuers_.erase(found);
}

// Who has written, or executed a put, knows: it has the page modified.
void HomeAgent::tell_last_holder(PageNumber page, const Directory& directory) {
  const Event last = directory.request.kind;
  if (last == Event::ask_write || last == Event::ask_put || directory.holders.nodes().size() != 1) return;
  Delivery out{.page = page, .message = {.kind = Event::last_copy, .from = home_.node}};
  out.message.to = directory.holders.nodes().front();
  channel_.send(std::move(out));
}

// `cause` is what came in, and has the data of what goes out.
void HomeAgent::route(DirectoryEntry& entry, const Message& message, Delivery& cause) {
  Delivery out{.page = cause.page, .message = message};
  if (message.kind == Event::result) {
    --unclean_;
    return;
  }
  if (message.kind == Event::store) {
    out.buffer = std::move(cause.buffer);
    out.frame = cause.frame;
    out.frees = cause.frees;
    return start(std::move(out));
  }
  if (message.kind == Event::load) {
    // A page that this node takes is read into its frame.
    if (entry.directory.actor == home_.node) return cache_.give_frame(std::move(out));
    return await_buffer(std::move(out));
  }
  if (message.kind == Event::get || message.kind == Event::put) {
    const auto operation = entry.operations.find(message.tag);
    if (operation == entry.operations.end()) {
      fatal("internal error: PE %d has not sent back the operation on page %llu that it could not execute",
            channel_.sender_of(cause.message), static_cast<unsigned long long>(cause.page));
    }
    out.operation = std::move(operation->second);
    entry.operations.erase(operation);
  }
  if (message.data) out.buffer = std::move(cause.buffer);
  channel_.send(std::move(out));
}

void HomeAgent::await_buffer(Delivery delivery) {
  await_buffer_.push_back(std::move(delivery));
  give_buffers();
}

bool HomeAgent::give_buffers() {
  bool any = false;
  while (!await_buffer_.empty()) {
    if (HeldRange* held = held_at(await_buffer_.front().page); held != nullptr) {  // without a buffer
      held->waiting.push_back(std::move(await_buffer_.front()));
      await_buffer_.pop_front();
      continue;
    }
    PageBuffer buffer = buffers_.take();
    if (buffer == nullptr) break;
    Delivery delivery = std::move(await_buffer_.front());
    await_buffer_.pop_front();
    delivery.buffer = std::move(buffer);
    any = true;
    if (delivery.away) {
      channel_.fetch(std::move(delivery));
    } else {
      start(std::move(delivery));
    }
  }
  return any;
}

bool HomeAgent::work() {
  bool worked = finish_transfers();
  worked |= finish_fetches();
  worked |= give_buffers();
  if (lays_out_ && slow_calls_.result(&lays_out_)) lays_out_ = false;
  return worked;
}

bool HomeAgent::finish_fetches() {
  bool any = false;
  for (Delivery fetched; channel_.next_fetched(fetched); any = true) serve(fetched);
  return any;
}

void HomeAgent::start(Delivery delivery) {
  if (HeldRange* held = held_at(delivery.page); held != nullptr) {
    held->waiting.push_back(std::move(delivery));
    return;
  }
  const bool reads = delivery.message.kind == Event::load;
  std::byte* data = delivery.buffer != nullptr ? delivery.buffer.get() : pool_.bytes(delivery.frame);
  const std::size_t page_bytes = pool_.shape().page_bytes;
  if (reads && blank(delivery.page)) {
    std::memset(data, 0, page_bytes);
    become_answer(delivery.message, Event::loaded);
    return channel_.deliver_here(std::move(delivery));
  }
  count(reads ? Stat::page_loads : Stat::page_writes);
  if (!reads) blank(delivery.page) = false;
  auto move = std::make_unique<DeviceMove>();
  const StoredObject* object = object_at(delivery.page);
  const std::uint64_t offset =
      pool_.offset_of(delivery.page) - (object != nullptr ? pool_.offset_of(object->first) : 0);
  // An object may end within its last page.
  const std::size_t n =
      object != nullptr ? std::min<std::uint64_t>(page_bytes, object->store->size() - offset) : page_bytes;
  if (reads) std::memset(data + n, 0, page_bytes - n);
  move->transfer = {reads ? Transfer::Kind::read : Transfer::Kind::write, offset, data, n, 0};
  move->device = object != nullptr ? object->store.get() : device_.get();
  move->delivery = std::move(delivery);
  DeviceMove& begun = *move;
  if (reads && begun.delivery.buffer == nullptr && cache_.is_awaited(begun.delivery.page))
    awaited_read_ = &begun;
  moves_[&begun.transfer] = std::move(move);
  begun.device->start(begun.transfer);
}

std::optional<HomeAgent::TakenRead> HomeAgent::take_read() {
  DeviceMove* move = std::exchange(awaited_read_, nullptr);
  if (move == nullptr || held_at(move->delivery.page) != nullptr) return {};
  Transfer* taken = move->device->take_read(move->transfer);
  if (taken == nullptr) return {};
  return TakenRead{move->device, taken};
}

void HomeAgent::submit() {
  awaited_read_ = nullptr;
  if (moves_.empty()) return;
  device_->submit();
  for (const StoredObject& object : objects_) {
    if (held_at(object.first) == nullptr) object.store->submit();
  }
}

std::optional<HomeAgent::Clock::time_point> HomeAgent::oldest_work() const {
  std::optional<Clock::time_point> oldest;
  for (const auto& [transfer, move] : moves_) oldest = std::min(oldest.value_or(move->begun), move->begun);
  for (const auto& [caller, held] : held_) oldest = std::min(oldest.value_or(held.begun), held.begun);
  return oldest;
}

bool HomeAgent::to_be_submitted() {
  const auto waits = [this](const StoredObject& object) {
    return held_at(object.first) == nullptr && object.store->to_be_submitted();
  };
  return !moves_.empty() && (device_->to_be_submitted() || std::ranges::any_of(objects_, waits));
}

bool HomeAgent::listen(int eventfd) {
  bool all = device_->listen(eventfd);
  if (slow_calls_.any_result()) all = false;  // it ended just before the pager listened
  for (const StoredObject& object : objects_)
    all &= held_at(object.first) != nullptr || object.store->listen(eventfd);
  return all;
}

bool HomeAgent::finish_transfers() {
  bool any = false;
  for (const Transfer* done; (done = device_->finished()) != nullptr; any = true) finish(*done, nullptr);
  for (StoredObject& object : objects_) {
    if (held_at(object.first) != nullptr) continue;  // another thread uses the store
    for (const Transfer* done; (done = object.store->finished()) != nullptr; any = true)
      finish(*done, &object);
  }
  return any;
}

void HomeAgent::finish(const Transfer& done, const StoredObject* object) {
  const auto found = moves_.find(&done);
  Delivery delivery = std::move(found->second->delivery);
  const bool reads = done.kind == Transfer::Kind::read;
  const bool refused = done.error != 0 && reads && delivery.message.ahead;
  if (done.error != 0 && !refused) end_job(done, object);
  if (awaited_read_ == found->second.get()) awaited_read_ = nullptr;  // it needed no device
  moves_.erase(found);
  become_answer(delivery.message, refused ? Event::failed : reads ? Event::loaded : Event::stored);
  if (delivery.frees) cache_.free(delivery.frame);
  serve(delivery);
}

void HomeAgent::end_job(const Transfer& failed, const StoredObject* object) const {
  const std::string damage = object != nullptr ? object->store->damage(failed.offset, failed.n) : "";
  if (failed.error == EBADMSG && !damage.empty()) fatal("%s", damage.c_str());
  fatal("the NVM heap cannot %s %zu bytes at offset %llu of PE %d's %s: %s%s",
        failed.kind == Transfer::Kind::read ? "read" : "write", failed.n,
        static_cast<unsigned long long>(failed.offset), me_,
        object != nullptr ? object->store->identity().name.c_str() : "file", std::strerror(failed.error),
        says_full(failed.error) ? "; free some space in its folder, or choose another one" : "");
}

void HomeAgent::lay_out(std::uint32_t group) {
  lays_out_ = true;
  slow_calls_.begin_untold(&lays_out_, [pool = pool_, group] {
    pool.lay_out(group);
    return Status();
  });
}

// Has the system work on where the pages lie, in another thread.  Returns nothing as long as it does.
std::optional<Status> HomeAgent::make_slowly(const void* caller, PageNumber first, PageNumber last,
                                             std::function<Status()> call) {
  const auto [found, begins] = held_.try_emplace(caller, HeldRange{first, last, {}, {}});
  if (begins) {
    found->second.begun = Clock::now();
    slow_calls_.begin(caller, std::move(call));
  }
  std::optional<Status> status = slow_calls_.result(caller);
  if (!status) return status;
  std::vector<Delivery> waiting = std::move(found->second.waiting);
  held_.erase(found);
  for (Delivery& delivery : waiting) {
    if (delivery.buffer == nullptr && delivery.frame == kNoFrame) {
      await_buffer(std::move(delivery));
    } else {
      start(std::move(delivery));
    }
  }
  return status;
}

HomeAgent::HeldRange* HomeAgent::held_at(PageNumber page) {
  for (auto& [caller, held] : held_) {
    if (page >= held.first && page < held.last) return &held;
  }
  return nullptr;
}

// Those of [first, last) that somebody has or wants, in order.  A range may have many more than that.
std::vector<PageNumber> HomeAgent::known_pages(PageNumber first, PageNumber last) const {
  std::vector<PageNumber> pages;
  if (last - first < directory_.size()) {
    for (PageNumber page = first; page < last; ++page)
      if (directory_.contains(page)) pages.push_back(page);
    return pages;
  }
  for (const auto& [page, entry] : directory_)
    if (page >= first && page < last) pages.push_back(page);
  std::ranges::sort(pages);
  return pages;
}

// The first and the last page may be in use already, by other blocks, and others on their way since they
// were.
bool HomeAgent::make_room(const void* caller, PageNumber first, PageNumber last, bool& failed) {
  if (first >= last) return true;
  const auto on_its_way = [&](const auto& entry) {
    return entry.first >= first && entry.first < last && entry.second.directory.busy();
  };
  if (!held_.contains(caller) && std::ranges::any_of(directory_, on_its_way)) return false;
  const std::uint64_t at = pool_.offset_of(first), n = (last - first) * pool_.shape().page_bytes;
  const auto status = make_slowly(caller, first, last, [this, at, n] { return device_->reserve(at, n); });
  if (!status) return false;
  failed = !status->ok();
  if (failed) warn("%s", status->text().c_str());
  return true;
}

bool HomeAgent::drop(const void* caller, PageNumber first, PageNumber last) {
  if (!held_.contains(caller)) {
    if (!drop_pages(first, last)) return false;
    if (auto closing = close_object(first, last))
      return make_slowly(caller, first, last, std::move(closing)).has_value();
  }
  return give_room_back(caller, first, last);  // or takes the result of closing, which has begun
}

// Of the object whose pages these are, what may take the system long; null: they are no object's.
std::function<Status()> HomeAgent::close_object(PageNumber first, PageNumber last) {
  const auto object = std::ranges::find_if(
      objects_, [&](const StoredObject& one) { return one.first >= first && one.last <= last; });
  if (object == objects_.end()) return nullptr;
  auto close = [store = std::shared_ptr<Store>(std::move(object->store))]() mutable {
    store.reset();
    return Status();
  };
  objects_.erase(object);
  return close;
}

// Returns false, and is to be called again, as long as one cannot be dropped.
bool HomeAgent::drop_pages(PageNumber first, PageNumber last) {
  const auto overlaps = [&](const auto& held) {
    return held.second.first < last && first < held.second.last;
  };
  if (std::ranges::any_of(held_, overlaps)) return false;  // the system is at work on what they lie on
  bool all = true;
  for (const PageNumber page : known_pages(first, last)) all &= drop_page(page);
  if (all) set_blank(first, last, true);
  return all;
}

bool HomeAgent::give_room_back(const void* caller, PageNumber first, PageNumber last) {
  const std::uint64_t at = pool_.offset_of(first), n = (last - first) * pool_.shape().page_bytes;
  const auto status = make_slowly(caller, first, last, [this, at, n] { return device_->release(at, n); });
  if (status && !status->ok()) warn("%s", status->text().c_str());
  return status.has_value();
}

bool HomeAgent::overwrite(PageNumber first, PageNumber last) {
  bool all = true;
  PageNumber next = first;
  for (const PageNumber page : known_pages(first, last)) {
    set_blank(next, page, true);
    next = page + 1;
    const Directory& directory = directory_.at(page).directory;
    const bool is_written = directory.busy() && directory.request.kind == Event::ask_evict &&
                            std::ranges::find(directory.awaited, kDevice) != directory.awaited.end();
    all &= !is_written && cache_.keep_for_use(page);
  }
  set_blank(next, last, true);
  return all;
}

void HomeAgent::set_blank(PageNumber first, PageNumber last, bool value) {
  const auto place = static_cast<std::ptrdiff_t>(first % pool_.shape().segment_pages);
  std::fill_n(blank_.begin() + place, last - first, value);
}

// Returns false as long as another node has the page, or it is on its way.
bool HomeAgent::drop_page(PageNumber page) {
  const auto found = directory_.find(page);
  if (found == directory_.end()) return true;
  const Directory& directory = found->second.directory;
  if (directory.busy()) return false;
  const auto& nodes = directory.holders.nodes();
  if (std::ranges::any_of(nodes, [this](NodeId node) { return node != home_.node; })) {
    cache_.call_back(page);
    return false;
  }
  if (!directory.to_drop.empty() || !cache_.drop(page)) return false;
  forget(page);
  return true;
}

// Named objects.

HomeAgent::StoredObject* HomeAgent::object_at(PageNumber page) {
  const auto found = std::ranges::find_if(
      objects_, [page](const StoredObject& object) { return page >= object.first && page < object.last; });
  return found == objects_.end() ? nullptr : &*found;
}

HomeAgent::StoredObject& HomeAgent::persistent(PageNumber page) {
  StoredObject* object = object_at(page);
  if (object == nullptr)
    fatal("internal error: page %llu is no named object's", static_cast<unsigned long long>(page));
  return *object;
}

// Who wants one of the pages while the room that they had is given back waits, and gets it from the object.
bool HomeAgent::attach(const void* caller, PageNumber first, PageNumber last, Store* object) {
  if (!held_.contains(caller)) {
    if (!drop_pages(first, last)) return false;
    objects_.push_back({first, last, std::unique_ptr<Store>(object)});
    never_blocks_ = never_blocks_ && object->never_blocks();
    set_blank(first, last, false);
  }
  return give_room_back(caller, first, last);
}

// A page whose owner is unknown is as new in the file as anywhere.
void HomeAgent::ask_to_clean(const StoredObject& object) {
  for (const PageNumber page : known_pages(object.first, object.last)) {
    const Directory& directory = directory_.at(page).directory;
    if (!directory.busy() && directory.owner == kNobody) continue;
    ++unclean_;
    Delivery ask{.page = page, .message = {.kind = Event::ask_clean}};
    ask.message.from = ask.message.to = ask.message.requester = home_.node;
    channel_.deliver_here(std::move(ask));
  }
}

bool HomeAgent::persist(const void* caller, PageNumber first, std::uint64_t epoch) {
  const StoredObject& object = persistent(first);
  if (!held_.contains(caller)) {
    if (!cleaning_) ask_to_clean(object);
    cleaning_ = unclean_ != 0;
    if (cleaning_) return false;
  }
  return change_epoch(caller, object, &Store::prepare, epoch);
}

bool HomeAgent::settle(const void* caller, PageNumber first, std::uint64_t epoch) {
  return change_epoch(caller, persistent(first), &Store::settle, epoch);
}

bool HomeAgent::change_epoch(const void* caller, const StoredObject& object,
                             Status (Store::*change)(std::uint64_t), std::uint64_t epoch) {
  Store* store = object.store.get();
  const auto status = make_slowly(caller, object.first, object.last, [=] { return (store->*change)(epoch); });
  if (status && !status->ok()) fatal("%s", status->text().c_str());
  return status.has_value();
}

}  // namespace shm::nvm
