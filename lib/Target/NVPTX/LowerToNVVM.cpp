// SPDX-License-Identifier: Apache-2.0
//
// Makes instructions of what a grid's code does beyond loops and arithmetic: intrinsics of NVVM, and PTX where LLVM has none.
//
//     grid.barrier
//     %v = grid.shuffle_xor %x, 16 of 32
//     →
//     llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"(%c0) : (i32) -> ()
//     %v = llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"(%all, %x, %c16, %c31) : (i32, i32, i32, i32) -> i32
//
// Addresses, which are integers until here, are pointers to shared and global memory in intrinsics, and 32 bits in PTX's operands.
#include "dialects/Grid/Grid.h"
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Target/NVPTX/NVPTXDialect.h"
#include "lib/Target/NVPTX/Passes.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

namespace hewn::nvptx {
#define GEN_PASS_DEF_LOWERTONVVMPASS
#include "lib/Target/NVPTX/Passes.h.inc"

namespace {

constexpr unsigned kShared = unsigned(codegen::kSharedSpace), kGlobal = 1;

/// Writes the instruction that stands for an op.
class Instruction {
public:
  Instruction(Operation *op, PatternRewriter &b) : op(op), b(b), loc(op->getLoc()) {}

  Value number(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value))); }
  Value number64(int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); }
  /// `offset` is a part of the instruction: a sum that LLVM sees would be one with the memory's own address, in a register of its own.
  Value pointer(Value address, unsigned space, int64_t offset = 0) {
    auto type = LLVM::LLVMPointerType::get(b.getContext(), space);
    Value first = LLVM::IntToPtrOp::create(b, loc, type, address);
    if (offset == 0)
      return first;
    return LLVM::GEPOp::create(b, loc, type, b.getI8Type(), first, ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  }
  /// An address in shared memory as PTX takes it.
  Value shared(Value address) { return LLVM::TruncOp::create(b, loc, b.getI32Type(), address); }
  /// What says where a matrix is: its address, of which the machine knows 18 bits, within its form.
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
  /// `constraints` are those of the operands, of which the text calls the first one $0, or the one behind the results.
  LogicalResult text(const Twine &text, const Twine &constraints, ValueRange operands) {
    std::string all = constraints.str();
    all += all.empty() ? "~{memory}" : ",~{memory}";
    Type type = op->getNumResults() == 0 ? Type() : resultType();
    return replaceBy(LLVM::InlineAsmOp::create(b, loc, type, operands, text.str(), all, /*has_side_effects=*/true,
                                               /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                               LLVM::AsmDialectAttr(), ArrayAttr()));
  }
  /// Text that changes `sums`, registers that it names $0, $1, ..., and reads `others`, which come behind twice as many.
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
  /// Several results come as a struct.
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
// Positions, and threads that wait for each other
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult lower(grid::ThreadIdOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", {});
}
LogicalResult lower(grid::BlockIdOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", {});
}
LogicalResult lower(grid::NumBlocksOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", {});
}

/// Barrier 0 is the block's, 1 that of some of its threads.
LogicalResult lower(grid::BarrierOp op, PatternRewriter &b) {
  Instruction i(op, b);
  if (std::optional<uint32_t> threads = op.getThreads())
    return i.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.count", {i.number(1), i.number(*threads)});
  return i.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", i.number(0));
}
LogicalResult lower(grid::WarpBarrierOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic("llvm.nvvm.bar.warp.sync", i.number(-1));
}
LogicalResult lower(grid::ShuffleXorOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic("llvm.nvvm.shfl.sync.bfly.i32",
                     {i.number(-1), op.getValue(), i.number(op.getMask()), i.number(op.getWidth() - 1)});
}

// LLVM has atomic operations, but loses the order of those that add: the text is the machine's.
LogicalResult lower(grid::CounterAddOp op, PatternRewriter &b) {
  if (op.getBefore().use_empty()) // nothing waits for what it was
    return Instruction(op, b).text("red.release.gpu.global.add.u32 [$0], $1;", "l,r", op->getOperands());
  return Instruction(op, b).text("atom.acq_rel.gpu.global.add.u32 $0, [$1], $2;", "=r,l,r", op->getOperands());
}
LogicalResult lower(grid::CounterReadOp op, PatternRewriter &b) {
  StringRef text = op.getRelaxed() ? "ld.relaxed.gpu.global.u32 $0, [$1];" : "ld.acquire.gpu.global.u32 $0, [$1];";
  return Instruction(op, b).text(text, "=r,l", op->getOperands());
}

LogicalResult lower(grid::Exp2Op op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.ex2.approx.ftz.f32", op->getOperands());
}

//===------------------------------------------------------------------------------------------------------------------===//
// Matrices of a warp, copies on their way, barriers in memory
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult lower(grid::MmaOp op, PatternRewriter &b) {
  Type left = op.getLeftType();
  if (left.isF16()) { // words are pairs
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
LogicalResult lower(grid::LdmatrixOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic(op.getTransposed() ? "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16"
                                        : "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16",
                     i.pointer(op.getLine(), kShared, int64_t(op.getOffset())));
}

LogicalResult lower(grid::AsyncCopyOp op, PatternRewriter &b) {
  Instruction i(op, b);
  Value to = i.pointer(op.getTo(), kShared), from = i.pointer(op.getFrom(), kGlobal);
  return i.intrinsic("llvm.nvvm.cp.async." + Twine(op.getBytes() == 16 ? "cg" : "ca") + ".shared.global." +
                         Twine(op.getBytes()) + ".s",
                     {to, from, op.getPresent()});
}
LogicalResult lower(grid::AsyncCommitOp op, PatternRewriter &b) {
  return Instruction(op, b).intrinsic("llvm.nvvm.cp.async.commit.group", {});
}
LogicalResult lower(grid::AsyncWaitOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.intrinsic("llvm.nvvm.cp.async.wait.group", i.number(op.getOpen()));
}

// Of all machines and PTX there are; LLVM's intrinsic wants sm_90.
LogicalResult lower(grid::PrefetchOp op, PatternRewriter &b) {
  return Instruction(op, b).text("prefetch.global.L2 [$0];", "l", op->getOperands());
}

LogicalResult lower(grid::MbarrierInitOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.text("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r",
                {i.shared(op.getBarrier()), i.number(op.getArrivals())});
}
LogicalResult lower(grid::MbarrierInitFenceOp op, PatternRewriter &b) {
  return Instruction(op, b).text("fence.mbarrier_init.release.cluster;", "", {});
}
LogicalResult lower(grid::MbarrierArriveOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.text("mbarrier.arrive.release.cta.shared::cta.b64 _, [$0];", "r", i.shared(op.getBarrier()));
}
LogicalResult lower(grid::MbarrierArriveExpectOp op, PatternRewriter &b) {
  Instruction i(op, b);
  return i.text("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [$0], $1;", "r,r",
                {i.shared(op.getBarrier()), i.number(op.getBytes())});
}
LogicalResult lower(grid::MbarrierWaitOp op, PatternRewriter &b) {
  Instruction i(op, b);
  // A try waits for some time; labels are the block's own.
  return i.text("{ .reg .pred ended; AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 ended, [$0], $1; "
                "@!ended bra AGAIN; }",
                "r,r", {i.shared(op.getBarrier()), op.getParity()});
}

//===------------------------------------------------------------------------------------------------------------------===//
// Boxes of tensors, matrices of a warpgroup
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

/// The part of a product's name that says what it multiplies.
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
  bool bytes = isa<IntegerType>(op.getLeftType()), words = op.getLeftType().isF32(); // these have one layout
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

/// One pattern an op: the overload of `lower` that takes it.
template <class Op> LogicalResult rewrite(Op op, PatternRewriter &b) { return lower(op, b); }
template <class... Ops> void addPatterns(RewritePatternSet &patterns) { (patterns.add(&rewrite<Ops>), ...); }

struct LowerToNVVMPass : impl::LowerToNVVMPassBase<LowerToNVVMPass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet all(context);
    addPatterns<grid::ThreadIdOp, grid::BlockIdOp, grid::NumBlocksOp, grid::BarrierOp, grid::WarpBarrierOp,
                grid::ShuffleXorOp, grid::CounterAddOp, grid::CounterReadOp, grid::Exp2Op, grid::MmaOp,
                grid::LdmatrixOp, grid::AsyncCopyOp, grid::AsyncCommitOp, grid::AsyncWaitOp, grid::PrefetchOp,
                grid::MbarrierInitOp, grid::MbarrierInitFenceOp, grid::MbarrierArriveOp, grid::MbarrierArriveExpectOp,
                grid::MbarrierWaitOp, TmaLoadOp, FenceProxyAsyncOp, WgmmaFenceOp, WgmmaCommitGroupOp, WgmmaOp,
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
