/* A tensor map (CUtensorMap) of 128 bytes, as this driver encodes it and the machine reads it. */

#include <stdint.h>

enum { most_map_dims = 5 };

typedef struct {
  uint32_t magic, rank, element_bytes, reserved;
  uint64_t base, strides[most_map_dims - 1]; /* in bytes, of dimensions 1 on */
  uint32_t sizes[most_map_dims], box[most_map_dims];
} tensor_map;

enum { tensor_map_magic = 0x70616d74 };
_Static_assert(sizeof(tensor_map) <= 128, "a tensor map has 128 bytes");
