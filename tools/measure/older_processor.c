// SPDX-License-Identifier: Apache-2.0
// Library that older_processor.py preloads. It emulates the `cpuid` instructions that the script
// has replaced by `ud1` in libraries of other engines, as on a processor of the level HELD_LEVEL
// (2, 3 or 4: x86-64-v2, -v3, -v4). For the bits of CPUID, see Intel's Software Developer's Manual,
// volume 2A; for the levels, section 3.1.1 of the x86-64 psABI.
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { kEax, kEbx, kEcx, kEdx };

static int heldLevel = 3;

// CPUID feature bits, each with the highest level (`held`) whose processors lack the features.
struct Feature {
  unsigned leaf, subleaf;
  int held; // the highest level without the features
  int word;
  unsigned bits;
};

#define BIT(n) (1u << (n))
static const struct Feature kFeatures[] = {
    {1, 0, 2, kEcx, BIT(12) | BIT(22) | BIT(28) | BIT(29)},           // FMA, MOVBE, AVX, F16C
    {7, 0, 2, kEbx, BIT(3) | BIT(5) | BIT(8)},                        // BMI1, AVX2, BMI2
    {0x80000001, 0, 2, kEcx, BIT(5) | BIT(11) | BIT(16)},             // LZCNT, XOP, FMA4
    {7, 0, 2, kEcx, BIT(9) | BIT(10)},                                // VAES, VPCLMULQDQ
    {7, 0, 3, kEbx, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)}, // AVX512F, DQ, CD, BW, VL
    {7, 0, 4, kEbx, BIT(21) | BIT(26) | BIT(27)},                     // AVX512-IFMA, PF, ER
    {7, 0, 4, kEcx, BIT(1) | BIT(6) | BIT(8) | BIT(11)},              // AVX512-VBMI, VBMI2, GFNI, AVX512-VNNI
    {7, 0, 4, kEcx, BIT(12) | BIT(14)},                               // AVX512-BITALG, VPOPCNTDQ
    {7, 0, 4, kEdx,
     BIT(2) | BIT(3) | BIT(8) | BIT(22) | BIT(23)},       // AVX512-4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, AVX512-FP16
    {7, 0, 4, kEdx, BIT(24) | BIT(25)},                   // AMX-TILE, AMX-INT8
    {7, 1, 4, kEax, BIT(4) | BIT(5) | BIT(21) | BIT(23)}, // AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA
    {7, 1, 4, kEdx,
     BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19)}, // AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10
};

static void answer(int signal, siginfo_t *info, void *context) {
  (void)info;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const unsigned char *at = (const unsigned char *)registers[REG_RIP];
  if (at[0] != 0x0f || at[1] != 0xb9) { // not ud1: an illegal instruction of the program
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(signal, &usual, NULL);
    return;
  }
  unsigned leaf = (unsigned)registers[REG_RAX], subleaf = (unsigned)registers[REG_RCX], words[4];
  __cpuid_count(leaf, subleaf, words[kEax], words[kEbx], words[kEcx], words[kEdx]);
  for (size_t i = 0; i < sizeof(kFeatures) / sizeof(*kFeatures); ++i) {
    const struct Feature *feature = &kFeatures[i];
    if (feature->leaf == leaf && (leaf != 7 || feature->subleaf == subleaf) && feature->held >= heldLevel)
      words[feature->word] &= ~feature->bits;
  }
  registers[REG_RAX] = words[kEax], registers[REG_RBX] = words[kEbx];
  registers[REG_RCX] = words[kEcx], registers[REG_RDX] = words[kEdx];
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void install(void) {
  const char *level = getenv("HELD_LEVEL");
  if (level)
    heldLevel = atoi(level);
  struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
  sigaction(SIGILL, &action, NULL);
}
