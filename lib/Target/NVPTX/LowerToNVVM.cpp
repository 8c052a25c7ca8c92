// SPDX-License-Identifier: Apache-2.0
//
// Lowers the simt and nvptx dialects to NVVM intrinsics and inline PTX (see Passes.td).
#include "dialects/Simt/Simt.h"
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Target/NVPTX/NVPTXDialect.h"
#include "lib/Target/NVPTX/Passes.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace hewn::nvptx {
#define GEN_PASS_DEF_LOWERTONVVMPASS
#include "lib/Target/NVPTX/Passes.h.inc"

namespace {

constexpr unsigned kShared = unsigned(codegen::kSharedSpace), kGlobal = 1;

/// Replaces an op of the simt or nvptx dialect by an NVVM intrinsic or by inline PTX.
class Instruction {
public:
  Instruction(Operation *op, PatternRewriter &b) : op(op), b(b), loc(op->getLoc()) {}

  Value number(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value))); }
  Value number64(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }
  /// Returns a pointer to `address` plus `offset` bytes. The offset is a constant index of a GEP:
  /// with an integer addition instead, LLVM would add the offset to the base address first and keep
  /// the sum in another register.
  Value pointer(Value address, unsigned space, int64_t offset = 0) {
    auto type = LLVM::LLVMPointerType::get(b.getContext(), space);
    Value first = LLVM::IntToPtrOp::create(b, loc, type, address);
    if (offset == 0)
      return first;
    return LLVM::GEPOp::create(b, loc, type, b.getI8Type(), first, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  }
  /// Returns a shared memory address as a 32-bit operand of PTX.
  Value shared(Value address) { return LLVM::TruncOp::create(b, loc, b.getI32Type(), address); }
  /// Returns the matrix descriptor of wgmma: 18 bits of the address, combined with `form` (see
  /// nvptx.wgmma).
  Value descriptor(Value address, Value form) {
    Value known = LLVM::AndOp::create(b, loc, address, number64(0x3ffff));
    return LLVM::OrOp::create(b, loc, LLVM::LShrOp::create(b, loc, known, number64(4)), form);
  }

  LogicalResult intrinsic(const Twine &name, ValueRange operands) {
    StringAttr text = b.getStringAttr(name);
    auto call = op->getNumResults() == 0 ? LLVM::CallIntrinsicOp::create(b, loc, text, operands)
                                         : LLVM::CallIntrinsicOp::create(b, loc, resultType(), text, operands);
    return replaceBy(call);
  }
  /// Replaces the op by the inline PTX `text`. `constraints` are the register constraints of the
  /// results, then of the operands. The inline PTX refers to them as $0, $1, ... in this order.
  LogicalResult text(const Twine &text, const Twine &constraints, ValueRange operands) {
    std::string all = constraints.str();
    all += all.empty() ? "~{memory}" : ",~{memory}";
    Type type = op->getNumResults() == 0 ? Type() : resultType();
    return replaceBy(LLVM::InlineAsmOp::create(b, loc, type, operands, text.str(), all, /*has_side_effects=*/true,
                                               /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                               LLVM::AsmDialectAttr(), ArrayAttr()));
  }
  /// Replaces the op by inline PTX that updates the accumulator registers `sums`, named $0, $1,
  /// ..., and reads the operands `others`, whose numbers start at twice the number of `sums`.
  LogicalResult changeSums(const Twine &changes, ValueRange sums, ValueRange others, StringRef constraints) {
    std::string all;
    for (Type type : sums.getTypes())
      all += type.isInteger() ? "=r," : "=f,";
    for (size_t i = 0; i < sums.size(); ++i)
      all += std::to_string(i) + ",";
    SmallVector<Value> operands(sums);
    llvm::append_range(operands, others);
    return text(changes, all + constraints, operands);
  }

private:
  Operation *op;
  PatternRewriter &b;
  Location loc;

  Type resultType() {
    return op->getNumResults() == 1
               ? op->getResult(0).getType()
               : Type(LLVM::LLVMStructType::getLiteral(b.getContext(), llvm::to_vector(op->getResultTypes())));
  }
  /// Returns the results of the LLVM call as separate values: LLVM returns several results as a
  /// struct.
  LogicalResult replaceBy(Operation *made) {
    SmallVector<Value> results(made->getResults());
    if (op->getNumResults() > 1) {
      results.clear();
      for (int64_t i = 0; i < int64_t(op->getNumResults()); ++i)
        results.push_back(LLVM::ExtractValueOp::create(b, loc, made->getResult(0), i));
    }
    b.replaceOp(op, results);
    return success();
  }
};

//===------------------------------------------------------------------------------------------------------------------===//
// Thread and block indices, barriers, atomics
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult lower(simt::ThreadIdOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", {});
}
LogicalResult lower(simt::BlockIdOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", {});
}
LogicalResult lower(simt::NumBlocksOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", {});
}

/// Lowers simt.barrier to PTX barriers. Barrier 0 synchronizes all threads of the block. Barrier 1
/// synchronizes the first `threads` of them.
LogicalResult lower(simt::BarrierOp op, PatternRewriter &b) {
  Instruction i(op, b);
  if (std::optional<uint32_t> threads = op.getThreads())
    return i.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.count", {i.number(1), i.number(*threads)});
  return i.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", i.number(0));
}
LogicalResult lower(simt::WarpBarrierOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic("llvm.nvvm.bar.warp.sync", i.number(-1));
}
LogicalResult lower(simt::ShuffleXorOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic("llvm.nvvm.shfl.sync.bfly.i32",
                     {i.number(-1), op.getValue(), i.number(op.getMask()), i.number(op.getWidth() - 1)});
}

// The atomic addition to a counter is inline PTX, because LLVM's NVPTX backend drops the memory
// order of atomic additions.
LogicalResult lower(simt::CounterAddOp op, PatternRewriter &b) {
  if (op.getBefore().use_empty()) // no op uses the old value of the counter
    return Instruction(op, b).text("red.release.gpu.global.add.u32 [$0], $1;", "l,r", op->getOperands());
  return Instruction(op, b).text("atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r", op->getOperands());
}
LogicalResult lower(simt::CounterReadOp op, PatternRewriter &b) {
  StringRef text = op.getRelaxed() ? "ld.relaxed.gpu.global.u32 $0, [$1];" : "ld.acquire.gpu.global.u32 $0, [$1];";
  return Instruction(op, b).text(text, "=r,l", op->getOperands());
}

LogicalResult lower(simt::Exp2Op op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.ex2.approx.ftz.f32", op->getOperands());
}

//===------------------------------------------------------------------------------------------------------------------===//
// Warp MMA, asynchronous copies, mbarriers
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult lower(simt::MmaOp op, PatternRewriter &b) {
  Type left = op.getLeftType();
  if (left.isF16()) { // each 32-bit register holds two elements
    SmallVector<Value> operands;
    auto pairs = VectorType::get(2, b.getF16Type());
    for (auto words : {op.getLeft(), op.getRight()})
      for (Value word : words)
        operands.push_back(LLVM::BitcastOp::create(b, op.getLoc(), pairs, word));
    llvm::append_range(operands, op.getSums());
    return Instruction(op, b).intrinsic("llvm.nvvm.mma.m16n8k16.row.col.f32.f32", operands);
  }
  if (isa<FloatType>(left))
    return Instruction(op, b).intrinsic(left.isBF16() ? "llvm.nvvm.mma.m16n8k16.row.col.bf16"
                                                      : "llvm.nvvm.mma.m16n8k8.row.col.tf32",
                                        op->getOperands());
  auto name = [](Type type) { return type.isUnsignedInteger() ? "u8" : "s8"; };
  Type right = op.getRightType();
  return Instruction(op, b).intrinsic("llvm.nvvm.mma.m16n8k32.row.col." + Twine(name(left)) +
                                          (left == right ? "" : "." + Twine(name(right))),
                                      op->getOperands());
}
LogicalResult lower(simt::LdmatrixOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic(op.getTransposed() ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                                        : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16",
                     i.pointer(op.getLine(), kShared, int64_t(op.getOffset())));
}

LogicalResult lower(simt::AsyncCopyOp op, PatternRewriter &b) {
  Instruction i(op, b);
  Value to = i.pointer(op.getTo(), kShared), from = i.pointer(op.getFrom(), kGlobal);
  return i.intrinsic("llvm.nvvm.cp.async." + Twine(op.getBytes() == 16 ? "cg" : "ca") + ".shared.global." +
                         Twine(op.getBytes()) + ".s",
                     {to, from, op.getPresent()});
}
LogicalResult lower(simt::AsyncCommitOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.cp.async.commit.group", {});
}
LogicalResult lower(simt::AsyncWaitOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic("llvm.nvvm.cp.async.wait.group", i.number(op.getOpen()));
}

// A prefetch is lowered to inline PTX, because LLVM's intrinsic requires sm_90, although all
// targets and PTX versions have the instruction.
LogicalResult lower(simt::PrefetchOp op, PatternRewriter &b) {
  return Instruction(op, b).text("prefetch.global.L2 [$0];", "l", op->getOperands());
}

LogicalResult lower(simt::MbarrierInitOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.text("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r",
                {i.shared(op.getBarrier()), i.number(op.getArrivals())});
}
LogicalResult lower(simt::MbarrierInitFenceOp op, PatternRewriter &b) {
  return Instruction(op, b).text("fence.mbarrier_init.release.cluster;", "", {});
}
LogicalResult lower(simt::MbarrierArriveOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.text("mbarrier.arrive.release.cta.shared::cta.b64 _, [$0];", "r", i.shared(op.getBarrier()));
}
LogicalResult lower(simt::MbarrierArriveExpectOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.text("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [$0], $1;", "r,r",
                {i.shared(op.getBarrier()), i.number(op.getBytes())});
}
LogicalResult lower(simt::MbarrierWaitOp op, PatternRewriter &b) {
  Instruction i(op, b);
  // The code waits in a loop, because mbarrier.try_wait may return before the phase is complete,
  // after a time limit. Labels are local to the PTX block.
  return i.text("{ .reg .pred ended; AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 ended, [$0], $1; "
                "@!ended bra AGAIN; }",
                "r,r", {i.shared(op.getBarrier()), op.getParity()});
}

//===------------------------------------------------------------------------------------------------------------------===//
// TMA loads, warpgroup MMA
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult lower(TmaLoadOp op, PatternRewriter &b) {
  Instruction i(op, b);
  SmallVector<Value> operands = {i.shared(op.getTo()), op.getTensor()};
  llvm::append_range(operands, op.getPlace());
  operands.push_back(i.shared(op.getBarrier()));
  bool flat = op.getPlace().size() == 2;
  return i.text("cp.async.bulk.tensor." + Twine(flat ? "2d" : "3d") +
                    ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [$0], [$1, {" +
                    (flat ? "$2, $3}], [$4];" : "$2, $3, $4}], [$5];"),
                flat ? "r,l,r,r,r" : "r,l,r,r,r,r", operands);
}

LogicalResult lower(FenceProxyAsyncOp op, PatternRewriter &b) {
  return Instruction(op, b).text("fence.proxy.async.shared::cta;", "", {});
}
LogicalResult lower(WgmmaFenceOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.wgmma.fence.sync.aligned", {});
}
LogicalResult lower(WgmmaCommitGroupOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.wgmma.commit_group.sync.aligned", {});
}

/// Returns the part of the PTX name of a wgmma instruction that contains the shape and the types.
std::string shapeOf(WgmmaOp op) {
  Type left = op.getLeftType(), right = op.getRightType();
  auto byte = [](Type type) { return type.isUnsignedInteger() ? "u8" : "s8"; };
  std::string columns = "m64n" + std::to_string(op.getSums().size() * 2);
  if (isa<IntegerType>(left))
    return columns + "k32.s32." + byte(left) + "." + byte(right);
  if (left.isF32())
    return columns + "k8.f32.tf32.tf32";
  std::string name = left.isF16() ? "f16" : "bf16";
  return columns + "k16.f32." + name + "." + name;
}

LogicalResult lower(WgmmaOp op, PatternRewriter &b) {
  Instruction i(op, b);
  size_t count = op.getSums().size();
  auto name = [](size_t operand) { return "$" + std::to_string(operand); };
  std::string sums = name(0);
  for (size_t sum = 1; sum < count; ++sum)
    sums += ", " + name(sum);
  SmallVector<Value> others(op.getLeft());
  bool inRegisters = op.getLeftLayout() == FactorLayout::Registers;
  if (!inRegisters)
    others = {i.descriptor(op.getLeft()[0], op.getLeftForm())};
  others.push_back(i.descriptor(op.getRight(), op.getRightForm()));
  size_t first = 2 * count;
  std::string left = name(first), right = name(first + others.size() - 1);
  if (inRegisters)
    left = "{" + left + ", " + name(first + 1) + ", " + name(first + 2) + ", " + name(first + 3) + "}";
  // wgmma of float32 (as TF32) and of 8-bit integers has no transpose flags, because both operands
  // must be contiguous along K
  bool bytes = isa<IntegerType>(op.getLeftType()), words = op.getLeftType().isF32();
  auto transposes = [&](FactorLayout layout) {
    return words || bytes || layout == FactorLayout::Registers ? "" : layout == FactorLayout::AcrossSum ? ", 1" : ", 0";
  };
  return i.changeSums("{ .reg .pred adds; setp.ne.b32 adds, 1, 0; " + Twine(kWgmmaText) + ".sync.aligned." +
                          shapeOf(op) + " {" + sums + "}, " + left + ", " + right + ", adds" + (bytes ? "" : ", 1, 1") +
                          transposes(op.getLeftLayout()) + transposes(op.getRightLayout()) + "; }",
                      op.getSums(), others, inRegisters ? "r,r,r,r,l" : "l,l");
}
LogicalResult lower(WgmmaWaitGroupOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.changeSums("wgmma.wait_group.sync.aligned $" + Twine(2 * op.getSums().size()) + ";", op.getSums(),
                      i.number(op.getOpen()), "n");
}
LogicalResult lower(SetmaxnregOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic("llvm.nvvm.setmaxnreg." + Twine(op.getGrows() ? "inc" : "dec") + ".sync.aligned.u32",
                     i.number(op.getCount()));
}

/// Adds a pattern for each op of the simt and nvptx dialects. The pattern calls the overload of
/// `lower` for the op.
template <class Op> LogicalResult rewrite(Op op, PatternRewriter &b) { return lower(op, b); }
template <class... Ops> void addPatterns(RewritePatternSet &patterns) { (patterns.add(&rewrite<Ops>), ...); }

struct LowerToNVVMPass : impl::LowerToNVVMPassBase<LowerToNVVMPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    addPatterns<simt::ThreadIdOp, simt::BlockIdOp, simt::NumBlocksOp, simt::BarrierOp, simt::WarpBarrierOp,
                simt::ShuffleXorOp, simt::CounterAddOp, simt::CounterReadOp, simt::Exp2Op, simt::MmaOp,
                simt::LdmatrixOp, simt::AsyncCopyOp, simt::AsyncCommitOp, simt::AsyncWaitOp, simt::PrefetchOp,
                simt::MbarrierInitOp, simt::MbarrierInitFenceOp, simt::MbarrierArriveOp, simt::MbarrierArriveExpectOp,
                simt::MbarrierWaitOp, TmaLoadOp, FenceProxyAsyncOp, WgmmaFenceOp, WgmmaCommitGroupOp, WgmmaOp,
                WgmmaWaitGroupOp, SetmaxnregOp>(all);
    patterns = std::move(all);
    return success();
  }
  void runOnOperation() override { walkAndApplyPatterns(getOperation(), patterns); }

private:
  FrozenRewritePatternSet patterns;
};

} // namespace
} // namespace hewn::nvptx
