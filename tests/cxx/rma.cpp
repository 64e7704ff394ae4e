// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and signals of shmem.hpp: each form, with a type that has functions of its own and with one that
// has not, on the default context and on one of its own.
#include <shmem.hpp>

#include <array>
#include <vector>

#include "check.h"

namespace {

struct Point {
  double x;
  int y;
  char name;
  bool operator==(const Point& other) const { return x == other.x && y == other.y && name == other.name; }
};
enum class Colour : unsigned char { red, green };

template <class T>
T make(int n);
template <>
long make<long>(int n) {
  return n;
}
template <>
Point make<Point>(int n) {
  Point made{};
  made.x = n / 2.0;
  made.y = n;
  made.name = 'p';
  return made;
}
template <>
Colour make<Colour>(int n) {
  return n % 2 == 0 ? Colour::red : Colour::green;
}

template <class T>
std::vector<T> numbered(int from, std::size_t n) {
  std::vector<T> made;
  for (std::size_t i = 0; i < n; ++i) made.push_back(make<T>(from + static_cast<int>(i)));
  return made;
}

constexpr std::size_t kSize = 40;

// What is done to the PE on the right, and seen on this one, done by that on the left.
template <class T, class Where>
struct Forms {
  const Where& on;
  const int me = shmem::my_pe(), n = shmem::n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
  shmem::symmetric_array<T> theirs{kSize};
  shmem::symmetric_array<std::uint64_t> signals{4};
  const std::vector<T> sent = numbered<T>(me, kSize), expected = numbered<T>(left, kSize);

  void settle() const {
    shmem::quiet(on);
    shmem::barrier_all();
  }
  void clear() {
    shmem::barrier_all();
    for (T& each : theirs) each = T{};
    shmem::barrier_all();
  }

  void contiguous() {
    shmem::p(&theirs[1], sent[1], right, on);
    settle();
    CHECK(theirs[1] == expected[1] && theirs[0] == T{});
    CHECK(shmem::g(&theirs[1], right, on) == sent[1]);
    clear();
    shmem::put(theirs, sent, right, on);
    settle();
    for (std::size_t i = 0; i < kSize; ++i) CHECK(theirs[i] == expected[i]);
    std::vector<T> got(3);
    shmem::get(got, &theirs[5], right, on);
    CHECK(got[0] == sent[5] && got[2] == sent[7]);
    shmem::get(std::span(got).first(1), theirs, right, on);
    CHECK(got[0] == sent[0] && got[1] == sent[6]);
    clear();
    shmem::put_nbi(&theirs[4], std::span(sent).subspan(2, 3), right, on);
    settle();
    CHECK(theirs[3] == T{} && theirs[4] == expected[2] && theirs[6] == expected[4] && theirs[7] == T{});
    shmem::get_nbi(got, &theirs[4], right, on);
    shmem::quiet(on);
    CHECK(got[0] == sent[2] && got[2] == sent[4]);
    clear();
  }

  void strided() {
    std::vector<T> got(10);
    shmem::iput(theirs, sent, 2, 3, 5, right, on);
    settle();
    for (std::size_t i = 0; i < 5; ++i) CHECK(theirs[2 * i] == expected[3 * i] && theirs[2 * i + 1] == T{});
    shmem::iget(got, theirs, 1, 2, 5, right, on);
    CHECK(got[0] == sent[0] && got[4] == sent[12] && got[5] == T{});
    clear();
    shmem::ibput(theirs, sent, 4, 3, 2, 3, right, on);
    settle();
    CHECK(theirs[0] == expected[0] && theirs[1] == expected[1] && theirs[2] == T{} &&
          theirs[4] == expected[3] && theirs[9] == expected[7]);
    shmem::ibget(got, theirs, 2, 4, 2, 3, right, on);
    CHECK(got[1] == sent[1] && got[3] == sent[4] && got[5] == sent[7]);
    clear();
  }

  void signalled() {
    shmem::put_signal(theirs, sent, &signals[0], 9, shmem::signal_op::set, right, on);
    CHECK(shmem::signal_wait_until(&signals[0], shmem::cmp::ne, 0) == 9 &&
          theirs[kSize - 1] == expected[kSize - 1]);
    clear();
    shmem::put_signal_nbi(theirs, sent, &signals[0], 2, shmem::signal_op::add, right, on);
    shmem::signal_wait_until(&signals[0], shmem::cmp::ge, 11);
    CHECK(shmem::signal_fetch(&signals[0]) == 11 && theirs[kSize - 1] == expected[kSize - 1]);
    shmem::signal_set(&signals[1], 5, right, on);
    shmem::fence(on);
    shmem::signal_add(&signals[1], 1, right, on);
    shmem::pe_quiet(std::array{right}, on);
    shmem::signal_wait_until(&signals[1], shmem::cmp::eq, 6);
    shmem::barrier_all();
  }
};

template <class T, class Where>
void all_forms(const Where& on) {
  Forms<T, Where> forms{on};
  forms.contiguous();
  forms.strided();
  forms.signalled();
}

template <class T>
void with_contexts() {
  all_forms<T>(shmem::default_context);
  const shmem::context own(shmem::context_option::serialized);
  CHECK(own);
  all_forms<T>(own);
  all_forms<T>(own.handle());
}

// A context of a team has its numbers; a session changes nothing.
void of_teams() {
  static long word;
  const int me = shmem::my_pe(), n = shmem::n_pes();
  shmem::team backwards = shmem::team::world().split_strided(n - 1, -1, n);
  CHECK(backwards && backwards.my_pe() == n - 1 - me && backwards.n_pes() == n);
  CHECK(backwards.translate(0, shmem::team::world()) == n - 1);
  {
    const shmem::context of_team(backwards);
    const shmem::session batch(of_team, 1);
    shmem::p(&word, me + 1, me, of_team);  // to n - 1 - me
  }
  shmem::sync(backwards);
  CHECK(word == n - me);
  {
    const shmem::session of_default;
    shmem::p(&word, 50, me);
  }
  shmem::quiet();
  CHECK(word == 50);
  const auto [row, column] = shmem::team::world().split_2d(2);
  CHECK(row.my_pe() == me % 2 && column.my_pe() == me / 2);
  shmem::team none = shmem::team::world().split_strided(0, 1, 1);
  CHECK(static_cast<bool>(none) == (me == 0) && (me == 0 || none.my_pe() == -1));
  none.close();
  CHECK(!none);
  backwards.close();
  shmem::team::world().close();  // nothing
  CHECK(shmem::team::shared().n_pes() >= 1);
  // Contexts come back.
  for (int i = 0; i < 200; ++i) {
    shmem::context one;
    CHECK(one);
    shmem::context moved(std::move(one));
    CHECK(moved && !one);  // NOLINT
  }
  // Teams do when they are closed.
  for (int i = 0; i < 600; ++i) {
    shmem::team many = shmem::team::world().split_strided(0, 1, n);
    CHECK(many);
    many.close();
  }
}

}  // namespace

int main() {
  const shmem::library library;
  with_contexts<long>();
  with_contexts<Point>();
  with_contexts<Colour>();
  of_teams();
  return 0;
}
