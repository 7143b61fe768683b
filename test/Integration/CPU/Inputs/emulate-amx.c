/* Emulates AMX's tiles and tdpbf16ps, for a process that this library is loaded into ahead of
 * others (LD_PRELOAD): grants the request for tiles, and executes the instructions where the CPU
 * refuses them. Instructions that a CPU with AMX would refuse end the process. The first product is
 * reported on standard error. Intel's manual, volume 2. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { tiles = 8, side = 16, row_bytes = 64 };

static int has_native_tiles;

static __thread struct {
  int is_configured;
  uint16_t bytes[tiles];
  uint8_t rows[tiles];
  uint8_t data[tiles][side][row_bytes];
} state;
static void expect(int holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "emulated AMX: expected %s\n", what);
  _exit(98);
}

static void expect_tile(int tile) {
  expect(state.is_configured && state.rows[tile] && state.bytes[tile], "a configured tile");
}

/*===- The request -----------------------------------------------------------===*/

long syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; ++i)
    a[i] = va_arg(list, long);
  va_end(list);
  enum { arch_prctl = 158, request_permission = 0x1023, tile_data = 18 };
  if (number == arch_prctl && a[0] == request_permission && a[1] == tile_data)
    return 0;
  register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  if (result > -4096 && result < 0)
    return errno = -result, -1;
  return result;
}

/*===- Instructions -----------------------------------------------------------===*/

static __thread uint8_t configured[64];

static void load_configuration(const uint8_t *memory) {
  memcpy(configured, memory, sizeof(configured));
  memset(&state, 0, sizeof(state));
  expect(memory[0] == 1 && memory[1] == 0, "palette 1");
  for (int tile = 0; tile < side; ++tile) {
    uint16_t bytes;
    memcpy(&bytes, memory + 16 + 2 * tile, sizeof(bytes));
    int rows = memory[48 + tile];
    expect(tile < tiles ? bytes <= row_bytes && rows <= side && !bytes == !rows : !bytes && !rows,
           "tiles of up to 16 rows of 64 bytes");
    if (tile < tiles)
      state.bytes[tile] = bytes, state.rows[tile] = rows;
  }
  state.is_configured = 1;
}

static float widen(const uint8_t *bf16) {
  uint32_t bits = 0;
  memcpy((uint8_t *)&bits + 2, bf16, 2);
  if (!(bits & 0x7f800000))
    bits &= 0x80000000; /* denormals are 0 */
  float result;
  memcpy(&result, &bits, sizeof(result));
  return result;
}

static float flush(float x) { return fpclassify(x) == FP_SUBNORMAL ? copysignf(0, x) : x; }

static void multiply(int sum, int a, int b) {
  expect_tile(sum), expect_tile(a), expect_tile(b);
  expect(sum != a && sum != b && a != b, "three tiles");
  expect(state.rows[sum] == state.rows[a] && state.bytes[sum] == state.bytes[b] &&
             state.bytes[a] / 4 == state.rows[b],
         "tiles whose sizes match");
  for (int m = 0; m < state.rows[sum]; ++m)
    for (int n = 0; n < state.bytes[sum] / 4; ++n) {
      float even = 0, odd = 0, old;
      for (int k = 0; k < state.rows[b]; ++k) {
        const uint8_t *x = &state.data[a][m][4 * k], *y = &state.data[b][k][4 * n];
        even = flush(fmaf(widen(x), widen(y), even));
        odd = flush(fmaf(widen(x + 2), widen(y + 2), odd));
      }
      memcpy(&old, &state.data[sum][m][4 * n], sizeof(old));
      old = flush(flush(old) + flush(even + odd));
      memcpy(&state.data[sum][m][4 * n], &old, sizeof(old));
    }
  static int is_known;
  static const char message[] = "emulated AMX: multiplies tiles\n";
  if (!__atomic_exchange_n(&is_known, 1, __ATOMIC_RELAXED))
    expect(write(2, message, sizeof(message) - 1) > 0, "a standard error");
}

static void move_tile(int tile, uint8_t *memory, int64_t stride, int is_store) {
  expect_tile(tile);
  if (!is_store)
    memset(state.data[tile], 0, sizeof(state.data[tile]));
  for (int row = 0; row < state.rows[tile]; ++row, memory += stride)
    if (is_store)
      memcpy(memory, state.data[tile][row], state.bytes[tile]);
    else
      memcpy(state.data[tile][row], memory, state.bytes[tile]);
}

/*===- Decoding ---------------------------------------------------------------===*/

static int64_t get(const greg_t *registers, int number) {
  static const int names[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15};
  return registers[names[number]];
}

typedef struct {
  uint8_t *base; /* with the displacement */
  int64_t index;
  int length; /* bytes from ModRM on */
} operand;

/* A memory operand, with or without a SIB byte. */
static operand decode_memory(const greg_t *registers, const uint8_t *modrm, int base_high,
                             int index_high) {
  int mode = modrm[0] >> 6, has_sib = (modrm[0] & 7) == 4, length = 1 + has_sib;
  int number = (has_sib ? modrm[1] : modrm[0]) & 7;
  operand result = {0};
  if (has_sib) {
    int index = (modrm[1] >> 3 & 7) | index_high << 3;
    result.index = index == 4 ? 0 : get(registers, index) << (modrm[1] >> 6);
  }
  int32_t displacement = 0;
  expect(mode != 0 || number != 5, "an address with a base");
  if (mode == 1)
    displacement = (int8_t)modrm[length], length += 1;
  else if (mode == 2)
    memcpy(&displacement, modrm + length, 4), length += 4;
  result.base = (uint8_t *)get(registers, number | base_high << 3) + displacement;
  result.length = length;
  return result;
}

/* VEX.128.pp.0F38.W0 of opcodes 49, 4B and 5C; the length, or 0 for another instruction. */
static int execute(const greg_t *registers, const uint8_t *code) {
  enum { none, p66, pf3, pf2 };
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || code[2] & 0x84)
    return 0;
  int index_high = !(code[1] & 0x40), base_high = !(code[1] & 0x20), prefix = code[2] & 3;
  const uint8_t *modrm = code + 4;
  int reg = modrm[0] >> 3 & 7, rm = modrm[0] & 7, is_register = modrm[0] >> 6 == 3;
  if (code[3] == 0x5c && prefix == pf3 && is_register)
    return multiply(reg, rm, ~(code[2] >> 3) & 7), 5;
  if (code[3] == 0x49 && prefix == none && modrm[0] == 0xc0)
    return memset(&state, 0, sizeof(state)), 5;
  if (code[3] == 0x49 && prefix == pf2 && is_register)
    return expect_tile(reg), memset(state.data[reg], 0, sizeof(state.data[reg])), 5;
  if (is_register || (code[3] != 0x49 && code[3] != 0x4b))
    return 0;
  operand memory = decode_memory(registers, modrm, base_high, index_high);
  if (code[3] == 0x49 && prefix == none)
    load_configuration(memory.base + memory.index);
  else if (code[3] == 0x4b && prefix != none && rm == 4)
    move_tile(reg, memory.base, memory.index, prefix == pf3);
  else
    return 0;
  return 4 + memory.length;
}

/* A CPU with AMX executes what configures tiles even if the system grants none. What is configured
 * is saved beside the other registers then: Intel's manual, volume 1, on XSAVE. */
static void follow_configuration(const ucontext_t *context) {
  enum { features = 512, configuration = 17 };
  uint32_t bytes, offset, c, d;
  uint64_t saved;
  if (!has_native_tiles || !__get_cpuid_count(0xd, configuration, &bytes, &offset, &c, &d))
    return;
  const uint8_t *memory = (const uint8_t *)context->uc_mcontext.fpregs;
  memcpy(&saved, memory + features, sizeof(saved));
  if (!(saved >> configuration & 1))
    memset(&state, 0, sizeof(state));
  else if (!state.is_configured || memcmp(configured, memory + offset, sizeof(configured)))
    load_configuration(memory + offset);
}

static void handle(int signal, siginfo_t *info, void *context) {
  follow_configuration(context);
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  int length = execute(registers, (const uint8_t *)registers[REG_RIP]);
  expect(length, "an instruction of AMX");
  registers[REG_RIP] += length;
  (void)signal, (void)info;
}

static int set_handler(int signal, const struct sigaction *action, struct sigaction *old) {
  int (*next)(int, const struct sigaction *, struct sigaction *);
  *(void **)&next = dlsym(RTLD_NEXT, "sigaction");
  return next(signal, action, old);
}

/* The process may report crashes by a handler of its own. */
int sigaction(int signal, const struct sigaction *action, struct sigaction *old) {
  return set_handler(signal, signal == SIGILL ? 0 : action, old);
}

__attribute__((constructor)) static void install(void) {
  uint32_t a, b, c, d;
  has_native_tiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & bit_AMXTILE;
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER};
  set_handler(SIGILL, &action, 0);
}
