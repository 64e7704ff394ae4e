// SPDX-License-Identifier: BSD-3-Clause
// A small PMIx client that behaves well or badly on purpose: the launcher's tests use it.
// usage: pmix_hello MODE [PE [NUMBER [TEXT]]]; the modes are in the table at the end. PE is the one that
// misbehaves.
#include <pmix.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct Run {
  int pe = 0;
  int number = 0;
  const char* text = "";
  pmix_proc_t self{};
  unsigned pes = 0;

  bool chosen() const { return static_cast<int>(self.rank) == pe; }
};

[[noreturn]] void wait_for_the_end() {
  for (;;) pause();
}

void require(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "pmix_hello: %s: %s\n", what, PMIx_Error_string(status));
  _exit(97);
}

void fence() {
  pmix_info_t info;
  const bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  require(PMIx_Fence(nullptr, 0, &info, 1), "PMIx_Fence");
}

std::uint32_t number(const Run& run, pmix_rank_t rank, const char* key) {
  pmix_proc_t peer = run.self;
  peer.rank = rank;
  pmix_value_t* value = nullptr;
  require(PMIx_Get(&peer, key, nullptr, 0, &value), key);
  const std::uint32_t result = value->type == PMIX_PROC_RANK ? value->data.rank
                               : value->type == PMIX_UINT16  ? value->data.uint16
                                                             : value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return result;
}

std::string key_value(const Run& run, unsigned rank, const char* key = "hello.name") {
  pmix_proc_t peer = run.self;
  peer.rank = rank;
  pmix_value_t* value = nullptr;
  require(PMIx_Get(&peer, key, nullptr, 0, &value), "PMIx_Get");
  std::string result = value->data.string;
  PMIX_VALUE_RELEASE(value);
  return result;
}

void init(Run& run) {
  require(PMIx_Init(&run.self, nullptr, 0), "PMIx_Init");
  run.pes = number(run, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  pmix_value_t name;
  const std::string text = "PE " + std::to_string(run.self.rank);
  PMIX_VALUE_LOAD(&name, text.c_str(), PMIX_STRING);
  require(PMIx_Put(PMIX_GLOBAL, "hello.name", &name), "PMIx_Put");
  PMIX_VALUE_DESTRUCT(&name);
  require(PMIx_Commit(), "PMIx_Commit");
  fence();
}

void finalize() { require(PMIx_Finalize(nullptr, 0), "PMIx_Finalize"); }

void hello(Run& run) {
  init(run);
  printf("PE %u of %u after %s\n", run.self.rank, run.pes,
         key_value(run, (run.self.rank + 1) % run.pes).c_str());
  finalize();
}

/// Of several programs in one job.
void tell_program(Run& run) {
  init(run);
  printf("PE %u is %u of program %u of %u\n", run.self.rank, number(run, run.self.rank, PMIX_APP_RANK),
         number(run, run.self.rank, PMIX_APPNUM), number(run, PMIX_RANK_WILDCARD, PMIX_JOB_NUM_APPS));
  finalize();
}

/// What any library that speaks PMIx may ask of a PE and of its job.
void tell_place(Run& run) {
  init(run);
  const auto mine = [&](const char* key) { return number(run, run.self.rank, key); };
  const auto ours = [&](const char* key) { return number(run, PMIX_RANK_WILDCARD, key); };
  printf(
      "PE %u: local %u, on node %u, global %u, of %u here, of %u, at most %u, node %u of %u, leader %u, host "
      "%s\n",
      run.self.rank, mine(PMIX_LOCAL_RANK), mine(PMIX_NODE_RANK), mine(PMIX_GLOBAL_RANK),
      ours(PMIX_LOCAL_SIZE), ours(PMIX_UNIV_SIZE), ours(PMIX_MAX_PROCS), mine(PMIX_NODEID),
      ours(PMIX_NUM_NODES), ours(PMIX_LOCALLDR), key_value(run, run.self.rank, PMIX_HOSTNAME).c_str());
  finalize();
}

void leave_with_code(Run& run) {
  init(run);
  if (run.chosen()) _exit(run.number);
  wait_for_the_end();
}

void finalize_then_code(Run& run) {
  init(run);
  finalize();
  if (run.chosen()) _exit(run.number);
}

void die_by_signal(Run& run) {
  init(run);
  if (run.chosen()) raise(run.number);
  wait_for_the_end();
}

void call_abort(Run& run) {
  init(run);
  if (run.chosen()) {
    signal(SIGTERM, SIG_IGN);  // it ends by itself, when it has its answer
    PMIx_Abort(run.number, run.text, nullptr, 0);
    _exit(run.number);
  }
  wait_for_the_end();
}

/// The chosen PE never connects and leaves; the others connect before or after that.
void never_connect(Run& run) {
  const char* rank = getenv("PMIX_RANK");
  const bool chosen = rank != nullptr && atoi(rank) == run.pe;
  if (chosen) usleep(static_cast<useconds_t>(run.number) * 1000);
  if (chosen) _exit(0);
  if (run.number == 0) usleep(200'000);
  init(run);
  wait_for_the_end();
}

void wait_ready(Run& run) {
  init(run);
  printf("ready %d\n", getpid());
  fflush(stdout);
  wait_for_the_end();
}

void wait_stubborn(Run& run) {
  signal(SIGTERM, SIG_IGN);
  wait_ready(run);
}

/// Every PE registers for an event, PE 0 sends it, and all end when they have seen it.
void send_an_event(Run& run) {
  constexpr pmix_status_t kCode = PMIX_EXTERNAL_ERR_BASE - 7;
  static int seen[2];
  require(pipe(seen) == 0 ? PMIX_SUCCESS : PMIX_ERROR, "pipe");
  init(run);
  pmix_status_t codes[] = {kCode,
                           PMIX_EVENT_NODE_DOWN};  // the server asks the launcher for what only that can see
  const pmix_status_t handler = PMIx_Register_event_handler(
      codes, 2, nullptr, 0,
      [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
         pmix_event_notification_cbfunc_fn_t done, void* data) {
        if (write(seen[1], "", 1) != 1) abort();
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
      },
      nullptr, nullptr);
  if (handler < 0) require(handler, "PMIx_Register_event_handler");
  fence();
  if (run.self.rank == 0) {
    const pmix_status_t sent =
        PMIx_Notify_event(kCode, &run.self, PMIX_RANGE_NAMESPACE, nullptr, 0, nullptr, nullptr);
    require(sent == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : sent, "PMIx_Notify_event");
  }
  char byte;
  require(read(seen[0], &byte, 1) == 1 ? PMIX_SUCCESS : PMIX_ERROR, "read");
  printf("PE %u has seen it\n", run.self.rank);
  const pmix_status_t end = PMIx_Deregister_event_handler(static_cast<size_t>(handler), nullptr, nullptr);
  require(end == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : end, "PMIx_Deregister_event_handler");
  finalize();
}

/// Asks for data of a job that the server does not know.
void ask_for_strangers(Run& run) {
  init(run);
  pmix_proc_t stranger;
  PMIX_LOAD_PROCID(&stranger, "stranger", 0);
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&stranger, "hello.name", nullptr, 0, &value);
  puts(status == PMIX_ERR_NOT_FOUND ? "no such data" : PMIx_Error_string(status));
  finalize();
}

/// Joins, and passes as many fences more as `number` says.
void fences(Run& run) {
  init(run);
  for (int i = 0; i < run.number; ++i) fence();
  finalize();
}

struct Mode {
  const char* name;
  void (*run)(Run&);
};

constexpr Mode kModes[] = {
    {"hello", hello},
    {"program", tell_program},
    {"place", tell_place},
    {"exit", leave_with_code},
    {"finalize-exit", finalize_then_code},
    {"signal", die_by_signal},
    {"abort", call_abort},
    {"never-connect", never_connect},
    {"wait", wait_ready},
    {"stubborn", wait_stubborn},
    {"events", send_an_event},
    {"strangers", ask_for_strangers},
    {"fences", fences},
};

}  // namespace

int main(int argc, char** argv) {
  Run run;
  if (argc > 2) run.pe = atoi(argv[2]);
  if (argc > 3) run.number = atoi(argv[3]);
  if (argc > 4) run.text = argv[4];
  for (const Mode& mode : kModes) {
    if (argc > 1 && strcmp(mode.name, argv[1]) == 0) {
      mode.run(run);
      return 0;
    }
  }
  fprintf(stderr, "pmix_hello: unknown mode\n");
  return 98;
}
