// SPDX-License-Identifier: Apache-2.0
// Queries the CPU features of an x86 machine with CPUID, and with XGETBV which register states the
// operating system saves on a context switch.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "platform/posix/platform.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef ARCH_REQ_XCOMP_PERM
#define ARCH_REQ_XCOMP_PERM 0x1023
#endif
#define XFEATURE_TILE_DATA 18

/// Values of the CPUID registers that the query uses. A register is zero if its leaf does not
/// exist.
typedef struct leaves {
  uint32_t ecx1, ecx7, ebx7, edx7, eax7_1, ecx_ext;
  uint64_t xcr0;
} leaves;

static uint64_t readXcr0(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

static leaves readLeaves(void) {
  leaves leaves = {0, 0, 0, 0, 0, 0, 0};
  uint32_t eax, ebx, ecx, edx;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
    leaves.ecx1 = ecx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    leaves.ebx7 = ebx;
    leaves.ecx7 = ecx;
    leaves.edx7 = edx;
    uint32_t last = eax;
    if (last >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx))
      leaves.eax7_1 = eax;
  }
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx))
    leaves.ecx_ext = ecx;
  if (leaves.ecx1 >> 27 & 1) // OSXSAVE
    leaves.xcr0 = readXcr0();
  return leaves;
}

static int hasAll(uint64_t word, uint64_t bits) { return (word & bits) == bits; }

#define BIT(n) (UINT64_C(1) << (n))

/// Requests permission for AMX: its tile state is 8 KiB per thread, which Linux allocates only on
/// request.
static int askForTiles(void) {
  int saved = errno;
  long result = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_TILE_DATA);
  errno = saved;
  return result == 0;
}

uint64_t hewn_cpu_query(void) {
  leaves l = readLeaves();
  uint64_t found = 0;
  // Features of x86-64-v2: SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF.
  if (hasAll(l.ecx1, BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23)) && hasAll(l.ecx_ext, BIT(0)))
    found |= HEWN_CPU_X86_64_V2;
  // Features of x86-64-v3: FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; XMM and YMM state.
  if ((found & HEWN_CPU_X86_64_V2) && hasAll(l.xcr0, BIT(1) | BIT(2)) &&
      hasAll(l.ecx1, BIT(12) | BIT(22) | BIT(28) | BIT(29)) && hasAll(l.ebx7, BIT(3) | BIT(5) | BIT(8)) &&
      hasAll(l.ecx_ext, BIT(5)))
    found |= HEWN_CPU_X86_64_V3;
  if ((found & HEWN_CPU_X86_64_V3) && hasAll(l.eax7_1, BIT(4)))
    found |= HEWN_CPU_AVX_VNNI;
  if ((found & HEWN_CPU_X86_64_V3) && hasAll(l.ecx7, BIT(8)))
    found |= HEWN_CPU_GFNI;
  // Features of x86-64-v4: AVX512 F, DQ, CD, BW, VL; mask and ZMM state.
  if (!(found & HEWN_CPU_X86_64_V3) || !hasAll(l.xcr0, BIT(5) | BIT(6) | BIT(7)) ||
      !hasAll(l.ebx7, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)))
    return found;
  found |= HEWN_CPU_X86_64_V4;
  if (hasAll(l.ecx7, BIT(11)))
    found |= HEWN_CPU_AVX512_VNNI;
  if (hasAll(l.eax7_1, BIT(5)))
    found |= HEWN_CPU_AVX512_BF16;
  // Features of HEWN_CPU_AVX512_VBMI: VBMI, VBMI2, BITALG, VPOPCNTDQ; IFMA.
  if (hasAll(l.ecx7, BIT(1) | BIT(6) | BIT(12) | BIT(14)) && hasAll(l.ebx7, BIT(21)))
    found |= HEWN_CPU_AVX512_VBMI;
  if (hasAll(l.edx7, BIT(23)))
    found |= HEWN_CPU_AVX512_FP16;
  // Requirements of AMX: AMX-TILE, and that the operating system saves the tile state.
  if (!hasAll(l.edx7, BIT(24)) || !hasAll(l.xcr0, BIT(17) | BIT(18)) || !askForTiles())
    return found;
  if (hasAll(l.edx7, BIT(25)))
    found |= HEWN_CPU_AMX_INT8;
  if (hasAll(l.edx7, BIT(22)))
    found |= HEWN_CPU_AMX_BF16;
  return found;
}

const char *hewn_cpu_name(uint64_t bit) {
  static const char *const names[] = {"x86-64-v2",   "x86-64-v3",   "x86-64-v4",   "AVX-VNNI",
                                      "AVX512-VNNI", "AVX512-BF16", "AVX512-FP16", "AMX-INT8",
                                      "AMX-BF16",    "AVX512-VBMI", "GFNI"};
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    if (bit == BIT(i))
      return names[i];
  return "unknown instructions";
}

#endif
