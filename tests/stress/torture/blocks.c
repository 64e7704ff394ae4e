/* SPDX-License-Identifier: BSD-3-Clause */
/* Symmetric blocks that come and go, named objects among them, with a model of what they hold.
 *
 * A block has an area for each PE, which that PE alone writes, at all PEs; it keeps a copy of its area at
 * each PE.  The areas touch each other within a line and within a page.  Operations of all shapes on them are
 * under way at a time; what may not meet (two puts without a fence, a put and a get without quiet) does not.
 */
#include <shmemx.h>

#include "torture.h"

enum { kBlocks = 6, kSignals = 8, kSignalBytes = kSignals * 8, kMostUnderWay = 48, kRoom = 1 << 18 };

typedef enum { kNone, kMalloc, kCalloc, kAligned, kHinted, kObject } Kind;

typedef struct {
  Kind kind;
  int lane;          /* in this round */
  size_t area, tail; /* bytes of an area, a multiple of 8; bytes behind all of them, which nobody uses */
  unsigned char* base;
  unsigned char* known[kMostPes]; /* my area at each PE.  The first words of it are signals */
  unsigned char*
      durable[kMostPes]; /* of an object, as the last persist of this job left it; NULL: there was none */
} Block;

static Block blocks[kBlocks];
static int found_again; /* objects that were opened with what an earlier persist had left */

/* ---- What is under way ------------------------------------------------------------------------------------
 */

/* Elements: `count` blocks of `length` elements of `width` bytes, `far` elements apart in the area, and
 * `near` in local memory. */
typedef struct {
  size_t width, length, count, far, near;
} Shape;

static size_t extent(Shape shape, size_t stride) {
  return shape.width * ((shape.count - 1) * stride + shape.length);
}

typedef struct {
  int member, is_get, ordered; /* ordered: a put that a fence has followed */
  size_t at;                   /* in the area */
  Shape shape;
  const unsigned char* local;
} Access;

typedef struct {
  const Block* block;
  const Team* team;
  Stream stream;
  Random* own;
  Access list[kMostUnderWay];
  int n;
  unsigned char room[kRoom]; /* local memory of what is under way */
  size_t used;
} UnderWay;

static unsigned char* my_area(const Block* block) {
  return block->base + (size_t)shmem_my_pe() * block->area;
}

static void check_got(const UnderWay* all, const Access* access) {
  const int pe = all->team->pes[access->member];
  const Shape s = access->shape;
  for (size_t i = 0; i < s.count; ++i)
    CHECK_BYTES(access->local + i * s.near * s.width,
                all->block->known[pe] + access->at + i * s.far * s.width, s.length * s.width);
}

/* Completes what goes to `member`, or to all: -1. */
static void complete(UnderWay* all, int member) {
  if (member < 0) {
    shmem_ctx_quiet(all->stream.handle);
  } else {
    const int number = number_in(all->stream, all->team, member);
    shmem_ctx_pe_quiet(all->stream.handle, &number, 1);
  }
  int left = 0;
  for (int i = 0; i < all->n; ++i) {
    if (member >= 0 && all->list[i].member != member)
      all->list[left++] = all->list[i];
    else if (all->list[i].is_get)
      check_got(all, &all->list[i]);
  }
  all->n = left;
  if (left == 0) all->used = 0;
}

static void order(UnderWay* all) {
  shmem_ctx_fence(all->stream.handle);
  for (int i = 0; i < all->n; ++i) all->list[i].ordered = 1;
}

/* Room for a new access, with whatever it may not meet completed or ordered. */
static void make_way(UnderWay* all, int member, int is_get, size_t at, size_t bytes) {
  for (int i = 0; i < all->n; ++i) {
    const Access* a = &all->list[i];
    if (a->member != member || (a->is_get && is_get)) continue;
    if (a->at + extent(a->shape, a->shape.far) <= at || at + bytes <= a->at) continue;
    if (!a->is_get && !is_get && a->ordered) continue;
    const size_t how = random_below(all->own, !a->is_get && !is_get ? 3 : 2);
    if (how == 2)
      order(all);
    else
      complete(all, how == 0 ? member : -1);
    i = -1; /* the list has changed */
  }
  if (all->n > kMostUnderWay - 2) complete(all, -1); /* a put with a signal is two */
}

static unsigned char* take_room(UnderWay* all, size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  if (all->used + bytes > kRoom) complete(all, -1);
  all->used += bytes;
  return all->room + all->used - bytes;
}

static void add(UnderWay* all, int member, int is_get, size_t at, Shape shape, const unsigned char* local) {
  all->list[all->n++] = (Access){member, is_get, 0, at, shape, local};
}

/* ---- Operations -------------------------------------------------------------------------------------------
 */

typedef struct {
  size_t width;
  void (*put)(shmem_ctx_t, void*, const void*, size_t, int);
  void (*put_nbi)(shmem_ctx_t, void*, const void*, size_t, int);
  void (*get)(shmem_ctx_t, void*, const void*, size_t, int);
  void (*get_nbi)(shmem_ctx_t, void*, const void*, size_t, int);
  void (*iput)(shmem_ctx_t, void*, const void*, ptrdiff_t, ptrdiff_t, size_t, int);
  void (*iget)(shmem_ctx_t, void*, const void*, ptrdiff_t, ptrdiff_t, size_t, int);
  void (*ibput)(shmem_ctx_t, void*, const void*, ptrdiff_t, ptrdiff_t, size_t, size_t, int);
  void (*ibget)(shmem_ctx_t, void*, const void*, ptrdiff_t, ptrdiff_t, size_t, size_t, int);
  void (*put_signal)(shmem_ctx_t, void*, const void*, size_t, uint64_t*, uint64_t, int, int);
  void (*put_signal_nbi)(shmem_ctx_t, void*, const void*, size_t, uint64_t*, uint64_t, int, int);
} Width;

#define WIDTH(BITS)                                                                                   \
  {                                                                                                   \
    BITS / 8, shmem_ctx_put##BITS, shmem_ctx_put##BITS##_nbi, shmem_ctx_get##BITS,                    \
        shmem_ctx_get##BITS##_nbi, shmem_ctx_iput##BITS, shmem_ctx_iget##BITS, shmem_ctx_ibput##BITS, \
        shmem_ctx_ibget##BITS, shmem_ctx_put##BITS##_signal, shmem_ctx_put##BITS##_signal_nbi         \
  }
static const Width widths[] = {WIDTH(8), WIDTH(16), WIDTH(32), WIDTH(64), WIDTH(128)};

/* A shape that fits into `bytes`, without the `local` limit being passed. */
static Shape random_shape(Random* own, size_t width, size_t bytes) {
  Shape shape = {width, 1, 1, 1, 1};
  const size_t most = bytes / width;
  const size_t wish = 1 + random_below(own, random_below(own, 3) ? 8 : most);
  if (random_below(own, 2)) { /* one piece */
    shape.length = wish < most ? wish : most;
    return shape;
  }
  shape.length = random_below(own, 2) ? 1 : 1 + random_below(own, most < 6 ? most : 6);
  shape.far = shape.length + random_below(own, 4);
  shape.near = shape.length + random_below(own, 4);
  const size_t fit = (most - shape.length) / shape.far + 1, near_fit = kRoom / 2 / width / shape.near;
  shape.count = wish < fit ? wish : fit;
  if (shape.count > near_fit) shape.count = near_fit;
  return shape;
}

/* A word of signals that nothing is under way to. */
static size_t free_signal(UnderWay* all, int member) {
  const size_t at = random_below(all->own, kSignals) * 8;
  make_way(all, member, 0, at, 8);
  return at;
}

static void put_with_signal(UnderWay* all, int member, const Width* width, size_t at, size_t elements,
                            const unsigned char* source, size_t signal) {
  const int pe = all->team->pes[member], number = number_in(all->stream, all->team, member);
  unsigned char* area = my_area(all->block);
  uint64_t* known = (uint64_t*)(all->block->known[pe] + signal);
  const uint64_t value = next_random(all->own);
  const int adds = random_below(all->own, 2) != 0;
  (random_below(all->own, 2) ? width->put_signal : width->put_signal_nbi)(
      all->stream.handle, area + at, source, elements, (uint64_t*)(area + signal), value,
      adds ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, number);
  *known = adds ? *known + value : value;
  add(all, member, 0, signal, (Shape){8, 1, 1, 1, 1}, NULL);
}

static void put(UnderWay* all, int member, const Width* width, size_t at, Shape shape) {
  const int pe = all->team->pes[member], number = number_in(all->stream, all->team, member);
  const shmem_ctx_t ctx = all->stream.handle;
  const int signalled = shape.count == 1 && random_below(all->own, 4) == 0;
  const size_t signal = signalled ? free_signal(all, member) : 0;
  make_way(all, member, 0, at, extent(shape, shape.far));
  unsigned char* source = take_room(all, extent(shape, shape.near));
  fill_random(all->own, source, extent(shape, shape.near));
  unsigned char *dest = my_area(all->block) + at, *known = all->block->known[pe] + at;
  const ptrdiff_t far = (ptrdiff_t)shape.far, near = (ptrdiff_t)shape.near;
  if (shape.count > 1 && shape.length > 1)
    width->ibput(ctx, dest, source, far, near, shape.length, shape.count, number);
  else if (shape.count > 1)
    width->iput(ctx, dest, source, far, near, shape.count, number);
  else if (signalled)
    put_with_signal(all, member, width, at, shape.length, source, signal);
  else if (random_below(all->own, 2))
    width->put(ctx, dest, source, shape.length, number);
  else
    width->put_nbi(ctx, dest, source, shape.length, number);
  for (size_t i = 0; i < shape.count; ++i)
    memcpy(known + i * shape.far * width->width, source + i * shape.near * width->width,
           shape.length * width->width);
  add(all, member, 0, at, shape, source);
}

static void get(UnderWay* all, int member, const Width* width, size_t at, Shape shape) {
  const int number = number_in(all->stream, all->team, member);
  const shmem_ctx_t ctx = all->stream.handle;
  make_way(all, member, 1, at, extent(shape, shape.far));
  unsigned char* dest = take_room(all, extent(shape, shape.near));
  const unsigned char* source = my_area(all->block) + at;
  const ptrdiff_t far = (ptrdiff_t)shape.far, near = (ptrdiff_t)shape.near;
  const Access access = {member, 1, 0, at, shape, dest};
  if (shape.count > 1 && shape.length > 1) {
    width->ibget(ctx, dest, source, near, far, shape.length, shape.count, number);
  } else if (shape.count > 1) {
    width->iget(ctx, dest, source, near, far, shape.count, number);
  } else if (random_below(all->own, 2)) {
    width->get(ctx, dest, source, shape.length, number);
  } else {
    width->get_nbi(ctx, dest, source, shape.length, number);
    all->list[all->n++] = access;
    return;
  }
  check_got(all, &access);
}

/* The owner's loads and stores, and those of neighbours whom shmem_ptr gives the address. */
static void touch(UnderWay* all, int member, size_t at, size_t bytes) {
  const int pe = all->team->pes[member], stores = random_below(all->own, 2) != 0;
  unsigned char *area = shmem_ptr(my_area(all->block), pe), *known = all->block->known[pe];
  if (area == NULL) return;
  complete(all, member); /* loads know no fence */
  if (stores) {
    fill_random(all->own, known + at, bytes);
    memcpy(area + at, known + at, bytes);
  } else {
    CHECK_BYTES(area + at, known + at, bytes);
  }
}

static const Block* choose_block(Lane* lane) {
  const Block* mine[kBlocks];
  size_t n = 0;
  for (int i = 0; i < kBlocks; ++i)
    if (blocks[i].kind != kNone && blocks[i].lane == lane->number) mine[n++] = &blocks[i];
  return n == 0 ? NULL : mine[random_below(&lane->own, n)];
}

void use_blocks(Lane* lane, const Team* team, Random* dice, uint64_t seed) {
  (void)dice, (void)seed;
  static _Thread_local UnderWay all;
  Random* own = &lane->own;
  const Block* block = choose_block(lane);
  if (block == NULL) return;
  all.block = block, all.team = team, all.own = own, all.n = 0, all.used = 0;
  all.stream = open_stream(team, own);
  for (int i = 0; i < 40; ++i) {
    const int member = (int)random_below(own, (size_t)team->n);
    const Width* width = &widths[random_below(own, 5)];
    const size_t elements = (block->area - kSignalBytes) / width->width;
    const size_t at = kSignalBytes + random_below(own, elements) * width->width;
    const Shape shape = random_shape(own, width->width, block->area - at);
    switch (random_below(own, 8)) {
      case 0:
      case 1:
      case 2: put(&all, member, width, at, shape); break;
      case 3:
      case 4:
      case 5: get(&all, member, width, at, shape); break;
      case 6: touch(&all, member, at, extent(shape, shape.far)); break;
      default:
        if (random_below(own, 2))
          complete(&all, random_below(own, 2) ? member : -1);
        else
          order(&all);
    }
  }
  complete(&all, -1);
  close_stream(all.stream, own);
}

/* ---- Between rounds ---------------------------------------------------------------------------------------
 */

static uint64_t hash_of(const unsigned char* bytes, size_t n) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < n; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

/* Twice: each writer gets its areas, and each owner loads what is in all areas of its own block. */
void verify_blocks(void) {
  static uint64_t hashes[kBlocks][kMostPes];
  const int me = shmem_my_pe(), n = shmem_n_pes();
  for (int b = 0; b < kBlocks; ++b) {
    const Block* block = &blocks[b];
    if (block->kind == kNone) continue;
    check_context("block %d of kind %d, areas of %zu bytes", b, (int)block->kind, block->area);
    unsigned char* got = malloc(block->area);
    for (int k = 0; k < n; ++k) {
      const int pe = (me + k) % n;
      shmem_getmem(got, my_area(block), block->area, pe);
      CHECK_BYTES(got, block->known[pe], block->area);
      shmem_uint64_p(&hashes[b][me], hash_of(block->known[pe], block->area), pe);
    }
    free(got);
  }
  shmem_barrier_all();
  for (int b = 0; b < kBlocks; ++b)
    for (int writer = 0; blocks[b].kind != kNone && writer < n; ++writer)
      CHECK_OF_PE(writer, hash_of(blocks[b].base + (size_t)writer * blocks[b].area, blocks[b].area),
                  hashes[b][writer]);
  shmem_barrier_all();
}

/* A heap on NVM, or a folder for objects beside one in memory. */
static int has_objects(void) {
  const char* heap = getenv("SHMEM_HEAP");
  return getenv("SHMEM_NVM_DIR") != NULL || (heap != NULL && strncmp(heap, "nvm:", 4) == 0);
}

static size_t bytes_of(const Block* block) { return (size_t)shmem_n_pes() * block->area + block->tail; }

/* With new contents, or those that it is known to have. */
static void adopt(Block* block, int has_contents) {
  const int n = shmem_n_pes();
  CHECK(block->base != NULL);
  for (int pe = 0; pe < n; ++pe) {
    block->known[pe] = calloc(1, block->area);
    if (has_contents) {
      if (block->kind == kObject) memcpy(block->known[pe], block->durable[pe], block->area);
      continue;
    }
    Random random = {(uint64_t)(pe * kMostPes + shmem_my_pe())};
    fill_random(&random, block->known[pe], block->area);
    shmem_putmem(my_area(block), block->known[pe], block->area, pe);
  }
  shmem_barrier_all();
}

/* An object's name says all that must be the same when it is opened again. */
static void open_object(Block* block) {
  char name[64];
  snprintf(name, sizeof name, "torture.%d.%d.%zu", (int)(block - blocks), shmem_n_pes(), block->area);
  block->kind = kObject, block->tail = 0;
  block->base = shmemx_nvm_open(name, bytes_of(block));
  found_again += block->durable[0] != NULL;
  adopt(block, block->durable[0] != NULL);
}

static void create(Block* block, Random* plan) {
  static const size_t areas[] = {kSignalBytes + 200, 4096 + 8, 40000, 65536};
  const size_t area = areas[random_below(plan, 4) * random_below(plan, 4) / 3];
  const Kind any = (Kind)(1 + random_below(plan, has_objects() ? 5 : 4));
  const Kind kind = has_objects() && block == &blocks[0] ? kObject : any;
  const long hint = random_below(plan, 2) ? SHMEM_MALLOC_SIGNAL_REMOTE : SHMEM_MALLOC_ATOMICS_REMOTE;
  if (block->durable[0] == NULL) block->area = area; /* else there is an object of this size */
  if (block->durable[0] != NULL && kind != kObject) return;
  if (kind == kObject) return open_object(block);
  block->kind = kind;
  block->tail = random_below(plan, 5000);
  const size_t bytes = bytes_of(block);
  block->base = kind == kMalloc    ? shmem_malloc(bytes)
                : kind == kCalloc  ? shmem_calloc(bytes, 1)
                : kind == kAligned ? shmem_align((size_t)1 << (3 + random_below(plan, 14)), bytes)
                                   : shmem_malloc_with_hints(bytes, hint);
  adopt(block, kind == kCalloc);
}

static void discard(Block* block) {
  if (block->kind == kNone) return;
  shmem_free(block->base);
  for (int pe = 0; pe < shmem_n_pes(); ++pe) free(block->known[pe]);
  block->kind = kNone;
}

static void resize(Block* block, Random* plan) {
  block->tail = random_below(plan, 200000);
  block->base = shmem_realloc(block->base, bytes_of(block));
  CHECK(block->base != NULL);
}

static void persist(Block* block) {
  shmemx_nvm_persist(block->base);
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    if (block->durable[pe] == NULL) block->durable[pe] = malloc(block->area);
    memcpy(block->durable[pe], block->known[pe], block->area);
  }
}

void change_blocks(Random* plan, int lanes) {
  for (int b = 0; b < kBlocks; ++b) {
    Block* block = &blocks[b];
    check_context("changing block %d", b);
    const size_t what = random_below(plan, 4);
    if (block->kind == kNone) {
      if (what != 0 || b == 0) create(block, plan);
    } else if (what == 0) {
      if (b == 0 && block->kind == kObject) persist(block); /* check_objects() counts on it, however short the run */
      discard(block);
    } else if (what == 1) {
      if (block->kind == kObject)
        persist(block);
      else
        resize(block, plan);
    }
    block->lane = (int)random_below(plan, (size_t)lanes);
  }
}

void close_blocks(void) {
  if (blocks[0].kind == kObject) persist(&blocks[0]);
  for (int b = 0; b < kBlocks; ++b) discard(&blocks[b]);
}

void check_objects(void) {
  if (has_objects()) CHECK_CMP(found_again, >, 0);
}
