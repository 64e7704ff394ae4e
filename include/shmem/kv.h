/* SPDX-License-Identifier: BSD-3-Clause */
/* shmemx_kv: a hash table that all PEs share.  Part of shmemx.h; <shmemx_kv.hpp> has it typed, for C++.
 *
 * An element is a key and a value, both strings of bytes.  The key's hash says which PE has it.  All PEs, and all
 * threads that the thread level allows, may call everything here at any time, but for what is said to be collective;
 * the PE that has an element takes no part.
 *
 * What is atomic.  Each call on one key is: it takes effect at one instant between call and return, and those on one
 * key are seen in one order by all PEs (linearizable).  So what a PE has put, every get that starts afterwards finds,
 * on whichever PE: "afterwards" as PEs can know it, by a barrier, a signal, or a message of any kind.  Calls on
 * different keys have no order between them, except that each is over when it returns.
 *
 * Nonblocking calls (_nbi) return at once, but for values of more than 8 KiB that are stored on another node, and
 * batches (_batch) pack what goes to the same PE.  A nonblocking call is complete after shmemx_kv_quiet on its table,
 * shmem_quiet, or a barrier: until then nothing it was passed may be touched but the key and the value of a put, which
 * are copied.  It takes effect soon even if nobody asks for that.  Those to one PE take effect in the order of their
 * calls; shmemx_kv_fence makes what this thread has issued take effect before whatever it issues next, on all PEs.
 *
 * What calls return.  Wrong arguments end the job with a line that says what is allowed; what a program has to expect
 * is one of enum shmemx_kv_status. */
#ifndef SHMEMX_KV_H
#define SHMEMX_KV_H

#include <stddef.h>
#include <stdint.h>

/* clang-format off */

enum shmemx_kv_status {
  SHMEMX_KV_OK = 0,         /* done */
  SHMEMX_KV_NOT_FOUND = 1,  /* no element has this key */
  SHMEMX_KV_EXISTS = 2,     /* insert: one has it, and is as it was */
  SHMEMX_KV_FULL = 3,       /* no memory left on the PE of this key; nothing is changed */
  SHMEMX_KV_TOO_LARGE = 4,  /* the value has no room in what it was to go into; nothing is changed */
  SHMEMX_KV_MISMATCH = 5,   /* compare_swap: the bytes were others, and are as they were */
  SHMEMX_KV_COLLISION = 6,  /* another key has the same hash, and the table was told to report that */
  SHMEMX_KV_PENDING = 7,    /* nonblocking, and not complete yet */
  SHMEMX_KV_INSERTED = 8,   /* done, and the key was not there before: of calls that say so, where OK says it was */
  SHMEMX_KV_FILE = 9        /* export, import: not a file that is whole; a line has said why */
};

/* What an operand of accumulate is, and what is done with it: all that shmem_atomic_* does. */
enum shmemx_kv_type {
  SHMEMX_KV_INT32, SHMEMX_KV_INT64, SHMEMX_KV_UINT32, SHMEMX_KV_UINT64, SHMEMX_KV_FLOAT, SHMEMX_KV_DOUBLE
};
enum shmemx_kv_op {
  SHMEMX_KV_SET, SHMEMX_KV_ADD, SHMEMX_KV_MIN, SHMEMX_KV_MAX, SHMEMX_KV_AND, SHMEMX_KV_OR, SHMEMX_KV_XOR
};

/* A table: the same handle value means nothing on another PE, and a PE outside the table's team has none. */
typedef struct shmemx_kv_table* shmemx_kv_t;

/* Nonblocking calls of which something is under way; NULL: nothing is. */
typedef struct shmemx_kv_request* shmemx_kv_request_t;

/* One operation of a batch in which each has its own: what call it is, what that is passed, and what it gives. */
enum shmemx_kv_call {
  SHMEMX_KV_PUT, SHMEMX_KV_INSERT, SHMEMX_KV_UPDATE, SHMEMX_KV_GET, SHMEMX_KV_CONTAINS, SHMEMX_KV_REMOVE,
  SHMEMX_KV_ACCUMULATE, SHMEMX_KV_UPSERT, SHMEMX_KV_COMPARE_SWAP, SHMEMX_KV_INSERT_OR_UPDATE, SHMEMX_KV_GET_OR_INSERT,
  SHMEMX_KV_EXCHANGE, SHMEMX_KV_TAKE, SHMEMX_KV_APPLY
};
typedef struct {
  int call;                /* enum shmemx_kv_call; what it does not need of what follows is not looked at */
  int status;              /* is set to what the call would have returned */
  const void* key;
  size_t key_bytes;
  const void* val;         /* what is stored; the operand, whose length only apply looks at; of compare_swap what is desired */
  size_t value_bytes;      /* its length */
  void* old;               /* what get and take give, and what was there; for accumulate, upsert, compare_swap it may be NULL */
  size_t room;             /* for it: get, take, get_or_insert, exchange, apply */
  size_t old_bytes;        /* is set to its length where these give one */
  size_t offset;           /* accumulate, compare_swap */
  const void* expected;    /* compare_swap: as many bytes as val */
  int type, op;            /* accumulate, upsert */
  int function;            /* apply */
} shmemx_kv_call_t;

/* A change that a program defines: what it says is to become of the key, with `value`, which has room for as many bytes as
 * *value_bytes says, the table's longest, set where it says STORE.  `old` is NULL if the key is not there.  It is called
 * by any thread on the PE of the key, or of its node, and of a table on NVM on any PE, with the key's lock held: it is
 * short, looks at what it is passed only, and calls nothing of SHMEM.  For one call it may be called several times; what
 * it said last counts. */
enum shmemx_kv_verdict { SHMEMX_KV_KEEP, SHMEMX_KV_STORE, SHMEMX_KV_ERASE };
typedef int (*shmemx_kv_function_t)(const void* key, size_t key_bytes, const void* old, size_t old_bytes,
                                    const void* operand, size_t operand_bytes, void* val, size_t* value_bytes);
/* Whether it is to be done with the element. */
typedef int (*shmemx_kv_predicate_t)(const void* key, size_t key_bytes, const void* val, size_t value_bytes, void* context);

/* What shmemx_kv_create needs to know; all zeros but for the first three is fine. */
typedef struct {
  size_t key_bytes;    /* longest key, 1 to 65536 */
  size_t value_bytes;  /* longest value, up to 1 GiB; 0: keys only */
  uint64_t capacity;   /* a hint: so many elements of all PEs together find their place without the table growing.  It
                          grows by itself, in small steps, for as long as a PE's memory has room */
  uint64_t (*hash)(const void* key, size_t key_bytes); /* the same on all PEs; NULL: a good one.  It is called by the
                          threads that use the table and by the library's, on the key's PE as well, at the same time; it
                          looks at the key's bytes only and calls nothing of SHMEM */
  int report_collisions; /* keys with the same hash: 0: both are kept; 1: the second is refused (_COLLISION) */
  const char* name;    /* NULL: the table ends with the job.  Else it is a named object of the NVM heap, opened if it is
                          there (shmemx_nvm_open), and durable by shmemx_kv_persist */
  size_t memory_bytes; /* memory of each PE for its elements, which can never be more.  0: the library chooses: room for
                          `capacity` elements at their longest if there is so much, and in memory for many more, as far as
                          the heap has much to spare (docs/kv.md) */
} shmemx_kv_options_t;

/* The table as this PE has it, and what its threads have done. */
typedef struct {
  uint64_t elements;       /* that this PE has */
  uint64_t slots;          /* places for elements that it has now */
  uint64_t block_bytes;    /* memory that elements too long for their slot may take, if nothing else does */
  uint64_t block_bytes_used;
  uint64_t local_calls;    /* on keys whose elements this PE reached by itself; threads at once may lose some counts */
  uint64_t remote_calls;   /* on keys whose PE was asked; likewise */
  uint64_t packets;        /* messages in which these travelled */
  uint64_t longest_probe;  /* 1: some element was once not where its hash says, but in its other group of slots; else 0 */
} shmemx_kv_stats_t;

/* How the elements of this PE lie, and what has come in their way.  All members are numbers of 64 bits, so one sum
 * reduction over them tells it of the table.  There may be more of them one day, behind these. */
typedef struct {
  uint64_t elements, slots; /* as above; elements / slots is its load */
  uint64_t segments;        /* that this PE's part of the table consists of */
  uint64_t most_segments;   /* that its memory has room for, if nothing else takes that */
  uint64_t found_in[2];     /* elements for which a lookup looks at one group of slots, and at two */
  uint64_t absent_in[2];    /* likewise of the keys that are not there: of any 16, for each group, on average */
  uint64_t groups[15];      /* groups by how many of their slots are taken, 0 to 14 */
  uint64_t full;            /* how often FULL was returned for want of memory here; since the table was made or resized */
  uint64_t looks;           /* looks at a group that was being changed, by this PE's threads: they looked again */
  uint64_t waits;           /* times that these found another change of the same group of keys under way */
  uint64_t put_off;         /* packets of other PEs, or rests of them, that this PE had to put off for such a change */
  uint64_t parked;          /* get_wait of other nodes that have waited here for their element */
} shmemx_kv_report_t;

/* Collective over the world, or over the team that the table was made on, with the same arguments:
 *
 *   shmemx_kv_create    *kv gets a table of all PEs; its memory comes from the symmetric heap.  Returns SHMEMX_KV_OK, or
 *                       SHMEMX_KV_FULL on all PEs, with NULL in *kv, if there is not enough, or the named object cannot be
 *                       opened; a line on stderr says why.  A named table is opened with the options it was made with.
 *   shmemx_kv_team_create  the same over a team: the table is on its PEs, and only they use it, and take part in making it.
 *                       Below "all PEs" are those, and PEs have their numbers in the team: what shmemx_kv_pe returns, and
 *                       shmemx_kv_scan takes.  The memory is that of SHMEM_KV_TEAM_SIZE; `name` is NULL.  Tables of several
 *                       teams, whether these share PEs or not, are made and used at the same time.  Collective calls on the
 *                       table are none of the team: the team may be destroyed before it, and used by another thread
 *                       meanwhile.  SHMEMX_KV_FULL also if there are too many teams, as the table takes one
 *   shmemx_kv_destroy   ends it.  What is under way on any PE is completed.
 *   shmemx_kv_leave     not collective: this PE uses the table no more, other PEs may, and find its elements.  It completes
 *                       what is under way here; one of a team tells each member, and waits for their libraries' answers.
 *                       A table that all PEs have left ends in the next shmemx_kv_create or _resize, one of a team in the
 *                       next shmemx_kv_team_create of any team, which has its memory then; a table that some PEs still use
 *                       ends in shmem_finalize.  Once one PE has left it nobody may make a collective call on it any more:
 *                       the job would end
 *   shmemx_kv_resize    the table as if it had been created with this `capacity`, and, if memory_bytes was given, with as
 *                       much more memory as that needs; all elements stay.  No other call on the table meanwhile.  Needed
 *                       only where its memory does not suffice.  SHMEMX_KV_FULL: it is as it was.  Not for named tables:
 *                       elements of one can be put into a larger one of another name (shmemx_kv_next_local).
 *   shmemx_kv_persist   the elements of a named table are durable as they are; no other call on it meanwhile.
 *
 * On one key.  `key` has `key_bytes` bytes, `val` has `value_bytes`:
 *
 *   put            the key has this value, whatever it had           OK, FULL, COLLISION, TOO_LARGE
 *   insert         the key gets this value                           OK, EXISTS, FULL, COLLISION, TOO_LARGE
 *   update         the key has this value instead of the one it had  OK, NOT_FOUND, FULL, TOO_LARGE
 *   get            *val gets the value, of at most `room` bytes, and *value_bytes, unless NULL, its length
 *                                                                    OK, NOT_FOUND, TOO_LARGE (*value_bytes says how large)
 *   get_wait       the same, when the key is there: waits for it     OK, TOO_LARGE
 *   contains                                                         OK, NOT_FOUND
 *   remove                                                           OK, NOT_FOUND
 *   accumulate     word = word op operand, of the word at `offset` of the value; *old, unless NULL, gets what it was
 *                                                                    OK, NOT_FOUND, TOO_LARGE (beyond the value's end)
 *   upsert         the same at offset 0, and where the key is not there it gets the operand as value (*old: zero)
 *                                                                    OK, FULL, COLLISION, TOO_LARGE (as accumulate)
 *   compare_swap   if the `n` bytes at `offset` of the value are as `expected`, they become as `desired`; *old, unless
 *                  NULL, gets what they were                         OK, NOT_FOUND, MISMATCH, TOO_LARGE (as accumulate)
 *
 * Changes that say what was there before:
 *
 *   insert_or_update  as put                                         OK (it was there), INSERTED, FULL, COLLISION, TOO_LARGE
 *   get_or_insert  *old gets the value that is there; else the key gets `val`
 *                                                                    OK (*old has it), INSERTED, FULL, COLLISION, TOO_LARGE
 *   exchange       as put, and *old gets the value that was there    OK (*old has it), INSERTED, FULL, COLLISION, TOO_LARGE
 *   take           as get, and the element is removed                OK, NOT_FOUND, TOO_LARGE
 *   apply          a function of the program says what the key is to have, by what it has and an operand of at most 1024
 *                  bytes, or as many as the table's longest value; *old gets what was there, unless `room` is 0
 *                                                                    OK (it was there), INSERTED, NOT_FOUND (and is not now),
 *                                                                    FULL, COLLISION, TOO_LARGE
 *
 * shmemx_kv_register is collective over the world: all PEs register the same functions in the same order, and it returns
 * the number by which apply calls the function on any table, until shmem_finalize.
 *
 * `old` and take's `val` have `room` bytes, and *old_bytes, unless NULL, gets the length.  A value that is longer than
 * the room stays as it is: TOO_LARGE, and *old_bytes says how long.
 *
 * What get, get_wait, get_or_insert, exchange, take, apply and next_local give lies in the first bytes of the room; the others may be changed, too, and all
 * of them where OK is not returned.  Keys, operands and values may share memory with what a call gives,
 * but for value_bytes and status of batches.
 *
 * Nonblocking: *status, unless NULL, is SHMEMX_KV_PENDING, and what the call would have returned when it is complete.
 * `value_bytes` of get_nbi and `old` of accumulate_nbi and upsert_nbi are set then, too.  What get_nbi writes may share
 * no memory with anything that is under way, and *status lies in neither the key, the operand nor the value.  Another
 * thread may store the status, last of all and atomically: who looks at it before quiet, test or a barrier has said
 * that all is complete reads it as an acquiring atomic.
 *
 * Batches: `count` keys of key_bytes each, one after the other (so of one length: shorter ones are padded by the
 * program), and as many values of value_bytes each; operands and old values of upsert_batch likewise.  get_batch has
 * `room` for each value, and value_bytes[i], unless value_bytes is NULL, is what get gives for key i.  status[i],
 * unless status is NULL, is what the call for key i would have returned; returned is the first that is not
 * SHMEMX_KV_OK.  Keys of one batch are taken in any order; the same key in it twice is served twice.
 *
 * Of compare_swap_batch `expected`, `desired` and, unless NULL, `olds` have `n` bytes for each key.
 * shmemx_kv_batch carries out calls[0] to calls[count - 1], each as its own call would be, with keys and values of any
 * lengths; it returns the first status that is neither OK nor INSERTED, or OK.  What a call gives shares no memory with
 * anything else of the batch.
 *
 * Requests: _nbr is _nbi, and _batch_nbi a nonblocking batch, with *request set to what of it is under way, or NULL; the
 * calls of shmemx_kv_batch_nbi may not be touched until they are complete.  `request` may be NULL itself.  quiet, fence and
 * barriers complete all that, too; each request is passed to one of these, which end it and set it to NULL when it is
 * complete.  After shmem_finalize, which completes all of them, only _test and _wait take them:
 *
 *   request_test      starts and takes in what it can of *request; returns 1 if it is complete, or NULL, else 0
 *   request_wait      until *request is complete
 *   request_wait_any  until one of `count` requests is complete; returns its number, or `count` if all are NULL
 *
 *   quiet          completes what this PE has issued without waiting on the table
 *   test           starts and takes in what it can of that; returns 1 if all is complete, else 0
 *   fence          what it issues after is done after what it has issued before
 *
 * About the table:
 *
 *   pe             the PE that has, or would have, the key
 *   count          elements of all PEs: exact if nobody changes the table meanwhile
 *   count_local    elements of this PE
 *   next_local     the next element of this PE after *cursor, which is 0 at first: its key goes to `key` (room:
 *                  key_room), *key_bytes, unless NULL, gets its length; the value likewise, unless val is NULL.
 *                  Returns OK, NOT_FOUND after the last one, or TOO_LARGE, after which it would be the same one again.
 *                  While others change the table, elements that are there all the time come exactly once, others once or
 *                  not at all; a key that is removed and inserted again is another element, and may come twice.
 *   scan           the next elements of any PE, at most `most`, after *cursor, which is 0 at first: *count gets how many.
 *                  Key i goes to keys + i * key_room, and key_bytes[i] gets its length; values likewise, unless `values` is
 *                  NULL.  Several come in a message.  Returns OK with at least one, NOT_FOUND after the last, or TOO_LARGE,
 *                  where key_bytes[0] and value_bytes[0] say what the next one needs.  Beside changes: as next_local
 *   export         collective: PE 0 writes all elements to the file `path`, which is there when it is whole.  Changes
 *                  meanwhile may be in it or not.  Returns OK or FILE on all PEs; a line on stderr says why
 *   import         collective: puts the elements of such a file, which PE 0 reads, whatever job or table has written it.
 *                  Returns OK, FILE (cut short, changed, or none: nothing is put), or what a put has returned, on all PEs
 *   remove_if      removes those elements of this PE for which the predicate does not return 0, each as remove does;
 *                  returns how many.  It may be called more than once for an element, and what is said of apply's
 *                  functions holds; `context` lies in no memory on NVM.  On all PEs: those of the table
 *   clear          collective: removes all that was there before any PE called it
 *   stats          what the table is like on this PE; takes no time
 *   report         the same in full: looks at all of its groups.  `report_bytes` is sizeof(shmemx_kv_report_t).  While
 *                  others change the table the numbers may not fit each other
 *   watch          from now on this PE counts which keys are used most by calls that its threads carry out, on elements of
 *                  this node, and by those of other nodes that it serves: one of `one_of` calls, which are in no order
 *                  that a program may have; 0: no more.  Meanwhile calls on this node take the time of a longer way; who
 *                  does not watch pays nothing.  A get_wait on this node is a call for each time that it looks.  The tables on
 *                  all PEs are watched each by itself
 *   hot_keys       what watch has counted, the most frequent first: keys as in scan, of longer ones the first bytes that
 *                  have room, and about how many calls there were, in counts[i].  Returns how many keys, at most `most` and
 *                  64.  A key with less than one of 64 of the calls that were counted may be missing, or have counts of others */
#define SHMEMX_KV_ONE_ shmemx_kv_t kv, const void* key, size_t key_bytes
#define SHMEMX_KV_FUNCS_SINGLE(F) \
  F(int, shmemx_kv_create, (const shmemx_kv_options_t* options, shmemx_kv_t* kv), (options, kv)) \
  F(int, shmemx_kv_team_create, (shmem_team_t team, const shmemx_kv_options_t* options, shmemx_kv_t* kv), (team, options, kv)) \
  F(void, shmemx_kv_destroy, (shmemx_kv_t kv), (kv)) \
  F(void, shmemx_kv_leave, (shmemx_kv_t kv), (kv)) \
  F(int, shmemx_kv_resize, (shmemx_kv_t kv, uint64_t capacity), (kv, capacity)) \
  F(void, shmemx_kv_persist, (shmemx_kv_t kv), (kv)) \
  F(int, shmemx_kv_put, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes), (kv, key, key_bytes, val, value_bytes)) \
  F(int, shmemx_kv_insert, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes), (kv, key, key_bytes, val, value_bytes)) \
  F(int, shmemx_kv_update, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes), (kv, key, key_bytes, val, value_bytes)) \
  F(int, shmemx_kv_get, (SHMEMX_KV_ONE_, void* val, size_t room, size_t* value_bytes), (kv, key, key_bytes, val, room, value_bytes)) \
  F(int, shmemx_kv_get_wait, (SHMEMX_KV_ONE_, void* val, size_t room, size_t* value_bytes), (kv, key, key_bytes, val, room, value_bytes)) \
  F(int, shmemx_kv_contains, (SHMEMX_KV_ONE_), (kv, key, key_bytes)) \
  F(int, shmemx_kv_remove, (SHMEMX_KV_ONE_), (kv, key, key_bytes)) \
  F(int, shmemx_kv_accumulate, (SHMEMX_KV_ONE_, size_t offset, int type, int op, const void* operand, void* old), \
    (kv, key, key_bytes, offset, type, op, operand, old)) \
  F(int, shmemx_kv_upsert, (SHMEMX_KV_ONE_, int type, int op, const void* operand, void* old), \
    (kv, key, key_bytes, type, op, operand, old)) \
  F(int, shmemx_kv_compare_swap, (SHMEMX_KV_ONE_, size_t offset, size_t n, const void* expected, const void* desired, void* old), \
    (kv, key, key_bytes, offset, n, expected, desired, old)) \
  F(void, shmemx_kv_put_nbi, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes, int* status), (kv, key, key_bytes, val, value_bytes, status)) \
  F(void, shmemx_kv_insert_nbi, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes, int* status), (kv, key, key_bytes, val, value_bytes, status)) \
  F(void, shmemx_kv_update_nbi, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes, int* status), (kv, key, key_bytes, val, value_bytes, status)) \
  F(void, shmemx_kv_get_nbi, (SHMEMX_KV_ONE_, void* val, size_t room, size_t* value_bytes, int* status), \
    (kv, key, key_bytes, val, room, value_bytes, status)) \
  F(void, shmemx_kv_remove_nbi, (SHMEMX_KV_ONE_, int* status), (kv, key, key_bytes, status)) \
  F(void, shmemx_kv_accumulate_nbi, (SHMEMX_KV_ONE_, size_t offset, int type, int op, const void* operand, void* old, int* status), \
    (kv, key, key_bytes, offset, type, op, operand, old, status)) \
  F(void, shmemx_kv_upsert_nbi, (SHMEMX_KV_ONE_, int type, int op, const void* operand, void* old, int* status), \
    (kv, key, key_bytes, type, op, operand, old, status)) \
  F(int, shmemx_kv_test, (shmemx_kv_t kv), (kv)) \
  F(void, shmemx_kv_quiet, (shmemx_kv_t kv), (kv)) \
  F(void, shmemx_kv_fence, (shmemx_kv_t kv), (kv)) \
  F(int, shmemx_kv_pe, (SHMEMX_KV_ONE_), (kv, key, key_bytes)) \
  F(uint64_t, shmemx_kv_count, (shmemx_kv_t kv), (kv)) \
  F(uint64_t, shmemx_kv_count_local, (shmemx_kv_t kv), (kv)) \
  F(int, shmemx_kv_next_local, (shmemx_kv_t kv, uint64_t* cursor, void* key, size_t key_room, size_t* key_bytes, void* val, size_t value_room, size_t* value_bytes), \
    (kv, cursor, key, key_room, key_bytes, val, value_room, value_bytes)) \
  F(void, shmemx_kv_stats, (shmemx_kv_t kv, shmemx_kv_stats_t* stats), (kv, stats))

#define SHMEMX_KV_FUNCS_BATCH(F) \
  F(int, shmemx_kv_put_batch, (shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, const void* values, size_t value_bytes, int* status), \
    (kv, count, keys, key_bytes, values, value_bytes, status)) \
  F(int, shmemx_kv_insert_batch, (shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, const void* values, size_t value_bytes, int* status), \
    (kv, count, keys, key_bytes, values, value_bytes, status)) \
  F(int, shmemx_kv_update_batch, (shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, const void* values, size_t value_bytes, int* status), \
    (kv, count, keys, key_bytes, values, value_bytes, status)) \
  F(int, shmemx_kv_get_batch, (shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, void* values, size_t room, size_t* value_bytes, int* status), \
    (kv, count, keys, key_bytes, values, room, value_bytes, status)) \
  F(int, shmemx_kv_contains_batch, (shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int* status), \
    (kv, count, keys, key_bytes, status)) \
  F(int, shmemx_kv_remove_batch, (shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int* status), \
    (kv, count, keys, key_bytes, status)) \
  F(int, shmemx_kv_upsert_batch, (shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes, int type, int op, const void* operands, void* olds, int* status), \
    (kv, count, keys, key_bytes, type, op, operands, olds, status))

#define SHMEMX_KV_FUNCS_TELLING(F) \
  F(int, shmemx_kv_insert_or_update, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes), (kv, key, key_bytes, val, value_bytes)) \
  F(int, shmemx_kv_get_or_insert, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes, void* old, size_t room, size_t* old_bytes), \
    (kv, key, key_bytes, val, value_bytes, old, room, old_bytes)) \
  F(int, shmemx_kv_exchange, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes, void* old, size_t room, size_t* old_bytes), \
    (kv, key, key_bytes, val, value_bytes, old, room, old_bytes)) \
  F(int, shmemx_kv_take, (SHMEMX_KV_ONE_, void* val, size_t room, size_t* value_bytes), (kv, key, key_bytes, val, room, value_bytes)) \
  F(int, shmemx_kv_register, (shmemx_kv_function_t function), (function)) \
  F(int, shmemx_kv_apply, (SHMEMX_KV_ONE_, int function, const void* operand, size_t operand_bytes, void* old, size_t room, size_t* old_bytes), \
    (kv, key, key_bytes, function, operand, operand_bytes, old, room, old_bytes)) \
  F(uint64_t, shmemx_kv_remove_if, (shmemx_kv_t kv, shmemx_kv_predicate_t predicate, void* context), (kv, predicate, context)) \
  F(void, shmemx_kv_clear, (shmemx_kv_t kv), (kv))

#define SHMEMX_KV_FUNCS_SCAN(F) \
  F(int, shmemx_kv_scan, (shmemx_kv_t kv, int pe, uint64_t* cursor, size_t most, void* keys, size_t key_room, size_t* key_bytes, void* values, size_t value_room, size_t* value_bytes, size_t* count), \
    (kv, pe, cursor, most, keys, key_room, key_bytes, values, value_room, value_bytes, count)) \
  F(int, shmemx_kv_export, (shmemx_kv_t kv, const char* path), (kv, path)) \
  F(int, shmemx_kv_import, (shmemx_kv_t kv, const char* path), (kv, path)) \
  F(void, shmemx_kv_report, (shmemx_kv_t kv, shmemx_kv_report_t* report, size_t report_bytes), (kv, report, report_bytes)) \
  F(void, shmemx_kv_watch, (shmemx_kv_t kv, uint32_t one_of), (kv, one_of)) \
  F(size_t, shmemx_kv_hot_keys, (shmemx_kv_t kv, size_t most, void* keys, size_t key_room, size_t* key_bytes, uint64_t* counts), \
    (kv, most, keys, key_room, key_bytes, counts))

#define SHMEMX_KV_LATER_ int* status, shmemx_kv_request_t* request
#define SHMEMX_KV_MANY_ shmemx_kv_t kv, size_t count, const void* keys, size_t key_bytes
#define SHMEMX_KV_FUNCS_REQUEST(F) \
  F(void, shmemx_kv_put_nbr, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes, SHMEMX_KV_LATER_), \
    (kv, key, key_bytes, val, value_bytes, status, request)) \
  F(void, shmemx_kv_insert_nbr, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes, SHMEMX_KV_LATER_), \
    (kv, key, key_bytes, val, value_bytes, status, request)) \
  F(void, shmemx_kv_update_nbr, (SHMEMX_KV_ONE_, const void* val, size_t value_bytes, SHMEMX_KV_LATER_), \
    (kv, key, key_bytes, val, value_bytes, status, request)) \
  F(void, shmemx_kv_get_nbr, (SHMEMX_KV_ONE_, void* val, size_t room, size_t* value_bytes, SHMEMX_KV_LATER_), \
    (kv, key, key_bytes, val, room, value_bytes, status, request)) \
  F(void, shmemx_kv_remove_nbr, (SHMEMX_KV_ONE_, SHMEMX_KV_LATER_), (kv, key, key_bytes, status, request)) \
  F(void, shmemx_kv_accumulate_nbr, (SHMEMX_KV_ONE_, size_t offset, int type, int op, const void* operand, void* old, SHMEMX_KV_LATER_), \
    (kv, key, key_bytes, offset, type, op, operand, old, status, request)) \
  F(void, shmemx_kv_upsert_nbr, (SHMEMX_KV_ONE_, int type, int op, const void* operand, void* old, SHMEMX_KV_LATER_), \
    (kv, key, key_bytes, type, op, operand, old, status, request)) \
  F(int, shmemx_kv_batch, (shmemx_kv_t kv, size_t count, shmemx_kv_call_t* calls), (kv, count, calls)) \
  F(void, shmemx_kv_batch_nbi, (shmemx_kv_t kv, size_t count, shmemx_kv_call_t* calls, shmemx_kv_request_t* request), \
    (kv, count, calls, request)) \
  F(int, shmemx_kv_request_test, (shmemx_kv_request_t* request), (request)) \
  F(void, shmemx_kv_request_wait, (shmemx_kv_request_t* request), (request)) \
  F(size_t, shmemx_kv_request_wait_any, (size_t count, shmemx_kv_request_t* requests), (count, requests))

#define SHMEMX_KV_FUNCS_BATCH_LATER(F) \
  F(void, shmemx_kv_put_batch_nbi, (SHMEMX_KV_MANY_, const void* values, size_t value_bytes, SHMEMX_KV_LATER_), \
    (kv, count, keys, key_bytes, values, value_bytes, status, request)) \
  F(void, shmemx_kv_insert_batch_nbi, (SHMEMX_KV_MANY_, const void* values, size_t value_bytes, SHMEMX_KV_LATER_), \
    (kv, count, keys, key_bytes, values, value_bytes, status, request)) \
  F(void, shmemx_kv_update_batch_nbi, (SHMEMX_KV_MANY_, const void* values, size_t value_bytes, SHMEMX_KV_LATER_), \
    (kv, count, keys, key_bytes, values, value_bytes, status, request)) \
  F(void, shmemx_kv_get_batch_nbi, (SHMEMX_KV_MANY_, void* values, size_t room, size_t* value_bytes, SHMEMX_KV_LATER_), \
    (kv, count, keys, key_bytes, values, room, value_bytes, status, request)) \
  F(void, shmemx_kv_contains_batch_nbi, (SHMEMX_KV_MANY_, SHMEMX_KV_LATER_), (kv, count, keys, key_bytes, status, request)) \
  F(void, shmemx_kv_remove_batch_nbi, (SHMEMX_KV_MANY_, SHMEMX_KV_LATER_), (kv, count, keys, key_bytes, status, request)) \
  F(int, shmemx_kv_accumulate_batch, (SHMEMX_KV_MANY_, size_t offset, int type, int op, const void* operands, void* olds, int* status), \
    (kv, count, keys, key_bytes, offset, type, op, operands, olds, status)) \
  F(void, shmemx_kv_accumulate_batch_nbi, (SHMEMX_KV_MANY_, size_t offset, int type, int op, const void* operands, void* olds, SHMEMX_KV_LATER_), \
    (kv, count, keys, key_bytes, offset, type, op, operands, olds, status, request)) \
  F(void, shmemx_kv_upsert_batch_nbi, (SHMEMX_KV_MANY_, int type, int op, const void* operands, void* olds, SHMEMX_KV_LATER_), \
    (kv, count, keys, key_bytes, type, op, operands, olds, status, request)) \
  F(int, shmemx_kv_compare_swap_batch, (SHMEMX_KV_MANY_, size_t offset, size_t n, const void* expected, const void* desired, void* olds, int* status), \
    (kv, count, keys, key_bytes, offset, n, expected, desired, olds, status)) \
  F(void, shmemx_kv_compare_swap_batch_nbi, (SHMEMX_KV_MANY_, size_t offset, size_t n, const void* expected, const void* desired, void* olds, SHMEMX_KV_LATER_), \
    (kv, count, keys, key_bytes, offset, n, expected, desired, olds, status, request))

#define SHMEMX_KV_FUNCS(F) SHMEMX_KV_FUNCS_SINGLE(F) SHMEMX_KV_FUNCS_BATCH(F) SHMEMX_KV_FUNCS_TELLING(F) \
  SHMEMX_KV_FUNCS_REQUEST(F) SHMEMX_KV_FUNCS_BATCH_LATER(F) SHMEMX_KV_FUNCS_SCAN(F)

/* clang-format on */

#endif
