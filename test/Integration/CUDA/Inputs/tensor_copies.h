/* Copies of boxes of tensors to shared memory (TMA), whose bytes an mbarrier counts. They are done
 * when no thread can go on without them, as late as a GPU may; the destination is taken when they
 * start, as early as it may. */

#include "tensor_map.h"

enum { most_tensor_copies = 4096 };

typedef struct {
  tensor_map map;
  int32_t at[most_map_dims];
  uint64_t to;
  unsigned bytes;
  int line;
  mbarrier *barrier;
} tensor_copy;

static tensor_copy tensor_copies[most_tensor_copies];
static unsigned first_tensor_copy, tensor_copy_count;

static void begin_tensor_copies(void) { first_tensor_copy = tensor_copy_count = 0; }

static unsigned count_bytes(const tensor_map *map) {
  unsigned bytes = map->element_bytes;
  for (unsigned i = 0; i < map->rank; ++i)
    bytes *= map->box[i];
  return bytes;
}

/* The words of the destination are this thread's to overwrite. */
static void take(int line, uint64_t to, unsigned bytes) {
  for (uint64_t place = to; place < to + bytes; place += 4) {
    word_write last = last_writes[place / 4];
    shared_memory(line, place, 4, 1);
    if (last.thread && last.fences == proxy_fences[last.thread - 1])
      fail(line, "write of shared memory that no fence.proxy.async follows", place);
    is_copied_to[place / 4] = 1;
  }
  memset((char *)shared + to, 0xff, bytes);
}

static void check_copy(int line, const tensor_map *map, unsigned rank, uint64_t to) {
  if (map->magic != tensor_map_magic)
    fail(line, "address that is not that of a tensor map", 0);
  if (map->rank != rank)
    fail(line, "tensor map of another number of dimensions", map->rank);
  if (to % 128 != 0)
    fail(line, "unaligned access of shared memory", to);
  check_shared(line, to, count_bytes(map));
}

static void start_tensor_copy(int line, uint64_t to, uint64_t map, unsigned rank, const int32_t *at,
                              uint64_t address) {
  if (tensor_copy_count == most_tensor_copies)
    fail(line, "more copies at once than the machine holds", to);
  mbarrier *b = find_mbarrier(line, address);
  if (b->fences == count_fences(b->initializer))
    fail(line, "mbarrier that no fence.mbarrier_init follows", address);
  tensor_copy *c = &tensor_copies[(first_tensor_copy + tensor_copy_count++) % most_tensor_copies];
  *c = (tensor_copy){.to = to, .line = line, .barrier = b};
  memcpy(&c->map, (const void *)(uintptr_t)map, sizeof c->map);
  memcpy(c->at, at, rank * sizeof *at);
  check_copy(line, &c->map, rank, to);
  c->bytes = count_bytes(&c->map);
  b->under_way += c->bytes;
  take(line, to, c->bytes);
  if (!b->pending)
    end_phase_if_complete(line, b);
}

/* The address of an element of the box, by its number; 0 outside of the tensor. */
static uint64_t address_in(const tensor_copy *c, unsigned number) {
  uint64_t address = c->map.base;
  for (unsigned i = 0; i < c->map.rank; ++i) {
    int64_t index = c->at[i] + (int64_t)(number % c->map.box[i]);
    number /= c->map.box[i];
    if (index < 0 || index >= c->map.sizes[i])
      return 0;
    address += (uint64_t)index * (i ? c->map.strides[i - 1] : c->map.element_bytes);
  }
  return address;
}

/* Chunks of 16 bytes are swizzled within 8 rows of 128 bytes. */
static void finish_tensor_copy(const tensor_copy *c) {
  unsigned actor = most_threads + (unsigned)(c->barrier - mbarriers);
  for (unsigned i = 0; i < c->bytes / c->map.element_bytes; ++i) {
    uint64_t place = c->to + (uint64_t)i * c->map.element_bytes;
    place ^= (place >> 7 & 7) << 4;
    uint64_t from = address_in(c, i);
    char *to = (char *)shared + place;
    memset(to, 0, c->map.element_bytes);
    if (from)
      memcpy(to, global_memory(c->line, from, c->map.element_bytes), c->map.element_bytes);
    is_copied_to[place / 4] = 0;
    note_write(touch_of(place / 4), actor, moment);
    last_writes[place / 4].thread = 0;
  }
  c->barrier->before[actor] = moment++;
  c->barrier->under_way -= c->bytes;
  c->barrier->expected -= c->bytes;
  end_phase_if_complete(c->line, c->barrier);
}

/* The oldest one; 0 if none is under way. */
static int finish_oldest_copy(void) {
  if (!tensor_copy_count)
    return 0;
  const tensor_copy *c = &tensor_copies[first_tensor_copy];
  first_tensor_copy = (first_tensor_copy + 1) % most_tensor_copies;
  --tensor_copy_count;
  finish_tensor_copy(c);
  return 1;
}

static void end_tensor_copies(void) {
  if (tensor_copy_count)
    fail(tensor_copies[first_tensor_copy].line, "copy that no thread waits for",
         tensor_copies[first_tensor_copy].to);
}
