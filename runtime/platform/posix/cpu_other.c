// SPDX-License-Identifier: Apache-2.0
// CPU feature query for architectures without optional instruction sets, such as RISC-V, and for
// other systems.

#include "platform/posix/platform.h"

#if !(defined(__x86_64__) || defined(__aarch64__)) || !defined(__linux__)

uint64_t hewn_cpu_query(void) { return 0; }

const char *hewn_cpu_name(uint64_t bit) {
  (void)bit;
  return "instructions of another architecture";
}

#endif
