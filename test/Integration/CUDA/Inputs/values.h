/* Values of registers, which hold bits. */

#include <math.h>
#include <stdint.h>
#include <string.h>

#define CONVERT(name, from, to)                                                                    \
  static inline to name(from value) {                                                              \
    to result;                                                                                     \
    memcpy(&result, &value, sizeof result);                                                        \
    return result;                                                                                 \
  }
CONVERT(as_f32, uint32_t, float)
CONVERT(of_f32, float, uint32_t)
CONVERT(as_f64, uint64_t, double)
CONVERT(of_f64, double, uint64_t)
CONVERT(as_f16, uint16_t, _Float16)
CONVERT(of_f16, _Float16, uint16_t)

/* The nearest bf16, of two the even one. */
static inline uint16_t to_bf16(float value) {
  uint32_t bits = of_f32(value);
  if (value != value)
    return 0x7fff;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Subnormal numbers are 0, as where instructions say ftz. */
static inline float flush(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

/* Of additions that tell of it. */
static uint64_t carry;

/* Bits [at, at + count) of a value; of a signed one with the sign of the last. */
static inline uint32_t extract_u32(uint32_t value, unsigned at, unsigned count) {
  return (uint32_t)((uint64_t)value >> at & ((1ull << count) - 1));
}
static inline int32_t extract_s32(int32_t value, unsigned at, unsigned count) {
  return count ? (int32_t)((uint32_t)value << (32 - at - count)) >> (32 - count) : 0;
}
