// SPDX-License-Identifier: BSD-3-Clause
// Copies of one aligned word to or from memory that others use meanwhile: one store or load, so that nobody
// sees half of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shm {

/// What a word says of the memory around it.
enum class WordOrder : std::uint8_t {
  none,
  message,  // who sees it, a flag perhaps, sees what was stored before it
};

/// Copies n bytes if they are a Word whose `shared` side, `to` or `from`, is aligned; returns whether.
template <class Word, WordOrder order = WordOrder::none>
bool copy_word(void* to, const void* from, std::size_t n, const void* shared) {
  constexpr bool synchronizes = order == WordOrder::message;
  if (n != sizeof(Word) || reinterpret_cast<std::uintptr_t>(shared) % sizeof(Word) != 0) return false;
  Word word;
  if (shared == to) {
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(static_cast<Word*>(to), word, synchronizes ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
  } else {
    word =
        __atomic_load_n(static_cast<const Word*>(from), synchronizes ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
    std::memcpy(to, &word, sizeof word);
  }
  return true;
}

}  // namespace shm
