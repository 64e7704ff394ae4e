// SPDX-License-Identifier: BSD-3-Clause
#include "core/session.hpp"

namespace shm {

void start_session(Context& context, long options, const shmem_ctx_session_config_t* config, long mask) {
  Session& session = context.session;
  session.started = true;
  session.options |= options;
  if (config != nullptr && (mask & SHMEM_CTX_SESSION_TOTAL_OPS) != 0) session.total_ops = config->total_ops;
}

void stop_session(Context& context) { context.session = {}; }

}  // namespace shm
