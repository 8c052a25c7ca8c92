// SPDX-License-Identifier: Apache-2.0
// Queries the CPU features of an AArch64 machine from HWCAP, which Linux sets for programs. The
// bits are written as numbers, because the names are missing in older system headers. The numbers
// are ABI (Documentation/arch/arm64/elf_hwcaps.rst).

#include "platform/posix/platform.h"

#if defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

#define BIT(n) (1UL << (n))

static int hasAll(unsigned long word, unsigned long bits) { return (word & bits) == bits; }

uint64_t hewn_cpu_query(void) {
  unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  uint64_t found = 0;
  if (hasAll(first, BIT(9) | BIT(10))) // FPHP, ASIMDHP
    found |= HEWN_CPU_AARCH64_FP16;
  if (hasAll(first, BIT(20))) // ASIMDDP
    found |= HEWN_CPU_AARCH64_DOTPROD;
  if ((found & HEWN_CPU_AARCH64_DOTPROD) && hasAll(second, BIT(13)))
    found |= HEWN_CPU_AARCH64_I8MM;
  if (hasAll(second, BIT(14)))
    found |= HEWN_CPU_AARCH64_BF16;
  return found;
}

const char *hewn_cpu_name(uint64_t bit) {
  switch (bit) {
  case HEWN_CPU_AARCH64_FP16:
    return "FP16";
  case HEWN_CPU_AARCH64_DOTPROD:
    return "DotProd";
  case HEWN_CPU_AARCH64_I8MM:
    return "I8MM";
  case HEWN_CPU_AARCH64_BF16:
    return "BF16";
  default:
    return "unknown instructions";
  }
}

#endif
