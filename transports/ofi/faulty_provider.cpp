// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/faulty_provider.hpp"

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <chrono>
#include <random>

namespace shm::ofi {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLongestStorm{50};

// The tables that stand before the provider's.  A call finds its state through the context of the object it
// is made on, which nobody else uses.
struct FaultyProvider::State {
  State(fid_ep& ep, fid_cq& cq, ProviderFaults with);

  // Whether this call finds no room.  Receives alone begin no storm: those that are posted before the first
  // operation must have room.
  bool refuses(bool may_begin) {
    if (storm == 0 && may_begin && faults.seed != 0 && random() % 64 == 0) {
      storm = random() % 200;
      began = Clock::now();
    }
    // Who sleeps between its calls must not take it for a connection that is gone.
    if (storm != 0 && Clock::now() - began > kLongestStorm) storm = 0;
    if (storm == 0) return false;
    --storm;
    return true;
  }

  ProviderFaults faults;
  std::mt19937_64 random;
  Clock::time_point began{};
  std::uint64_t storm = 0;  // calls that are still refused, less the looks at the queue
  std::uint64_t completed = 0;
  fi_cq_tagged_entry failed{};  // op_context: null if there is none

  fi_ops_msg* inner_msg;
  fi_ops_rma* inner_rma;
  fi_ops_atomic* inner_atomic;
  fi_ops_cq* inner_cq;
  fi_ops_msg msg;
  fi_ops_rma rma;
  fi_ops_atomic atomic;
  fi_ops_cq queue;

  ssize_t read(fid_cq* cq, void* entries, std::size_t count);
  ssize_t read_error(fid_cq* cq, fi_cq_err_entry* entry, std::uint64_t flags);
  const char* describe(fid_cq* cq, int code, const void* data, char* buffer, std::size_t size);
};

namespace {

using State = FaultyProvider::State;

template <class Fid>
State& state_of(Fid* object) {
  return *static_cast<State*>(object->fid.context);
}

// A function of the same type as `call` of `table`, which is refused in a storm.
template <auto table, auto call, bool begins_storms = true>
struct Refusing;

template <class Ops, Ops* State::*table, class... Arguments, ssize_t (*Ops::*call)(fid_ep*, Arguments...),
          bool begins_storms>
struct Refusing<table, call, begins_storms> {
  static ssize_t run(fid_ep* ep, Arguments... arguments) {
    State& state = state_of(ep);
    if (state.refuses(begins_storms)) return -FI_EAGAIN;
    return ((state.*table)->*call)(ep, arguments...);
  }
};

ssize_t read_with_faults(fid_cq* cq, void* entries, std::size_t count) {
  return state_of(cq).read(cq, entries, count);
}

ssize_t read_error_with_faults(fid_cq* cq, fi_cq_err_entry* entry, std::uint64_t flags) {
  return state_of(cq).read_error(cq, entry, flags);
}

const char* describe_with_faults(fid_cq* cq, int code, const void* data, char* buffer, std::size_t size) {
  return state_of(cq).describe(cq, code, data, buffer, size);
}

// What an error's err_data points at if it comes from here.
constexpr char kInjected[] = "injected, as SHMEM_FAULT_AT says";

}  // namespace

State::State(fid_ep& ep, fid_cq& cq, ProviderFaults with)
    : faults(with),
      random(with.seed),
      inner_msg(ep.msg),
      inner_rma(ep.rma),
      inner_atomic(ep.atomic),
      inner_cq(cq.ops),
      msg(*ep.msg),
      rma(*ep.rma),
      atomic(*ep.atomic),
      queue(*cq.ops) {
  msg.recv = Refusing<&State::inner_msg, &fi_ops_msg::recv, false>::run;
  msg.send = Refusing<&State::inner_msg, &fi_ops_msg::send>::run;
  rma.writemsg = Refusing<&State::inner_rma, &fi_ops_rma::writemsg>::run;
  rma.readmsg = Refusing<&State::inner_rma, &fi_ops_rma::readmsg>::run;
  rma.inject = Refusing<&State::inner_rma, &fi_ops_rma::inject>::run;
  atomic.writemsg = Refusing<&State::inner_atomic, &fi_ops_atomic::writemsg>::run;
  atomic.readwritemsg = Refusing<&State::inner_atomic, &fi_ops_atomic::readwritemsg>::run;
  atomic.compwritemsg = Refusing<&State::inner_atomic, &fi_ops_atomic::compwritemsg>::run;
  queue.read = read_with_faults;
  queue.readerr = read_error_with_faults;
  queue.strerror = describe_with_faults;
  ep.fid.context = cq.fid.context = this;
  ep.msg = &msg;
  ep.rma = &rma;
  ep.atomic = &atomic;
  cq.ops = &queue;
}

// What comes behind the operation that fails waits for the next call, as with every provider.
ssize_t State::read(fid_cq* cq, void* entries, std::size_t count) {
  if (storm > 0) --storm;  // room comes with progress
  if (failed.op_context != nullptr) return -FI_EAVAIL;
  // One at a time as long as one of them may be the one that fails.
  const bool looks = completed < faults.failing_operation;
  const ssize_t n = inner_cq->read(cq, entries, looks ? std::min<std::size_t>(count, 1) : count);
  if (n != 1 || !looks) return n;
  const auto* entry = static_cast<const fi_cq_tagged_entry*>(entries);
  const bool counts = entry->op_context != nullptr && (entry->flags & FI_RECV) == 0;
  if (!counts || ++completed != faults.failing_operation) return n;
  failed = *entry;
  return -FI_EAVAIL;
}

ssize_t State::read_error(fid_cq* cq, fi_cq_err_entry* entry, std::uint64_t flags) {
  if (failed.op_context == nullptr) return inner_cq->readerr(cq, entry, flags);
  *entry = {};
  entry->op_context = failed.op_context;
  entry->flags = failed.flags;
  entry->err = entry->prov_errno = FI_EIO;
  entry->err_data = const_cast<char*>(kInjected);
  failed = {};
  return 1;
}

const char* State::describe(fid_cq* cq, int code, const void* data, char* buffer, std::size_t size) {
  return data == kInjected ? kInjected : inner_cq->strerror(cq, code, data, buffer, size);
}

FaultyProvider::FaultyProvider(fid_ep& ep, fid_cq& cq, ProviderFaults faults)
    : state_(std::make_unique<State>(ep, cq, faults)) {}

FaultyProvider::~FaultyProvider() = default;

}  // namespace shm::ofi
