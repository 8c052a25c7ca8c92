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

// Bytes and ways of caches: Intel's "64 and IA-32 Architectures Optimization Reference Manual" (248966), AMD's "Software Optimization Guide"
// for families 19h and 1Ah (56665: Zen 3, 57647: Zen 4, 58455: Zen 5). Of machines that share a row the least, since code
// for "host" must not depend on which of two alike made it: so Zen 3's 512 KB and Ice Lake's 1.25 MB count as less. Of the third cache,
// which cores share, 8 MB.
constexpr int64_t KB = 1 << 10, MB = 1 << 20;
constexpr Caches kSmall = {32 * KB, 8, 256 * KB, 8 * MB}, kServer = {32 * KB, 8, 1 * MB, 8 * MB},
                 kIceLakeCaches = {48 * KB, 12, 1 * MB, 8 * MB}, kSapphireRapids = {48 * KB, 12, 2 * MB, 8 * MB};

constexpr Row kBase = {"x86-64", "x86-64", 0, kSmall};
constexpr Row kRows[] = {
    {"x86-64-v2", "x86-64-v2", kV2, kSmall},
    {"x86-64-v3", "x86-64-v3", kV3, kSmall},
    {"x86-64-v4", "x86-64-v4", kV4, kServer},
    {"haswell", "haswell", kV3, kSmall},
    {"skylake-avx512", "skylake-avx512", kV4, kServer},
    {"icelake-server", "icelake-server", kIceLake, kIceLakeCaches},
    {"znver3", "znver3", kV3, kSmall},
    // 57647, "Floating-Point Unit": operations of 64 bytes take two cycles of a pipe, those of 32 bytes one.
    {"znver4", "znver4", kIceLake | HEWN_CPU_AVX512_BF16, kServer, /*doubleRateHalfVectors=*/true},
    // 58455, the same chapter: 64 bytes in one cycle of a pipe, as on Intel's servers.
    {"znver5", "znver5", kIceLake | HEWN_CPU_AVX_VNNI | HEWN_CPU_AVX512_BF16, kIceLakeCaches},
    {"sapphirerapids", "sapphirerapids",
     kIceLake | HEWN_CPU_AVX_VNNI | HEWN_CPU_AVX512_BF16 | HEWN_CPU_AVX512_FP16 | kAmx, kSapphireRapids},
};

// Registers: Intel's manual, volume 1, chapters 14 and 15. The widest first.
constexpr Vectors kVectors[] = {
    {HEWN_CPU_X86_64_V4, 64, 32, /*fusedProducts=*/true, /*hasHalfConversions=*/true,
     "llvm.x86.avx512.mask.scalef.ps.512", /*chainRows=*/6, "llvm.x86.avx512.permvar.sf.512",
     "llvm.x86.avx512.pmaddw.d.512", "llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pshuf.b.512"},
    {HEWN_CPU_X86_64_V3, 32, 16, /*fusedProducts=*/true, /*hasHalfConversions=*/true, /*scaling=*/"", /*chainRows=*/6,
     "llvm.x86.avx2.permps", "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pshuf.b"},
    {HEWN_CPU_X86_64_V2, 16, 16, /*fusedProducts=*/false, /*hasHalfConversions=*/false, /*scaling=*/"",
     /*chainRows=*/4, "", "llvm.x86.sse2.pmadd.wd", "llvm.x86.ssse3.pmadd.ub.sw.128", "llvm.x86.ssse3.pshuf.b.128"},
    {0, 16, 16, /*fusedProducts=*/false, /*hasHalfConversions=*/false, /*scaling=*/"", /*chainRows=*/4, "",
     "llvm.x86.sse2.pmadd.wd", "", ""},
};

/// Figures of the machine on which the models were fitted, an AMD Zen 4 with vectors of 64 bytes: by them they choose what
/// `tools/benchmark.py --rounds 1` found fastest on the models of docs/performance.md. No command measures one of them alone; those that the
/// manual (57647) says stand beside it. All rows have them: no other machine was there to be measured.
plan::VectorCostsAttr costsOf(MLIRContext *context, const Vectors &vectors) {
  return plan::VectorCostsAttr::get(
      context,
      /*l2LoadCost=*/220, // the second cache gives 32 bytes a cycle: 200, and a tenth
      /*l2MissCost=*/250, /*loadCost=*/15, /*broadcastCost=*/10,
      /*fmaLatencyCost=*/400, // a fused product's latency is 4 cycles, one is begun in each
      /*minAccumulators=*/7, vectors.chainRows,
      /*fmasPerCycle=*/2,        // of vectors of 32 bytes; two pipes
      /*memoryBytesPerCycle=*/8, // 25 to 30 GB a second for one core at 3.5 GHz
      /*cacheLineBytes=*/64, /*prefetchDistanceBytes=*/1024,
      /*forkJoinInstructions=*/8000, // some 2 us, by the runtime's threads
      /*launchOverheadBytes=*/20000, /*l3ByteCost=*/40,
      /*laneLoadCost=*/200,
      // A Zen 5's: what of 0, 15, 30, 50 and 100 took the least CPU time in models of float16 (gpt2, whisper_tiny_encoder)
      // with vectors of 64 bytes.
      /*widenCost=*/50);
}

/// An instruction that sums products of neighbours, of vectors of so many bytes.
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

/// The instructions that sum products of neighbours and are faster than products of the sums' type, best first. Bytes: of those
/// without a sign by those with one (Intel's manual, VPDPBUSD).
ArrayAttr dotsOf(MLIRContext *context, const Vectors &vectors, uint64_t bits) {
  Builder b(context);
  SmallVector<Attribute> dots;
  auto add = [&](Type left, Type right, Type sum, StringRef intrinsic, bool accumulates) {
    dots.push_back(
        plan::DotAttr::get(context, left, right, sum, b.getStringAttr(intrinsic), accumulates, /*rightFirst=*/false));
  };
  for (const Dot &dot : kDots) {
    if (!(bits & dot.needs) || dot.bytes != vectors.bytes)
      continue;
    if (dot.of == Dot::Bfloats)
      add(b.getBF16Type(), b.getBF16Type(), b.getF32Type(), dot.intrinsic, /*accumulates=*/true);
    else
      add(unsignedByte(context), b.getI8Type(), b.getI32Type(), dot.intrinsic, /*accumulates=*/true);
  }
  add(b.getI16Type(), b.getI16Type(), b.getI32Type(), vectors.pairs, /*accumulates=*/false);
  if (!vectors.bytePairs.empty())
    add(unsignedByte(context), b.getI8Type(), b.getI16Type(), vectors.bytePairs, /*accumulates=*/false);
  return b.getArrayAttr(dots);
}

/// AMX: eight registers of 16 rows of 64 bytes (Intel's manual, volume 1, chapter 18).
ArrayAttr matricesOf(MLIRContext *context, uint64_t bits) {
  Builder b(context);
  SmallVector<Attribute> matrices;
  auto add = [&](Type left, Type right, Type sum, StringRef product, int64_t rate) {
    auto name = [&](StringRef which) { return b.getStringAttr("llvm.x86." + which + ".internal"); };
    constexpr int64_t rowBits = 512;
    matrices.push_back(plan::MatrixAttr::get(context, left, right, sum, /*rows=*/16, /*columns=*/16,
                                             rowBits / left.getIntOrFloatBitWidth(), /*registers=*/8,
                                             LLVM::LLVMX86AMXType::get(context), name("tilezero"), name("tileloadd64"),
                                             name("tilestored64"), name(product), rate, /*minRows=*/6));
  };
  // Rates: of one core of a Sapphire Rapids, roughly, 260 billion operations a second of float32, 3100 of bfloat16, 7000 of bytes. No
  // test measures them, nor from how many rows on tiles are faster than vectors.
  if (bits & HEWN_CPU_AMX_BF16)
    add(b.getBF16Type(), b.getBF16Type(), b.getF32Type(), "tdpbf16ps", 12);
  if (bits & HEWN_CPU_AMX_INT8)
    add(unsignedByte(context), b.getI8Type(), b.getI32Type(), "tdpbusd", 27);
  return matrices.empty() ? ArrayAttr() : b.getArrayAttr(matrices);
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
  auto named = [&](StringRef name) { return name.empty() ? StringAttr() : StringAttr::get(context, name); };
  return plan::TargetAttr::get(context, vectors.bytes, vectors.registers, caches.l1Bytes, caches.l1Ways, caches.l2Bytes,
                               caches.l3Bytes, costsOf(context, vectors), dotsOf(context, vectors, bits),
                               matricesOf(context, bits), plan::GridAttr(), row.doubleRateHalfVectors,
                               named(vectors.scaling), vectors.hasHalfConversions, named(vectors.permutation),
                               named(vectors.bytePermutation),
                               /*hasFmaByLane=*/false, vectors.fusedProducts);
}

} // namespace hewn::x86
