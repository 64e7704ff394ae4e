// SPDX-License-Identifier: BSD-3-Clause
// The overloads of C++ say what the generic selection of C says.
#include "check_messages.c"
