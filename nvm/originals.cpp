// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/originals.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "base/stats.hpp"

namespace shm::nvm {

void Originals::take(Delivery delivery) {
  if (part_for(delivery.message.kind) == Part::device) return start(std::move(delivery));
  if (delivery.operation != nullptr) {
    delivery.message.tag = ++tags_;
    original(delivery.page).operations[tags_] = std::move(delivery.operation);
  }
  serve(delivery);
}

// Versions go on where the page's last directory was forgotten, as nodes may remember them longer.
Originals::Original& Originals::original(PageNumber page) {
  const auto [found, is_new] = originals_.try_emplace(page);
  if (is_new) found->second.directory.version = last_version_;
  return found->second;
}

void Originals::forget(PageNumber page) {
  const auto found = originals_.find(page);
  last_version_ = std::max(last_version_, found->second.directory.version);
  originals_.erase(found);
}

void Originals::serve(Delivery& delivery) {
  Original& original = this->original(delivery.page);
  const bool was_busy = original.directory.busy();
  out_.clear();
  if (!nvm::serve(original.directory, delivery.message, home_, out_)) {
    fatal("internal error: PE %d, home of page %llu, did not expect %s from node %d", me_,
          static_cast<unsigned long long>(delivery.page), name(delivery.message.kind), delivery.message.from);
  }
  busy_ += static_cast<std::size_t>(original.directory.busy()) - static_cast<std::size_t>(was_busy);
  for (const Message& message : out_) route(original, message, delivery);
  if (!original.directory.busy() && original.directory.holders.empty()) forget(delivery.page);
}

// `cause` is what came in, and has the data of what goes out.
void Originals::route(Original& original, const Message& message, Delivery& cause) {
  Delivery out{.page = cause.page, .message = message, .operation = {}, .buffer = {}};
  if (message.kind == Event::store) {
    out.buffer = std::move(cause.buffer);
    out.frame = cause.frame;
    out.frees = cause.frees;
    return start(std::move(out));
  }
  if (message.kind == Event::load) {
    // A page that this node takes is read into its frame.
    if (original.directory.actor == home_.node) return residents_.give_frame(std::move(out));
    out.buffer = make_page_buffer(pool_.shape().page_bytes);
    return start(std::move(out));
  }
  if (message.kind == Event::get || message.kind == Event::put) {
    const auto operation = original.operations.find(message.tag);
    out.operation = std::move(operation->second);
    original.operations.erase(operation);
  }
  post_.send(std::move(out), cause.buffer.get());
}

void Originals::start(Delivery delivery) {
  const bool reads = delivery.message.kind == Event::load;
  count(reads ? Stat::page_loads : Stat::page_writes);
  auto move = std::make_unique<Move>();
  std::byte* data = delivery.buffer != nullptr ? delivery.buffer.get() : pool_.bytes(delivery.frame);
  move->transfer = {reads ? Transfer::Kind::read : Transfer::Kind::write, pool_.offset_of(delivery.page),
                    data, pool_.shape().page_bytes, 0};
  move->delivery = std::move(delivery);
  Transfer& transfer = move->transfer;
  moves_[&transfer] = std::move(move);
  device_->start(transfer);
}

bool Originals::finish_transfers() {
  bool any = false;
  while (const Transfer* done = device_->finished()) {
    const auto found = moves_.find(done);
    Delivery delivery = std::move(found->second->delivery);
    const bool reads = done->kind == Transfer::Kind::read;
    if (done->error != 0) {
      fatal("the NVM heap cannot %s %zu bytes at offset %llu of PE %d's file: %s", reads ? "read" : "write",
            done->n, static_cast<unsigned long long>(done->offset), me_, std::strerror(done->error));
    }
    moves_.erase(found);
    std::swap(delivery.message.from, delivery.message.to);
    delivery.message.kind = reads ? Event::loaded : Event::stored;
    delivery.message.data = reads;
    if (delivery.frees) residents_.free(delivery.frame);
    serve(delivery);
    any = true;
  }
  return any;
}

bool Originals::busy(PageNumber page) const {
  const auto found = originals_.find(page);
  return found != originals_.end() && found->second.directory.busy();
}

// The first and the last page may be in use already, by other blocks.
bool Originals::make_room(PageNumber first, PageNumber last, bool& failed) {
  if (first < last && (busy(first) || busy(last - 1))) return false;
  const Status status = device_->reserve(pool_.offset_of(first), (last - first) * pool_.shape().page_bytes);
  if (!status.ok()) warn("%s", status.text().c_str());
  failed = !status.ok();
  return true;
}

// What other nodes have keeps its room, as they may write it back: the next block there finds it.
bool Originals::drop(PageNumber first, PageNumber last) {
  const std::size_t page_bytes = pool_.shape().page_bytes;
  for (PageNumber page = first; page < last; ++page) {
    if (busy(page)) return false;
  }
  PageNumber begin = first;
  const auto release = [&](PageNumber end) {
    if (begin == end) return;
    if (const Status status = device_->release(pool_.offset_of(begin), (end - begin) * page_bytes);
        !status.ok())
      warn("%s", status.text().c_str());
  };
  for (PageNumber page = first; page < last; ++page) {
    bool kept = false;
    if (!drop(page, kept)) return false;
    if (!kept) continue;
    release(page);
    begin = page + 1;
  }
  release(last);
  return true;
}

// `kept`: another node has it.
bool Originals::drop(PageNumber page, bool& kept) {
  const auto found = originals_.find(page);
  if (found == originals_.end()) return true;
  for (const NodeId node : found->second.directory.holders.nodes()) kept |= node != home_.node;
  if (kept) return true;
  if (!residents_.drop(page)) return false;
  forget(page);
  return true;
}

}  // namespace shm::nvm
