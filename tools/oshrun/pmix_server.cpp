// SPDX-License-Identifier: BSD-3-Clause
#include "pmix_server.hpp"

#include <pmix.h>
#include <pmix_server.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/mutex.hpp"
#include "base/node_token.hpp"
#include "topology.hpp"

namespace oshrun {
namespace {

/// Up to this many processes the server keeps its data in plain memory: a client's start takes 2 ms instead
/// of 12 ms, and there are no files. Beyond it, sharing the data by mapped files saves more memory and
/// look-ups than it costs.
constexpr std::size_t kMaxInMemory = 64;

/// The way from PMIx's thread to the main loop. PMIx has one server for each process, so there is one of
/// these.
class EventQueue {
 public:
  void open() { fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
  int fd() const { return fd_; }

  void post(PmixEvent event) {
    {
      shm::LockGuard lock(mutex_);
      events_.push_back(std::move(event));
    }
    const std::uint64_t one = 1;
    if (write(fd_, &one, sizeof one) < 0) std::abort();  // an eventfd takes 2^64-2 of these
  }

  std::vector<PmixEvent> take() {
    std::uint64_t count = 0;
    if (read(fd_, &count, sizeof count) < 0) count = 0;  // nothing new: the list is asked anyway
    shm::LockGuard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  int fd_ = -1;
  shm::Mutex mutex_;
  std::vector<PmixEvent> events_ GUARDED_BY(mutex_);
};

EventQueue queue;
std::string job_namespace;  // written before the server's threads exist
std::size_t job_size = 0;   // likewise

// Upcalls: PMIx's thread. They post and return; PMIX_OPERATION_SUCCEEDED says "done, no callback will come".

void post(PmixEvent::Kind kind, const pmix_proc_t* proc, int status = 0, const char* message = nullptr) {
  if (proc == nullptr || job_namespace != proc->nspace || proc->rank >= job_size) return;
  queue.post({kind, static_cast<int>(proc->rank), status, message != nullptr ? message : ""});
}

pmix_status_t client_connected(const pmix_proc_t* proc, void*, pmix_info_t[], std::size_t, pmix_op_cbfunc_t,
                               void*) {
  post(PmixEvent::Kind::kConnected, proc);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  post(PmixEvent::Kind::kFinalized, proc);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t client_abort(const pmix_proc_t* proc, void*, int status, const char message[], pmix_proc_t[],
                           std::size_t, pmix_op_cbfunc_t done, void* data) {
  post(PmixEvent::Kind::kAborted, proc, status, message);
  // Answered here, on the thread that owns the connection; the caller exits by itself when it has the answer.
  if (done != nullptr) done(PMIX_SUCCESS, data);
  return PMIX_SUCCESS;
}

/// With all processes on one machine the library completes fences itself; it asks us only if a participant
/// has died.
pmix_status_t fence(const pmix_proc_t[], std::size_t, const pmix_info_t[], std::size_t, char* blob,
                    std::size_t size, pmix_modex_cbfunc_t done, void* data) {
  if (done != nullptr)
    done(
        PMIX_SUCCESS, blob, size, data, [](void* memory) { free(memory); }, blob);
  return PMIX_SUCCESS;
}

pmix_status_t direct_modex(const pmix_proc_t*, const pmix_info_t[], std::size_t, pmix_modex_cbfunc_t, void*) {
  return PMIX_ERR_NOT_FOUND;
}

pmix_status_t register_events(pmix_status_t*, std::size_t, const pmix_info_t[], std::size_t, pmix_op_cbfunc_t,
                              void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t deregister_events(pmix_status_t*, std::size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t notify_event(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t[], std::size_t,
                           pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t* server_module() {
  static pmix_server_module_t module;
  module.client_connected2 = client_connected;
  module.client_finalized = client_finalized;
  module.abort = client_abort;
  module.fence_nb = fence;
  module.direct_modex = direct_modex;
  module.register_events = register_events;
  module.deregister_events = deregister_events;
  module.notify_event = notify_event;
  return &module;
}

/// A list of pmix_info_t. It is never freed: PMIx keeps parts of it as long as the server lives, which is as
/// long as this process.
class Infos {
 public:
  explicit Infos(std::size_t capacity) { PMIX_INFO_CREATE(infos_, capacity); }
  void text(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
  void flag(const char* key, bool value) { add(key, &value, PMIX_BOOL); }
  void number(const char* key, std::uint32_t value) { add(key, &value, PMIX_UINT32); }
  void small(const char* key, std::uint16_t value) { add(key, &value, PMIX_UINT16); }
  void rank(const char* key, pmix_rank_t value) { add(key, &value, PMIX_PROC_RANK); }
  void add(const char* key, const void* value, pmix_data_type_t type) {
    PMIX_INFO_LOAD(&infos_[count_], key, value, type);
    ++count_;
  }
  /// By reference, where PMIX_INFO_LOAD would copy a topology.
  void topology(pmix_topology_t* value) {
    pmix_info_t& info = infos_[count_++];
    PMIX_LOAD_KEY(info.key, PMIX_TOPOLOGY2);
    info.value.type = PMIX_TOPO;
    info.value.data.topo = value;
  }
  pmix_info_t* data() { return infos_; }
  std::size_t size() const { return count_; }

 private:
  pmix_info_t* infos_ = nullptr;
  std::size_t count_ = 0;
};

std::string failed(const char* what, pmix_status_t status) {
  return std::string(what) + ": " + PMIx_Error_string(status) + " (" + std::to_string(status) + ")";
}

bool good(pmix_status_t status) { return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED; }

std::string start_server(const PmixConfig& config) {
  Infos infos(8);
  infos.text(PMIX_SERVER_TMPDIR, config.dir);
  infos.text(PMIX_SYSTEM_TMPDIR, config.dir);
  infos.flag(PMIX_SERVER_TOOL_SUPPORT, false);
  infos.text(PMIX_HOSTNAME, config.host);
  infos.text(PMIX_SERVER_NSPACE, config.name_space + ".server");
  infos.rank(PMIX_SERVER_RANK, 0);
  static pmix_topology_t topology;
  topology.source = strdup("hwloc");
  topology.topology = placeholder_topology();
  if (topology.topology != nullptr) infos.topology(&topology);
  const pmix_status_t status = PMIx_server_init(server_module(), infos.data(), infos.size());
  return good(status) ? "" : failed("cannot start the PMIx server", status);
}

/// What PMIx tells about one process. PMIX_RANK must come first.
void add_process(Infos& job, const PmixConfig& config, std::size_t index, pmix_rank_t rank_in_app) {
  pmix_data_array_t array;
  PMIX_DATA_ARRAY_CONSTRUCT(&array, 10, PMIX_INFO);
  auto* info = static_cast<pmix_info_t*>(array.array);
  const auto rank = static_cast<pmix_rank_t>(index);
  const auto local = static_cast<std::uint16_t>(index);
  const auto app = static_cast<std::uint32_t>(config.app_of[index]);
  const std::uint32_t zero = 0;
  PMIX_INFO_LOAD(&info[0], PMIX_RANK, &rank, PMIX_PROC_RANK);
  PMIX_INFO_LOAD(&info[1], PMIX_LOCAL_RANK, &local, PMIX_UINT16);
  PMIX_INFO_LOAD(&info[2], PMIX_NODE_RANK, &local, PMIX_UINT16);
  PMIX_INFO_LOAD(&info[3], PMIX_APP_RANK, &rank_in_app, PMIX_PROC_RANK);
  PMIX_INFO_LOAD(&info[4], PMIX_GLOBAL_RANK, &rank, PMIX_PROC_RANK);
  PMIX_INFO_LOAD(&info[5], PMIX_NODEID, &zero, PMIX_UINT32);
  PMIX_INFO_LOAD(&info[6], PMIX_HOSTNAME, config.host.c_str(), PMIX_STRING);
  PMIX_INFO_LOAD(&info[7], PMIX_APPNUM, &app, PMIX_UINT32);
  PMIX_INFO_LOAD(&info[8], PMIX_REINCARNATION, &zero, PMIX_UINT32);
  PMIX_INFO_LOAD(&info[9], shm::kNodeTokenKey, &config.tokens[index], PMIX_UINT64);
  job.add(PMIX_PROC_DATA, &array, PMIX_DATA_ARRAY);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
}

}  // namespace

std::string PmixServer::start(const PmixConfig& config) {
  queue.open();
  job_namespace = config.name_space;
  job_size = config.app_of.size();
  if (job_size <= kMaxInMemory) setenv("PMIX_MCA_gds", "hash", 0);
  std::string error = start_server(config);
  if (error.empty()) error = register_job(config);
  if (error.empty()) error = register_processes(config);
  return error;
}

std::string PmixServer::register_job(const PmixConfig& config) {
  const auto count = static_cast<std::uint32_t>(config.app_of.size());
  std::string peers;
  for (std::uint32_t rank = 0; rank < count; ++rank)
    peers.append(rank > 0 ? "," : "").append(std::to_string(rank));
  char* nodes = nullptr;
  char* procs = nullptr;
  if (!good(PMIx_generate_regex(config.host.c_str(), &nodes)) ||
      !good(PMIx_generate_ppn(peers.c_str(), &procs)))
    return "PMIx cannot describe the job";

  Infos job(20 + config.app_of.size());
  for (const char* key :
       {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS, PMIX_APP_SIZE, PMIX_LOCAL_SIZE, PMIX_NODE_SIZE})
    job.number(key, count);
  job.number(PMIX_NUM_NODES, 1);
  job.number(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(config.app_of.back()) + 1);
  job.text(PMIX_JOBID, config.name_space);
  job.flag(PMIX_SPAWNED, false);
  job.text(PMIX_LOCAL_PEERS, peers);
  job.rank(PMIX_LOCALLDR, 0);
  job.number(PMIX_NODEID, 0);
  job.text(PMIX_HOSTNAME, config.host);
  job.add(PMIX_NODE_MAP, nodes, PMIX_REGEX);
  job.add(PMIX_PROC_MAP, procs, PMIX_REGEX);
  job.text(PMIX_TMPDIR, config.dir);
  job.text(PMIX_NSDIR, config.dir);
  pmix_rank_t rank_in_app = 0;
  for (std::size_t rank = 0; rank < config.app_of.size(); ++rank) {
    rank_in_app = rank > 0 && config.app_of[rank] == config.app_of[rank - 1] ? rank_in_app + 1 : 0;
    add_process(job, config, rank, rank_in_app);
  }
  const pmix_status_t status = PMIx_server_register_nspace(config.name_space.c_str(), static_cast<int>(count),
                                                           job.data(), job.size(), nullptr, nullptr);
  return good(status) ? "" : failed("the PMIx server does not take the job", status);
}

std::string PmixServer::register_processes(const PmixConfig& config) {
  settings_.resize(config.app_of.size());
  for (std::size_t rank = 0; rank < config.app_of.size(); ++rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, config.name_space.c_str(), static_cast<pmix_rank_t>(rank));
    pmix_status_t status =
        PMIx_server_register_client(&proc, geteuid(), getegid(), nullptr, nullptr, nullptr);
    if (!good(status)) return failed("the PMIx server does not take a process", status);
    char** variables = nullptr;
    status = PMIx_server_setup_fork(&proc, &variables);
    if (!good(status)) return failed("the PMIx server has no settings for a process", status);
    for (char** variable = variables; variable != nullptr && *variable != nullptr; ++variable)
      settings_[rank].emplace_back(*variable);
    PMIX_ARGV_FREE(variables);
  }
  return {};
}

std::vector<std::string> PmixServer::settings_of(int rank) const {
  return settings_[static_cast<std::size_t>(rank)];
}

int PmixServer::event_fd() const { return queue.fd(); }

std::vector<PmixEvent> PmixServer::take_events() { return queue.take(); }

}  // namespace oshrun
