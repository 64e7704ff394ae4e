// SPDX-License-Identifier: BSD-3-Clause
// The PMIx client: oshrun's embedded server, Open MPI's mpirun, Slurm's srun --mpi=pmix.
//
// What differs between servers, and is therefore not relied upon: the types of integers, the local rank of
// remote peers, and a fence that collects nothing being a barrier (it is not, under Slurm across nodes).
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/fatal.hpp"
#include "base/human.hpp"
#include "base/limits.hpp"
#include "base/node_token.hpp"
#include "base/random.hpp"
#include "base/service_thread.hpp"
#include "boot/boot.hpp"

namespace shm {
namespace {

constexpr char kExchangeKey[] = "atoll.exchange";

// Each PMIx_Init takes one of a process's 1024 keys for thread-specific data, for ever.  From this leave on a
// PE stays connected until it ends.
constexpr int kRealLeaves = 100;

std::string reason(pmix_status_t status) {
  return std::string(PMIx_Error_string(status)) + " (" + std::to_string(status) + ")";
}

// Slurm's server answers PMIx_Abort when it has told srun, or has tried to for its MessageTimeout: on a host
// that is cut off, ten seconds or minutes, as the site has it.
constexpr int kAbortTakes = 5;  // seconds

// Between the end of a connection and what a launcher does about the process that had it: Open MPI's mpirun
// sends SIGTERM a second later.
constexpr std::chrono::milliseconds kLauncherTakes{1300};

// Servers disagree on integer types (UINT32, INT, PROC_RANK, UINT16).
bool as_number(const pmix_value_t& value, std::uint64_t& number) {
  switch (value.type) {
    case PMIX_UINT32: number = value.data.uint32; return true;
    case PMIX_INT32: number = static_cast<std::uint64_t>(value.data.int32); return true;
    case PMIX_INT: number = static_cast<std::uint64_t>(value.data.integer); return true;
    case PMIX_UINT: number = value.data.uint; return true;
    case PMIX_UINT16: number = value.data.uint16; return true;
    case PMIX_UINT64: number = value.data.uint64; return true;
    case PMIX_SIZE: number = value.data.size; return true;
    case PMIX_PROC_RANK: number = value.data.rank; return true;
    default: return false;
  }
}

// "0,1,2" as servers give it; a range "0-3" is accepted too.
std::vector<int> parse_ranks(const std::string& text) {
  std::vector<int> ranks;
  for (std::size_t at = 0; at < text.size();) {
    char* end = nullptr;
    const long first = std::strtol(text.c_str() + at, &end, 10);
    long last = first;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    for (long rank = first; rank <= last; ++rank) ranks.push_back(static_cast<int>(rank));
    at = static_cast<std::size_t>(end - text.c_str()) + 1;
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

// Whether Open MPI's mpirun has started all processes of the job on this host.
bool mpirun_has_one_host() {
  const char* all = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return all != nullptr && here != nullptr && std::strcmp(all, here) == 0;
}

// Its thread inherits the mask: the program's handlers run on the program's threads.  Under mpirun data of
// other processes come in messages (hash), not in memory that is shared with the server: there, a process
// that was connected before, as by MPI_Init, at times never found what others had given (PMIx 4.2).  On
// several hosts messages tell of the wrong host's processes instead.
pmix_status_t init(pmix_proc_t* self) {
  const SignalsBlocked blocked;
  if (mpirun_has_one_host()) setenv("PMIX_MCA_gds", "hash", 0);
  return PMIx_Init(self, nullptr, 0);
}

// What libpmix does not say: it starts threads and opens files.
std::string what_hinders() {
  if (open_files_are_used_up()) return limit_behind(EMFILE);
  return threads_are_used_up() ? limit_of_threads() : "";
}

class PmixBoot final : public Boot {
 public:
  Status join(const Env& env) override {
    parked_ = false;
    if (joined_) return {};
    const pmix_status_t status = init(&self_);
    if (status != PMIX_SUCCESS) {
      return Status::error(
          "the PMIx server of this job cannot be reached: " + reason(status) + what_hinders() +
          "; PMIX_NAMESPACE is set, so a launcher was meant to be there. Start the program with "
          "oshrun, or unset PMIX_NAMESPACE to run a single PE");
    }
    joined_ = true;
    return describe_job(env);
  }

  const Job& job() const override { return job_; }

  // Without a fence: a server knows what a process of its own host has committed.
  Result<std::uint64_t> node_token() override {
    const int leader = job_.node_pes.front();
    const bool leads = leader == job_.rank;
    std::uint64_t token = 0;
    const pmix_status_t found =
        leads ? number(static_cast<pmix_rank_t>(leader), kNodeTokenKey, token, PMIX_OPTIONAL)
              : await_number(static_cast<pmix_rank_t>(leader), kNodeTokenKey, token);
    if (token != 0) return token;
    if (!leads)
      return Status::error("PMIx_Get of the node's token from " + process_name(leader) +
                           ", its first, failed: " + reason(found) + patience());
    token = random_number();
    Status status;
    if (job_.node_pes.size() > 1) {
      pmix_value_t value;
      PMIX_VALUE_CONSTRUCT(&value);
      value.type = PMIX_UINT64;
      value.data.uint64 = token;
      status = put(PMIX_LOCAL, kNodeTokenKey, value);
      if (status.ok()) status = commit();
    }
    if (!status.ok()) return status;
    return token;
  }

  Status exchange(const std::vector<std::byte>& mine) override {
    Status status;
    if (!mine.empty()) {
      pmix_value_t value;
      PMIX_VALUE_CONSTRUCT(&value);
      value.type = PMIX_BYTE_OBJECT;
      value.data.bo.bytes = reinterpret_cast<char*>(const_cast<std::byte*>(mine.data()));
      value.data.bo.size = mine.size();
      status = put(PMIX_GLOBAL, kExchangeKey, value);
    }
    if (status.ok()) status = commit();
    if (!status.ok()) return status;
    status = fence("the exchange of addresses", true);
    if (status.ok() || mine.empty()) return status;
    const std::string absent = who_has_not_given();
    if (!absent.empty()) status = Status::error(status.text() + "; " + absent + " not come to it");
    return status;
  }

  Status barrier() override { return fence("the last barrier"); }

  Result<std::vector<std::byte>> fetch(int rank) override {
    pmix_proc_t peer = self_;
    peer.rank = static_cast<pmix_rank_t>(rank);
    pmix_value_t* value = nullptr;
    const pmix_status_t status = PMIx_Get(&peer, kExchangeKey, nullptr, 0, &value);
    if (status != PMIX_SUCCESS) {
      return Status::error("PMIx_Get of the address of " + process_name(rank) + " failed: " + reason(status));
    }
    std::vector<std::byte> bytes;
    if (value->type == PMIX_BYTE_OBJECT) {
      const auto* first = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
      bytes.assign(first, first + value->data.bo.size);
    }
    PMIX_VALUE_RELEASE(value);
    return bytes;
  }

  // Asks nobody: the launcher may have lost that host, too.
  std::string host_of(int rank) const override {
    std::string host;
    return text(static_cast<pmix_rank_t>(rank), PMIX_HOSTNAME, host, PMIX_OPTIONAL) ? host : "?";
  }

  // A process that leaves other servers than oshrun's cannot come back for sure: under Open MPI 4.1's mpirun
  // an MPI_Init after shmem_finalize found no data of the job, or hung.  There it leaves as it ends.
  void leave() override {
    if (!joined_) return;
    const bool may_return = by_oshrun() && ++leaves_ < kRealLeaves;
    if (may_return) return finalize();
    parked_ = true;
  }

  void end() override {
    if (parked_) finalize();
  }

  bool comes_back() const override { return by_oshrun(); }

  void abort(int code, const char* suspicion) override {
    if (suspicion != nullptr && !(joined_ && by_oshrun())) {
      // Other launchers end this process as soon as they know who has died, and say it better.
      if (joined_) std::this_thread::sleep_for(kLauncherTakes);
      print_line(suspicion);
      suspicion = nullptr;
    }
    const std::string message = suspicion != nullptr ? kSuspicion + std::string(suspicion) : "";
    die_within(kAbortTakes);
    const bool told = joined_ && PMIx_Abort(code, message.c_str(), nullptr, 0) == PMIX_SUCCESS;
    if (!told && suspicion != nullptr)
      print_line(suspicion);  // its connection to the launcher is broken, too
  }

 private:
  bool by_oshrun() const {
    const char* ours = std::getenv("ATOLL_JOB_ID");
    return ours != nullptr && std::string_view(self_.nspace).starts_with(std::string(ours) + ".");
  }

  Status describe_job(const Env& env) {
    timeout_ = env.init_timeout;
    std::uint64_t size = 0;
    std::string peers, host;
    if (number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, size) != PMIX_SUCCESS)
      return Status::error("the PMIx server does not say how many PEs the job has");
    if (!text(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, peers))
      return Status::error("the PMIx server does not say which PEs share this host");
    if (!text(self_.rank, PMIX_HOSTNAME, host)) {
      char name[256] = "";
      gethostname(name, sizeof name - 1);
      host = name;
    }
    std::vector<int> host_ranks = parse_ranks(peers);
    const std::uint64_t servers = env.memory_servers.value_or(0);
    if (servers >= size) {
      return Status::error(
          "SHMEM_MEMORY_SERVERS is " + std::to_string(servers) + ", but the job has " + std::to_string(size) +
          " processes in all; allowed are fewer, as the others are its PEs: start so many more");
    }
    job_.rank = static_cast<int>(self_.rank);
    job_.size = static_cast<int>(size - servers);
    job_.servers = static_cast<int>(servers);
    // Part of names that everybody sees; oshrun's namespace is a secret.
    job_.by_oshrun = by_oshrun();
    job_.id = job_.by_oshrun ? std::getenv("ATOLL_JOB_ID") : self_.nspace;
    job_.host = host;
    job_.one_host = host_ranks.size() == size;
    if (!std::binary_search(host_ranks.begin(), host_ranks.end(), job_.rank)) {
      return Status::error("the PMIx server's list of PEs on this host (" + peers + ") lacks this PE, " +
                           std::to_string(job_.rank));
    }
    if (job_.is_server()) {
      job_.node_pes = {job_.rank};
      return {};
    }
    std::erase_if(host_ranks, [&](int rank) { return rank >= job_.size; });
    job_.node_pes =
        virtual_node(host_ranks, job_.rank, env.virtual_nodes.value_or(0), env.virtual_order == "cyclic");
    return {};
  }

  void finalize() {
    if (joined_) PMIx_Finalize(nullptr, 0);
    joined_ = parked_ = false;
  }

  static Status put(pmix_scope_t scope, const char* key, pmix_value_t& value) {
    const pmix_status_t status = PMIx_Put(scope, key, &value);
    return status == PMIX_SUCCESS ? Status() : Status::error("PMIx_Put failed: " + reason(status));
  }

  static Status commit() {
    const pmix_status_t status = PMIx_Commit();
    return status == PMIX_SUCCESS ? Status() : Status::error("PMIx_Commit failed: " + reason(status));
  }

  std::string patience() const { return " (SHMEM_INIT_TIMEOUT is " + plain_number(timeout_) + " seconds)"; }

  // COLLECT_DATA is what makes this a barrier under every server.
  // `leaves_word`: where a PE has ended, to the launcher, which ends this one as soon as it knows, and says
  // who has.
  Status fence(const char* purpose, bool leaves_word = false) {
    pmix_info_t info[2];
    bool collect = true;
    int seconds = static_cast<int>(timeout_) + 1;
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    const pmix_status_t status = PMIx_Fence(nullptr, 0, info, 2);
    if (status == PMIX_SUCCESS) return {};
    if (leaves_word && status == PMIX_ERR_PARTIAL_SUCCESS) std::this_thread::sleep_for(kLauncherTakes);
    return Status::error(std::string(purpose) + " with the other PEs failed: " + reason(status) + patience());
  }

  // Who has given nothing to the exchange, with its verb; empty if that is not known.  Only the server of
  // this host is asked, and in a job without memory servers PEs may have nothing to give.
  std::string who_has_not_given() const {
    constexpr int kNames = 4;
    std::string names;
    int absent = 0;
    for (int rank = 0; job_.one_host && job_.servers != 0 && rank < job_.processes(); ++rank) {
      if (rank == job_.rank || absent > kNames || has_given(rank)) continue;
      if (absent++ < kNames) names += (names.empty() ? "" : ", ") + process_name(rank);
    }
    if (absent > kNames) names += " and others";
    return names.empty() ? names : names + (absent == 1 ? " has" : " have");
  }

  bool has_given(int rank) const {
    pmix_value_t* value = nullptr;
    const pmix_status_t status = get(static_cast<pmix_rank_t>(rank), kExchangeKey, value, PMIX_IMMEDIATE);
    if (status == PMIX_SUCCESS) PMIX_VALUE_RELEASE(value);
    return status != PMIX_ERR_NOT_FOUND;
  }

  // `how`: PMIX_OPTIONAL asks no server, PMIX_IMMEDIATE only for what the server has; null: waits.
  pmix_status_t get(pmix_rank_t rank, const char* key, pmix_value_t*& value,
                    const char* how = nullptr) const {
    pmix_proc_t proc = self_;
    proc.rank = rank;
    pmix_info_t info;
    bool on = true;
    if (how != nullptr) PMIX_INFO_LOAD(&info, how, &on, PMIX_BOOL);
    return PMIx_Get(&proc, key, how != nullptr ? &info : nullptr, how != nullptr ? 1 : 0, &value);
  }

  pmix_status_t number(pmix_rank_t rank, const char* key, std::uint64_t& out,
                       const char* how = nullptr) const {
    pmix_value_t* value = nullptr;
    pmix_status_t status = get(rank, key, value, how);
    if (status != PMIX_SUCCESS) return status;
    if (!as_number(*value, out)) status = PMIX_ERR_TYPE_MISMATCH;
    PMIX_VALUE_RELEASE(value);
    return status;
  }

  // The same, once the other has committed it.  Asks again and again: a question that waits at the server is
  // forgotten there, and never answered, if the other closes an earlier connection meanwhile, as after
  // MPI_Finalize.
  pmix_status_t await_number(pmix_rank_t rank, const char* key, std::uint64_t& out) const {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kLongestPause{20};
    const auto end = Clock::now() + std::chrono::duration<double>(timeout_);
    for (std::chrono::milliseconds pause{1};; pause = std::min(2 * pause, kLongestPause)) {
      const pmix_status_t status = number(rank, key, out, PMIX_IMMEDIATE);
      if (status != PMIX_ERR_NOT_FOUND) return status;
      if (Clock::now() >= end) return PMIX_ERR_TIMEOUT;
      std::this_thread::sleep_for(pause);
    }
  }

  bool text(pmix_rank_t rank, const char* key, std::string& out, const char* how = nullptr) const {
    pmix_value_t* value = nullptr;
    if (get(rank, key, value, how) != PMIX_SUCCESS) return false;
    const bool found = value->type == PMIX_STRING && value->data.string != nullptr;
    if (found) out = value->data.string;
    PMIX_VALUE_RELEASE(value);
    return found;
  }

  pmix_proc_t self_{};
  Job job_;
  double timeout_ = 120;
  bool joined_ = false;
  bool parked_ = false;  // has left, as far as the program knows
  int leaves_ = 0;
};

}  // namespace

std::unique_ptr<Boot> make_pmix_boot() { return std::make_unique<PmixBoot>(); }

}  // namespace shm
