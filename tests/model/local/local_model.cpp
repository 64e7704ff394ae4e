// SPDX-License-Identifier: BSD-3-Clause
#include "local_model.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace shm::model {
using pages::Access;
using pages::FrameNumber;
using pages::kNoFrame;
using pages::PageState;

const char* name(LocalFault fault) {
  static constexpr const char* kNames[] = {
      "none",          "ignore_latches",    "keep_mapping",    "clean_writable", "clean_late",
      "forget_stored", "take_used_standby", "copy_in_clean",   "wake_nobody",    "sleep_unseen",
      "claim_twice",   "publish_early",     "leave_with_frame"};
  static_assert(std::size(kNames) == kLocalFaults);
  return kNames[static_cast<std::size_t>(fault)];
}

LocalModel::LocalModel(const LocalOptions& options) : options_(options) {
  for (int frame = 0; frame < options_.frames; ++frame) push(frame, Queue::free);
  for (int actor = 0; actor < options_.threads; ++actor)
    s_.actors[actor].budget = static_cast<std::uint8_t>(options_.operations);
}

// ---- what may happen

void LocalModel::moves(std::vector<LocalMove>& out) const {
  out.clear();
  for (int actor = 0; actor <= poller(); ++actor) moves_of(actor, out);
}

void LocalModel::moves_of(int actor, std::vector<LocalMove>& out) const {
  const LocalActor& me = s_.actors[actor];
  const auto who = static_cast<std::uint8_t>(actor);
  if (me.at == At::asleep) return;
  if (me.at == At::take) return add_takes(actor, out);
  if (me.at != At::idle) {
    // Nothing would change: it looks again when the latch is gone.
    if (me.at == At::latch && me.kind == 'f' && word(me.page).latched()) return;
    out.push_back({who, 0, 0, 0});
    return;
  }
  if (actor == poller()) {
    if (s_.writing == 2) out.push_back({who, 0, 0, 0});
  } else if (actor == sweeper()) {
    if (at_hand() < options_.at_hand) add_takes(actor, out);
  } else if (me.budget > 0) {
    for (const char kind : options_.kinds) {
      for (std::uint8_t page = 0; page < options_.pages; ++page) out.push_back({who, kind, page, 0});
    }
  }
}

// Of a thread: a free frame, one that stands by, or a victim, any of those in the queue; 100 + which.
void LocalModel::add_takes(int actor, std::vector<LocalMove>& out) const {
  const auto who = static_cast<std::uint8_t>(actor);
  if (is_thread(actor)) {
    if (oldest(Queue::free) >= 0) return out.push_back({who, 0, 0, 0});
    if (oldest(Queue::standby) >= 0) return out.push_back({who, 0, 0, 1});
  }
  if (s_.writing != 0) return;
  for (int frame = 0; frame < options_.frames; ++frame) {
    if (s_.frames[frame].queue == Queue::lru)
      out.push_back({who, 0, 0, static_cast<std::uint8_t>(100 + frame)});
  }
}

int LocalModel::at_hand() const {
  return static_cast<int>(std::count_if(s_.frames, s_.frames + options_.frames, [](const LocalFrame& frame) {
    return frame.queue == Queue::free || frame.queue == Queue::standby;
  }));
}

int LocalModel::oldest(Queue queue) const {
  int found = -1;
  for (int frame = 0; frame < options_.frames; ++frame) {
    if (s_.frames[frame].queue == queue && (found < 0 || s_.frames[frame].order < s_.frames[found].order))
      found = frame;
  }
  return found;
}

std::string LocalModel::make(const LocalMove& move) {
  violation_.clear();
  step(move);
  if (violation_.empty()) check();
  return violation_;
}

// A page that is clean is what is kept of it.
void LocalModel::check() {
  for (int page = 0; page < options_.pages; ++page) {
    if (word(page).state() != PageState::exclusive || (s_.writing == 2 && s_.writing_page == page)) continue;
    const std::uint8_t kept = word(page).stored() ? s_.kept[page] : 0;
    if (s_.frames[word(page).frame()].content != kept)
      violation_ = "page " + std::to_string(page) + " is clean, and not what is kept";
  }
}

void LocalModel::step(const LocalMove& move) {
  LocalActor& me = s_.actors[move.actor];
  if (move.actor == poller()) return poll_step(me);
  if (me.at == At::idle && is_thread(move.actor)) return begin(me, move);
  if (me.at == At::idle || me.at == At::take) return take_step(me, move.choice);
  if (me.at <= At::recall) return fault_step(me);
  if (me.at <= At::clean) return leave_step(me, move.actor);
  if (me.at <= At::publish) return come_step(me);
  if (me.at <= At::get_direct) return copy_step(me);
  forget_step(me);
}

void LocalModel::begin(LocalActor& me, const LocalMove& move) {
  --me.budget;
  me.kind = move.kind;
  me.page = move.page;
  me.at = move.kind == 'l' || move.kind == 's' ? At::access : At::latch;
}

// All that it knew is forgotten, so that states are not told apart by it.
void LocalModel::done(LocalActor& me) { me = {At::idle, 0, 0, me.budget, 0, 0, 0, 0}; }

// ---- accesses and faults

void LocalModel::access(LocalActor& me) {
  const int page = me.page;
  if (s_.mapped_as[page] < map_for(access_of(me.kind))) {
    me.at = At::latch;
    return;
  }
  const int frame = s_.mapped_frame[page];
  if (me.kind == 's') {
    s_.truth[page] = ++s_.last_value;
    change(frame, s_.last_value);
  } else {
    see(page, s_.frames[frame].content);
  }
  done(me);
}

void LocalModel::see(int page, std::uint8_t value) {
  if (value == s_.truth[page]) return;
  violation_ = "page " + std::to_string(page) + " reads as " + std::to_string(value) + ", and is " +
               std::to_string(s_.truth[page]);
}

void LocalModel::change(int frame, std::uint8_t value) {
  s_.frames[frame].content = value;
  if (s_.writing == 2 && s_.writing_frame == frame) s_.changed = 1;
}

void LocalModel::fault_step(LocalActor& me) {
  const int page = me.page;
  pages::PageWord& word = this->word(page);
  switch (me.at) {
    case At::access: return access(me);
    case At::latch: {
      if (me.kind == 'f') {
        const FrameNumber frame = word.frame_if_here();
        me.frame = static_cast<std::uint8_t>(frame);
        me.at = frame != kNoFrame ? At::forget_close : At::claim;
        return;
      }
      const bool clean = me.kind == 'p' && faulty(LocalFault::copy_in_clean);
      const FrameNumber frame = word.latch(clean ? Access::read : access_of(me.kind));
      me.frame = static_cast<std::uint8_t>(frame);
      const bool copies = me.kind == 'p' || me.kind == 'g';
      me.at = frame == kNoFrame ? At::claim : copies ? At::copy : At::map;
      return;
    }
    case At::claim: {
      const bool twice = faulty(LocalFault::claim_twice) && word.state() == PageState::invalid;
      if (!word.claim() && !twice) {
        me.at = At::await;
      } else {
        me.at = me.kind == 'p'   ? At::put_direct
                : me.kind == 'g' ? At::get_direct
                : me.kind == 'f' ? At::forget_vacate
                                 : At::take;
        me.frame = 0;
      }
      return;
    }
    case At::await:
      if (faulty(LocalFault::sleep_unseen) ? !word.closed() : !word.await()) {
        me.at = At::latch;
      } else {
        me.at = At::asleep;
      }
      return;
    case At::map:
      map(page, me.frame, word.state() == PageState::modified ? Map::to_write : Map::to_read);
      me.at = At::unlatch;
      return;
    case At::unlatch:
      word.unlatch();
      me.at = At::recall;
      return;
    default:
      if (s_.frames[me.frame].queue == Queue::standby && s_.frames[me.frame].page == page + 1) {
        take_out(me.frame);
        push(me.frame, Queue::lru);
      }
      me.at = At::access;
  }
}

void LocalModel::wake_if(bool awaited, int page) {
  if (awaited && !faulty(LocalFault::wake_nobody)) wake(page);
}

void LocalModel::wake(int page) {
  for (LocalActor& actor : s_.actors) {
    if (actor.at == At::asleep && actor.page == page) actor.at = At::latch;
  }
}

// ---- frames

void LocalModel::push(int frame, Queue queue) {
  if (s_.frames[frame].queue != Queue::out) violation_ = "a frame is in two queues";
  // Numbers in order, as small as can be.
  std::uint8_t order = 0;
  for (int other = 0; other < options_.frames; ++other) {
    if (other != frame && s_.frames[other].queue == queue)
      order = std::max<std::uint8_t>(order, static_cast<std::uint8_t>(s_.frames[other].order + 1));
  }
  s_.frames[frame].queue = queue;
  s_.frames[frame].order = queue == Queue::standby ? order : 0;  // of the others any may be next
}

void LocalModel::take_out(int frame) {
  for (LocalFrame& other : s_.frames) {
    if (&other != &s_.frames[frame] && other.queue == s_.frames[frame].queue &&
        other.order > s_.frames[frame].order)
      --other.order;
  }
  s_.frames[frame].queue = Queue::out;
  s_.frames[frame].order = 0;
}

void LocalModel::spare(int frame, int page) {
  if (s_.frames[frame].queue == Queue::out && s_.frames[frame].page == page + 1) push(frame, Queue::lru);
}

void LocalModel::unmap(int page, int frame) {
  if (!faulty(LocalFault::keep_mapping)) s_.mapped_as[page] = Map::no;
  s_.frames[frame].mapping = Map::no;
}

void LocalModel::map(int page, int frame, Map least) {
  if (s_.frames[frame].mapping >= least) return;
  s_.frames[frame].mapping = s_.mapped_as[page] = least;
  s_.mapped_frame[page] = static_cast<std::uint8_t>(frame);
}

bool LocalModel::close(int page, int frame) {
  if (word(page).try_close(static_cast<FrameNumber>(frame))) return true;
  if (!faulty(LocalFault::ignore_latches) || word(page).closed() ||
      word(page).frame_if_here() != static_cast<FrameNumber>(frame))
    return false;
  word(page).close();
  return true;
}

void LocalModel::take_step(LocalActor& me, int choice) {
  const int frame = choice == 0 ? oldest(Queue::free) : choice == 1 ? oldest(Queue::standby) : choice - 100;
  take_out(frame);
  if (choice == 0) {
    me.frame = static_cast<std::uint8_t>(frame);
    me.at = At::fill;
    return;
  }
  me.victims_frame = static_cast<std::uint8_t>(frame);
  me.at = choice == 1 ? At::read_standby : At::read_victim;
  if (choice != 1) s_.writing = 1;  // in case it is dirty
}

// ---- what must hold

// Everybody has come to an end, nothing is lost, and each frame is somebody's.
std::string LocalModel::check_end() const {
  for (int actor = 0; actor <= poller(); ++actor) {
    const LocalActor& me = s_.actors[actor];
    if (me.at != At::idle || (is_thread(actor) && me.budget != 0)) return "somebody waits for ever";
  }
  for (int page = 0; page < options_.pages; ++page) {
    const FrameNumber frame = word(page).frame_if_here();
    const std::uint8_t value = frame != kNoFrame     ? s_.frames[frame].content
                               : word(page).stored() ? s_.kept[page]
                                                     : 0;
    if (value != s_.truth[page]) return "what was stored is lost";
    if (word(page).closed() || word(page).latched()) return "a page stays closed, or latched";
  }
  for (int frame = 0; frame < options_.frames; ++frame) {
    const LocalFrame& at = s_.frames[frame];
    if (at.queue == Queue::out) return "a frame is nobody's";
    if (at.queue != Queue::free && word(at.page - 1).frame_if_here() != static_cast<FrameNumber>(frame))
      return "a frame is a page's that is elsewhere";
  }
  return {};
}

std::string LocalModel::describe(const LocalMove& move) const {
  static constexpr const char* kSteps[] = {
      "begins",        "access",        "latch",        "claim",       "await",        "asleep",
      "map",           "unlatch",       "recall",       "take",        "read_standby", "close_standby",
      "check_standby", "vacate",        "leave",        "read_victim", "close_victim", "unmap",
      "put_on_trial",  "stand_by",      "reopen",       "clean",       "fill",         "map_new",
      "enter",         "publish",       "copy",         "put_direct",  "get_direct",   "forget_close",
      "forget_unmap",  "forget_vacate", "forget_leave", "forget_give", "finish_look",  "finish_unlatch",
      "finish_queue"};
  const LocalActor& me = s_.actors[move.actor];
  std::string text = move.actor == poller()    ? "who polls"
                     : move.actor == sweeper() ? "the sweeper"
                                               : "thread " + std::to_string(move.actor);
  text += std::string(": ") + kSteps[static_cast<std::size_t>(me.at)];
  if (move.kind != 0) return text + " " + move.kind + " of page " + std::to_string(move.page);
  if (me.kind > 1) text += std::string(", for ") + me.kind + " of page " + std::to_string(me.page);
  if (move.choice >= 100) text += ", victim in frame " + std::to_string(move.choice - 100);
  return text;
}

}  // namespace shm::model
