// SPDX-License-Identifier: BSD-3-Clause
// Whether the tests are built with a sanitizer, which looks at each line that runs and needs few rounds for it.
#pragma once

namespace shm::test {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace shm::test
