// SPDX-License-Identifier: BSD-3-Clause
// Counts words, as many PEs at once as there are: each takes its part of every text, and a table that all of
// them share has the counts.  The table is small at first and grows whenever it is full.  Without files the
// text is one that the program makes up.
//
//   oshc++ -O2 -std=c++17 kv_words.cpp -o kv_words && oshrun -n 4 ./kv_words [file...]
//
// A word is letters and digits of ASCII, large letters as small ones.
#include <shmemx_kv.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

using Word = std::array<char, 32>;  // zeros behind it; of a longer one the beginning
using Count = std::uint64_t;
using Table = shmemx::kv_table<Word, Count>;

constexpr Count kCapacity = 64;  // at first

std::string made_up_text() {
  std::string text;
  std::uint64_t x = 88172645463325252U;
  for (int i = 0; i < 40000; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    Count number = x % (1 + (x >> 32) % 3000);  // the smaller the more often
    do text += static_cast<char>('a' + number % 26);
    while ((number /= 26) != 0);
    text += i % 11 == 10 ? ".\n" : " ";
  }
  return text;
}

// Appends the file's text.  False: it cannot be read, or is a directory.
bool read_file(const char* name, std::string& text) {
  std::ifstream file(name, std::ios::binary);
  std::array<char, 65536> block;
  while (file.read(block.data(), block.size()) || file.gcount() > 0)
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  text += '\n';
  return file.eof() && !file.bad();
}

// Collective: the texts of all files.  The number of the first that some PE cannot read; `count`: there is
// none.
int read_files(int count, char** names, std::string& text) {
  static int good, all_good;  // how many at the beginning
  for (good = 0; good < count && read_file(names[good], text);) ++good;
  shmem_min_reduce(SHMEM_TEAM_WORLD, &all_good, &good, 1);
  return all_good;
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Calls visit(word) for those that begin in part `part` of `parts` of the text.
template <class Visit>
void for_each_word(const std::string& text, std::size_t part, std::size_t parts, Visit visit) {
  const std::size_t end = text.size() * (part + 1) / parts;
  for (std::size_t at = text.size() * part / parts; at < end; ++at) {
    if (!is_letter(text[at]) || (at > 0 && is_letter(text[at - 1]))) continue;
    Word word{};
    for (std::size_t i = 0; at + i < text.size() && is_letter(text[at + i]); ++i)
      if (i < word.size() - 1)
        word[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[at + i])));
    visit(word);
  }
}

Count total(Count value) {
  static Count mine, all;
  mine = value;
  shmem_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
  return all;
}

// Collective: each of the words counts once more.  False: there is no room for the table.
bool count_words(Table& table, std::vector<Word> words) {
  Count capacity = kCapacity;
  while (true) {
    std::vector<int> status(words.size());
    table.upsert_batch(words, SHMEMX_KV_ADD, std::vector<Count>(words.size(), 1), nullptr, status);
    std::vector<Word> left;  // for which the table was full
    for (std::size_t i = 0; i < words.size(); ++i)
      if (status[i] == SHMEMX_KV_FULL) left.push_back(words[i]);
    if (total(left.size()) == 0) return true;
    if (table.resize(capacity *= 2) != SHMEMX_KV_OK) return false;
    words = left;
  }
}

struct Entry {
  Count count;
  Word word;
};
Entry first;  // symmetric: the most frequent of this PE's

Entry most_frequent() {
  Entry found{}, one{};
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    shmem_getmem(&one, &first, sizeof one, pe);
    if (one.count > found.count) found = one;
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  shmem_init();
  const bool first_pe = shmem_my_pe() == 0;
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    if (first_pe) std::puts("usage: kv_words [file...]");
    shmem_finalize();
    return 0;
  }
  std::string text = argc > 1 ? "" : made_up_text();
  if (const int unread = 1 + read_files(argc - 1, argv + 1, text); unread < argc) {
    if (first_pe) std::fprintf(stderr, "kv_words: cannot read %s\n", argv[unread]);
    shmem_finalize();
    return 1;
  }
  Count wrong = 0;
  {
    Table table(kCapacity);
    const std::size_t me = static_cast<std::size_t>(shmem_my_pe()),
                      n = static_cast<std::size_t>(shmem_n_pes());
    std::vector<Word> words;
    for_each_word(text, me, n, [&](const Word& word) { words.push_back(word); });
    if (!table || !count_words(table, words)) shmem_global_exit(1);

    // The same once more, alone: each PE compares what it has of the table.
    std::map<Word, Count> alone;
    for_each_word(text, 0, 1, [&](const Word& word) { ++alone[word]; });
    for (auto [word, count] : table.local()) {
      wrong += alone[word] != count;
      if (count > first.count) first = {count, word};
    }
    const Count different = table.count();
    wrong = total(wrong) + (different != alone.size());
    if (first_pe) {
      const Entry most = most_frequent();
      std::printf("%zu different words, '%s' %zu times; %s\n", std::size_t(different), most.word.data(),
                  std::size_t(most.count), wrong == 0 ? "verified" : "WRONG");
    }
    shmem_barrier_all();
  }
  shmem_finalize();
  return wrong == 0 ? 0 : 1;
}
