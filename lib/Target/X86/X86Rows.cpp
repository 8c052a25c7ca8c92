// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/X86/X86Rows.h"
#include "lib/Target/X86/X86Features.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using llvm::StringRef;

namespace hewn::x86 {

namespace {

constexpr uint64_t kIceLake = kV4 | HEWN_CPU_AVX512_VNNI | HEWN_CPU_AVX512_VBMI | HEWN_CPU_GFNI;
constexpr uint64_t kAmx = HEWN_CPU_AMX_INT8 | HEWN_CPU_AMX_BF16;

// Sources: Intel's "64 and IA-32 Architectures Optimization Reference Manual" (248966); AMD's
// "Software Optimization Guide" for families 19h and 1Ah (56665: Zen 3, 57647: Zen 4, 58455: Zen
// 5). If CPUs that share a row differ in a cache size (Zen 3 has 512 KB of L2, Ice Lake 1.25 MB),
// the row has the smallest one, so that code for "host" does not depend on the CPU model. The share
// of the L3 cache that one core can use is assumed to be 8 MB.
constexpr int64_t KB = 1 << 10, MB = 1 << 20;
constexpr Caches kSmall = {32 * KB, 8, 256 * KB, 8 * MB}, kServer = {32 * KB, 8, 1 * MB, 8 * MB},
                 kIceLakeCaches = {48 * KB, 12, 1 * MB, 8 * MB}, kSapphireRapids = {48 * KB, 12, 2 * MB, 8 * MB};

// Rates of AMD Zen CPUs. 57647 and 58455, "Floating-Point Unit": FMA, VDPBF16PS and VPDPBUSD run on
// the same two pipes. `hewn explain` measures these rates on a Zen 4: bfloat16 at twice and int8 at
// four times the rate of float32. `extension` was chosen on a Zen 5: of the values 0, 15, 30, 50
// and 100, 50 gave the lowest CPU time of float16 models (gpt2, whisper_tiny_encoder).
constexpr Rates kZen = {/*bfloatDots=*/100, /*byteDots=*/100, /*extension=*/50};
// Rates of Intel servers. Measured on an Emerald Rapids with 12 accumulators, in 1e9 instructions
// per second on 512-bit vectors: FMA 5.8, VPDPBUSD 5.7, VDPBF16PS 1.3. `extension` follows from the
// ports (uops.info, Ice Lake and Alder Lake P): extending float16 or bfloat16 takes one micro-op on
// p0 and one on p5, which are the two ports of 512-bit FMAs.
constexpr Rates kIntel = {/*bfloatDots=*/22, /*byteDots=*/98, /*extension=*/200};
// With AVX2, extending float16 or bfloat16 takes one slot of p0 and p1, the two ports of 256-bit
// FMAs (uops.info, Haswell).
constexpr Rates kIntelAvx2 = {kIntel.bfloatDots, kIntel.byteDots, /*extension=*/100};
// Rates for target names without a CPU family, such as x86-64-v4+bf16. They are those of Zen,
// because a CPU with VDPBF16PS but no AMX is a Zen 4 or Zen 5, unless a hypervisor hides AMX.
constexpr Rates kAnyFamily = kZen;

constexpr Row kBase = {"x86-64", "x86-64", 0, kSmall, kAnyFamily};
constexpr Row kRows[] = {
    {"x86-64-v2", "x86-64-v2", kV2, kSmall, kAnyFamily},
    {"x86-64-v3", "x86-64-v3", kV3, kSmall, kAnyFamily},
    {"x86-64-v4", "x86-64-v4", kV4, kServer, kAnyFamily},
    {"haswell", "haswell", kV3, kSmall, kIntelAvx2},
    {"skylake-avx512", "skylake-avx512", kV4, kServer, kIntel},
    {"icelake-server", "icelake-server", kIceLake, kIceLakeCaches, kIntel},
    {"znver3", "znver3", kV3, kSmall, kZen},
    // AMD's guide 57647 (Zen 4), "Floating-Point Unit": a 512-bit operation takes two cycles of a
    // pipe, a 256-bit one takes one.
    {"znver4", "znver4", kIceLake | HEWN_CPU_AVX512_BF16, kServer, kZen, /*doubleRateHalfVectors=*/true},
    // AMD's guide 58455 (Zen 5), "Floating-Point Unit": a 512-bit operation takes one cycle of a
    // pipe.
    {"znver5", "znver5", kIceLake | HEWN_CPU_AVX_VNNI | HEWN_CPU_AVX512_BF16, kIceLakeCaches, kZen},
    // This row also describes Emerald Rapids. If a hypervisor hides AMX, the name of the target is
    // "sapphirerapids-amx": the row without AMX.
    {"sapphirerapids", "sapphirerapids",
     kIceLake | HEWN_CPU_AVX_VNNI | HEWN_CPU_AVX512_BF16 | HEWN_CPU_AVX512_FP16 | kAmx, kSapphireRapids, kIntel},
};

/// Returns the instruction rates of the CPU `row` with the instruction sets `bits`. For a name
/// without a CPU family, AMX (x86-64-v4+amx) implies the rates of Intel servers.
const Rates &ratesOf(const Row &row, uint64_t bits) { return bits & kAmx ? kIntel : row.rates; }

// Source of the register counts: Intel's "Software Developer's Manual" (253665), volume 1, chapters
// 14 and 15. The longest vectors come first.
constexpr Vectors kVectors[] = {
    {HEWN_CPU_X86_64_V4, 64, 32, /*fusedProducts=*/true, /*hasHalfConversions=*/true,
     "llvm.x86.avx512.mask.scalef.ps.512", /*attentionRows=*/6, "llvm.x86.avx512.permvar.sf.512",
     "llvm.x86.avx512.pmaddw.d.512", "llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pshuf.b.512"},
    {HEWN_CPU_X86_64_V3, 32, 16, /*fusedProducts=*/true, /*hasHalfConversions=*/true, /*scaling=*/"",
     /*attentionRows=*/6, "llvm.x86.avx2.permps", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx2.pmadd.ub.sw",
     "llvm.x86.avx2.pshuf.b"},
    {HEWN_CPU_X86_64_V2, 16, 16, /*fusedProducts=*/false, /*hasHalfConversions=*/false, /*scaling=*/"",
     /*attentionRows=*/4, "", "llvm.x86.sse2.pmadd.wd", "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.ssse3.pshuf.b.128"},
    {0, 16, 16, /*fusedProducts=*/false, /*hasHalfConversions=*/false, /*scaling=*/"", /*attentionRows=*/4, "",
     "llvm.x86.sse2.pmadd.wd", "", ""},
};

/// Returns the costs of vector code on x86, fitted on an AMD Zen 4 with 512-bit vectors: with these
/// costs the cost models choose the schedules that were the fastest in `tools/benchmark.py --rounds
/// 1` on the models of docs/performance.md. All rows share the costs, except for `widenCost`.
/// Values from AMD's guide (57647) are marked.
plan::VectorCostsAttr costsOf(MLIRContext *context, const Vectors &vectors, const Rates &rates) {
  return plan::VectorCostsAttr::get(
      context,
      /*l2LoadCost=*/220, // 57647: L2 delivers 32 bytes per cycle, that is 200; plus a tenth
      /*l2MissCost=*/250, /*loadCost=*/15, /*broadcastCost=*/10,
      /*fmaLatencyCost=*/400, // 57647: latency of 4 cycles, one FMA issued per cycle
      /*minAccumulators=*/7, vectors.attentionRows,
      /*fmasPerCycle=*/2,        // of 256-bit vectors, on two pipes
      /*memoryBytesPerCycle=*/8, // 25 to 30 GB/s for one core at 3.5 GHz
      /*cacheLineBytes=*/64, /*prefetchDistanceBytes=*/1024,
      /*forkJoinInstructions=*/8000, // about 2 us with the runtime's thread pool
      /*launchOverheadBytes=*/20000, /*l3ByteCost=*/40,
      /*laneLoadCost=*/200, /*widenCost=*/rates.extension);
}

/// Returns a dot-product instruction on vectors of `bytes` bytes.
struct Dot {
  uint64_t needs;
  int64_t bytes;
  enum { Bfloats, Bytes } of;
  StringRef intrinsic;
};
constexpr Dot kDots[] = {
    {HEWN_CPU_AVX512_BF16, 64, Dot::Bfloats, "llvm.x86.avx512bf16.dpbf16ps.512"},
    {HEWN_CPU_AVX512_VNNI, 64, Dot::Bytes, "llvm.x86.avx512.vpdpbusd.512"},
    {HEWN_CPU_AVX_VNNI, 32, Dot::Bytes, "llvm.x86.avx512.vpdpbusd.256"},
};

Type unsignedByte(MLIRContext *context) { return IntegerType::get(context, 8, IntegerType::Unsigned); }

/// Returns the dot-product instructions of an x86 target, preferred ones first. VPDPBUSD multiplies
/// unsigned by signed bytes.
ArrayAttr dotsOf(MLIRContext *context, const Vectors &vectors, const Rates &rates, uint64_t bits) {
  Builder b(context);
  SmallVector<Attribute> dots;
  // The 16-bit dot-product instructions VPMADDWD and VPMADDUBSW issue at the rate of FMAs (AMD's
  // guide 57647). On an Emerald Rapids, VPDPWSSD reaches 5.7e9 instructions per second, and FMA
  // 5.8e9.
  constexpr int64_t pairRate = 100;
  auto add = [&](Type left, Type right, Type sum, StringRef intrinsic, bool accumulates, int64_t issueRate) {
    dots.push_back(plan::DotProductAttr::get(context, left, right, sum, b.getStringAttr(intrinsic), accumulates,
                                             /*rightFirst=*/false, issueRate, /*leftBits=*/0));
  };
  for (const Dot &dot : kDots) {
    if (!(bits & dot.needs) || dot.bytes != vectors.bytes)
      continue;
    if (dot.of == Dot::Bfloats)
      add(b.getBF16Type(), b.getBF16Type(), b.getF32Type(), dot.intrinsic, /*accumulates=*/true, rates.bfloatDots);
    else
      add(unsignedByte(context), b.getI8Type(), b.getI32Type(), dot.intrinsic, /*accumulates=*/true, rates.byteDots);
  }
  add(b.getI16Type(), b.getI16Type(), b.getI32Type(), vectors.pairs, /*accumulates=*/false, pairRate);
  if (!vectors.bytePairs.empty())
    add(unsignedByte(context), b.getI8Type(), b.getI16Type(), vectors.bytePairs, /*accumulates=*/false, pairRate);
  return b.getArrayAttr(dots);
}

/// Returns the AMX instructions as matrix units: eight tile registers of 16 rows by 64 bytes
/// (Intel's manual, volume 1, chapter 18).
ArrayAttr matricesOf(MLIRContext *context, uint64_t bits) {
  if (!(bits & kAmx))
    return ArrayAttr();
  // Loads the LLVM dialect, which defines LLVMX86AMXType. A context that only reads target
  // descriptions has not loaded it yet.
  context->getOrLoadDialect<LLVM::LLVMDialect>();
  Builder b(context);
  SmallVector<Attribute> matrices;
  auto add = [&](Type left, Type right, Type sum, StringRef product, int64_t rate) {
    auto name = [&](StringRef which) { return b.getStringAttr("llvm.x86." + which + ".internal"); };
    constexpr int64_t rowBits = 512;
    matrices.push_back(plan::MatrixUnitAttr::get(
        context, left, right, sum, /*rows=*/16, /*columns=*/16, rowBits / left.getIntOrFloatBitWidth(), /*registers=*/8,
        LLVM::LLVMX86AMXType::get(context), name("tilezero"), name("tileloadd64"), name("tilestored64"), name(product),
        rate, /*minRows=*/6));
  };
  // Rates of AMX, measured on one core of an Emerald Rapids with 2x2 tiles. TDPBF16PS and TDPBUSD
  // take 7.0 ns with operands in L1 and 9.3 ns with operands in L2. In kernels the operands are in
  // L2: 1,760 GFLOPS and 3,520 GOPS, compared with 163 GFLOPS of float32 FMAs in a GEMM. A tile of
  // r rows takes 0.6 + 0.025 r of the time of a full tile. With fewer than `minRows` rows, AMX is
  // therefore no faster than FMAs.
  if (bits & HEWN_CPU_AMX_BF16)
    add(b.getBF16Type(), b.getBF16Type(), b.getF32Type(), "tdpbf16ps", 11);
  if (bits & HEWN_CPU_AMX_INT8)
    add(unsignedByte(context), b.getI8Type(), b.getI32Type(), "tdpbusd", 22);
  return b.getArrayAttr(matrices);
}

} // namespace

llvm::ArrayRef<Row> rows() { return kRows; }
const Row &baseRow() { return kBase; }

const Row &rowOf(StringRef cpu) {
  const Row *found = llvm::find_if(kRows, [&](const Row &row) { return row.cpu == cpu; });
  return found == std::end(kRows) ? kBase : *found;
}

const Vectors &vectorsOf(uint64_t bits) {
  return *llvm::find_if(kVectors, [&](const Vectors &vectors) { return (vectors.needs & ~bits) == 0; });
}

plan::TargetAttr targetOf(MLIRContext *context, const Row &row, uint64_t bits) {
  const Vectors &vectors = vectorsOf(bits);
  const Caches &caches = row.caches;
  const Rates &rates = ratesOf(row, bits);
  auto named = [&](StringRef name) { return name.empty() ? StringAttr() : StringAttr::get(context, name); };
  return plan::CpuAttr::get(context, vectors.bytes, vectors.registers, caches.l1Bytes, caches.l1Ways, caches.l2Bytes,
                            caches.l3Bytes, costsOf(context, vectors, rates), dotsOf(context, vectors, rates, bits),
                            matricesOf(context, bits), row.doubleRateHalfVectors, named(vectors.scaling),
                            vectors.hasHalfConversions, named(vectors.permutation), named(vectors.bytePermutation),
                            /*hasFmaByLane=*/false, vectors.fusedProducts);
}

} // namespace hewn::x86
