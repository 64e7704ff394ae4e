// SPDX-License-Identifier: BSD-3-Clause
// Puts a genome together from short reads with errors.  A table that all PEs share counts the k-mers of all
// reads; those that come often are edges of a de Bruijn graph, and each path of it without a fork is a
// contig.  PEs walk the contigs that begin with a k-mer of theirs, with a batch of lookups a step.
//
//   oshc++ -O2 kv_assembly.cpp -o kv_assembly && oshrun -n 4 ./kv_assembly [letters of a chromosome]
#include <shmemx_kv.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using Word = std::uint64_t;
using Table = shmemx::kv_table<Word, Word>;  // k-mer, how often it was seen
using Four = std::array<Word, 4>;

constexpr std::size_t K = 21, kChromosomes = 8, kRead = 100, kCoverage = 40, kBatch = 4096;
constexpr Word kMask = (Word{1} << (2 * K)) - 1, kOften = 6;
constexpr double kErrors = 0.005;  // of letters
constexpr char kLetters[] = "ACGT";

// The same on all PEs, so that each can verify its contigs.
std::vector<std::string> genome(std::size_t letters) {
  std::mt19937_64 random(1);
  std::vector<std::string> chromosomes(kChromosomes, std::string(letters, ' '));
  for (std::string& chromosome : chromosomes)
    for (char& letter : chromosome) letter = kLetters[random() % 4];
  return chromosomes;
}

Word code(char letter) { return static_cast<Word>(std::find(kLetters, kLetters + 3, letter) - kLetters); }

template <class Visit>
void for_each_kmer(const std::string& text, Visit visit) {
  Word kmer = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    kmer = ((kmer << 2) | code(text[i])) & kMask;
    if (i + 1 >= K) visit(kmer);
  }
}

std::string read_of(const std::string& chromosome, std::mt19937_64& random) {
  std::string read = chromosome.substr(random() % (chromosome.size() - kRead + 1), kRead);
  for (char& letter : read)
    if (std::uniform_real_distribution<double>()(random) < kErrors) letter = kLetters[random() % 4];
  return read;
}

// Counts the k-mers of this PE's part of the reads.
void count_kmers(Table& table, const std::vector<std::string>& chromosomes) {
  std::vector<Word> kmers;
  const auto flush = [&] {
    if (table.upsert_batch(kmers, SHMEMX_KV_ADD, std::vector<Word>(kmers.size(), 1)) != SHMEMX_KV_OK) {
      std::fputs("kv_assembly: the table is full\n", stderr);
      shmem_global_exit(1);
    }
    kmers.clear();
  };
  const std::size_t reads = kChromosomes * chromosomes[0].size() * kCoverage / kRead;
  for (std::size_t i = static_cast<std::size_t>(shmem_my_pe()); i < reads;
       i += static_cast<std::size_t>(shmem_n_pes())) {
    std::mt19937_64 random(i);
    for_each_kmer(read_of(chromosomes[i % kChromosomes], random), [&](Word kmer) { kmers.push_back(kmer); });
    if (kmers.size() >= kBatch) flush();
  }
  flush();
}

// What may stand before, or after, a k-mer.
Four before(Word kmer) {
  Four found;
  for (Word i = 0; i < 4; ++i) found[i] = (kmer >> 2) | (i << (2 * (K - 1)));
  return found;
}
Four after(Word kmer) {
  Four found;
  for (Word i = 0; i < 4; ++i) found[i] = ((kmer << 2) & kMask) | i;
  return found;
}

// The only one of the four that comes often; kMask + 1: there is none, or several are.
Word only(const Table& table, const Four& kmers) {
  Four counts;
  std::array<int, 4> status;
  table.get_batch(kmers, counts, status);
  Word found = kMask + 1;
  for (std::size_t i = 0; i < 4; ++i) {
    if (status[i] != SHMEMX_KV_OK || counts[i] < kOften) continue;
    if (found <= kMask) return kMask + 1;
    found = kmers[i];
  }
  return found;
}

bool begins(const Table& table, Word kmer) {
  const Word last = only(table, before(kmer));
  return last > kMask || only(table, after(last)) != kmer;
}

std::string walk(const Table& table, Word kmer) {
  std::string contig;
  for (std::size_t i = K; i-- > 0;) contig += kLetters[(kmer >> (2 * i)) & 3];
  for (Word next = only(table, after(kmer)); next <= kMask && !begins(table, next);
       next = only(table, after(next)))
    contig += kLetters[next & 3];
  return contig;
}

// Symmetric: contigs, their k-mers, k-mers that come often, contigs that are not in the genome.
Word mine[4], all[4];

}  // namespace

int main(int argc, char** argv) {
  const std::size_t letters = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  shmem_init();
  if (letters < 2 * kRead || letters > 100000000) {
    if (shmem_my_pe() == 0) std::fputs("usage: kv_assembly [200 to 100000000 letters]\n", stderr);
    shmem_finalize();
    return 2;
  }
  const std::vector<std::string> chromosomes = genome(letters);
  {
    // Each wrong letter makes up to K k-mers that are seen once.
    const double wrong = double(kCoverage) * kErrors * K;
    Table table(static_cast<Word>(double(kChromosomes * letters) * (1 + wrong)));
    if (!table) shmem_global_exit(1);
    count_kmers(table, chromosomes);
    shmem_barrier_all();
    for (auto [kmer, count] : table.local()) {
      if (count < kOften) continue;
      ++mine[2];
      if (!begins(table, kmer)) continue;
      const std::string contig = walk(table, kmer);
      ++mine[0], mine[1] += contig.size() - K + 1;
      mine[3] += std::none_of(chromosomes.begin(), chromosomes.end(),
                              [&](const std::string& one) { return one.find(contig) != std::string::npos; });
    }
    shmem_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 4);
  }
  // Of the ends, which few reads reach, some letters may be missing.
  const bool right = all[3] == 0 && all[1] == all[2] && all[1] * 10 >= kChromosomes * (letters - K + 1) * 9;
  if (shmem_my_pe() == 0)
    std::printf("%.0f contigs with %.1f %% of the genome's %zu letters; %s\n", double(all[0]),
                double(all[1] + all[0] * (K - 1)) * 100 / double(kChromosomes * letters),
                kChromosomes * letters, right ? "verified" : "WRONG");
  shmem_finalize();
  return right ? 0 : 1;
}
