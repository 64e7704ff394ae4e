// SPDX-License-Identifier: BSD-3-Clause
// Allocations in this process's own memory: those of the next malloc, and of a small buffer while that is
// looked for.
#pragma once

#include <cstddef>

/// As the functions of the malloc family that each stands for.
namespace remote_malloc::local {

void* allocate(std::size_t bytes);
void* allocate_zeros(std::size_t count, std::size_t bytes);
void* allocate_aligned(std::size_t alignment, std::size_t bytes);
void* reallocate(void* block, std::size_t bytes);
void release(void* block);
std::size_t size_of(void* block);

}  // namespace remote_malloc::local
