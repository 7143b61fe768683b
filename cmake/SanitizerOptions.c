/*===- SanitizerOptions.c - options of sanitized programs -----------------------===
 *
 * Part of attnc, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===------------------------------------------------------------------------===*/

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);

/* LLVM's allocators poison memory where they are inlined into our code, and don't unpoison it in
 * libLLVM. LLVM's registries are never freed. */
const char *__asan_default_options(void) {
  return "allow_user_poisoning=0:detect_leaks=0:detect_odr_violation=0:detect_stack_use_after_"
         "return=0";
}

const char *__ubsan_default_options(void) { return "print_stacktrace=1"; }
