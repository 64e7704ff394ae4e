// SPDX-License-Identifier: BSD-3-Clause
#include "fabric_faults.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "ofi/loader.hpp"

namespace shm::test {
namespace {

FabricFaults* faults = nullptr;
ofi::Library real_library;

std::optional<long> decide(FabricCall call) {
  return faults != nullptr ? faults->decide(call) : std::nullopt;
}

// The objects whose first table, that of all objects, is replaced.
enum Object { any, queue, endpoint, registration };

// The provider's table.  All objects of one kind have the same one.
template <class Table, Object object>
Table* real = nullptr;

// Replaces a table by a copy that `change` has changed.
template <Object object = any, class Table, class Change>
void interpose(Table*& table, Change change) {
  static Table own;
  if (table == &own) return;
  real<Table, object> = table;
  own = {};
  std::memcpy(&own, table, std::min(sizeof own, table->size));
  change(own);
  table = &own;
}

// What an operation is to be named by when it is complete.
void* context_in(fid_ep*, const fi_msg_rma* message, uint64_t) { return message->context; }
void* context_in(fid_ep*, const void*, size_t, void*, fi_addr_t, void* context) { return context; }
void* context_in(fid_ep*, void*, size_t, void*, fi_addr_t, void* context) { return context; }
template <class... Rest>
void* context_in(fid_ep*, const fi_msg_atomic* message, Rest...) {
  return message->context;
}
template <class... Others>
void* context_in(Others...) {
  return nullptr;
}

// A function of a table that may fail.
template <FabricCall call, auto member, Object object = any>
struct Faulty;
template <FabricCall call, class Table, class R, class... A, R (*Table::*member)(A...), Object object>
struct Faulty<call, member, object> {
  static R run(A... arguments) {
    if (const std::optional<long> code = decide(call)) return static_cast<R>(*code);
    if (const int error = faults != nullptr ? faults->take_completion_error(call) : 0) {
      fi_cq_err_entry entry{};
      entry.op_context = context_in(arguments...);
      entry.err = error;
      faults->report(entry);
      return 0;
    }
    return (real<Table, object>->*member)(arguments...);
  }
};

ssize_t receive_tagged(fid_ep* ep, const fi_msg_tagged* message, uint64_t flags) {
  constexpr auto member = &fi_ops_tagged::recvmsg;
  return (flags & FI_PEEK) != 0 ? Faulty<FabricCall::tagged_peek, member>::run(ep, message, flags)
                                : Faulty<FabricCall::tagged_claim, member>::run(ep, message, flags);
}

void wrap_data_calls(fid_ep& ep) {
  if (ep.msg != nullptr) {
    interpose(ep.msg, [](fi_ops_msg& table) {
      table.recv = Faulty<FabricCall::recv, &fi_ops_msg::recv>::run;
      table.send = Faulty<FabricCall::send, &fi_ops_msg::send>::run;
    });
  }
  if (ep.rma != nullptr) {
    interpose(ep.rma, [](fi_ops_rma& table) {
      table.writemsg = Faulty<FabricCall::write, &fi_ops_rma::writemsg>::run;
      table.readmsg = Faulty<FabricCall::read, &fi_ops_rma::readmsg>::run;
      table.inject = Faulty<FabricCall::inject_write, &fi_ops_rma::inject>::run;
    });
  }
  if (ep.atomic != nullptr) {
    interpose(ep.atomic, [](fi_ops_atomic& table) {
      table.writemsg = Faulty<FabricCall::atomic, &fi_ops_atomic::writemsg>::run;
      table.readwritemsg = Faulty<FabricCall::fetch_atomic, &fi_ops_atomic::readwritemsg>::run;
      table.compwritemsg = Faulty<FabricCall::compare_atomic, &fi_ops_atomic::compwritemsg>::run;
    });
  }
  if (ep.tagged != nullptr) {
    interpose(ep.tagged, [](fi_ops_tagged& table) {
      table.recvv = Faulty<FabricCall::tagged_recv, &fi_ops_tagged::recvv>::run;
      table.recvmsg = receive_tagged;
      table.inject = Faulty<FabricCall::tagged_inject, &fi_ops_tagged::inject>::run;
    });
  }
}

// Rxm 1.17 crashes when it closes an endpoint that was not bound: it is, whatever the caller is told.
int bind_endpoint(fid* object, fid* to, uint64_t flags) {
  const auto failure = decide(FabricCall::bind);
  const int code = real<fi_ops, endpoint>->bind(object, to, flags);
  return failure ? static_cast<int>(*failure) : code;
}

// Enabling an endpoint may change its tables.
int control_endpoint(fid* object, int command, void* argument) {
  if (command == FI_ENABLE) {
    if (const auto code = decide(FabricCall::enable)) return static_cast<int>(*code);
  }
  const int code = real<fi_ops, endpoint>->control(object, command, argument);
  if (command == FI_ENABLE && code == 0) wrap_data_calls(*reinterpret_cast<fid_ep*>(object));
  return code;
}

// What the provider has not heard of, it shall not see.
template <class Open>
int with_real_info(fi_info* info, Open open) {
  fi_info* copy = real_library.dupinfo(info);
  if (faults != nullptr) copy->domain_attr->mr_mode &= ~static_cast<int>(faults->mr_mode);
  const int code = open(copy);
  real_library.freeinfo(copy);
  return code;
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** ep, void* context) {
  if (const auto code = decide(FabricCall::endpoint)) return static_cast<int>(*code);
  const int code = with_real_info(
      info, [&](fi_info* known) { return real<fi_ops_domain, any>->endpoint(domain, known, ep, context); });
  if (code != 0) return code;
  interpose<endpoint>((*ep)->fid.ops, [](fi_ops& table) {
    table.bind = bind_endpoint;
    table.control = control_endpoint;
  });
  interpose((*ep)->cm,
            [](fi_ops_cm& table) { table.getname = Faulty<FabricCall::getname, &fi_ops_cm::getname>::run; });
  return 0;
}

int open_addresses(fid_domain* domain, fi_av_attr* attributes, fid_av** av, void* context) {
  if (const auto code = decide(FabricCall::av_open)) return static_cast<int>(*code);
  const int code = real<fi_ops_domain, any>->av_open(domain, attributes, av, context);
  if (code != 0) return code;
  interpose((*av)->ops,
            [](fi_ops_av& table) { table.insert = Faulty<FabricCall::av_insert, &fi_ops_av::insert>::run; });
  return 0;
}

ssize_t read_queue(fid_cq* cq, void* entries, size_t n) {
  if (faults != nullptr && faults->has_error()) return -FI_EAVAIL;
  return Faulty<FabricCall::cq_read, &fi_ops_cq::read>::run(cq, entries, n);
}

ssize_t read_error(fid_cq* cq, fi_cq_err_entry* error, uint64_t flags) {
  if (const auto code = decide(FabricCall::cq_readerr)) return *code;
  if (faults != nullptr && faults->take_error(*error)) return 1;
  return real<fi_ops_cq, any>->readerr(cq, error, flags);
}

int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** cq, void* context) {
  if (const auto code = decide(FabricCall::cq_open)) return static_cast<int>(*code);
  const int code = real<fi_ops_domain, any>->cq_open(domain, attributes, cq, context);
  if (code != 0) return code;
  interpose<queue>((*cq)->fid.ops, [](fi_ops& table) {
    table.control = Faulty<FabricCall::getwait, &fi_ops::control, queue>::run;
  });
  interpose((*cq)->ops, [](fi_ops_cq& table) {
    table.read = read_queue;
    table.readerr = read_error;
  });
  return 0;
}

// Which the real provider does not want.
int bind_registration(fid*, fid*, uint64_t) {
  return static_cast<int>(decide(FabricCall::mr_bind).value_or(0));
}
int control_registration(fid*, int, void*) {
  return static_cast<int>(decide(FabricCall::mr_enable).value_or(0));
}

int register_memory(fid* domain, const void* memory, size_t n, uint64_t access, uint64_t offset, uint64_t key,
                    uint64_t flags, fid_mr** mr, void* context) {
  if (const auto code = decide(FabricCall::mr_reg)) return static_cast<int>(*code);
  const int code = real<fi_ops_mr, any>->reg(domain, memory, n, access, offset, key, flags, mr, context);
  if (code != 0) return code;
  interpose<registration>((*mr)->fid.ops, [](fi_ops& table) {
    table.bind = bind_registration;
    table.control = control_registration;
    table.close = Faulty<FabricCall::mr_close, &fi_ops::close, registration>::run;
  });
  return 0;
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  if (const auto code = decide(FabricCall::domain)) return static_cast<int>(*code);
  const int code = with_real_info(
      info, [&](fi_info* known) { return real<fi_ops_fabric, any>->domain(fabric, known, domain, context); });
  if (code != 0) return code;
  interpose((*domain)->ops, [](fi_ops_domain& table) {
    table.av_open = open_addresses;
    table.cq_open = open_queue;
    table.endpoint = open_endpoint;
  });
  interpose((*domain)->mr, [](fi_ops_mr& table) { table.reg = register_memory; });
  return 0;
}

int open_fabric_object(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  if (faults != nullptr) faults->opened = attributes->name;
  if (const auto code = decide(FabricCall::fabric)) return static_cast<int>(*code);
  const int code = real_library.fabric(attributes, fabric, context);
  if (code != 0) return code;
  interpose((*fabric)->ops, [](fi_ops_fabric& table) {
    table.domain = open_domain;
    table.trywait = Faulty<FabricCall::trywait, &fi_ops_fabric::trywait>::run;
  });
  return 0;
}

int find_infos(uint32_t version, const char* node, const char* service, uint64_t flags, const fi_info* hints,
               fi_info** list) {
  if (const auto code = decide(FabricCall::getinfo)) return static_cast<int>(*code);
  const int code = real_library.getinfo(version, node, service, flags, hints, list);
  if (code != 0) return code;
  for (fi_info* info = *list; info != nullptr; info = info->next)
    info->domain_attr->mr_mode |= static_cast<int>(faults->mr_mode);
  if (faults->edit_infos) faults->edit_infos(*list);
  return 0;
}

fi_info* copy_info(const fi_info* info) {
  return decide(FabricCall::dupinfo) ? nullptr : real_library.dupinfo(info);
}

// It is const for its users, not by nature.
ofi::Library& library() { return const_cast<ofi::Library&>(*ofi::load_library().value()); }

}  // namespace

FabricFaults::FabricFaults() {
  EXPECT_EQ(faults, nullptr);
  faults = this;
  real_library = library();
  library().getinfo = find_infos;
  library().dupinfo = copy_info;
  library().fabric = open_fabric_object;
}

FabricFaults::~FabricFaults() {
  library() = real_library;
  faults = nullptr;
}

void FabricFaults::fail(FabricCall call, long code, int times, int pass) {
  const std::scoped_lock guard(mutex_);
  rules_[call] = {pass, times, code};
}

long FabricFaults::count(FabricCall call) {
  const std::scoped_lock guard(mutex_);
  return counts_[call];
}

void FabricFaults::report(const fi_cq_err_entry& error) {
  const std::scoped_lock guard(mutex_);
  errors_.push_back(error);
}

std::optional<long> FabricFaults::decide(FabricCall call) {
  const std::scoped_lock guard(mutex_);
  ++counts_[call];
  const auto rule = rules_.find(call);
  if (rule == rules_.end()) return std::nullopt;
  if (rule->second.pass > 0) {
    --rule->second.pass;
    return std::nullopt;
  }
  if (rule->second.times <= 0) return std::nullopt;
  --rule->second.times;
  return rule->second.code;
}

void FabricFaults::complete_with_error(FabricCall call, int error) {
  const std::scoped_lock guard(mutex_);
  completion_errors_[call] = error;
}

int FabricFaults::take_completion_error(FabricCall call) {
  const std::scoped_lock guard(mutex_);
  const auto error = completion_errors_.find(call);
  return error == completion_errors_.end() ? 0 : std::exchange(error->second, 0);
}

bool FabricFaults::has_error() {
  const std::scoped_lock guard(mutex_);
  return !errors_.empty();
}

bool FabricFaults::take_error(fi_cq_err_entry& error) {
  const std::scoped_lock guard(mutex_);
  if (errors_.empty()) return false;
  error = errors_.front();
  errors_.pop_front();
  return true;
}

}  // namespace shm::test
