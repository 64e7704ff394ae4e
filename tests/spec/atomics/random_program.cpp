// SPDX-License-Identifier: BSD-3-Clause
// Semantics 63, 79, 81-83, 88, 106-108: a random program of atomics has one result, however they travel.
//
// usage: random_program [file]      runs the program without a session and within sessions, compares, and
// writes
//                                   what PE n has found to <file>.<n>, for random_program.py to compare with
//                                   others
//
// Words lie close together, many in a cache line.  Some have one writer, whose fences order what it does: all
// that they ever have and all that it fetches is determined.  Others have many writers, which for a phase do
// what commutes: determined is the last value, or what all of them together have fetched.
#include "random_program.hpp"

#include <cstdio>
#include <deque>
#include <string>
#include <vector>

namespace {

constexpr int kMostPes = 8, kOwned = 10, kShared = 12, kMostWords = kMostPes * kOwned + kShared, kRow = 150;
constexpr int kPhases = 8, kSteps = 250;

enum Use { kAdd, kTickets, kClaims, kAnd, kOr, kXor, kSwap };  // of a shared word, in a phase

// What others write to: one of them in a variable, one in the heap.
struct alignas(64) Area {
  unsigned char words[kMostWords * 8];
  Number rows[kMostPes][kRow];  // of each writer; the number of its last one, as a signal
  Number numbers[kMostPes];
};

// First those of PE 0's, PE 1's ... first, then their second ones, ..., at last the shared ones.
struct Word {
  int type;
  unsigned char* at;
};

// The last operation of mine on a word of a PE.
struct Last {
  Number time = 0;
  int ctx = 0;
  bool done = true;
};

// Where a nonblocking operation fetches to.
struct Later {
  int ctx, pe;
  Number bits, expected;
  int shared;  // of which word, if there is nothing to expect; -1: none
  bool open;
};

Area variable;
Area* areas[2];
std::vector<Word> words;
int me, npes;
shmem_ctx_t contexts[2];
Random dice, whim;  // of the program, and of the sessions, which must not matter
Number seed, common_seed, signals, done;
Number fetched[kMostPes * kShared], all_fetched[kMostPes * kShared];  // by all from a word, in any order

// Of a run.
std::vector<std::pair<std::string, Number>> found;
Number now, fenced[2], completed[2][kMostPes];
Number model[kMostPes][kMostWords];
Last last[kMostPes][kMostWords + 2];  // then of the rows
std::deque<Later> later;
std::deque<std::vector<Number>> sources;

int below(int limit) { return int(random_below(&dice, std::size_t(limit))); }

Number mix(Number value) {
  Random one = {value};
  return next_random(&one);
}

void note(const char* what, int phase, int pe, int word, Number value) {
  char where[100];
  std::snprintf(where, sizeof where, "%s, phase %d, PE %d, word %d", what, phase, pe, word);
  found.emplace_back(where, value);
}

// ---- Order and completion

// What was fetched from `pe` (-1: from all) on context c is here.
void look(int c, int pe) {
  for (Later& one : later) {
    if (!one.open || one.ctx != c || (pe >= 0 && one.pe != pe)) continue;
    one.open = false;
    if (one.shared >= 0) fetched[one.pe * kShared + one.shared] += mix(one.bits);
    if (one.shared == -1) CHECK_EQ(one.bits, one.expected);
  }
}

void fence(int c) { shmem_ctx_fence(contexts[c]), fenced[c] = now; }

void quiet(int c) {
  shmem_ctx_quiet(contexts[c]);
  for (Number& time : completed[c]) time = now;
  look(c, -1);
}

void pe_quiet(int c, int pe) {
  shmem_ctx_pe_quiet(contexts[c], &pe, 1);
  completed[c][pe] = now;
  look(c, pe);
}

// Puts the next operation on context c behind the one before it on the same word.
void follow(Last& before, int c, int pe) {
  const bool complete = before.done || before.time <= completed[before.ctx][pe];
  if (!complete && (before.ctx != c || before.time > fenced[c])) {
    const int way = below(before.ctx == c ? 6 : 2);
    if (way == 0) quiet(before.ctx);
    if (way == 1) pe_quiet(before.ctx, pe);
    if (way > 1) fence(c);
  }
  before = {++now, c, false};
}

// ---- The steps of a program

void step_owned() {
  const int pe = below(npes), c = below(2), index = below(kOwned) * npes + me;
  const Word& word = words[std::size_t(index)];
  with_type(word.type, [&](auto zero) {
    using T = decltype(zero);
    const Op op = Op(below(kOps<T>));
    const Form form = random_form(&dice, op);
    const T before = value_of<T>(model[pe][index]), value = random_value<T>(&dice);
    const T compare = below(2) == 0 ? before : random_value<T>(&dice);
    follow(last[pe][index], c, pe);
    later.push_back({c, pe, 0, bits_of(before), -1, form == Form::nbi});
    T* const old = reinterpret_cast<T*>(&later.back().bits);
    perform(contexts[c], op, form, old, reinterpret_cast<T*>(word.at), value, compare, pe);
    model[pe][index] = bits_of(result_of(op, before, value, compare));
    if (form != Form::blocking) return;
    last[pe][index].done = true;
    CHECK_EQ(later.back().bits, bits_of(before));
  });
}

Use use_of(int phase, int shared) {
  const int type = words[std::size_t(kOwned * npes + shared)].type;
  const Number random = mix(common_seed + Number(phase * 100 + shared));
  if (type >= kIntegerTypes) return kSwap;
  if (type < kBitwiseTypes) return Use(random % 7);
  return random % 4 == 3 ? kSwap : Use(random % 4);
}

void step_shared(int phase) {
  const int pe = below(npes), c = below(2), shared = below(kShared);
  const Use use = use_of(phase, shared);
  const Word& word = words[std::size_t(kOwned * npes + shared)];
  with_type(word.type, [&](auto zero) {
    using T = decltype(zero);
    T* const at = reinterpret_cast<T*>(word.at);
    if constexpr (std::is_integral_v<T>) {
      if (use == kClaims) {  // n becomes n + 1, by a compare-and-swap that is repeated
        T seen = shmem_atomic_fetch(contexts[c], at, pe);
        for (T guess = T(~seen); guess != seen;)
          guess = seen, seen = shmem_atomic_compare_swap(contexts[c], at, guess, T(guess + 1), pe);
        return;
      }
    }
    static constexpr Op kOf[] = {Op::add, Op::add, Op::add, Op::bit_and, Op::bit_or, Op::bit_xor, Op::swap};
    const bool tells = use == kTickets || use == kSwap;
    const Op op = (use == kTickets || use == kAdd) && below(2) == 0 ? Op::inc : kOf[use];
    const T value = use == kTickets ? T(1) : random_value<T>(&dice);
    Form form = random_form(&dice, op);
    if (tells && form == Form::silent) form = Form::nbi;
    later.push_back({c, pe, 0, 0, tells ? shared : -2, form == Form::nbi});
    perform(contexts[c], op, form, reinterpret_cast<T*>(&later.back().bits), at, value, T(0), pe);
    if (form == Form::blocking && tells) fetched[pe * kShared + shared] += mix(later.back().bits);
  });
}

// A row of mine, and a signal that counts or tells its number.
void step_signal() {
  const int pe = below(npes), c = below(2), a = below(2);
  follow(last[pe][kMostWords + a], c, pe);
  std::vector<Number> row(
      std::size_t(below(3) == 0 ? kRow - below(20) : 1 + below(8)));  // too long for a packet, or not
  for (Number& number : row) number = next_random(&dice);
  const bool counts = below(2) == 0;
  Number* const signal = counts ? &signals : &areas[a]->numbers[me];
  const int operation = counts ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
  Number* const dest = areas[a]->rows[me];
  const Number sent = counts ? 1 : now;
  sources.push_back(row);
  const std::vector<Number>& kept = sources.back();
  if (below(2) == 0) {
    shmem_put_signal(contexts[c], dest, row.data(), row.size(), signal, sent, operation, pe);
  } else {
    shmem_put_signal_nbi(contexts[c], dest, kept.data(), kept.size(), signal, sent, operation, pe);
  }
}

void step_order() {
  const int c = below(2), pe = below(npes);
  switch (below(4)) {
    case 0: return quiet(c);
    case 1: return pe_quiet(c, pe);
    default: fence(c);
  }
}

// ---- Phases

void begin_phase(int phase) {
  for (int i = 0; i < kShared; ++i) {
    const Word& word = words[std::size_t(kOwned * npes + i)];
    const Use use = use_of(phase, i);
    Random random = {mix(common_seed + Number(i * 1000 + phase * npes + me))};
    with_type(word.type, [&](auto zero) {
      using T = decltype(zero);
      const T first = use == kTickets || use == kClaims ? T(0) : random_value<T>(&random);
      std::memcpy(word.at, &first, sizeof first);
    });
  }
  std::memset(fetched, 0, sizeof fetched);
  shmem_barrier_all();
}

Number bits_at(const Word& word) {
  Number bits = 0;
  with_type(word.type, [&](auto zero) { std::memcpy(&bits, word.at, sizeof zero); });
  return bits;
}

// All PEs have completed what they have done; they tell each other by a barrier, or by atomics.
void meet(int phase) {
  for (int c = 0; c < 2; ++c) quiet(c);
  if (phase % 2 == 0) return shmem_barrier_all();
  for (int pe = 0; pe < npes; ++pe) shmem_atomic_inc(contexts[below(2)], &done, pe);
  shmem_uint64_wait_until(&done, SHMEM_CMP_EQ, Number(npes * (phase + 1) / 2));
}

void end_phase(int phase) {
  meet(phase);
  for (const Later& one : later) {
    if (one.shared == -1) note("fetched", phase, one.pe, int(found.size()), one.bits);
  }
  later.clear(), sources.clear();
  for (int i = 0; i < kShared; ++i) {  // what is left of the swaps makes up for what they have brought
    if (use_of(phase, i) == kSwap)
      fetched[me * kShared + i] += mix(bits_at(words[std::size_t(kOwned * npes + i)]));
  }
  shmem_sum_reduce(SHMEM_TEAM_WORLD, all_fetched, fetched, std::size_t(npes * kShared));
  for (int i = 0; i < kShared; ++i) note("fetched by all", phase, me, i, all_fetched[me * kShared + i]);
  for (int i = 0; i < npes * kOwned + kShared; ++i) {
    if (i >= npes * kOwned && use_of(phase, i - npes * kOwned) == kSwap) continue;
    note("in memory", phase, me, i, bits_at(words[std::size_t(i)]));
  }
  for (int a = 0; a < 2; ++a) {
    for (int pe = 0; pe < npes; ++pe) {
      Number row = areas[a]->numbers[pe];
      for (const Number number : areas[a]->rows[pe]) row = mix(row + number);
      note("row", phase, pe, a, row);
    }
  }
  note("signals", phase, me, 0, signals);
  for (int pe = 0; pe < npes; ++pe) {  // what I have written is what there is
    for (int i = me; i < npes * kOwned; i += npes) {
      with_type(words[std::size_t(i)].type, [&](auto zero) {
        using T = decltype(zero);
        CHECK_FOR(i, bits_of(shmem_g(reinterpret_cast<T*>(words[std::size_t(i)].at), pe)), model[pe][i]);
      });
    }
  }
  shmem_barrier_all();
}

void change_session() {
  const int c = int(random_below(&whim, 2));
  if (random_below(&whim, 2) == 0) return shmem_ctx_session_stop(contexts[c]);
  shmem_ctx_session_start(contexts[c], SHMEM_CTX_SESSION_BATCH, NULL, 0);
}

void run(bool sessions) {
  found.clear();
  now = 0;
  std::memset(fenced, 0, sizeof fenced), std::memset(completed, 0, sizeof completed);
  std::memset(model, 0, sizeof model);
  for (auto& of_pe : last) {
    for (Last& one : of_pe) one = {};
  }
  for (Area* area : areas) *area = {};
  signals = done = 0;
  dice.state = seed;
  for (const shmem_ctx_t ctx : contexts) {
    if (sessions) shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
  }
  for (int phase = 0; phase < kPhases; ++phase) {
    begin_phase(phase);
    for (int i = 0; i < kSteps; ++i) {
      if (sessions && random_below(&whim, 60) == 0) change_session();
      const int kind = below(20);
      if (kind < 12) step_owned();
      if (kind >= 12 && kind < 17) step_shared(phase);
      if (kind == 17 || kind == 18) step_signal();
      if (kind == 19) step_order();
    }
    end_phase(phase);
  }
  for (const shmem_ctx_t ctx : contexts) shmem_ctx_session_stop(ctx);
}

// The same on all PEs: words of random types in random order, those of 4 bytes in pairs or with a gap.
void lay_out() {
  Random random = {common_seed};
  const std::size_t count = std::size_t(npes * kOwned + kShared);
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random_below(&random, i)]);
  words.resize(count);
  std::size_t used[2] = {0, 0};
  for (const std::size_t i : order) {
    const std::size_t a = random_below(&random, 2);
    words[i].type = int(random_below(&random, kTypes));
    with_type(words[i].type, [&](auto zero) {
      used[a] = (used[a] + sizeof zero - 1) / sizeof zero * sizeof zero;
      words[i].at = areas[a]->words + used[a];
      used[a] += sizeof zero;
    });
  }
}

void write(const char* path) {
  FILE* file = std::fopen((std::string(path) + "." + std::to_string(me)).c_str(), "w");
  CHECK(file != nullptr);
  for (const auto& [where, value] : found)
    std::fprintf(file, "%s: %llx\n", where.c_str(), (unsigned long long)value);
  CHECK_EQ(std::fclose(file), 0);
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  me = shmem_my_pe(), npes = shmem_n_pes();
  CHECK_CMP(npes, <=, kMostPes);
  signals = Number(time(NULL));
  shmem_barrier_all();
  common_seed = seed_of_run(shmem_g(&signals, 0));
  seed = common_seed * 100 + Number(me), whim.state = ~seed;
  areas[0] = &variable, areas[1] = static_cast<Area*>(shmem_align(64, sizeof(Area)));
  contexts[0] = SHMEM_CTX_DEFAULT;
  CHECK_EQ(shmem_ctx_create(0, &contexts[1]), 0);
  shmem_barrier_all();
  lay_out();
  run(false);
  const auto without = found;
  run(true);
  CHECK_EQ(found.size(), without.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != without[i])
      std::fprintf(stderr, "%s, and %s\n", without[i].first.c_str(), found[i].first.c_str());
    CHECK_FOR(i, found[i].second, without[i].second);
  }
  if (argc > 1) write(argv[1]);
  shmem_ctx_destroy(contexts[1]);
  shmem_finalize();
  return 0;
}
