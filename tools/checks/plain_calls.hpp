// SPDX-License-Identifier: BSD-3-Clause
// What is looked at in each function without a type in its name, in terms of its parameters.  A function that
// is not here does not compile.
#pragma once

// clang-format off
#define NOTHING static_cast<void>(call)
#define RESULT(name) call.may_be_null(#name, name, 1, sizeof *name)

// ---- Set-up, memory, teams, contexts
#define CHECK_shmem_init                NOTHING
#define CHECK_shmem_init_thread         RESULT(provided)
#define CHECK_shmem_query_thread        RESULT(provided)
#define CHECK_shmem_query_initialized   RESULT(initialized)
#define CHECK_shmem_finalize            NOTHING
#define CHECK_shmem_my_pe               NOTHING
#define CHECK_shmem_n_pes               NOTHING
#define CHECK_shmem_pe_accessible       NOTHING
#define CHECK_shmem_addr_accessible     NOTHING
#define CHECK_shmem_ptr                 NOTHING
#define CHECK_shmem_info_get_version    RESULT(major); RESULT(minor)
#define CHECK_shmem_info_get_name       call.may_be_null("name", name, 1, SHMEM_MAX_NAME_LEN)
#define CHECK_shmem_pcontrol            NOTHING
#define CHECK_shmem_malloc              NOTHING
#define CHECK_shmem_calloc              NOTHING
#define CHECK_shmem_align               NOTHING
#define CHECK_shmem_malloc_with_hints   NOTHING
#define CHECK_shmem_realloc             call.block("ptr", ptr)
#define CHECK_shmem_free                call.block("ptr", ptr)
#define CHECK_shmem_team_my_pe          NOTHING
#define CHECK_shmem_team_n_pes          NOTHING
#define CHECK_shmem_team_get_config     RESULT(config)
#define CHECK_shmem_team_translate_pe   NOTHING
#define CHECK_shmem_team_ptr            NOTHING
#define CHECK_shmem_team_split_strided  RESULT(config); RESULT(new_team)
#define CHECK_shmem_team_split_2d       RESULT(xaxis_config); RESULT(xaxis_team); RESULT(yaxis_config); RESULT(yaxis_team)
#define CHECK_shmem_team_destroy        NOTHING
#define CHECK_shmem_ctx_create          RESULT(ctx)
#define CHECK_shmem_team_create_ctx     RESULT(ctx)
#define CHECK_shmem_ctx_get_team        RESULT(team)
#define CHECK_shmem_ctx_destroy         NOTHING
#define CHECK_shmem_ctx_session_start   RESULT(config)
#define CHECK_shmem_ctx_session_stop    NOTHING
#define CHECK_start_pes                 NOTHING
#define CHECK__my_pe                    NOTHING
#define CHECK__num_pes                  NOTHING
#define CHECK_shmalloc                  NOTHING
#define CHECK_shmemalign                NOTHING
#define CHECK_shrealloc                 call.block("ptr", ptr)
#define CHECK_shfree                    call.block("ptr", ptr)

// ---- Order, signals, waits, barriers, locks
#define PES call.may_be_null("target_pes", target_pes, npes, sizeof *target_pes)
#define SIGNAL_WORD call.symmetric("sig_addr", sig_addr, 1, sizeof *sig_addr)
#define LOCK call.symmetric("lock", lock, 1, sizeof *lock)
#define CHECK_shmem_fence               NOTHING
#define CHECK_shmem_ctx_fence           NOTHING
#define CHECK_shmem_quiet               NOTHING
#define CHECK_shmem_ctx_quiet           NOTHING
#define CHECK_shmem_pe_quiet            PES
#define CHECK_shmem_ctx_pe_quiet        PES
#define CHECK_shmem_signal_add          SIGNAL_WORD
#define CHECK_shmem_ctx_signal_add      SIGNAL_WORD
#define CHECK_shmem_signal_set          SIGNAL_WORD
#define CHECK_shmem_ctx_signal_set      SIGNAL_WORD
#define CHECK_shmem_signal_fetch        SIGNAL_WORD
#define CHECK_shmem_signal_wait_until   SIGNAL_WORD
#define CHECK_shmem_barrier_all         NOTHING
#define CHECK_shmem_sync_all            NOTHING
#define CHECK_shmem_team_sync           NOTHING
#define CHECK_shmem_sync                call.sync(pSync)
#define CHECK_shmem_barrier             call.sync(pSync)
#define CHECK_shmem_wait_until          call.symmetric("ivar", ivar, 1, sizeof *ivar)
#define CHECK_shmem_wait                call.symmetric("ivar", ivar, 1, sizeof *ivar)
#define CHECK_shmem_set_lock            LOCK
#define CHECK_shmem_test_lock           LOCK
#define CHECK_shmem_clear_lock          LOCK

// ---- Extensions but the key/value store
#define CHECK_shmemx_stats_read         RESULT(stats)
#define CHECK_shmemx_stats_reset        NOTHING
#define CHECK_shmemx_stats_print        NOTHING
#define CHECK_shmemx_network            NOTHING
#define RANGE call.may_be_null("ptr", ptr, 1, bytes)
#define COPIED call.local("dest", dest, 1, bytes); call.local("source", source, 1, bytes)
#define CHECK_shmemx_nvm_open           NOTHING
#define CHECK_shmemx_nvm_persist        call.block("object", object)
#define CHECK_shmemx_nvm_pin            RANGE
#define CHECK_shmemx_nvm_unpin          RANGE
#define CHECK_shmemx_nvm_advise         RANGE
#define CHECK_shmemx_remote_alloc       NOTHING
#define CHECK_shmemx_remote_free        NOTHING
#define CHECK_shmemx_remote_size        NOTHING
#define CHECK_shmemx_remote_take_over   NOTHING
#define CHECK_shmemx_remote_get         COPIED
#define CHECK_shmemx_remote_put         COPIED
#define CHECK_shmemx_overwrite          RANGE
#define CHECK_shmemx_pin                RANGE
#define CHECK_shmemx_unpin              RANGE

// ---- The key/value store
#define KEY call.key(key, key_bytes)
#define VALUE call.local("val", val, 1, value_bytes)
#define ROOM call.local("val", val, 1, room); RESULT(value_bytes)
#define OLD_ROOM call.local("old", old, 1, room); RESULT(old_bytes)
#define OPERAND call.local("operand", operand, 1, checks::bytes_of_type(type)); call.may_be_null("old", old, 1, checks::bytes_of_type(type))
#define STATUS RESULT(status)
#define LATER STATUS; RESULT(request)
#define CHECK_shmemx_kv_create          call.local("options", options, 1, sizeof *options); RESULT(kv)
#define CHECK_shmemx_kv_team_create     CHECK_shmemx_kv_create
#define CHECK_shmemx_kv_destroy         NOTHING
#define CHECK_shmemx_kv_leave           NOTHING
#define CHECK_shmemx_kv_resize          NOTHING
#define CHECK_shmemx_kv_persist         NOTHING
#define CHECK_shmemx_kv_put             KEY; VALUE
#define CHECK_shmemx_kv_insert          KEY; VALUE
#define CHECK_shmemx_kv_update          KEY; VALUE
#define CHECK_shmemx_kv_get             KEY; ROOM
#define CHECK_shmemx_kv_get_wait        KEY; ROOM
#define CHECK_shmemx_kv_contains        KEY
#define CHECK_shmemx_kv_remove          KEY
#define CHECK_shmemx_kv_accumulate      KEY; OPERAND
#define CHECK_shmemx_kv_upsert          KEY; OPERAND
#define CHECK_shmemx_kv_compare_swap    KEY; call.local("expected", expected, 1, n); call.local("desired", desired, 1, n); call.may_be_null("old", old, 1, n)
#define CHECK_shmemx_kv_put_nbi         KEY; VALUE; STATUS
#define CHECK_shmemx_kv_insert_nbi      KEY; VALUE; STATUS
#define CHECK_shmemx_kv_update_nbi      KEY; VALUE; STATUS
#define CHECK_shmemx_kv_get_nbi         KEY; ROOM; STATUS
#define CHECK_shmemx_kv_remove_nbi      KEY; STATUS
#define CHECK_shmemx_kv_accumulate_nbi  KEY; OPERAND; STATUS
#define CHECK_shmemx_kv_upsert_nbi      KEY; OPERAND; STATUS
#define CHECK_shmemx_kv_test            NOTHING
#define CHECK_shmemx_kv_quiet           NOTHING
#define CHECK_shmemx_kv_fence           NOTHING
#define CHECK_shmemx_kv_pe              KEY
#define CHECK_shmemx_kv_count           NOTHING
#define CHECK_shmemx_kv_count_local     NOTHING
#define CHECK_shmemx_kv_next_local      RESULT(cursor); call.local("key", key, 1, key_room); RESULT(key_bytes); call.may_be_null("val", val, 1, value_room); RESULT(value_bytes)
#define CHECK_shmemx_kv_stats           RESULT(stats)
#define KEYS call.keys(keys, count, key_bytes)
#define VALUES call.local("values", values, count, value_bytes)
#define STATUSES call.may_be_null("status", status, count, sizeof *status)
#define OPERANDS call.local("operands", operands, count, checks::bytes_of_type(type)); call.may_be_null("olds", olds, count, checks::bytes_of_type(type))
#define SWAPS call.local("expected", expected, count, n); call.local("desired", desired, count, n); call.may_be_null("olds", olds, count, n)
#define ROOMS call.local("values", values, count, room); call.may_be_null("value_bytes", value_bytes, count, sizeof *value_bytes)
#define MANY_LATER STATUSES; RESULT(request)
#define CHECK_shmemx_kv_put_batch       KEYS; VALUES; STATUSES
#define CHECK_shmemx_kv_insert_batch    KEYS; VALUES; STATUSES
#define CHECK_shmemx_kv_update_batch    KEYS; VALUES; STATUSES
#define CHECK_shmemx_kv_get_batch       KEYS; ROOMS; STATUSES
#define CHECK_shmemx_kv_contains_batch  KEYS; STATUSES
#define CHECK_shmemx_kv_remove_batch    KEYS; STATUSES
#define CHECK_shmemx_kv_upsert_batch    KEYS; OPERANDS; STATUSES
#define CHECK_shmemx_kv_accumulate_batch       KEYS; OPERANDS; STATUSES
#define CHECK_shmemx_kv_compare_swap_batch     KEYS; SWAPS; STATUSES
#define CHECK_shmemx_kv_put_batch_nbi          KEYS; VALUES; MANY_LATER
#define CHECK_shmemx_kv_insert_batch_nbi       KEYS; VALUES; MANY_LATER
#define CHECK_shmemx_kv_update_batch_nbi       KEYS; VALUES; MANY_LATER
#define CHECK_shmemx_kv_get_batch_nbi          KEYS; ROOMS; MANY_LATER
#define CHECK_shmemx_kv_contains_batch_nbi     KEYS; MANY_LATER
#define CHECK_shmemx_kv_remove_batch_nbi       KEYS; MANY_LATER
#define CHECK_shmemx_kv_upsert_batch_nbi       KEYS; OPERANDS; MANY_LATER
#define CHECK_shmemx_kv_accumulate_batch_nbi   KEYS; OPERANDS; MANY_LATER
#define CHECK_shmemx_kv_compare_swap_batch_nbi KEYS; SWAPS; MANY_LATER
#define CHECK_shmemx_kv_insert_or_update       KEY; VALUE
#define CHECK_shmemx_kv_get_or_insert   KEY; VALUE; OLD_ROOM
#define CHECK_shmemx_kv_exchange        KEY; VALUE; OLD_ROOM
#define CHECK_shmemx_kv_take            KEY; ROOM
#define CHECK_shmemx_kv_register        NOTHING
#define CHECK_shmemx_kv_apply           KEY; call.local("operand", operand, 1, operand_bytes); OLD_ROOM
#define CHECK_shmemx_kv_remove_if       NOTHING
#define CHECK_shmemx_kv_clear           NOTHING
#define CHECK_shmemx_kv_put_nbr         KEY; VALUE; LATER
#define CHECK_shmemx_kv_insert_nbr      KEY; VALUE; LATER
#define CHECK_shmemx_kv_update_nbr      KEY; VALUE; LATER
#define CHECK_shmemx_kv_get_nbr         KEY; ROOM; LATER
#define CHECK_shmemx_kv_remove_nbr      KEY; LATER
#define CHECK_shmemx_kv_accumulate_nbr  KEY; OPERAND; LATER
#define CHECK_shmemx_kv_upsert_nbr      KEY; OPERAND; LATER
#define CHECK_shmemx_kv_batch           call.batch(calls, count)
#define CHECK_shmemx_kv_batch_nbi       call.batch(calls, count); RESULT(request)
#define CHECK_shmemx_kv_request_test    RESULT(request)
#define CHECK_shmemx_kv_request_wait    RESULT(request)
#define CHECK_shmemx_kv_request_wait_any call.may_be_null("requests", requests, count, sizeof *requests)
#define CHECK_shmemx_kv_scan            RESULT(cursor); call.local("keys", keys, most, key_room); call.may_be_null("key_bytes", key_bytes, most, sizeof *key_bytes); \
  call.may_be_null("values", values, most, value_room); call.may_be_null("value_bytes", value_bytes, most, sizeof *value_bytes); RESULT(count)
#define CHECK_shmemx_kv_export          NOTHING
#define CHECK_shmemx_kv_import          NOTHING
#define CHECK_shmemx_kv_report          call.may_be_null("report", report, 1, report_bytes)
#define CHECK_shmemx_kv_watch           NOTHING
#define CHECK_shmemx_kv_hot_keys        call.local("keys", keys, most, key_room); call.may_be_null("key_bytes", key_bytes, most, sizeof *key_bytes); call.may_be_null("counts", counts, most, sizeof *counts)
// clang-format on
