// SPDX-License-Identifier: BSD-3-Clause
// Part of shmem.hpp: teams, contexts and sessions.
#ifndef SHMEM_TEAMS_HPP
#define SHMEM_TEAMS_HPP

#include <utility>

#include "concepts.hpp"

namespace shmem {

/// A team, and its only owner unless it is predefined.  Of no team (operator bool) on PEs that are not
/// members. close() is collective over the team.  The end of the object is not, so the team itself stays
/// until then, or until shmem_finalize: who makes hundreds of teams closes them.
class team {
 public:
  team() = default;
  team(team&& other) noexcept : handle_(std::exchange(other.handle_, SHMEM_TEAM_INVALID)) {}
  team& operator=(team&& other) noexcept {
    if (this != &other) handle_ = std::exchange(other.handle_, SHMEM_TEAM_INVALID);
    return *this;
  }
  ~team() = default;

  /// All PEs, and those of this node.
  [[nodiscard]] static team world() { return team(SHMEM_TEAM_WORLD); }
  [[nodiscard]] static team shared() { return team(SHMEM_TEAM_SHARED); }

  /// Collective over this team: of its PEs start, start + stride, ... as many as `size`.  With so many
  /// contexts alive at once.
  [[nodiscard]] team split_strided(int start, int stride, int size, int contexts = 0) const {
    const ::shmem_team_config_t config{contexts};
    team made;
    if (::shmem_team_split_strided(handle_, start, stride, size, &config, mask(contexts), &made.handle_) != 0)
      made.handle_ = SHMEM_TEAM_INVALID;
    return made;
  }

  /// Collective over this team, as rows of `width` PEs: this PE's row, and its column.
  [[nodiscard]] std::pair<team, team> split_2d(int width, int contexts = 0) const {
    const ::shmem_team_config_t config{contexts};
    std::pair<team, team> made;
    if (::shmem_team_split_2d(handle_, width, &config, mask(contexts), &made.first.handle_, &config,
                              mask(contexts), &made.second.handle_) != 0)
      made.first.handle_ = made.second.handle_ = SHMEM_TEAM_INVALID;
    return made;
  }

  /// Collective, unless this is of no team, or predefined, or the library is not running: the team ends, with
  /// its contexts, which must not be used any more.
  void close() {
    const ::shmem_team_t given_up = std::exchange(handle_, SHMEM_TEAM_INVALID);
    if (given_up != SHMEM_TEAM_INVALID && given_up != SHMEM_TEAM_WORLD && given_up != SHMEM_TEAM_SHARED &&
        detail::running())
      ::shmem_team_destroy(given_up);
  }

  explicit operator bool() const { return handle_ != SHMEM_TEAM_INVALID; }

  /// -1 if this is of no team.
  [[nodiscard]] int my_pe() const { return ::shmem_team_my_pe(handle_); }
  [[nodiscard]] int n_pes() const { return ::shmem_team_n_pes(handle_); }
  /// The number in `other` of a PE of this team; -1 if it is not there.
  [[nodiscard]] int translate(int pe, const team& other) const {
    return ::shmem_team_translate_pe(handle_, pe, other.handle_);
  }

  /// For the functions of shmem.h; this stays the owner.
  [[nodiscard]] ::shmem_team_t handle() const { return handle_; }

 private:
  explicit team(::shmem_team_t handle) : handle_(handle) {}
  static long mask(int contexts) { return contexts > 0 ? SHMEM_TEAM_NUM_CONTEXTS : 0; }

  ::shmem_team_t handle_ = SHMEM_TEAM_INVALID;
};

/// What a context is for, with | for several.
enum class context_option : long {
  none = 0,
  serialized = SHMEM_CTX_SERIALIZED,
  only_this_thread = SHMEM_CTX_PRIVATE,
  no_store = SHMEM_CTX_NOSTORE
};
constexpr context_option operator|(context_option a, context_option b) {
  return static_cast<context_option>(static_cast<long>(a) | static_cast<long>(b));
}

/// A stream of operations with an order of its own.  Its end completes them, and waits for no PE's program.
/// It ends before its team does.
class context {
 public:
  context(context&& other) noexcept : handle_(std::exchange(other.handle_, SHMEM_CTX_INVALID)) {}
  context& operator=(context&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~context() {
    if (handle_ != SHMEM_CTX_INVALID && detail::running()) ::shmem_ctx_destroy(handle_);
  }

  /// Not collective.  PE numbers are those of the world, or of the team.  Of none (operator bool) where there
  /// are too many.
  explicit context(context_option options = context_option::none) {
    if (::shmem_ctx_create(static_cast<long>(options), &handle_) != 0) handle_ = SHMEM_CTX_INVALID;
  }
  explicit context(const team& of, context_option options = context_option::none) {
    if (::shmem_team_create_ctx(of.handle(), static_cast<long>(options), &handle_) != 0)
      handle_ = SHMEM_CTX_INVALID;
  }

  explicit operator bool() const { return handle_ != SHMEM_CTX_INVALID; }
  [[nodiscard]] ::shmem_ctx_t handle() const { return handle_; }

 private:
  ::shmem_ctx_t handle_ = SHMEM_CTX_INVALID;
};

/// From here to its end latency does not matter on the context: many small operations may be gathered.
class session {
 public:
  template <context_like Where = default_context_t>
  explicit session(const Where& on = {}, std::size_t most_operations = SIZE_MAX) {
    if constexpr (!std::same_as<Where, default_context_t>) handle_ = detail::handle(on);
    const ::shmem_ctx_session_config_t config{most_operations};
    ::shmem_ctx_session_start(handle_, SHMEM_CTX_SESSION_BATCH, &config,
                              most_operations == SIZE_MAX ? 0 : SHMEM_CTX_SESSION_TOTAL_OPS);
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() {
    if (detail::running()) ::shmem_ctx_session_stop(handle_);
  }

 private:
  ::shmem_ctx_t handle_ = SHMEM_CTX_DEFAULT;
};

}  // namespace shmem

#endif
