// SPDX-License-Identifier: BSD-3-Clause
// shmemx_kv.hpp: every member of shmemx::kv_table, on keys of all PEs.
#include <shmemx_kv.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <numeric>
#include <vector>

#include "check.h"

namespace {

struct Key {
  int x, y;
};
struct Account {
  double rate;
  std::int64_t balance;
  std::array<char, 3> kind;
};
using Accounts = shmemx::kv_table<Key, Account>;
using Numbers = shmemx::kv_table<std::uint64_t, std::int64_t>;

using Iterator = Numbers::local_range::iterator;
static_assert(std::is_same_v<decltype(*std::declval<Iterator&>()++), const Numbers::value_type&>);
#if __cplusplus >= 202002L
static_assert(std::input_iterator<Iterator> && std::sentinel_for<Iterator, Iterator>);
#endif

constexpr std::uint64_t kEach = 200;  // keys of a PE's own

std::uint64_t key(std::uint64_t i) { return static_cast<std::uint64_t>(shmem_my_pe()) * kEach + i; }

void single(Numbers& table) {
  for (std::uint64_t i = 0; i < kEach; ++i) CHECK_FOR(i, table.insert(key(i), std::int64_t(i)), SHMEMX_KV_OK);
  CHECK_EQ(table.insert(key(1), 5), SHMEMX_KV_EXISTS);
  CHECK_EQ(table.get(key(1)).value_or(-1), 1);
  CHECK_EQ(table.put(key(1), 7), SHMEMX_KV_OK);
  CHECK_EQ(table.get_wait(key(1)), 7);
  CHECK_EQ(table.update(key(1), 8), SHMEMX_KV_OK);
  CHECK_EQ(table.get(key(1)).value_or(-1), 8);
  CHECK(table.remove(key(2)));
  CHECK(!table.remove(key(2)));
  CHECK(!table.contains(key(2)));
  CHECK(!table.get(key(2)));
  CHECK_EQ(table.update(key(2), 1), SHMEMX_KV_NOT_FOUND);
  std::int64_t old = 1;
  CHECK_EQ(table.upsert(key(2), SHMEMX_KV_ADD, 40, &old), SHMEMX_KV_OK);
  CHECK_EQ(old, 0);
  CHECK_EQ(table.accumulate(key(2), SHMEMX_KV_MAX, 41, &old), SHMEMX_KV_OK);
  CHECK_EQ(old, 40);
  CHECK_EQ(table.compare_swap(key(2), 40, 50, &old), SHMEMX_KV_MISMATCH);
  CHECK_EQ(old, 41);
  CHECK_EQ(table.compare_swap(key(2), 41, 2), SHMEMX_KV_OK);
  CHECK_EQ(table.put(key(1), 1), SHMEMX_KV_OK);
  CHECK(table.contains(key(1)));
  CHECK_EQ(table.get_or_insert(key(1), 9, &old), SHMEMX_KV_OK);
  CHECK_EQ(old, 1);
  CHECK_EQ(table.exchange(key(1), 10, &old), SHMEMX_KV_OK);
  CHECK_EQ(table.take(key(1)).value_or(-1), 10);
  CHECK(!table.take(key(1)));
  CHECK_EQ(table.get_or_insert(key(1), 9, &old), SHMEMX_KV_INSERTED);
  CHECK_EQ(table.insert_or_update(key(1), 1), SHMEMX_KV_OK);
}

void requests(Numbers& table) {
  std::int64_t old = 0;
  int codes[2] = {};
  {
    const std::array<std::uint64_t, 2> keys{key(3), key(4)};
    std::array<std::int64_t, 2> found{}, values{30, 40};
    shmemx::kv_request request = table.put_batch_nbi(keys, values);
    request = table.update_batch_nbi(keys, values, codes);
    while (!request.test()) {
    }
    CHECK_EQ(codes[0] + codes[1], 2 * SHMEMX_KV_OK);
    table.get_batch_nbi(keys, found).wait();
    CHECK_EQ(found[0] + found[1], 70);
    table.insert_batch_nbi(keys, values, codes).wait();
    CHECK_EQ(codes[1], SHMEMX_KV_EXISTS);
  }
  table.remove_nbr(key(3), &codes[0]).wait();
  CHECK_EQ(codes[0], SHMEMX_KV_OK);
  table.update_nbr(key(3), 1, &codes[0]).wait();
  CHECK_EQ(codes[0], SHMEMX_KV_NOT_FOUND);
  table.insert_nbr(key(3), 5, &codes[0]).wait();
  table.put_nbr(key(3), 3).wait();
  table.put_nbr(key(4), 4).wait();
  table.get_nbr(key(3), &old, &codes[0]).wait();
  CHECK_EQ(codes[0], SHMEMX_KV_OK);
  CHECK_EQ(old, 3);
  table.accumulate_nbr(key(3), SHMEMX_KV_ADD, 4, &old, &codes[0]).wait();
  CHECK_EQ(codes[0], SHMEMX_KV_OK);
  CHECK_EQ(old, 3);
  table.upsert_nbr(key(3), SHMEMX_KV_MAX, 9, &old, &codes[0]).wait();
  CHECK_EQ(codes[0], SHMEMX_KV_OK);
  CHECK_EQ(old, 7);
  CHECK_EQ(table.get(key(3)).value_or(-1), 9);
  CHECK(table.remove(key(3)));
  table.accumulate_nbr(key(3), SHMEMX_KV_ADD, 4, nullptr, &codes[0]).wait();
  CHECK_EQ(codes[0], SHMEMX_KV_NOT_FOUND);
  table.upsert_nbr(key(3), SHMEMX_KV_ADD, 3).wait();
  CHECK_EQ(table.get(key(3)).value_or(-1), 3);
}

void many(Numbers& table) {
  std::vector<std::uint64_t> keys;
  std::vector<std::int64_t> values(kEach), expected;
  for (std::uint64_t i = 0; i < kEach; ++i) keys.push_back(key(i)), expected.push_back(std::int64_t(i));
  std::vector<int> status(kEach, -1);
  CHECK_EQ(table.get_batch(keys, values, status.data()), SHMEMX_KV_OK);
  for (std::size_t i = 0; i < kEach; ++i) CHECK_AT(values, i, expected[i]);
  CHECK_EQ(table.upsert_batch(keys, SHMEMX_KV_ADD, expected, values.data()), SHMEMX_KV_OK);
  for (std::size_t i = 0; i < kEach; ++i) CHECK_AT(values, i, expected[i]);
  CHECK_EQ(table.remove_batch(keys), SHMEMX_KV_OK);
  CHECK_EQ(table.contains_batch(keys), SHMEMX_KV_NOT_FOUND);
  CHECK_EQ(table.update_batch(keys, expected, status.data()), SHMEMX_KV_NOT_FOUND);
  CHECK(status == std::vector<int>(kEach, SHMEMX_KV_NOT_FOUND));
  CHECK_EQ(table.insert_batch(keys, expected), SHMEMX_KV_OK);
  const std::array<std::uint64_t, 2> two{key(0), key(1)};
  std::int64_t array[] = {0, 1};
  CHECK_EQ(table.put_batch(two, array), SHMEMX_KV_OK);
  CHECK_EQ(table.get_batch(two, array), SHMEMX_KV_OK);
  CHECK_EQ(array[1], 1);
  // Results may go to ranges, too.
  CHECK_EQ(table.upsert_batch(keys, SHMEMX_KV_ADD, std::vector<std::int64_t>(kEach), values, status),
           SHMEMX_KV_OK);
  for (std::size_t i = 0; i < kEach; ++i) CHECK_AT(values, i, expected[i]);
  CHECK(status == std::vector<int>(kEach, SHMEMX_KV_OK));
  int codes[2] = {-1, -1};
  CHECK_EQ(table.contains_batch(two, codes), SHMEMX_KV_OK);
  CHECK_EQ(codes[1], SHMEMX_KV_OK);
  const std::vector<std::uint64_t> no_keys;
  CHECK_EQ(table.put_batch(no_keys, std::vector<std::int64_t>(), nullptr), SHMEMX_KV_OK);
}

// A batch that changes what is there, and says what that was.
void changed(Numbers& table) {
  std::vector<std::uint64_t> keys;
  std::vector<std::int64_t> ones(kEach, 1), olds(kEach, -1), before(kEach), after(kEach);
  for (std::uint64_t i = 0; i < kEach; ++i) {
    keys.push_back(key(i));
    before[i] = std::int64_t(i), after[i] = std::int64_t(i + 1);
  }
  keys.back() = ~std::uint64_t{0} - key(0);  // which is not there
  std::vector<int> status(kEach, -1);
  const auto all_but_last = [&](int code) {
    CHECK_EQ(std::count(status.begin(), status.end() - 1, code), std::ptrdiff_t(kEach - 1));
    CHECK_EQ(status.back(), SHMEMX_KV_NOT_FOUND);
    for (std::size_t i = 0; i + 1 < kEach; ++i) CHECK_AT(olds, i, (code == SHMEMX_KV_OK ? before : after)[i]);
    std::fill(olds.begin(), olds.end(), -1);
  };
  CHECK_EQ(table.accumulate_batch(keys, SHMEMX_KV_ADD, ones, olds, status), SHMEMX_KV_NOT_FOUND);
  all_but_last(SHMEMX_KV_OK);
  CHECK_EQ(table.compare_swap_batch(keys, before, after, olds, status), SHMEMX_KV_MISMATCH);
  all_but_last(SHMEMX_KV_MISMATCH);
  table.compare_swap_batch(keys, after, before);
  table.accumulate_batch_nbi(keys, SHMEMX_KV_ADD, ones, olds.data(), status.data()).wait();
  all_but_last(SHMEMX_KV_OK);
  table.compare_swap_batch_nbi(keys, before, after, olds, status).wait();
  all_but_last(SHMEMX_KV_MISMATCH);
  shmemx::kv_request back = table.compare_swap_batch_nbi(keys, after, before, nullptr, status);
  back.wait();
  CHECK_EQ(std::count(status.begin(), status.end(), SHMEMX_KV_OK), std::ptrdiff_t(kEach - 1));
  CHECK_EQ(table.get(key(7)).value_or(-1), 7);
  table.contains_batch_nbi(keys, status).wait();
  CHECK_EQ(std::count(status.begin(), status.end(), SHMEMX_KV_OK), std::ptrdiff_t(kEach - 1));
  table.upsert_batch_nbi(keys, SHMEMX_KV_ADD, ones, olds, status).wait();
  CHECK(status == std::vector<int>(kEach, SHMEMX_KV_OK));
  CHECK_EQ(olds.back(), 0);
  table.remove_batch_nbi(keys, status).wait();
  CHECK(status == std::vector<int>(kEach, SHMEMX_KV_OK));
  table.contains_batch_nbi(keys, status.data()).wait();
  CHECK(status == std::vector<int>(kEach, SHMEMX_KV_NOT_FOUND));
  keys.back() = key(kEach - 1);
  CHECK_EQ(table.put_batch(keys, before), SHMEMX_KV_OK);
}

void nonblocking(Numbers& table) {
  std::int64_t found[2] = {-1, -1}, old = -1;
  int status[6];
  table.put_nbi(key(3), 30, &status[0]);
  table.update_nbi(key(3), 31, &status[1]);
  table.accumulate_nbi(key(3), SHMEMX_KV_ADD, 1, &old, &status[2]);
  table.get_nbi(key(3), &found[0], &status[3]);
  table.fence();
  table.remove_nbi(key(4), &status[4]);
  table.insert_nbi(key(4), 40, &status[5]);
  table.upsert_nbi(key(4), SHMEMX_KV_ADD, 2);
  while (!table.test()) continue;
  for (const int one : status) CHECK_EQ(one, SHMEMX_KV_OK);
  CHECK_EQ(old, 31);
  CHECK_EQ(found[0], 32);
  CHECK_EQ(table.get(key(4)).value_or(-1), 42);
  table.put_nbi(key(3), 3);
  table.put_nbi(key(4), 4);
  table.get_nbi(key(4), &found[1]);
  table.quiet();
  CHECK_EQ(found[1], 4);
}

// Elements as algorithms take them, and those that are not of the types.
void iterators(const Numbers& table) {
  const auto local = table.local();
  const std::vector<Numbers::value_type> all(local.begin(), local.end());
  CHECK_EQ(all.size(), table.count_local());
  const auto add = [](std::int64_t sum, const Numbers::value_type& one) { return sum + one.value; };
  CHECK_EQ(std::accumulate(local.begin(), local.end(), std::int64_t{0}, add),
           std::accumulate(all.begin(), all.end(), std::int64_t{0}, add));
  auto it = local.begin();
  for (const Numbers::value_type& expected : all) {
    const Numbers::value_type one = *it++;
    CHECK_EQ(one.key, expected.key);
    CHECK_EQ(one.value, expected.value);
  }
  CHECK(it == local.end());
  shmem_barrier_all();

  const std::array<char, 3> short_key{'a', 'b', static_cast<char>(shmem_my_pe())};
  const std::uint64_t other_key = ~std::uint64_t{0} - key(0);
  const std::int64_t value = 1;
  CHECK_EQ(shmemx_kv_put(table.handle(), &short_key, sizeof short_key, &value, sizeof value), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_put(table.handle(), &other_key, sizeof other_key, &value, 3), SHMEMX_KV_OK);
  shmem_barrier_all();
  CHECK(table.count() == static_cast<std::uint64_t>(shmem_n_pes()) * (kEach + 2));
  CHECK(static_cast<std::size_t>(std::distance(local.begin(), local.end())) == all.size());
  CHECK(std::equal(local.begin(), local.end(), all.begin(),
                   [](const auto& a, const auto& b) { return a.key == b.key && a.value == b.value; }));
  shmem_barrier_all();
  CHECK_EQ(shmemx_kv_remove(table.handle(), &short_key, sizeof short_key), SHMEMX_KV_OK);
  CHECK_EQ(shmemx_kv_remove(table.handle(), &other_key, sizeof other_key), SHMEMX_KV_OK);
  shmem_barrier_all();
}

// As `add` of all bytes of a number; returns what was stored.
int add_function(const void*, std::size_t, const void* old, std::size_t, const void* operand, std::size_t,
                 void* value, std::size_t* n) {
  std::int64_t sum = 0, more = 0;
  if (old != nullptr) std::memcpy(&sum, old, sizeof sum);
  std::memcpy(&more, operand, sizeof more);
  sum += more;
  std::memcpy(value, &sum, sizeof sum);
  *n = sizeof sum;
  return SHMEMX_KV_STORE;
}

// Collective.
void all_elements(int add) {
  const auto pes = static_cast<std::uint64_t>(shmem_n_pes());
  Numbers table(pes * kEach);
  for (std::uint64_t i = 0; i < kEach; ++i)
    CHECK_EQ(table.apply(key(i), add, std::int64_t(i)), SHMEMX_KV_INSERTED);
  std::int64_t old = -1;
  CHECK_EQ(table.apply(key(3), add, std::int64_t{4}, &old), SHMEMX_KV_OK);
  CHECK_EQ(old, 3);
  CHECK_EQ(table.get(key(3)).value_or(-1), 7);
  shmem_barrier_all();
  std::uint64_t n = 0;
  std::int64_t sum = 0;
  for (int pe = 0; pe < shmem_n_pes(); ++pe)
    table.scan(pe, [&](const std::uint64_t& number, const std::int64_t& value) {
      CHECK_EQ(table.pe_of(number), pe);
      sum += value, ++n;
    });
  CHECK_EQ(n, pes * kEach);
  CHECK_EQ(sum, std::int64_t(pes * (kEach * (kEach - 1) / 2 + 4)));
  shmem_barrier_all();
  const std::uint64_t before = table.count_local(),
                      odd = table.remove_if([](std::uint64_t, std::int64_t value) { return value % 2 != 0; });
  CHECK_EQ(table.count_local(), before - odd);
  shmem_barrier_all();
  CHECK_EQ(table.count(), pes * kEach / 2);
  CHECK(!table.contains(key(5)) && table.contains(key(6)));
  shmem_barrier_all();
  table.clear();
  CHECK_EQ(table.count(), 0);
  shmem_barrier_all();
}

// Each type of words has operations of its own: the largest of an unsigned type has all bits, and so on.
template <class T>
void words(T more, T largest, T sum) {
  shmemx::kv_table<std::uint64_t, T> table(100);
  T old = 7;
  CHECK_EQ(table.upsert(key(0), SHMEMX_KV_ADD, 1), SHMEMX_KV_OK);
  CHECK_EQ(table.accumulate(key(0), SHMEMX_KV_ADD, more, &old), SHMEMX_KV_OK);
  CHECK(old == 1);
  CHECK(table.get(key(0)) == sum);
  CHECK_EQ(table.put(key(0), 1), SHMEMX_KV_OK);
  CHECK_EQ(table.accumulate(key(0), SHMEMX_KV_MAX, T(-1)), SHMEMX_KV_OK);
  CHECK(table.get(key(0)) == largest);
}

// Collective: every PE has put i under key(i).
void whole(Numbers& table) {
  shmem_barrier_all();
  const auto pes = static_cast<std::uint64_t>(shmem_n_pes());
  CHECK_EQ(table.count(), pes * kEach);
  std::uint64_t seen = 0;
  for (auto [number, value] : table.local()) {
    CHECK_EQ(table.pe_of(number), shmem_my_pe());
    CHECK_EQ(value, std::int64_t(number % kEach));
    ++seen;
  }
  CHECK_EQ(seen, table.count_local());
  CHECK_EQ(table.stats().elements, seen);
  shmem_barrier_all();
  iterators(table);
  CHECK_EQ(table.resize(4 * pes * kEach), SHMEMX_KV_OK);
  CHECK_EQ(table.get(key(9)).value_or(-1), 9);
  Numbers moved(std::move(table));
  CHECK(!table);
  CHECK(moved);
  CHECK_EQ(moved.count(), pes * kEach);
  table = std::move(moved);
  CHECK(table);
  CHECK(!moved);
  CHECK(table.contains(key(9)));
  Numbers& same = table;
  table = std::move(same);  // it is what it was
  CHECK(table);
  CHECK(table.contains(key(9)));
  shmem_barrier_all();
  table.close();
  table.close();  // of no table: does nothing
  CHECK(!table);
}

void members() {
  shmemx_kv_options_t options{};
  options.capacity = 100;
  Accounts table(options);
  if (shmem_my_pe() == 0) CHECK_EQ(table.put({1, -1}, {0.5, 10, {'a', 'b', 'c'}}), SHMEMX_KV_OK);
  shmem_barrier_all();
  CHECK_EQ(table.accumulate({1, -1}, &Account::balance, SHMEMX_KV_ADD, 5), SHMEMX_KV_OK);
  CHECK_EQ(table.accumulate({1, 1}, &Account::rate, SHMEMX_KV_ADD, 5), SHMEMX_KV_NOT_FOUND);
  shmem_barrier_all();
  double old = 0;
  CHECK_EQ(table.accumulate({1, -1}, &Account::rate, SHMEMX_KV_MIN, 3, &old), SHMEMX_KV_OK);
  CHECK_EQ(old, 0.5);
  const auto found = table.get({1, -1});
  CHECK(found);
  CHECK_EQ(found->balance, 10 + 5 * shmem_n_pes());
  CHECK_EQ(found->kind[0], 'a');
  shmem_barrier_all();
}

// One PE after the other, each on what the one before has left.
void swap_members() {
  Accounts table(100);
  const Key nobody{-1, -1};
  if (shmem_my_pe() == 0) CHECK_EQ(table.put(nobody, {0, 0, {'a', 'b', 'c'}}), SHMEMX_KV_OK);
  shmem_barrier_all();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  while (table.compare_swap(nobody, &Account::balance, me, me + 1) == SHMEMX_KV_MISMATCH) continue;
  std::int64_t balance = -1;
  CHECK_EQ(table.compare_swap(nobody, &Account::balance, -1, 7, &balance), SHMEMX_KV_MISMATCH);
  CHECK_CMP(balance, >, me);
  CHECK_EQ(table.compare_swap({5, 5}, &Account::balance, 0, 1), SHMEMX_KV_NOT_FOUND);
  shmem_barrier_all();
  if (me == 0) {
    std::array<char, 3> kind{};
    CHECK_EQ(table.compare_swap(nobody, &Account::kind, {'a', 'b', 'c'}, {'x', 'y', 'z'}, &kind),
             SHMEMX_KV_OK);
    CHECK_EQ(kind[2], 'c');
    CHECK_EQ(table.compare_swap(nobody, &Account::rate, 0, 0.25), SHMEMX_KV_OK);
    const auto found = table.get(nobody);
    CHECK(found);
    CHECK_EQ(found->rate, 0.25);
    CHECK_EQ(found->balance, pes);
    CHECK_EQ(found->kind[2], 'z');
  }
  shmem_barrier_all();
}

// The same of a batch: every PE on elements of its own, and each member is what it was where another one
// changes.
void members_of_many() {
  const int me = shmem_my_pe();
  constexpr std::size_t n = 50;
  const auto number = [](std::size_t i) { return static_cast<int>(i); };
  Accounts table(n * static_cast<std::uint64_t>(shmem_n_pes()));
  std::vector<Key> keys;
  std::vector<Account> accounts;
  for (std::size_t i = 0; i < n; ++i) {
    keys.push_back({me, number(i)});
    accounts.push_back({0.5 * number(i), number(i), {'a', 'b', 'c'}});
  }
  CHECK_EQ(table.put_batch(keys, accounts), SHMEMX_KV_OK);
  const std::vector<std::int64_t> five(n, 5);
  std::vector<std::int64_t> balances(n, -1), none(n, -1);
  CHECK_EQ(table.accumulate_batch(keys, &Account::balance, SHMEMX_KV_ADD, five, balances), SHMEMX_KV_OK);
  for (std::size_t i = 0; i < n; ++i) CHECK_AT(balances, i, number(i));
  const std::vector<double> halves(n, 0.5);
  double rates[n];
  int status[n];
  table.accumulate_batch_nbi(keys, &Account::rate, SHMEMX_KV_ADD, halves, rates, status).wait();
  for (std::size_t i = 0; i < n; ++i) CHECK_AT(rates, i, 0.5 * number(i));
  for (std::size_t i = 0; i < n; ++i) balances[i] = number(i) + 5;
  CHECK_EQ(table.compare_swap_batch(keys, &Account::balance, five, none, balances, status),
           SHMEMX_KV_MISMATCH);
  CHECK_EQ(status[0], SHMEMX_KV_OK);
  for (std::size_t i = 1; i < n; ++i) CHECK_AT(status, i, SHMEMX_KV_MISMATCH);
  for (std::size_t i = 0; i < n; ++i) CHECK_AT(balances, i, number(i) + 5);
  const std::vector<std::array<char, 3>> abc(n, {'a', 'b', 'c'}), xyz(n, {'x', 'y', 'z'});
  table.compare_swap_batch_nbi(keys, &Account::kind, abc, xyz, nullptr, status).wait();
  for (std::size_t i = 0; i < n; ++i) CHECK_AT(status, i, SHMEMX_KV_OK);
  CHECK_EQ(table.get_batch(keys, accounts), SHMEMX_KV_OK);
  for (std::size_t i = 0; i < n; ++i) {
    const Account& account = accounts[i];
    CHECK_FOR(i, account.balance, i == 0 ? -1 : number(i) + 5);
    CHECK_FOR(i, account.rate, 0.5 * number(i) + 0.5);
    CHECK_FOR(i, account.kind[0] + account.kind[2], 'x' + 'z');
  }
  shmem_barrier_all();
}

// A handle that gets another table ends its own: or the heap would soon have no room.
void assignment() {
  Numbers table(kEach);
  for (int i = 0; i < 40; ++i) {
    CHECK(table.insert(key(1), i) == SHMEMX_KV_OK);
    shmem_barrier_all();
    table = Numbers(20000 * static_cast<std::uint64_t>(shmem_n_pes()));
    CHECK(table && !table.contains(key(1)));
    shmem_barrier_all();
  }
}

// Of the PEs from 1 on, where there are several; PE 0 goes on.
void on_a_team() {
  const int n = shmem_n_pes(), first = n > 1 ? 1 : 0;
  shmem_team_t team;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, first, 1, n - first, nullptr, 0, &team);
  if (team == SHMEM_TEAM_INVALID) return;
  shmemx_kv_options_t options{};
  options.capacity = 100;
  shmemx::kv_table<int, long> table(team, 100), other(team, options);
  CHECK(table && other);
  const int my = shmem_team_my_pe(team), next = (my + 1) % shmem_team_n_pes(team);
  CHECK_EQ(table.put(my, 10 * my), SHMEMX_KV_OK);
  CHECK_EQ(other.put(my, 20 * my), SHMEMX_KV_OK);
  CHECK_EQ(table.get_wait(next), 10 * next);
  CHECK_EQ(other.get_wait(next), 20 * next);
  CHECK(table.pe_of(my) < shmem_team_n_pes(team));
  other.close();
}

}  // namespace

int main() {
  shmem_init();
  const int add = shmemx_kv_register(add_function);
  {
    on_a_team();
    all_elements(add);
    Numbers table(kEach * static_cast<std::uint64_t>(shmem_n_pes()));
    CHECK(table);
    single(table);
    requests(table);
    many(table);
    changed(table);
    nonblocking(table);
    whole(table);
    words<std::int32_t>(INT32_MAX, 1, INT32_MIN);
    words<std::uint32_t>(7, UINT32_MAX, 8);
    words<std::int64_t>(INT64_MAX, 1, INT64_MIN);
    words<std::uint64_t>(7, UINT64_MAX, 8);
    words<float>(0.25F, 1, 1.25F);
    words<double>(0.25, 1, 1.25);
    members();
    swap_members();
    members_of_many();
    assignment();
  }
  shmem_finalize();
}
