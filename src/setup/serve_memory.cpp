// SPDX-License-Identifier: BSD-3-Clause
#include "setup/serve_memory.hpp"

#include "base/env.hpp"
#include "base/fatal.hpp"
#include "boot/boot.hpp"

namespace shm {
namespace {

Status serve(const Env& env, Boot& boot) {
  if (Status status = boot.join(env); !status.ok()) return status;
  if (Status status = boot.exchange({}); !status.ok()) return status;
  if (Status status = boot.barrier(); !status.ok()) return status;
  boot.leave();
  boot.end();
  return {};
}

Status serve() {
  Result<Env> env = Env::read();
  if (!env.ok()) return env.status();
  auto boot = make_boot();
  if (!boot.ok()) return boot.status();
  return serve(env.value(), *boot.value());
}

}  // namespace

int serve_memory() {
  const Status status = serve();
  if (!status.ok()) print_line("atoll: shmem_memory: " + status.text() + "\n");
  return status.ok() ? 0 : kErrorExit;
}

}  // namespace shm
