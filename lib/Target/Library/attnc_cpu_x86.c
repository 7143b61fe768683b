/*===- attnc_cpu_x86.c - features of this x86 CPU and its system ----------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Intel's manual, volume 2, CPUID; volume 1, 13.3, on features enabled by the system.
 *
 *===------------------------------------------------------------------------===*/

#include "attnc_support.h"

#include <cpuid.h>

/* Registers that the system saves; none without xgetbv. */
static uint64_t saved_state(unsigned leaf1_ecx) {
  unsigned low = 0, high = 0;
  if (leaf1_ecx & bit_OSXSAVE)
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

/* `feature` if all `bits` are set. */
static uint64_t when(unsigned found, unsigned bits, uint64_t feature) {
  return (found & bits) == bits ? feature : 0;
}

uint64_t attnc_cpu_features(void) {
  const unsigned bit_apx = 1u << 21; /* newer than some <cpuid.h> */
  unsigned a, b, c, d, c1 = 0, b7 = 0, c7 = 0, d7 = 0, a71 = 0, d71 = 0, c81 = 0;
  if (__get_cpuid(1, &a, &b, &c, &d))
    c1 = c;
  unsigned last = 0;
  if (__get_cpuid_count(7, 0, &last, &b, &c, &d))
    b7 = b, c7 = c, d7 = d;
  if (last >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
    a71 = a, d71 = d;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d))
    c81 = c;

  uint64_t found = when(c1, bit_SSSE3 | bit_SSE4_1, attnc_sse41) |
                   when(c1, bit_SSE4_2 | bit_POPCNT | bit_PCLMUL, attnc_sse42);
  const uint64_t vectors = 0x6, wide = 0xe6, tiles = 0x60000, registers = 0x80000;
  uint64_t saved = saved_state(c1);
  if ((saved & vectors) == vectors) {
    found |= when(c1, bit_AVX, attnc_avx) | when(c1, bit_F16C, attnc_f16c) |
             when(c1, bit_FMA, attnc_fma) | when(b7, bit_AVX2, attnc_avx2) |
             when(a71, bit_AVXVNNI, attnc_avxvnni) | when(c81, bit_FMA4, attnc_fma4);
    if ((b7 & bit_BMI) && (b7 & bit_BMI2) && (c81 & bit_LZCNT) && (c1 & bit_MOVBE))
      found |= attnc_bits;
  }
  if ((saved & wide) == wide)
    found |= when(b7, bit_AVX512F | bit_AVX512CD, attnc_avx512) |
             when(b7, bit_AVX512PF | bit_AVX512ER, attnc_avx512_er) |
             when(b7, bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL, attnc_avx512_vl) |
             (when(b7, bit_AVX512IFMA, attnc_avx512_ifma) &
              when(c7, bit_AVX512VBMI, attnc_avx512_ifma)) |
             (when(a71, bit_AVX512BF16, attnc_avx512_bf16) &
              when(c7, bit_AVX512VBMI2 | bit_AVX512VNNI | bit_AVX512BITALG | bit_AVX512VPOPCNTDQ,
                   attnc_avx512_bf16)) |
             when(d7, bit_AVX512VP2INTERSECT, attnc_avx512_intersect) |
             when(d7, bit_AVX512FP16, attnc_avx512_fp16);
  if ((saved & tiles) == tiles)
    found |= when(d7, bit_AMXTILE | bit_AMXBF16 | bit_AMXINT8, attnc_amx);
  if ((saved & registers) == registers)
    found |= when(d71, bit_apx, attnc_apx);
  return found;
}
