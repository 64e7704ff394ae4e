// SPDX-License-Identifier: BSD-3-Clause
// Set-up, exit and query; threads (OpenSHMEM 1.6, sections 9.1 and 9.2).
#include <cstring>

#include "api/define.hpp"
#include "base/fatal.hpp"
#include "core/region.hpp"
#include "heap/node_memory.hpp"
#include "setup/exit.hpp"
#include "setup/setup.hpp"

using shm::Call;
using shm::rt;

namespace {

// shmem_init cannot report, so it ends the job.  It does not say whether the program has threads: they may
// call, but their contexts get no endpoints of their own, which cost much.
void start_or_die(Call call, bool ends_by_itself = false) {
  if (shm::Status status = shm::start_library(SHMEM_THREAD_MULTIPLE, ends_by_itself); !status.ok()) {
    shm::fatal("%s: %s", call.name, status.text().c_str());
  }
}

bool same_program(int pe) { return shm::same_statics(rt.memory->record(rt.me), rt.memory->record(pe)); }

// Address of the object on `pe` in this process, or null: a question, so nothing is an error.
void* reachable(const void* address, int pe) {
  if (static_cast<unsigned>(pe) >= rt.npes) return nullptr;
  if (std::byte* here = shm::mapped(address, 1, pe)) return here;
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  if (shm::Region* region = shm::find_region(a, 1)) return region->ptr(a, pe);
  const bool on_node = rt.heap.delta[static_cast<unsigned>(pe)] != shm::kNoMapping;
  return on_node && shm::is_constant(a, 1) && same_program(pe) ? const_cast<void*>(address) : nullptr;
}

bool symmetric(const void* address, int pe) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  if (rt.heap.holds(a, 1) || shm::find_region(a, 1) != nullptr) return true;
  return (rt.statics.holds(a, 1) || shm::is_constant(a, 1)) && same_program(pe);
}

}  // namespace

extern "C" {

void pshmem_init(void) { start_or_die({"shmem_init"}); }

// The library is built for the highest level; what the program asked for is what it is told.
int pshmem_init_thread(int requested, int* provided) {
  if (requested < SHMEM_THREAD_SINGLE || requested > SHMEM_THREAD_MULTIPLE) {
    shm::warn(
        "shmem_init_thread: requested is %d; allowed are SHMEM_THREAD_SINGLE (0), _FUNNELED, _SERIALIZED and "
        "_MULTIPLE (3)",
        requested);
    return 1;
  }
  if (shm::Status status = shm::start_library(requested); !status.ok()) {
    shm::warn("shmem_init_thread: %s", status.text().c_str());
    return 1;
  }
  if (requested == SHMEM_THREAD_MULTIPLE) rt.parallel_contexts = true;
  if (provided != nullptr) *provided = rt.thread_level;
  return 0;
}

void pshmem_query_thread(int* provided) {
  shm::check_result({"shmem_query_thread"}, "provided", provided);
  *provided = rt.thread_level;
}

void pshmem_query_initialized(int* initialized) {
  shm::check_result({"shmem_query_initialized"}, "initialized", initialized);
  *initialized = shm::library_started() ? 1 : 0;
}

void pshmem_finalize(void) {
  if (shm::job_is_ending()) return;  // in an exit handler: the others do not come any more
  // Undefined, yet programs in the field do it.
  if (!shm::library_started()) {
    return shm::warn("shmem_finalize: called before shmem_init, or once too often; does nothing");
  }
  shm::stop_library({"shmem_finalize"});
}

void pshmem_global_exit(int status) { shm::exit_job(status); }

int pshmem_my_pe(void) {
  shm::check_started({"shmem_my_pe"});
  return rt.me;
}
int pshmem_n_pes(void) {
  shm::check_started({"shmem_n_pes"});
  return static_cast<int>(rt.npes);
}

int pshmem_pe_accessible(int pe) { return static_cast<unsigned>(pe) < rt.npes && same_program(pe) ? 1 : 0; }

int pshmem_addr_accessible(const void* address, int pe) {
  return static_cast<unsigned>(pe) < rt.npes && symmetric(address, pe) ? 1 : 0;
}

void* pshmem_ptr(const void* dest, int pe) { return reachable(dest, pe); }

void pshmem_info_get_version(int* major, int* minor) {
  shm::check_result({"shmem_info_get_version"}, "major", major);
  shm::check_result({"shmem_info_get_version"}, "minor", minor);
  *major = SHMEM_MAJOR_VERSION;
  *minor = SHMEM_MINOR_VERSION;
}

void pshmem_info_get_name(char* name) {
  shm::check_result({"shmem_info_get_name"}, "name", name);
  std::strcpy(name, SHMEM_VENDOR_STRING);
}

const char* pshmemx_network(void) {
  shm::check_started({"shmemx_network"});
  return shm::network_text();
}

void pshmem_pcontrol(int, ...) {}

// Repeated calls do nothing, and the end of the program finalizes (setup/exit).
void pstart_pes(int) {
  if (!shm::library_started()) start_or_die({"start_pes"}, true);
}

int p_my_pe(void) { return pshmem_my_pe(); }
int p_num_pes(void) { return pshmem_n_pes(); }

ATOLL_FUNCS_SETUP(ATOLL_ALIAS_)
ATOLL_FUNCS_EXIT(ATOLL_ALIAS_)
ATOLL_FUNCS_OLD_SETUP(ATOLL_ALIAS_)
SHMEMX_NETWORK_FUNCS(ATOLL_ALIAS_)

}  // extern "C"
