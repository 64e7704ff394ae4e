// SPDX-License-Identifier: BSD-3-Clause
// Counts the k-mers (words of K letters) of a genome in a hash table that is spread over all PEs.  A slot is
// taken by compare-and-swap of its key and counted by an atomic increment: no PE serves another, and there
// are no locks.
//
//   oshc++ -O2 kmers.cpp -o kmers && oshrun -n 4 ./kmers [letters per PE]
#include <shmem.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace {

constexpr int K = 6;
constexpr std::uint64_t kMask = (std::uint64_t{1} << (2 * K)) - 1;
constexpr std::size_t kSlots = 4096;  // of each PE

struct Slot {
  std::uint64_t key;  // the k-mer plus one; 0: free
  std::uint64_t count;
};
Slot table[kSlots];  // symmetric, as every global variable is
std::uint64_t counted;

// Every PE can compute everybody's letters, which is what makes the result easy to verify.
std::vector<unsigned> genome(int pe, std::size_t letters) {
  std::uint64_t x = 0x9e3779b97f4a7c15U * static_cast<std::uint64_t>(pe + 1);
  std::vector<unsigned> text(letters);
  for (unsigned& letter : text) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    letter = static_cast<unsigned>((x >> 20) & (x >> 40) & 3);  // letters of unequal frequency
  }
  return text;
}

template <class F>
void for_each_kmer(int pe, std::size_t letters, F visit) {
  std::uint64_t kmer = 0;
  std::size_t seen = 0;
  for (unsigned letter : genome(pe, letters)) {
    kmer = ((kmer << 2) | letter) & kMask;
    if (++seen >= K) visit(kmer);
  }
}

// The slot of a k-mer, on the PE that its hash chooses; takes a free one if there is none yet.
Slot* find(std::uint64_t kmer, int pe) {
  for (std::size_t probe = 0; probe < kSlots; ++probe) {
    Slot* slot = &table[(kmer * 0x9e3779b97f4a7c15U / kSlots + probe) % kSlots];
    const std::uint64_t key = shmem_atomic_compare_swap(&slot->key, std::uint64_t{0}, kmer + 1, pe);
    if (key == 0 || key == kmer + 1) return slot;
  }
  std::fprintf(stderr, "kmers: the table of PE %d is full\n", pe);
  shmem_global_exit(1);
}

int owner(std::uint64_t kmer, int npes) {
  return static_cast<int>((kmer * 0xff51afd7ed558ccdU >> 32) % static_cast<unsigned>(npes));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t letters = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 5000;
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  for_each_kmer(me, letters, [npes](std::uint64_t kmer) {
    const int pe = owner(kmer, npes);
    shmem_atomic_inc(&find(kmer, pe)->count, pe);
  });
  shmem_barrier_all();

  // Each PE counts once more, alone, those k-mers that it owns.
  std::map<std::uint64_t, std::uint64_t> expected;
  for (int pe = 0; pe < npes; ++pe) {
    for_each_kmer(pe, letters, [&](std::uint64_t kmer) { expected[kmer] += owner(kmer, npes) == me; });
  }
  int wrong = 0;
  std::uint64_t mine = 0;
  for (const Slot& slot : table) {
    if (slot.key == 0) continue;
    mine += slot.count;
    wrong += expected[slot.key - 1] != slot.count;
  }
  shmem_atomic_add(&counted, mine, 0);
  shmem_barrier_all();
  if (me == 0) {
    wrong += counted != static_cast<std::uint64_t>(npes) * (letters - K + 1);
    std::printf("%llu k-mers of %d letters counted: %s\n", static_cast<unsigned long long>(counted), K,
                wrong == 0 ? "verified" : "WRONG");
  }
  shmem_finalize();
  return wrong == 0 ? 0 : 1;
}
