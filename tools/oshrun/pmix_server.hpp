// SPDX-License-Identifier: BSD-3-Clause
// The PMIx server inside the launcher: it tells the processes of the job who they are, and carries their
// fences and key/value data. One for each process. PMIx runs two threads of its own; what happens there comes
// out as events on a descriptor, and every function here belongs to the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace oshrun {

struct PmixEvent {
  enum class Kind { kConnected, kFinalized, kAborted };
  Kind kind;
  int rank;
  int status = 0;       // of PMIx_Abort
  std::string message;  // of PMIx_Abort
};

struct PmixConfig {
  std::string name_space;
  std::string host;
  std::string dir;                    // an existing directory for the server's files
  std::vector<int> app_of;            // for each process, by rank, the index of its program
  std::vector<std::uint64_t> tokens;  // by rank: base/node_token.hpp
};

class PmixServer {
 public:
  /// Blocks until the server serves the job. Returns what went wrong, or an empty text. There is no stop: the
  /// process ends with _exit after it has removed the directory, which takes less time than
  /// PMIx_server_finalize and cannot wait for a process that was killed in mid-message.
  std::string start(const PmixConfig& config);

  /// The NAME=VALUE settings by which a process finds this server.
  std::vector<std::string> settings_of(int rank) const;

  /// Readable when take_events() has something. -1 before start().
  int event_fd() const;
  std::vector<PmixEvent> take_events();

 private:
  std::string register_job(const PmixConfig& config);
  std::string register_processes(const PmixConfig& config);

  std::vector<std::vector<std::string>> settings_;
};

}  // namespace oshrun
