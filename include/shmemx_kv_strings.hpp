// SPDX-License-Identifier: BSD-3-Clause
// The key/value store of shmemx.h for strings: shmemx::kv_string_table.  C++17 and nothing but the standard
// library.
//
// Keys and values are strings of any bytes, up to the lengths that the table is made for; what is longer ends
// the job as a key, and is SHMEMX_KV_TOO_LARGE as a value.  What else is said in shmem/kv.h and of kv_table
// in shmemx_kv.hpp holds.
#ifndef SHMEMX_KV_STRINGS_HPP
#define SHMEMX_KV_STRINGS_HPP

#include <algorithm>
#include <string>
#include <string_view>

#include "shmemx_kv.hpp"

namespace shmemx {

class kv_string_table : public kv_handle {
 public:
  /// Of no table.
  kv_string_table() = default;

  /// Collective, as kv_table's.
  kv_string_table(std::uint64_t capacity, std::size_t longest_key, std::size_t longest_value,
                  const char* name = nullptr) {
    open(with(capacity, longest_key, longest_value, name));
  }
  explicit kv_string_table(const ::shmemx_kv_options_t& options) { open(options); }

  /// Collective over the team, as kv_table's.
  kv_string_table(::shmem_team_t team, std::uint64_t capacity, std::size_t longest_key,
                  std::size_t longest_value) {
    open(team, with(capacity, longest_key, longest_value, nullptr));
  }
  kv_string_table(::shmem_team_t team, const ::shmemx_kv_options_t& options) { open(team, options); }

  kv_status put(std::string_view key, std::string_view value) {
    return kv_status(::shmemx_kv_put(kv_, key.data(), key.size(), value.data(), value.size()));
  }
  kv_status insert(std::string_view key, std::string_view value) {
    return kv_status(::shmemx_kv_insert(kv_, key.data(), key.size(), value.data(), value.size()));
  }
  kv_status update(std::string_view key, std::string_view value) {
    return kv_status(::shmemx_kv_update(kv_, key.data(), key.size(), value.data(), value.size()));
  }
  kv_status insert_or_update(std::string_view key, std::string_view value) {
    return kv_status(::shmemx_kv_insert_or_update(kv_, key.data(), key.size(), value.data(), value.size()));
  }
  bool contains(std::string_view key) const {
    return ::shmemx_kv_contains(kv_, key.data(), key.size()) == SHMEMX_KV_OK;
  }
  /// Whether the key was there.
  bool remove(std::string_view key) {
    return ::shmemx_kv_remove(kv_, key.data(), key.size()) == SHMEMX_KV_OK;
  }

  /// The value of the key, if it is there.
  std::optional<std::string> get(std::string_view key) const {
    return found_by([&](char* to, std::size_t room, std::size_t* n) {
      return ::shmemx_kv_get(kv_, key.data(), key.size(), to, room, n);
    });
  }
  /// Waits until the key is there.  A value of over 256 bytes that is removed as soon as it is there may be
  /// missed: then it waits for the next one.
  std::string get_wait(std::string_view key) const {
    return *found_by([&](char* to, std::size_t room, std::size_t* n) {
      return ::shmemx_kv_get_wait(kv_, key.data(), key.size(), to, room, n);
    });
  }
  /// The value of the key, which is removed.
  std::optional<std::string> take(std::string_view key) {
    return found_by([&](char* to, std::size_t room, std::size_t* n) {
      return ::shmemx_kv_take(kv_, key.data(), key.size(), to, room, n);
    });
  }
  // Key and value may be views of where the result goes, which may be nullptr.

  /// As put; SHMEMX_KV_OK: *old has the value that was there; SHMEMX_KV_INSERTED: there was none.
  kv_status exchange(std::string_view key, std::string_view value, std::string* old) {
    return give(old, [&](char* to, std::size_t room, std::size_t* n) {
      return ::shmemx_kv_exchange(kv_, key.data(), key.size(), value.data(), value.size(), to, room, n);
    });
  }
  /// SHMEMX_KV_OK: the key is there, and *found has its value; SHMEMX_KV_INSERTED: it has got this one.
  kv_status get_or_insert(std::string_view key, std::string_view value, std::string* found) {
    return give(found, [&](char* to, std::size_t room, std::size_t* n) {
      return ::shmemx_kv_get_or_insert(kv_, key.data(), key.size(), value.data(), value.size(), to, room, n);
    });
  }

  int pe_of(std::string_view key) const { return ::shmemx_kv_pe(kv_, key.data(), key.size()); }
  std::uint64_t count() const { return ::shmemx_kv_count(kv_); }
  std::uint64_t count_local() const { return ::shmemx_kv_count_local(kv_); }
  /// Collective.
  void clear() { ::shmemx_kv_clear(kv_); }

  /// f(key, value), of std::string_view, for the elements of a PE, whichever.  Beside changes, elements that
  /// are there all the time come exactly once, others once or not at all.
  template <class F>
  void scan(int pe, F f) const {
    constexpr std::size_t most = 64;
    std::size_t key_room = 64, value_room = kFirstRoom, key_bytes[most], value_bytes[most], n = 0;
    std::string keys, values;
    for (std::uint64_t cursor = 0;;) {
      const std::size_t fits = std::min(most, std::max<std::size_t>(kScanRoom / (key_room + value_room), 1));
      keys.resize(fits * key_room);
      values.resize(fits * value_room);
      const int status = ::shmemx_kv_scan(kv_, pe, &cursor, fits, keys.data(), key_room, key_bytes,
                                          values.data(), value_room, value_bytes, &n);
      if (status == SHMEMX_KV_TOO_LARGE) {
        key_room = std::max(key_room, key_bytes[0]);
        value_room = std::max(value_room, value_bytes[0]);
        continue;
      }
      if (status != SHMEMX_KV_OK) return;
      for (std::size_t i = 0; i < n; ++i)
        f(std::string_view(keys.data() + i * key_room, key_bytes[i]),
          std::string_view(values.data() + i * value_room, value_bytes[i]));
    }
  }

  /// Removes the elements of this PE for which f(key, value) is true, and returns how many; f looks only,
  /// and does not throw.
  template <class F>
  std::uint64_t remove_if(F f) {
    const auto holds = [](const void* key, std::size_t key_bytes, const void* value, std::size_t value_bytes,
                          void* context) noexcept -> int {
      const std::string_view of_key(static_cast<const char*>(key), key_bytes);
      const std::string_view of_value(static_cast<const char*>(value), value_bytes);
      return (*static_cast<F*>(context))(of_key, of_value) ? 1 : 0;
    };
    return ::shmemx_kv_remove_if(kv_, holds, &f);
  }

 private:
  static constexpr std::size_t kFirstRoom = 256, kScanRoom = std::size_t{1} << 18;

  static ::shmemx_kv_options_t with(std::uint64_t capacity, std::size_t longest_key,
                                    std::size_t longest_value, const char* name) {
    ::shmemx_kv_options_t options{};
    options.key_bytes = longest_key;
    options.value_bytes = longest_value;
    options.capacity = capacity;
    options.name = name;
    return options;
  }
  void open(const ::shmemx_kv_options_t& options) {
    longest_ = options.value_bytes;
    kv_handle::open(options);
  }
  void open(::shmem_team_t team, const ::shmemx_kv_options_t& options) {
    longest_ = options.value_bytes;
    kv_handle::open(team, options);
  }

  // What call(room, bytes, length) gives: with little room at first, as most are short, and then with as much
  // as is needed.  A value that has no room stays as it is.
  template <class Call>
  kv_status give(std::string* to, Call call) const {
    std::string found(std::min(kFirstRoom, longest_), '\0');
    std::size_t n = 0;
    kv_status status;
    for (;; found.resize(n)) {
      n = 0;
      status = kv_status(call(found.data(), found.size(), &n));
      if (status != SHMEMX_KV_TOO_LARGE || n <= found.size()) break;
    }
    found.resize(status == SHMEMX_KV_OK ? n : 0);
    if (to != nullptr) *to = std::move(found);
    return status;
  }
  template <class Call>
  std::optional<std::string> found_by(Call call) const {
    std::optional<std::string> found(std::in_place);
    if (give(&*found, call) != SHMEMX_KV_OK) found.reset();
    return found;
  }

  std::size_t longest_ = 0;  // value
};

}  // namespace shmemx

#endif
