// SPDX-License-Identifier: BSD-3-Clause
// What is looked at in each shape of call (include/shmem/ops.h), in terms of its parameters: `call` is a
// checks::Call, `op` the text behind the type in the function's name.
#pragma once

// clang-format off
#define CHECK_STORE(size)            call.symmetric("dest", dest, 1, size)
#define CHECK_LOAD(size)             call.symmetric("source", source, 1, size)
#define CHECK_FETCH_OP(size)         call.symmetric("dest", dest, 1, size)
#define CHECK_CSWAP(size)            call.symmetric("dest", dest, 1, size)
#define CHECK_INC(size)              call.symmetric("dest", dest, 1, size)
#define CHECK_FETCH_INC(size)        call.symmetric("dest", dest, 1, size)
#define CHECK_FETCH_NBI(size)        call.symmetric("source", source, 1, size); call.may_be_null("fetch", fetch, 1, size)
#define CHECK_FETCH_OP_NBI(size)     call.symmetric("dest", dest, 1, size); call.may_be_null("fetch", fetch, 1, size)
#define CHECK_CSWAP_NBI(size)        CHECK_FETCH_OP_NBI(size)
#define CHECK_FETCH_INC_NBI(size)    CHECK_FETCH_OP_NBI(size)
#define CHECK_COPY(size)             call.copy(op, dest, source, nelems, size)
#define CHECK_STRIDED(size)          call.copy_strided(op, dest, source, dst, sst, nelems, 1, size)
#define CHECK_BLOCKS(size)           call.copy_strided(op, dest, source, dst, sst, nblocks, bsize, size)
#define CHECK_SIGNALED(size)         call.copy(op, dest, source, nelems, size); call.symmetric("sig_addr", sig_addr, 1, sizeof *sig_addr)

#define CHECK_WAIT(size)             call.symmetric("ivar", ivar, 1, size)
#define CHECK_TEST(size)             call.symmetric("ivar", ivar, 1, size)
#define CHECK_CHANGE(size)           call.symmetric("ivar", ivar, 1, size)
#define CHECK_WAIT_ALL(size)         call.words(ivars, nelems, size, status, nullptr, nullptr)
#define CHECK_TEST_ALL(size)         call.words(ivars, nelems, size, status, nullptr, nullptr)
#define CHECK_ANY(size)              call.words(ivars, nelems, size, status, nullptr, nullptr)
#define CHECK_SOME(size)             call.words(ivars, nelems, size, status, indices, nullptr)
#define CHECK_WAIT_ALL_VECTOR(size)  call.words(ivars, nelems, size, status, nullptr, cmp_values)
#define CHECK_TEST_ALL_VECTOR(size)  call.words(ivars, nelems, size, status, nullptr, cmp_values)
#define CHECK_ANY_VECTOR(size)       call.words(ivars, nelems, size, status, nullptr, cmp_values)
#define CHECK_SOME_VECTOR(size)      call.words(ivars, nelems, size, status, indices, cmp_values)

#define CHECK_TEAM(size)             call.collective(op, checks::members_of(team), dest, source, nelems, size)
#define CHECK_TEAM_ROOTED(size)      CHECK_TEAM(size)
#define CHECK_TEAM_STRIDED(size)     call.alltoalls(checks::members_of(team), dest, source, dst, sst, nelems, size)
#define CHECK_ACTIVE(size)           call.collective(op, PE_size, dest, source, nelems, size); call.sync(pSync)
#define CHECK_ACTIVE_ROOTED(size)    CHECK_ACTIVE(size)
#define CHECK_ACTIVE_STRIDED(size)   call.alltoalls(PE_size, dest, source, dst, sst, nelems, size); call.sync(pSync)
#define CHECK_ACTIVE_REDUCE(size)    call.to_all(PE_size, dest, source, nreduce, size, pWrk); call.sync(pSync)
// clang-format on
