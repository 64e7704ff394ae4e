// SPDX-License-Identifier: BSD-3-Clause
// Pages that only their node uses (src/pages/local_pages), as they are explored: threads that load, store,
// forget and copy, a sweeper, and whoever polls, on few pages and frames.  The words are those of the product
// (pages/page_word.hpp); around them each step here is what one of the product's threads does between two
// points where others may come in: one operation on a word, one turn of the queues' lock, one system call.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pages/page_word.hpp"

namespace shm::model {

/// What goes wrong on purpose.
enum class LocalFault : std::uint8_t {
  none,
  ignore_latches,     // a page leaves though it is latched: copied, or being written
  keep_mapping,       // a page leaves and stays mapped
  clean_writable,     // a page is written while the program stores to it unseen
  clean_late,         // a page becomes clean when its write has ended, whatever was stored meanwhile
  forget_stored,      // what has been written is not known to be
  take_used_standby,  // a frame that stands by is taken though its page has been used
                      // write
  copy_in_clean,      // a copy into a page leaves it clean
  wake_nobody,        // a page that comes is not announced
  sleep_unseen,       // who waits does not say so in the word
  claim_twice,        // two threads bring the same page
  publish_early,      // a page is open before its frame is filled
  leave_with_frame,   // a frame that is given to another page still names the old one
};
inline constexpr int kLocalFaults = 13;
const char* name(LocalFault fault);

struct LocalOptions {
  int pages = 2, frames = 2, threads = 2;
  int operations = 2;        // of each thread
  std::string kinds = "ls";  // load, store, put (all of a page, past the cache), get, forget
  int at_hand = 1;           // frames that the sweeper keeps so; 0: there is none
  LocalFault fault = LocalFault::none;
};

inline constexpr int kLocalPagesMost = 3, kLocalFramesMost = 3, kLocalActors = 4;

/// Where an actor is; the names say what it does next.
enum class At : std::uint8_t {
  idle,
  access,  // loads or stores, or faults
  latch,   // is the page here?
  claim,   // it is not: is it nobody's?
  await,   // it is somebody's
  asleep,
  map,  // latched: mapped, or writable
  unlatch,
  recall,        // no longer stands by
  take,          // a frame
  read_standby,  // which page is in it
  close_standby,
  check_standby,
  vacate,
  leave,
  read_victim,
  close_victim,
  unmap,
  put_on_trial,
  stand_by,
  reopen,
  clean,
  fill,
  map_new,
  enter,
  publish,
  copy,        // past the cache: latched
  put_direct,  // ... or where it is kept
  get_direct,
  forget_close,
  forget_unmap,
  forget_vacate,
  forget_leave,
  forget_give,
  finish_look,  // who polls: a write has ended
  finish_unlatch,
  finish_queue,
};

enum class Queue : std::uint8_t { out, free, lru, standby };
enum class Map : std::uint8_t { no, to_read, to_write };

struct LocalActor {
  At at;
  std::uint8_t unused;
  char kind;
  std::uint8_t budget;
  std::uint8_t page;    // that it is about
  std::uint8_t frame;   // of it
  std::uint8_t victim;  // a page
  std::uint8_t victims_frame;
};

struct LocalFrame {
  Queue queue;
  std::uint8_t page;  // plus one
  Map mapping;
  std::uint8_t order;  // in its queue: the smallest came first
  std::uint8_t content;
  std::uint8_t unused[3];
};

/// No padding.
struct LocalState {
  std::uint64_t words[kLocalPagesMost];
  LocalActor actors[kLocalActors];  // threads, then the sweeper, and last who polls
  LocalFrame frames[kLocalFramesMost];
  std::uint8_t mapped_frame[kLocalPagesMost];  // what the processor sees
  Map mapped_as[kLocalPagesMost];
  std::uint8_t kept[kLocalPagesMost];   // where pages are kept
  std::uint8_t truth[kLocalPagesMost];  // what a load must see
  std::uint8_t last_value;
  // The one write of a page that leaves.
  std::uint8_t writing, writing_page, writing_frame, written, changed;  // writing: 0 no, 1 taken, 2 under way
  std::uint8_t unused[6];
};

struct LocalMove {
  std::uint8_t actor;
  char kind;            // of a thread that begins
  std::uint8_t page;    // the same
  std::uint8_t choice;  // where there is one
};

class LocalModel {
 public:
  explicit LocalModel(const LocalOptions& options);
  const LocalState& state() const { return s_; }
  void set(const LocalState& state) { s_ = state; }
  void moves(std::vector<LocalMove>& out) const;
  /// Returns what is violated; empty: nothing.
  std::string make(const LocalMove& move);
  /// Where there is no move.
  std::string check_end() const;
  std::string describe(const LocalMove& move) const;

 private:
  static constexpr std::uint8_t kTorn = 255;  // a value that nobody stored

  static pages::Access access_of(char kind) {
    return kind == 's' || kind == 'p' ? pages::Access::write : pages::Access::read;
  }
  static Map map_for(pages::Access access) {
    return access == pages::Access::write ? Map::to_write : Map::to_read;
  }
  bool faulty(LocalFault fault) const { return options_.fault == fault; }
  pages::PageWord& word(int page) { return reinterpret_cast<pages::PageWord&>(s_.words[page]); }
  const pages::PageWord& word(int page) const {
    return reinterpret_cast<const pages::PageWord&>(s_.words[page]);
  }
  int sweeper() const { return options_.threads; }
  int poller() const { return options_.threads + 1; }
  bool is_thread(int actor) const { return actor < options_.threads; }

  void moves_of(int actor, std::vector<LocalMove>& out) const;
  void add_takes(int actor, std::vector<LocalMove>& out) const;
  bool can_take(int actor) const;
  int at_hand() const;
  int oldest(Queue queue) const;
  void step(const LocalMove& move);
  void begin(LocalActor& me, const LocalMove& move);
  void fault_step(LocalActor& me);
  void take_step(LocalActor& me, int choice);
  void leave_step(LocalActor& me, int actor);
  void choose_step(LocalActor& me, int actor);
  void clean(LocalActor& me, int actor);
  void come_step(LocalActor& me);
  void copy_step(LocalActor& me);
  void forget_step(LocalActor& me);
  void poll_step(LocalActor& me);
  void access(LocalActor& me);
  void done(LocalActor& me);
  void wake(int page);
  void wake_if(bool awaited, int page);
  void push(int frame, Queue queue);
  void spare(int frame, int page);
  void unmap(int page, int frame);
  void map(int page, int frame, Map least);
  void change(int frame, std::uint8_t value);
  bool close(int page, int frame);
  void take_out(int frame);
  void see(int page, std::uint8_t value);
  void check();
  void next_victim(LocalActor& me, int actor);

  const LocalOptions options_;
  LocalState s_{};
  std::string violation_;
};

}  // namespace shm::model
