// SPDX-License-Identifier: BSD-3-Clause
// Pages that leave and come, copies past the cache, and what is forgotten.
#include "local_model.hpp"

namespace shm::model {

using pages::Access;
using pages::FrameNumber;
using pages::PageState;

// ---- pages that leave

// For another one, or none.
void LocalModel::next_victim(LocalActor& me, int actor) {
  me.victim = me.victims_frame = 0;
  me.at = is_thread(actor) ? At::take : At::idle;
}

// Which page is in the frame, and is it nobody's?
void LocalModel::choose_step(LocalActor& me, int actor) {
  const int page = me.victim, frame = me.victims_frame;
  const bool stands_by = me.at == At::read_standby || me.at == At::close_standby;
  if (me.at == At::read_standby || me.at == At::read_victim) {
    if (s_.frames[frame].page != 0) {
      me.victim = static_cast<std::uint8_t>(s_.frames[frame].page - 1);
      me.at = stands_by ? At::close_standby : At::close_victim;
      return;
    }
  } else if (close(page, frame)) {
    me.at = stands_by ? At::check_standby : At::unmap;
    return;
  } else {
    spare(frame, page);
  }
  if (!stands_by) s_.writing = 0;
  next_victim(me, actor);
}

void LocalModel::leave_step(LocalActor& me, int actor) {
  const int page = me.victim, frame = me.victims_frame;
  switch (me.at) {
    case At::read_standby:
    case At::read_victim:
    case At::close_standby:
    case At::close_victim: return choose_step(me, actor);
    case At::check_standby: {
      const bool used = word(page).state() == PageState::modified || s_.frames[frame].mapping != Map::no;
      if (!used || faulty(LocalFault::take_used_standby)) {
        me.at = At::vacate;
        return;
      }
      spare(frame, page);
      me.at = At::reopen;
      return;
    }
    case At::vacate:
      wake_if(word(page).vacate(word(page).stored()), page);
      me.at = At::leave;
      return;
    case At::leave:
      if (s_.frames[frame].queue != Queue::out) take_out(frame);
      if (!faulty(LocalFault::leave_with_frame)) s_.frames[frame].page = 0;
      me.frame = static_cast<std::uint8_t>(frame);
      me.victim = me.victims_frame = 0;
      me.at = At::fill;
      return;
    case At::unmap: {
      const bool dirty = word(page).state() == PageState::modified;
      const bool stays = dirty && faulty(LocalFault::clean_writable);
      const bool mapped = !stays && s_.frames[frame].mapping != Map::no;
      if (!stays) unmap(page, frame);
      if (!dirty || mapped) s_.writing = 0;
      me.at = dirty ? mapped ? At::put_on_trial : At::clean : is_thread(actor) ? At::vacate : At::stand_by;
      return;
    }
    case At::put_on_trial:  // it may be chosen again
      spare(frame, page);
      me.at = At::reopen;
      return;
    case At::stand_by:
      if (s_.frames[frame].queue == Queue::out && s_.frames[frame].page == page + 1)
        push(frame, Queue::standby);
      me.at = At::reopen;
      return;
    case At::reopen: wake_if(word(page).reopen(), page); return next_victim(me, actor);
    default: clean(me, actor);
  }
}

// It is open meanwhile, and latched.
void LocalModel::clean(LocalActor& me, int actor) {
  const int page = me.victim, frame = me.victims_frame;
  const PageState state = faulty(LocalFault::clean_late) ? PageState::modified : PageState::exclusive;
  const bool stored = !faulty(LocalFault::forget_stored);
  wake_if(word(page).publish(state, static_cast<FrameNumber>(frame), stored, 1), page);
  s_.writing = 2;
  s_.writing_page = static_cast<std::uint8_t>(page);
  s_.writing_frame = static_cast<std::uint8_t>(frame);
  s_.written = s_.frames[frame].content;
  next_victim(me, actor);
}

// Who polls finds that the write has ended.
void LocalModel::poll_step(LocalActor& me) {
  const int page = s_.writing_page, frame = s_.writing_frame;
  switch (me.at) {
    case At::idle:
      s_.kept[page] = s_.changed != 0 ? kTorn : s_.written;
      me.at = At::finish_look;
      return;
    case At::finish_look: {
      if (faulty(LocalFault::clean_late)) s_.words[page] = (s_.words[page] & ~std::uint64_t{7}) | 3;
      const bool unused = word(page).state() == PageState::exclusive && s_.frames[frame].mapping == Map::no;
      me.kind = unused ? 1 : 0;
      me.at = At::finish_unlatch;
      return;
    }
    case At::finish_unlatch:
      word(page).unlatch();
      me.at = At::finish_queue;
      return;
    default:
      if (s_.frames[frame].queue == Queue::out && s_.frames[frame].page == page + 1)
        push(frame, me.kind != 0 ? Queue::standby : Queue::lru);
      s_.writing = s_.writing_page = s_.writing_frame = s_.written = s_.changed = 0;
      done(me);
  }
}

// ---- pages that come

void LocalModel::come_step(LocalActor& me) {
  const int page = me.page, frame = me.frame;
  const bool early = faulty(LocalFault::publish_early);
  switch (me.at) {
    case At::fill:
      if (early && word(page).state() == PageState::invalid) {
        me.at = At::publish;
        return;
      }
      change(frame, word(page).stored() ? s_.kept[page] : 0);
      me.at = At::map_new;
      return;
    case At::map_new:
      map(page, frame, map_for(access_of(me.kind)));
      me.at = At::enter;
      return;
    case At::enter:
      s_.frames[frame].page = static_cast<std::uint8_t>(page + 1);
      push(frame, Queue::lru);
      me.at = early ? At::access : At::publish;
      return;
    default: {
      const PageState state =
          access_of(me.kind) == Access::write ? PageState::modified : PageState::exclusive;
      const bool stored = word(page).stored();
      wake_if(word(page).publish(state, static_cast<FrameNumber>(frame), stored), page);
      me.at = early ? At::fill : At::access;
    }
  }
}

// ---- past the cache

void LocalModel::copy_step(LocalActor& me) {
  const int page = me.page;
  switch (me.at) {
    case At::copy:
      if (me.kind == 'p') {
        s_.truth[page] = ++s_.last_value;
        change(me.frame, s_.last_value);
      } else {
        see(page, s_.frames[me.frame].content);
      }
      word(page).unlatch();
      return done(me);
    case At::put_direct:
      s_.truth[page] = s_.kept[page] = ++s_.last_value;
      wake_if(word(page).vacate(true), page);
      return done(me);
    default:
      see(page, word(page).stored() ? s_.kept[page] : 0);
      wake_if(word(page).vacate(word(page).stored()), page);
      return done(me);
  }
}

void LocalModel::forget_step(LocalActor& me) {
  const int page = me.page, frame = me.frame;
  switch (me.at) {
    case At::forget_close:
      me.at = close(page, frame) ? At::forget_unmap : word(page).closed() ? At::await : At::latch;
      return;
    case At::forget_unmap:
      unmap(page, frame);
      me.at = At::forget_vacate;
      return;
    case At::forget_vacate: {
      const bool was_here = word(page).state() != PageState::invalid;
      s_.truth[page] = 0;
      wake_if(word(page).vacate(false), page);
      if (!was_here) return done(me);
      me.at = At::forget_leave;
      return;
    }
    case At::forget_leave:
      if (s_.frames[frame].queue != Queue::out) take_out(frame);
      if (!faulty(LocalFault::leave_with_frame)) s_.frames[frame].page = 0;
      me.at = At::forget_give;
      return;
    default: push(frame, Queue::free); return done(me);
  }
}

}  // namespace shm::model
