// SPDX-License-Identifier: BSD-3-Clause
// usage: stranger ATTACK PORT [ADDRESS OWN | PLACE...]
// A program that knows where a process listens, and nothing else of its job: libfabric (tcp;ofi_rxm) towards
// PORT of 127.0.0.1, or of ADDRESS from its own address.  Its connections begin with the token STRANGER_TOKEN
// (hexadecimal), if there is one.  Exits with 0 when it has done what it could, whatever became of it.
//
//   once      a message
//   messages  of all sizes, of zeros, of random bytes, and forged as those of a PE
//   tagged    the same with tags
//   long      messages that no receive takes
//   torn      messages that are to be fetched, from processes that end before
//   write     remote writes with keys that could be guessed
//   read      remote reads; exits with 1 if one succeeds
//   atomics   remote atomics with such keys
//   keys      a control of the last three: with the keys of STRANGER_KEYS (hexadecimal, with commas), looks
//   at
//             which PLACE (hexadecimal) the word 0x5ca1ab1e0ddba115 is.  Exits with 0 if a key reads,
//             changes and writes it, and the same key with one bit changed does none of this; 3: no key reads
//             it
#include <arpa/inet.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../bare_endpoint.hpp"

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPatience{300};  // for one operation: some are never answered
constexpr std::size_t kLongest = std::size_t{1} << 20;

const char* victim = "127.0.0.1";
const char* own = "127.0.0.1";
std::vector<unsigned char> token;

// An endpoint of its own for each attack: what a peer does not like ends the connection.
class Endpoint {
 public:
  explicit Endpoint(std::uint16_t port) {
    endpoint_.open(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC, false, own);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    inet_pton(AF_INET, victim, &to.sin_addr);
    bare::check(fi_av_insert(endpoint_.av, &to, 1, &peer_, 0, nullptr) - 1, "fi_av_insert");
  }
  // What is under way is left under way: a peer meets that, too.
  ~Endpoint() { endpoint_.close(); }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// Posts and waits for the end.  Returns whether it ended without an error, within kPatience.
  template <class Post>
  bool run(Post post) {
    const Clock::time_point limit = Clock::now() + kPatience;
    for (long code = -FI_EAGAIN; (code = post(endpoint_.ep, peer_, static_cast<void*>(&context_))) != 0;) {
      if (code != -FI_EAGAIN || Clock::now() > limit) return false;
      progress();
    }
    while (Clock::now() < limit) {
      const int ended = progress();
      if (ended != 0) return ended > 0;
    }
    return false;
  }

  /// Returns what fi_send() does.
  long post_and_leave(const std::vector<std::byte>& bytes) {
    progress();
    return fi_send(endpoint_.ep, bytes.data(), bytes.size(), nullptr, peer_, &context_);
  }

 private:
  // 1: an operation has ended, -1: with an error.
  int progress() {
    fi_cq_tagged_entry entry;
    const auto n = fi_cq_read(endpoint_.cq, &entry, 1);
    if (n == 1) return 1;
    if (n == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      return fi_cq_readerr(endpoint_.cq, &error, 0) == 1 ? -1 : 0;
    }
    sched_yield();
    return 0;
  }

  bare::Endpoint endpoint_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  fi_context2 context_{};
};

// What a PE sends: perhaps a cookie, the sender, the handler's number, a sequence number, and anything.
std::vector<std::vector<std::byte>> messages() {
  std::vector<std::vector<std::byte>> all;
  std::mt19937_64 random(20);
  for (const std::size_t n : {0, 1, 7, 8, 15, 16, 17, 24, 100, 1000, 4000, 16384, 16500, 16640}) {
    all.emplace_back(n);
    std::vector<std::byte>& bytes = all.emplace_back(n);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  }
  for (const std::size_t head : {0, 8}) {
    for (const std::uint16_t id : {0, 1, 2, 3, 4, 5, 6, 0xff00, 0xff01, 0xff02, 0xfffe, 0xffff}) {
      for (const std::int32_t pe : {0, 1, 2, 3, -1, 1 << 20}) {
        std::vector<std::byte>& bytes = all.emplace_back(256);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
        std::memset(bytes.data(), 0, head);
        std::memcpy(bytes.data() + head, &pe, sizeof pe);
        std::memcpy(bytes.data() + head + 4, &id, sizeof id);
        std::memset(bytes.data() + head + 6, 0, 2);
      }
    }
  }
  return all;
}

// Keys that a library might count from 0, or take from an address.
const std::uint64_t kKeys[] = {0, 1, 2, 3, 4, 5, 8, 0x7f0000000000, ~std::uint64_t{0}};
const std::uint64_t kPlaces[] = {0, 4096};

void send_once(std::uint16_t port) {
  Endpoint endpoint(port);
  static const std::vector<std::byte> bytes(100);
  endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) {
    return fi_send(ep, bytes.data(), bytes.size(), nullptr, to, context);
  });
}

void send_messages(std::uint16_t port) {
  Endpoint endpoint(port);
  for (const auto& bytes : messages())
    endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) {
      return fi_send(ep, bytes.data(), bytes.size(), nullptr, to, context);
    });
}

void send_tagged(std::uint16_t port) {
  Endpoint endpoint(port);
  std::uint64_t number = 0;
  for (const auto& bytes : messages()) {
    const std::uint64_t tag = number << 62 | number;
    ++number;
    endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) {
      return fi_tsend(ep, bytes.data(), bytes.size(), nullptr, to, tag, context);
    });
  }
}

void send_long(std::uint16_t port) {
  for (const std::size_t n : {std::size_t{16641}, std::size_t{70000}, kLongest}) {
    const std::vector<std::byte> bytes(n, std::byte{0x5a});
    for (int i = 0; i < 3; ++i) {
      Endpoint endpoint(port);
      endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) {
        return fi_send(ep, bytes.data(), n, nullptr, to, context);
      });
      endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) {
        return fi_tsend(ep, bytes.data(), n, nullptr, to, 5, context);
      });
    }
  }
}

// More than there are receives, unless fewer are enough.
void send_torn(std::uint16_t port) {
  static const std::vector<std::byte> bytes(20000);
  const char* fewer = std::getenv("STRANGER_TIMES");
  const int times = fewer != nullptr ? std::atoi(fewer) : 70;
  for (int i = 0; i < times; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Endpoint endpoint(port);
      const Clock::time_point limit = Clock::now() + kPatience;
      while (endpoint.post_and_leave(bytes) == -FI_EAGAIN && Clock::now() < limit) sched_yield();
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
}

// One operation on a word by a connection of its own: whether it has ended without an error.
constexpr std::uint64_t kSpare = 0x5ca1ab1e0ddba115;

bool read_word(std::uint16_t port, std::uint64_t at, std::uint64_t key, std::uint64_t& word) {
  Endpoint endpoint(port);
  return endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) -> long {
    return fi_read(ep, &word, sizeof word, nullptr, to, at, key, context);
  });
}
bool add_to_word(std::uint16_t port, std::uint64_t at, std::uint64_t key, std::uint64_t addend,
                 std::uint64_t& old) {
  Endpoint endpoint(port);
  return endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) -> long {
    return fi_fetch_atomic(ep, &addend, 1, nullptr, &old, nullptr, to, at, key, FI_UINT64, FI_SUM, context);
  });
}
// It has ended here when it has left, so whoever wants to know reads.
void write_word(std::uint16_t port, std::uint64_t at, std::uint64_t key, std::uint64_t word) {
  Endpoint endpoint(port);
  endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) -> long {
    return fi_write(ep, &word, sizeof word, nullptr, to, at, key, context);
  });
}

int fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

std::vector<std::uint64_t> numbers(const char* text) {
  std::vector<std::uint64_t> all;
  for (char* end = nullptr; text != nullptr && *text != '\0'; text = *end == ',' ? end + 1 : end) {
    all.push_back(std::strtoull(text, &end, 16));
    if (end == text) break;
  }
  return all;
}

// The first key that reads the word at one of the places.
bool find_word(std::uint16_t port, const std::vector<std::uint64_t>& places, std::uint64_t& at,
               std::uint64_t& key) {
  const std::vector<std::uint64_t> keys = numbers(std::getenv("STRANGER_KEYS"));
  for (const std::uint64_t place : places) {
    for (const std::uint64_t guess : keys) {
      std::uint64_t word = 0;
      at = place, key = guess;
      if (read_word(port, place, guess, word) && word == kSpare) return true;
    }
  }
  return false;
}

int try_keys(std::uint16_t port, const std::vector<std::uint64_t>& places) {
  std::uint64_t at = 0, key = 0;
  if (!find_word(port, places, at, key)) return 3;
  for (const std::uint64_t wrong : {key ^ 1, key ^ std::uint64_t{1} << 40, key ^ std::uint64_t{1} << 63}) {
    std::uint64_t word = 0;
    if (read_word(port, at, wrong, word) || word != 0) return fail("a wrong key reads");
    if (add_to_word(port, at, wrong, 1, word) || word != 0) return fail("a wrong key reads by an atomic");
    write_word(port, at, wrong, 7);
    if (!read_word(port, at, key, word)) return fail("the key does not read any more");
    if (word != kSpare) return fail("a wrong key changes the word");
  }
  std::uint64_t word = 0;
  if (!add_to_word(port, at, key, 5, word) || word != kSpare)
    return fail("the key does not read by an atomic");
  if (!read_word(port, at, key, word) || word != kSpare + 5) return fail("the key does not add");
  write_word(port, at, key, 7);
  if (!read_word(port, at, key, word) || word != 7) return fail("the key does not write");
  return 0;
}

bool access(const std::string& attack, std::uint16_t port) {
  bool done = false;
  std::uint64_t word[64] = {0x5a5a5a5a5a5a5a5a}, old = 0;
  for (const std::uint64_t key : kKeys) {
    for (const std::uint64_t at : kPlaces) {
      Endpoint endpoint(port);
      const bool ended = endpoint.run([&](fid_ep* ep, fi_addr_t to, void* context) -> long {
        if (attack == "write") return fi_write(ep, word, sizeof word, nullptr, to, at, key, context);
        if (attack == "read") return fi_read(ep, word, sizeof word, nullptr, to, at, key, context);
        return fi_fetch_atomic(ep, word, 1, nullptr, &old, nullptr, to, at, key, FI_UINT64, FI_SUM, context);
      });
      done = done || (ended && attack != "write");  // a write has ended here when it has left
    }
  }
  return done;
}

}  // namespace

// Instead of the system's: libfabric asks so whether a connection has been made, once, and then speaks.
extern "C" [[gnu::visibility("default")]] int getsockopt(int connection, int level, int option, void* value,
                                                         socklen_t* length) noexcept {
  const long code = syscall(SYS_getsockopt, connection, level, option, value, length);
  if (code == 0 && level == SOL_SOCKET && option == SO_ERROR && *static_cast<int*>(value) == 0)
    send(connection, token.data(), token.size(), MSG_NOSIGNAL);
  return static_cast<int>(code);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string attack = argv[1];
  const bool with_keys = attack == "keys";
  if (!with_keys && argc != 3 && argc != 5) return 2;
  if (!with_keys && argc == 5) victim = argv[3], own = argv[4];
  // As the library sets them: others are not even connected.
  setenv("FI_OFI_RXM_BUFFER_SIZE", "16640", 1);
  setenv("FI_OFI_RXM_MSG_RX_SIZE", "256", 1);
  const char* digits = std::getenv("STRANGER_TOKEN");
  for (unsigned byte = 0; digits != nullptr && std::sscanf(digits, "%2x", &byte) == 1; digits += 2)
    token.push_back(static_cast<unsigned char>(byte));
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  std::vector<std::uint64_t> places;
  for (int i = 3; with_keys && i < argc; ++i) places.push_back(std::strtoull(argv[i], nullptr, 16));
  if (with_keys)
    return try_keys(port, places);
  else if (attack == "once")
    send_once(port);
  else if (attack == "messages")
    send_messages(port);
  else if (attack == "tagged")
    send_tagged(port);
  else if (attack == "long")
    send_long(port);
  else if (attack == "torn")
    send_torn(port);
  else if (attack == "write" || attack == "read" || attack == "atomics")
    return access(attack, port) ? 1 : 0;
  else
    return 2;
}
