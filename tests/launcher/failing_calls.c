/* SPDX-License-Identifier: BSD-3-Clause */
/* To be preloaded: makes one call of the launcher fail, FAIL_CALL=<function>:<n> the nth of that function, or
 * stops the launcher before it, STOP_CALL=<function>:<n>, until somebody sends SIGCONT.  Calls by libraries
 * do not count.  Other programs that inherit it are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <pmix_server.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* Whether `variable` names this call of `function`, its `call`th. */
static int names(const char* variable, const char* function, int call) {
  char wanted[64];
  const char* value = getenv(variable);
  snprintf(wanted, sizeof wanted, "%s:%d", function, call);
  return value != NULL && strcmp(value, wanted) == 0 && strcmp(program_invocation_short_name, "oshrun") == 0;
}

static int fails(const char* function, int* calls) {
  ++*calls;
  if (names("STOP_CALL", function, *calls)) raise(SIGSTOP);
  return names("FAIL_CALL", function, *calls);
}

/* Whether the code at that address is the program's own, not a library's. */
static int is_of_program(void* code) {
  Dl_info program, caller;
  return dladdr((void*)getauxval(AT_ENTRY), &program) != 0 && dladdr(code, &caller) != 0 &&
         program.dli_fbase == caller.dli_fbase;
}

/* RET NAME PARAMS, which returns FAILURE or what the real one does. */
#define INTERPOSE(RET, NAME, PARAMS, ARGS, FAILURE)                                         \
  RET NAME PARAMS {                                                                         \
    static int calls;                                                                       \
    if (is_of_program(__builtin_return_address(0)) && fails(#NAME, &calls)) return FAILURE; \
    return ((RET(*) PARAMS)dlsym(RTLD_NEXT, #NAME))ARGS;                                    \
  }

INTERPOSE(pid_t, fork, (void), (), (errno = EAGAIN, -1))
INTERPOSE(int, pipe2, (int ends[2], int flags), (ends, flags), (errno = EMFILE, -1))
INTERPOSE(int, bind, (int fd, const struct sockaddr* address, socklen_t length), (fd, address, length),
          (errno = EADDRINUSE, -1))

INTERPOSE(pmix_status_t, PMIx_server_init, (pmix_server_module_t * module, pmix_info_t info[], size_t count),
          (module, info, count), PMIX_ERROR)
INTERPOSE(pmix_status_t, PMIx_generate_regex, (const char* input, char** regex), (input, regex), PMIX_ERROR)
INTERPOSE(pmix_status_t, PMIx_generate_ppn, (const char* input, char** ppn), (input, ppn), PMIX_ERROR)
INTERPOSE(pmix_status_t, PMIx_server_register_nspace,
          (const pmix_nspace_t nspace, int pes, pmix_info_t info[], size_t count, pmix_op_cbfunc_t done,
           void* data),
          (nspace, pes, info, count, done, data), PMIX_ERROR)
INTERPOSE(pmix_status_t, PMIx_server_register_client,
          (const pmix_proc_t* proc, uid_t uid, gid_t gid, void* object, pmix_op_cbfunc_t done, void* data),
          (proc, uid, gid, object, done, data), PMIX_ERROR)
INTERPOSE(pmix_status_t, PMIx_server_setup_fork, (const pmix_proc_t* proc, char*** variables),
          (proc, variables), PMIX_ERROR)

/* Only those of other processes count. */
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t* set) {
  static int calls;
  if (pid != 0 && fails("sched_setaffinity", &calls)) return errno = EINVAL, -1;
  return ((int (*)(pid_t, size_t, const cpu_set_t*))dlsym(RTLD_NEXT, "sched_setaffinity"))(pid, size, set);
}

/* Only the settings that let a PE go count. */
ssize_t write(int fd, const void* bytes, size_t size) {
  static int calls;
  if (memmem(bytes, size, "PMIX_NAMESPACE=", 15) != NULL && fails("write", &calls)) return errno = EIO, -1;
  return ((ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write"))(fd, bytes, size);
}
