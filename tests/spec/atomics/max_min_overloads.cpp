// SPDX-License-Identifier: BSD-3-Clause
// The same calls in C++: the names without a type are overloads there.
#include "max_min.c"
