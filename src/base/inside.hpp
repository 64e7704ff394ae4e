// SPDX-License-Identifier: BSD-3-Clause
// Variables that the library's fast paths read from several files.
#pragma once

/// Before `extern`: the variable is the library's own, and read without a GOT in between.  For programs that
/// test its insides it is a variable of another library (cmake/internals.cmake).
#ifdef ATOLL_BUILDING
#define ATOLL_INSIDE [[gnu::visibility("protected")]]
#else
#define ATOLL_INSIDE
#endif
