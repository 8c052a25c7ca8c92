// SPDX-License-Identifier: Apache-2.0
// Which instructions this machine has, by CPUID, and which of them the system
// saves across a switch of threads, by XGETBV.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "context.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef ARCH_REQ_XCOMP_PERM
#define ARCH_REQ_XCOMP_PERM 0x1023
#endif
#define XFEATURE_TILE_DATA 18

/// The registers of the leaves that we look at; zero where there is no leaf.
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

/// AMX's tiles are 8 KiB a thread: the kernel gives them to who asks.
static int askForTiles(void) {
  int saved = errno;
  long result = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_TILE_DATA);
  errno = saved;
  return result == 0;
}

uint64_t hewn_cpu_query(void) {
  leaves l = readLeaves();
  uint64_t found = 0;
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF.
  if (hasAll(l.ecx1, BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23)) && hasAll(l.ecx_ext, BIT(0)))
    found |= HEWN_CPU_X86_64_V2;
  // FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; the system's XMM and YMM.
  if ((found & HEWN_CPU_X86_64_V2) && hasAll(l.xcr0, BIT(1) | BIT(2)) &&
      hasAll(l.ecx1, BIT(12) | BIT(22) | BIT(28) | BIT(29)) && hasAll(l.ebx7, BIT(3) | BIT(5) | BIT(8)) &&
      hasAll(l.ecx_ext, BIT(5)))
    found |= HEWN_CPU_X86_64_V3;
  if ((found & HEWN_CPU_X86_64_V3) && hasAll(l.eax7_1, BIT(4)))
    found |= HEWN_CPU_AVX_VNNI;
  if ((found & HEWN_CPU_X86_64_V3) && hasAll(l.ecx7, BIT(8)))
    found |= HEWN_CPU_GFNI;
  // AVX512 F, DQ, CD, BW, VL; the system's masks and ZMM.
  if (!(found & HEWN_CPU_X86_64_V3) || !hasAll(l.xcr0, BIT(5) | BIT(6) | BIT(7)) ||
      !hasAll(l.ebx7, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)))
    return found;
  found |= HEWN_CPU_X86_64_V4;
  if (hasAll(l.ecx7, BIT(11)))
    found |= HEWN_CPU_AVX512_VNNI;
  if (hasAll(l.eax7_1, BIT(5)))
    found |= HEWN_CPU_AVX512_BF16;
  // VBMI, VBMI2, BITALG, VPOPCNTDQ; IFMA.
  if (hasAll(l.ecx7, BIT(1) | BIT(6) | BIT(12) | BIT(14)) && hasAll(l.ebx7, BIT(21)))
    found |= HEWN_CPU_AVX512_VBMI;
  if (hasAll(l.edx7, BIT(23)))
    found |= HEWN_CPU_AVX512_FP16;
  // AMX-TILE with one of its types; the system's tile state.
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
