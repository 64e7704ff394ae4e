// SPDX-License-Identifier: BSD-3-Clause
// What limits.py counts of shmem.hpp: PE 0 makes each call as C has it (c.NAME) and as C++ has it (cxx.NAME),
// as calls.c does.  Both must take the same instructions.
//
// usage: oshrun -n 2 cxx_calls
#include <shmem.hpp>

#include <array>
#include <cstdio>

namespace {

struct Point {
  double x, y, z;
};

// C's arguments and C++'s: the same memory.
long word, ready = 1, from[8], to[8];
unsigned long bits;
std::uint64_t signal_word;
Point point, points[4];
int target = 1;  // the PE that does not count
const shmem_ctx_t* ctx;
const shmem_team_t* alone;  // of this PE
shmemx_kv_t table;
shmem::kv_table<long, long> typed_table;
const shmem::context* own_context;
const shmem::team* own_team;
const std::span<const long, 8> source(from);

constexpr long kCalls = 100;
using Calls = void (*)(long n);

}  // namespace

// Its name is what callgrind is told.
extern "C" void counted(Calls calls, long n);
extern "C" __attribute__((noinline, noclone)) void counted(Calls calls, long n) {
  calls(n);
  __asm__ volatile("");  // else it would jump, and not return here
}

namespace {

template <class Call>
void repeat(long n) {
  for (long i = 0; i < n; ++i) Call()(i);
}

void count(const char* language, const char* name, Calls calls) {
  calls(1);  // may still look up functions
  for (long n : {kCalls, 2 * kCalls}) {
    counted(calls, n);
    std::printf("%s.%s %ld\n", language, name, n);
  }
}

template <class C, class Cxx>
void compare(const char* name, C, Cxx) {
  count("c", name, repeat<C>);
  count("cxx", name, repeat<Cxx>);
}

void count_rma() {
  using namespace shmem;
  compare(
      "p", [](long i) { shmem_long_p(&word, i, target); }, [](long i) { p(&word, i, target); });
  compare(
      "g", [](long) { shmem_long_g(&word, target); }, [](long) { static_cast<void>(g(&word, target)); });
  compare(
      "put", [](long) { shmem_long_put(to, from, 8, target); }, [](long) { put(to, from, target); });
  compare(
      "put_span", [](long) { shmem_long_put(to, from, 8, target); },
      [](long) { put(&to[0], source, target); });
  compare(
      "get", [](long) { shmem_long_get(to, from, 8, target); }, [](long) { get(to, from, target); });
  compare(
      "put_nbi", [](long) { shmem_long_put_nbi(to, from, 8, target); },
      [](long) { put_nbi(to, from, target); });
  compare(
      "get_nbi", [](long) { shmem_long_get_nbi(to, from, 8, target); },
      [](long) { get_nbi(to, from, target); });
  compare(
      "iput", [](long) { shmem_long_iput(to, from, 2, 2, 4, target); },
      [](long) { iput(to, from, 2, 2, 4, target); });
  compare(
      "ibget", [](long) { shmem_long_ibget(to, from, 4, 4, 2, 2, target); },
      [](long) { ibget(to, from, 4, 4, 2, 2, target); });
  compare(
      "put_struct", [](long) { shmem_putmem(points, &point, sizeof point, target); },
      [](long) { put(points, std::span<Point, 1>(&point, 1), target); });
  compare(
      "put_signal",
      [](long i) {
        shmem_long_put_signal(to, from, 8, &signal_word, static_cast<uint64_t>(i), SHMEM_SIGNAL_SET, target);
      },
      [](long i) {
        put_signal(to, from, &signal_word, static_cast<std::uint64_t>(i), signal_op::set, target);
      });
  compare(
      "signal_add", [](long) { (shmem_signal_add)(&signal_word, 1, target); },
      [](long) { signal_add(&signal_word, 1, target); });
  compare(
      "fence", [](long) { shmem_fence(); }, [](long) { fence(); });
  compare(
      "quiet", [](long) { shmem_quiet(); }, [](long) { quiet(); });
}

void count_on_context() {
  using namespace shmem;
  compare(
      "ctx_p", [](long i) { shmem_ctx_long_p(*ctx, &word, i, target); },
      [](long i) { p(&word, i, target, *own_context); });
  compare(
      "ctx_put", [](long) { shmem_ctx_long_put(*ctx, to, from, 8, target); },
      [](long) { put(to, from, target, *own_context); });
  compare(
      "ctx_fetch_add", [](long) { shmem_ctx_long_atomic_fetch_add(*ctx, &word, 1, target); },
      [](long) { atomic_fetch_add(&word, 1, target, *own_context); });
  compare(
      "ctx_quiet", [](long) { shmem_ctx_quiet(*ctx); }, [](long) { quiet(*own_context); });
}

void count_words() {
  using namespace shmem;
  compare(
      "fetch_add", [](long) { shmem_long_atomic_fetch_add(&word, 1, target); },
      [](long) { atomic_fetch_add(&word, 1, target); });
  compare(
      "add", [](long) { shmem_long_atomic_add(&word, 1, target); },
      [](long) { atomic_add(&word, 1, target); });
  compare(
      "swap", [](long i) { shmem_long_atomic_swap(&word, i, target); },
      [](long i) { atomic_swap(&word, i, target); });
  compare(
      "compare_swap", [](long i) { shmem_long_atomic_compare_swap(&word, i, i + 1, target); },
      [](long i) { atomic_compare_swap(&word, i, i + 1, target); });
  compare(
      "or", [](long) { shmem_ulong_atomic_or(&bits, 1, target); }, [](long) { atomic_or(&bits, 1, target); });
  compare(
      "fetch_max", [](long i) { shmemx_long_atomic_fetch_max(&word, i, target); },
      [](long i) { atomic_fetch_max(&word, i, target); });
  compare(
      "wait_until", [](long) { shmem_long_wait_until(&ready, SHMEM_CMP_EQ, 1); },
      [](long) { wait_until(&ready, cmp::eq, 1); });
  compare(
      "test", [](long) { static_cast<void>(shmem_long_test(&ready, SHMEM_CMP_EQ, 1)); },
      [](long) { static_cast<void>(test(&ready, cmp::eq, 1)); });
  compare(
      "wait_until_all", [](long) { shmem_long_wait_until_all(from, 8, nullptr, SHMEM_CMP_EQ, 0); },
      [](long) { wait_until_all(from, cmp::eq, 0); });
}

// Of a team of this PE alone: nobody is waited for.
void count_collectives() {
  using namespace shmem;
  compare(
      "sync", [](long) { shmem_team_sync(*alone); }, [](long) { sync(*own_team); });
  compare(
      "broadcast", [](long) { shmem_long_broadcast(*alone, to, from, 8, 0); },
      [](long) { broadcast(*own_team, to, from, 0); });
  compare(
      "sum_reduce", [](long) { shmem_long_sum_reduce(*alone, to, from, 8); },
      [](long) { sum_reduce(*own_team, to, from); });
  compare(
      "fcollect", [](long) { shmem_long_fcollect(*alone, to, from, 8); },
      [](long) { fcollect(*own_team, to, from); });
}

void count_kv() {
  compare(
      "kv_put",
      [](long i) {
        const long key = 5;
        shmemx_kv_put(table, &key, sizeof key, &i, sizeof i);
      },
      [](long i) { typed_table.put(5, i); });
}

}  // namespace

int main() {
  shmem_init();
  {
    const shmem::context context;
    shmem::team team = shmem::team::world().split_strided(0, 1, 1);
    const shmem_ctx_t context_handle = context.handle();
    const shmem_team_t team_handle = team.handle();
    own_context = &context, ctx = &context_handle;
    own_team = &team, alone = &team_handle;
    typed_table = shmem::kv_table<long, long>(1000);
    table = typed_table.handle();
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
      count_rma();
      count_on_context();
      count_words();
      count_collectives();
      count_kv();
    }
    shmem_barrier_all();
  }
  typed_table.close();
  shmem_finalize();
  return 0;
}
