// SPDX-License-Identifier: BSD-3-Clause
// Calls of libfabric that fail when a test wants them to.
//
// Libfabric's interface consists of tables of functions in its objects.  While a FabricFaults lives, each
// object that is opened gets tables which first ask it, and then call the provider's.  So everything but the
// faults is the real provider.
//
//   FabricFaults faults;
//   faults.fail(FabricCall::cq_open, -FI_ENOMEM);
//   EXPECT_FALSE(open_fabric(...).ok());
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

#include <climits>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace shm::test {

enum class FabricCall : std::uint8_t {
  getinfo,
  dupinfo,  // any code: null
  fabric,
  domain,
  av_open,
  av_insert,
  cq_open,
  cq_read,
  cq_readerr,
  endpoint,
  bind,  // of an endpoint: done nevertheless
  enable,
  getwait,
  trywait,
  getname,
  recv,
  send,
  write,
  read,
  inject_write,
  atomic,
  fetch_atomic,
  compare_atomic,
  tagged_recv,
  tagged_peek,   // fi_trecvmsg() with FI_PEEK
  tagged_claim,  // and without
  tagged_inject,
  mr_reg,
  mr_bind,
  mr_enable,
  mr_close,
};

/// One at a time; outlives what was opened meanwhile.  Thread safety: any thread.
class FabricFaults {
 public:
  FabricFaults();
  ~FabricFaults();
  FabricFaults(const FabricFaults&) = delete;
  FabricFaults& operator=(const FabricFaults&) = delete;

  /// The next `pass` calls go to the provider; then `times` calls return `code` and do nothing; later ones go
  /// to the provider again.
  void fail(FabricCall call, long code, int times = 1, int pass = 0);
  void fail_always(FabricCall call, long code) { fail(call, code, INT_MAX); }
  void pass(FabricCall call) { fail(call, 0, 0); }

  /// Calls so far, failed ones included.
  long count(FabricCall call);

  /// The completion queue that is read next reports this error.
  void report(const fi_cq_err_entry& error);

  /// The next call of this kind, write to compare_atomic, is accepted and ends with this error instead.
  void complete_with_error(FabricCall call, int error);

  /// fi_fabric_attr::name of the fabric that was opened last, or was to be.
  std::string opened;

  /// Changes what fi_getinfo() finds.
  std::function<void(fi_info*& list)> edit_infos;

  /// The provider says that it wants these bits of fi_domain_attr::mr_mode; the real one is not told.
  std::uint64_t mr_mode = 0;

  // For the tables.
  std::optional<long> decide(FabricCall call);
  int take_completion_error(FabricCall call);
  bool has_error();
  bool take_error(fi_cq_err_entry& error);

 private:
  struct Rule {
    int pass, times;
    long code;
  };
  std::mutex mutex_;
  std::map<FabricCall, Rule> rules_;
  std::map<FabricCall, long> counts_;
  std::map<FabricCall, int> completion_errors_;
  std::deque<fi_cq_err_entry> errors_;
};

}  // namespace shm::test
