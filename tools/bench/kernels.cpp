// SPDX-License-Identifier: BSD-3-Clause
#include "kernels.hpp"

#include <shmem.h>

#include <algorithm>

namespace bench {
namespace {

/// Atomics on the memory of another PE.
struct Remote {
  static void add(Word* p, Word value, int pe) { shmem_uint64_atomic_add(p, value, pe); }
  static Word fetch_add(Word* p, Word value, int pe) { return shmem_uint64_atomic_fetch_add(p, value, pe); }
  static Word swap_if(Word* p, Word old, Word value, int pe) {
    return shmem_uint64_atomic_compare_swap(p, old, value, pe);
  }
  static void fetch_add_nbi(Word* fetched, Word* p, Word value, int pe) {
    shmem_uint64_atomic_fetch_add_nbi(fetched, p, value, pe);
  }
  static void swap_if_nbi(Word* fetched, Word* p, Word old, Word value, int pe) {
    shmem_uint64_atomic_compare_swap_nbi(fetched, p, old, value, pe);
  }
  static void quiet() { shmem_quiet(); }
};

/// The same in private memory.
struct Model {
  static void add(Word* p, Word value, int) { *p += value; }
  static Word fetch_add(Word* p, Word value, int) {
    const Word old = *p;
    *p += value;
    return old;
  }
  static Word swap_if(Word* p, Word old, Word value, int) {
    const Word found = *p;
    if (found == old) *p = value;
    return found;
  }
  static void fetch_add_nbi(Word* fetched, Word* p, Word value, int pe) {
    *fetched = fetch_add(p, value, pe);
  }
  static void swap_if_nbi(Word* fetched, Word* p, Word old, Word value, int pe) {
    *fetched = swap_if(p, old, value, pe);
  }
  static void quiet() {}
};

/// The steps of a kernel: `read` fetches and leaves the word, `touch` fetches and counts it up
/// (compare-and-swap has nothing like it), `store` is the update.
template <class Memory, Kind kind>
struct Steps {
  static constexpr bool kAdds = kind == Kind::add;

  static Word read(Word* p, int pe) {
    return kAdds ? Memory::fetch_add(p, 0, pe) : Memory::swap_if(p, 0, 0, pe);
  }
  static void read_nbi(Word* fetched, Word* p, int pe) {
    kAdds ? Memory::fetch_add_nbi(fetched, p, 0, pe) : Memory::swap_if_nbi(fetched, p, 0, 0, pe);
  }
  static Word touch(Word* p, int pe) {
    return kAdds ? Memory::fetch_add(p, 1, pe) : Memory::swap_if(p, 0, 0, pe);
  }
  static void touch_nbi(Word* fetched, Word* p, int pe) {
    kAdds ? Memory::fetch_add_nbi(fetched, p, 1, pe) : Memory::swap_if_nbi(fetched, p, 0, 0, pe);
  }
  static Word store(Word* p, Word value, int pe) {
    return kAdds ? Memory::fetch_add(p, value, pe) : Memory::swap_if(p, 0, value, pe);
  }
  static void store_nbi(Word* fetched, Word* p, Word value, int pe) {
    kAdds ? Memory::fetch_add_nbi(fetched, p, value, pe) : Memory::swap_if_nbi(fetched, p, 0, value, pe);
  }
};

// ---- One atomic an iteration, at a place known beforehand

struct Random {
  static std::size_t place(const Ground& g, std::size_t i) { return g.index[i]; }
};
struct Consecutive {
  static std::size_t place(const Ground&, std::size_t i) { return i; }
};
struct Strided {
  static std::size_t place(const Ground& g, std::size_t i) { return i * g.stride; }
};
struct Central {
  static std::size_t place(const Ground&, std::size_t) { return 0; }
};

template <class Where>
struct OneWord {
  template <class Memory, Kind kind, Form form>
  static void run(const Ground& ground, std::size_t count, Tally& tally) {
    using Do = Steps<Memory, kind>;
    const Ground g = ground;
    Word sum = 0, hits = 0;
    const auto note = [&](Word old) { kind == Kind::add ? sum += old : hits += old == 0; };
    for (std::size_t i = 0; i < count; ++i) {
      Word* const p = g.array + Where::place(g, i);
      if constexpr (form == Form::blocking) note(Do::store(p, 1, g.target));
      if constexpr (form == Form::nonfetching) Memory::add(p, 1, g.target);
      if constexpr (form == Form::nbi) Do::store_nbi(g.old[0] + i, p, 1, g.target);
    }
    if constexpr (form == Form::nbi) {
      Memory::quiet();
      for (std::size_t i = 0; i < count; ++i) note(g.old[0][i]);
    }
    tally.fetched += sum;
    tally.hits += hits;
  }
};

// ---- A chase of pointers

struct Chase {
  template <class Memory, Kind kind, Form form>
  static void run(const Ground& ground, std::size_t count, Tally& tally) {
    static_assert(form == Form::blocking);
    const Ground g = ground;
    Word at = tally.at;
    for (std::size_t i = 0; i < count; ++i) at = Steps<Memory, kind>::read(g.next + at, g.targets[i]);
    tally.at = at;
  }
};

// ---- Several atomics an iteration, the later at places that the earlier fetch

/// Fetches where an element goes to (`where`), and with `both` also where it comes from, else `i`.  `gather`
/// swaps the two.  The element is touched, then stored.
template <bool both, bool gather>
struct Several {
  static constexpr bool kKnownSource = !both && !gather;

  template <class Memory, Kind kind>
  static void note(Tally& tally, Word value, Word old) {
    kind == Kind::add ? tally.added += value + 1 : tally.hits += old == 0 && value != 0;
  }

  template <class Memory, Kind kind>
  static void one_by_one(const Ground& g, std::size_t count, Tally& tally) {
    using Do = Steps<Memory, kind>;
    Tally seen;
    for (std::size_t i = 0; i < count; ++i) {
      const Word source = both ? Do::read(g.index + i, g.target) : i;
      const Word where = Do::read(g.index + i + 1, g.target);
      const Word value = Do::touch(g.array + (gather ? where : source), g.target);
      const Word old = Do::store(g.array + (gather ? source : where), value, g.target);
      note<Memory, kind>(seen, value, old);
      seen.fetched += where + (both ? source : 0);
    }
    tally.fetched += seen.fetched;
    tally.added += seen.added;
    tally.hits += seen.hits;
  }

  /// Step by step for the whole pass.  old[] are the sources, the places and the values.
  template <class Memory, Kind kind, Form form>
  static void step_by_step(const Ground& g, std::size_t count, Tally& tally) {
    using Do = Steps<Memory, kind>;
    Word *const source = g.old[0], *const where = g.old[1], *const value = g.old[2];
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (both) Do::read_nbi(source + i, g.index + i, g.target);
      Do::read_nbi(where + i, g.index + i + 1, g.target);
      if constexpr (kKnownSource) Do::touch_nbi(value + i, g.array + i, g.target);
    }
    Memory::quiet();
    for (std::size_t i = 0; i < count; ++i) tally.fetched += where[i] + (both ? source[i] : 0);
    if constexpr (!kKnownSource) {
      for (std::size_t i = 0; i < count; ++i) {
        Do::touch_nbi(value + i, g.array + (gather ? where[i] : source[i]), g.target);
      }
      Memory::quiet();
    }
    for (std::size_t i = 0; i < count; ++i) {
      Word* const p = g.array + (gather ? i : where[i]);
      if constexpr (form == Form::nonfetching) Memory::add(p, value[i], g.target);
      if constexpr (form == Form::nbi) Do::store_nbi(source + i, p, value[i], g.target);
    }
    Memory::quiet();
    for (std::size_t i = 0; i < count; ++i) note<Memory, kind>(tally, value[i], source[i]);
  }

  template <class Memory, Kind kind, Form form>
  static void run(const Ground& ground, std::size_t count, Tally& tally) {
    const Ground g = ground;
    if constexpr (form == Form::blocking) one_by_one<Memory, kind>(g, count, tally);
    if constexpr (form != Form::blocking) step_by_step<Memory, kind, form>(g, count, tally);
  }
};

using Scatter = Several<false, false>;
using Gather = Several<false, true>;
using ScatterGather = Several<true, false>;

// ---- The table

template <class Pattern, Kind kind, Form form>
constexpr Kernel row(const char* name, Aim aim, int atomics, bool exact) {
  return {name,
          kind,
          form,
          aim,
          atomics,
          exact,
          atomics > 1,
          &Pattern::template run<Remote, kind, form>,
          &Pattern::template run<Model, kind, form>};
}

#define ADD_ROWS(PATTERN, NAME, AIM, ATOMICS, EXACT)                                \
  row<PATTERN, Kind::add, Form::blocking>(NAME "_ADD", AIM, ATOMICS, true),         \
      row<PATTERN, Kind::add, Form::nonfetching>(NAME "_ADD", AIM, ATOMICS, EXACT), \
      row<PATTERN, Kind::add, Form::nbi>(NAME "_ADD", AIM, ATOMICS, EXACT)
#define CAS_ROWS(PATTERN, NAME, AIM, ATOMICS, EXACT)                        \
  row<PATTERN, Kind::cas, Form::blocking>(NAME "_CAS", AIM, ATOMICS, true), \
      row<PATTERN, Kind::cas, Form::nbi>(NAME "_CAS", AIM, ATOMICS, EXACT)
#define ROWS(PATTERN, NAME, AIM) ADD_ROWS(PATTERN, NAME, AIM, 1, true), CAS_ROWS(PATTERN, NAME, AIM, 1, true)

// Which of several nonblocking updates of one word comes first is open; sums of adds do not depend on it.
constexpr Kernel kKernels[] = {
    ROWS(OneWord<Random>, "RAND", Aim::neighbour),
    ROWS(OneWord<Consecutive>, "STRIDE1", Aim::neighbour),
    ROWS(OneWord<Strided>, "STRIDEN", Aim::neighbour),
    row<Chase, Kind::add, Form::blocking>("PTRCHASE_ADD", Aim::anywhere, 1, true),
    row<Chase, Kind::cas, Form::blocking>("PTRCHASE_CAS", Aim::anywhere, 1, true),
    ROWS(OneWord<Central>, "CENTRAL", Aim::hot),
    ADD_ROWS(ScatterGather, "SG", Aim::neighbour, 4, false),
    CAS_ROWS(ScatterGather, "SG", Aim::neighbour, 4, false),
    ADD_ROWS(Scatter, "SCATTER", Aim::neighbour, 3, true),
    CAS_ROWS(Scatter, "SCATTER", Aim::neighbour, 3, false),
    ADD_ROWS(Gather, "GATHER", Aim::neighbour, 3, false),
    CAS_ROWS(Gather, "GATHER", Aim::neighbour, 3, false),
};

}  // namespace

std::span<const Kernel> all_kernels() { return kKernels; }

Word initial(const Kernel& kernel, std::size_t at) {
  if (!kernel.chained) return 0;
  // So that values differ; a compare-and-swap with 0 finds every other word to change.
  return kernel.kind == Kind::add ? at + 1 : at % 2 * at;
}

void repeat(void (*pass)(const Ground&, std::size_t, Tally&), const Ground& ground, std::size_t count,
            Tally& tally) {
  while (count > 0) {
    const std::size_t now = std::min(count, ground.iterations);
    pass(ground, now, tally);
    count -= now;
  }
}

}  // namespace bench
