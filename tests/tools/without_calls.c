/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: without_calls program arguments...
 *
 * Runs a program in a process that may not set up io_uring, trace, or read other processes' memory, as in
 * many containers. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REFUSE(number) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

int main(int count, char** words) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      REFUSE(SYS_io_uring_setup),
      REFUSE(SYS_ptrace),
      REFUSE(SYS_process_vm_readv),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
  if (count < 2) return 2;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("without_calls");
    return 77;
  }
  execv(words[1], words + 1);
  perror(words[1]);
  return 127;
}
