/* SPDX-License-Identifier: BSD-3-Clause */
/* Every counter, once: X(NAME, HELP).  This table makes the members of shmemx_stats_t (shmemx.h), the library's
 * own counters (src/base/stats) and the columns that SHMEM_STATS prints.  To add a counter, add its row, at the end: programs that
 * are compiled find each counter where it was (docs/releasing.md).
 *
 * Counted are what goes between nodes, by the PE that does it: issued, sent and posted at the origin, executed at
 * the target; what becomes of the pages of the NVM heap, by the PE that caches them for its node, but what is read
 * from and written to files by the PE whose file it is; requests on elements of hash tables, at the target; and what
 * becomes of private memory on memory servers (remote.h), by the PE that has it.  Of what is called on the NVM heap
 * each page is a hit, a miss, or sent, counted by the PE that calls.
 *
 * A swap is a fault that brings a page of private remote memory, or begins it as zeros.  The times between the six
 * points of it that the paper on the DLM measures, A1 to A6, are sums: divide them by `swaps`. */
#ifndef SHMEMX_STATS_H
#define SHMEMX_STATS_H

/* clang-format off */

#define SHMEMX_STATS(X)                                                                                   \
  X(puts,             "puts issued")                                                                      \
  X(gets,             "gets issued")                                                                      \
  X(atomics,          "atomics issued")                                                                   \
  X(put_bytes,        "bytes of puts")                                                                    \
  X(get_bytes,        "bytes of gets")                                                                    \
  X(packets,          "packets of operations that this PE sent")                                          \
  X(packet_bytes,     "bytes of these packets, of which one has 16512 at most")                          \
  X(full_packets,     "of these packets, those that left because they were full")                         \
  X(wanted_packets,   "of these packets, those that left as a call, or the end of a session, wanted it")  \
  X(answered_packets, "of these packets, those that left as their node had answered what came before")    \
  X(old_packets,      "of these packets, those that left as they were 1 ms old; the others had nothing before them") \
  X(packed,           "of the operations issued, those that travelled in a packet, of this PE or of a peer") \
  X(packed_puts,      "puts among these; a strided one counts as one for each block")                     \
  X(packed_gets,      "gets among these, likewise")                                                       \
  X(combined,         "atomics that were added to one already in the packet")                             \
  X(shared,           "atomics of node peers, or of other threads, in packets beside one of this PE")     \
  X(executed,         "atomics that the software NIC executed here for PEs of other nodes")               \
  X(lines,            "cache lines that it took hold of for them: misses of its MSHR file")               \
  X(merged,           "atomics that found their line held: hits")                                         \
  X(updates,          "instructions on memory that they took; executed - updates are saved")              \
  X(stalls,           "times that the MSHR file, or an entry of it, was full")                            \
  X(written_messages, "messages written into the receiver's memory")                                      \
  X(refused_messages, "messages that no PE of the job can have sent, and that were dropped")              \
  X(refused_connections, "connections of strangers to this PE, closed before libfabric read a byte of them") \
  X(posts,            "posts to the wire: operations and messages, replies included")                     \
  X(page_faults,      "loads and stores of own pages of the NVM heap that were not mapped")               \
  X(page_fault_hits,  "of these faults, those on pages in this node's memory, which the thread mapped itself") \
  X(page_loads,       "pages of the NVM heap that were read into memory")                                 \
  X(page_ahead,       "of them and of those from other nodes, pages that were asked for before they were needed") \
  X(page_evictions,   "pages that had to make room for others")                                           \
  X(page_writes,      "pages that were written to their file: those that left, or were persisted, with changes") \
  X(page_hits,        "pages of calls on the NVM heap that were in this node's memory")                   \
  X(page_misses,      "pages of calls that had to be brought there")                                      \
  X(page_sent,        "pages of calls that stayed where they were: the operation was sent there")          \
  X(page_fetches,     "pages that came from the memory of a node that is not their home")                 \
  X(page_forwards,    "pages sent to other nodes out of this node's memory")                              \
  X(page_invalidations, "pages that were taken away because another node writes to them")                 \
  X(page_operations,  "puts, gets and atomics that were executed here for other nodes")        \
  X(page_packets,     "messages in which operations were sent to the homes of their pages, several in one")  \
  X(kv_requests,      "calls on tables that other nodes had to answer")                                   \
  X(kv_packets,       "packets in which they were sent; not those that the network matched")              \
  X(kv_read,          "gets of elements of other nodes that this PE read from their memory (SHMEM_KV_GET)") \
  X(kv_read_again,    "times that such a get found that what it read had changed meanwhile, and looked again") \
  X(kv_asked_changed, "gets that asked the element's PE, as its group was being changed each time")            \
  X(kv_asked_behind,  "gets that asked it, as it had not answered all that this PE had asked before")     \
  X(kv_asked_elsewhere, "gets that asked it, as what was read was not the element that its hash led to")  \
  X(kv_full,          "requests on tables, carried out by this PE, for which there was no memory (SHMEMX_KV_FULL)") \
  X(kv_put_off,       "packets of such requests of other nodes, or rests of them, that this PE put off for a lock") \
  X(kv_parked,        "gets of other nodes that waited at this PE for their element")                     \
  X(kv_matched,       "requests on elements of tables here that the network's matching found (SHMEM_KV_MATCH=entry)") \
  X(kv_unmatched,     "such requests that no entry of the list fitted")                                   \
  X(kv_added,         "requests that may add an element here, which took an entry of the pending list")   \
  X(remote_faults,    "loads and stores of private remote memory that were not permitted")                \
  X(remote_hits,      "of these faults, those on pages that were in local memory, or on their way there") \
  X(remote_kept,      "of these hits, those on pages that were to leave, and stayed without a transfer")    \
  X(remote_reads,     "pages, or parts of them, that were read from memory servers")                      \
  X(remote_read_bytes, "bytes of these")                                                                  \
  X(remote_writes,    "pages, or parts of them, that were written to memory servers")                     \
  X(remote_write_bytes, "bytes of these")                                                                 \
  X(remote_ahead,     "of the pages read, those that were read before they were needed")                  \
  X(remote_zeroed,    "pages that were nowhere, and began as zeros without a transfer")                   \
  X(remote_dropped,   "pages that had to leave and were as their server has them: they were not written") \
  X(remote_slot_waits, "reads that had to wait until others were done")                                   \
  X(swaps,            "faults that brought a page of private remote memory, or began it as zeros")        \
  X(swap_queued_ns,   "nanoseconds of them until they were taken on: A1 to A2")                           \
  X(swap_received_ns, "nanoseconds from there until the page was received: A2 to A3")                     \
  X(swap_kept_ns,     "nanoseconds from there until it was taken to be put in place: A3 to A4")           \
  X(swap_placed_ns,   "nanoseconds from there until it was in place: A4 to A5")                           \
  X(swap_ended_ns,    "nanoseconds from there until the thread went on: A5 to A6")                        \
  X(page_full_packets, "of page_packets, those that left because they were full")                         \
  X(page_wanted_packets, "of page_packets, those that left as a call wanted it")                          \
  X(page_answered_packets, "of page_packets, those that left as all that went to that home before was answered") \
  X(page_old_packets, "of page_packets, those that left as they got old; the others had nothing before them")

/* clang-format on */

#endif
