// SPDX-License-Identifier: Apache-2.0
//
// Calls a function for each op of the dialect `grid` (GridFunctions.h), and says on its declaration what LLVM may do with it.
//
//     grid.barrier
//     %v = grid.shuffle_xor %x, 16 of 32
//     →
//     llvm.call @hewn.grid.barrier(%c0) : (i32) -> ()
//     %v = llvm.call @hewn.grid.shuffle(%all, %x, %c16, %c31) : (i32, i32, i32, i32) -> i32
//
// Immediate operands are those of the instructions, so that a target need only change the callee.
#include "dialects/Grid/Grid.h"
#include "lib/Codegen/Grid/GridFunctions.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::codegen {
#define GEN_PASS_DEF_LOWERGRIDPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

/// What LLVM may know of a function: whether all threads of a warp or a block call it together, and which memory it touches.
enum class Effects { None, Exchanges, Reads, Orders, OrdersTogether };

class Lowerer {
public:
  explicit Lowerer(ModuleOp module) : module(module), b(module.getContext()), loc(module.getLoc()) {}

  void run() {
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa_and_nonnull<grid::GridDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      loc = op->getLoc();
      op->replaceAllUsesWith(lower(op));
      op->erase();
    }
  }

private:
  ModuleOp module;
  OpBuilder b;
  Location loc;

  Value number(int64_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(value))); }

  LLVM::LLVMFuncOp declare(StringRef name, LLVM::LLVMFunctionType type, Effects effects) {
    if (auto known = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
      return known;
    OpBuilder top(module.getBodyRegion());
    auto callee = LLVM::LLVMFuncOp::create(top, module.getLoc(), name, type);
    callee.setNoUnwind(true);
    callee.setWillReturn(true);
    callee.setConvergent(effects == Effects::Exchanges || effects == Effects::Reads ||
                         effects == Effects::OrdersTogether);
    using LLVM::ModRefInfo;
    auto touches = [&](ModRefInfo inaccessible, ModRefInfo rest) {
      callee.setMemoryEffectsAttr(
          LLVM::MemoryEffectsAttr::get(b.getContext(), rest, rest, inaccessible, rest, rest, rest));
    };
    if (effects == Effects::None)
      touches(ModRefInfo::NoModRef, ModRefInfo::NoModRef);
    else if (effects == Effects::Exchanges)
      touches(ModRefInfo::ModRef, ModRefInfo::NoModRef);
    else if (effects == Effects::Reads)
      touches(ModRefInfo::Ref, ModRefInfo::Ref);
    return callee;
  }

  /// Several results come as a struct.
  SmallVector<Value> call(const Twine &name, ValueRange operands, TypeRange results, Effects effects) {
    MLIRContext *context = b.getContext();
    Type result = results.empty()       ? Type(LLVM::LLVMVoidType::get(context))
                  : results.size() == 1 ? results[0]
                                        : LLVM::LLVMStructType::getLiteral(context, llvm::to_vector(results));
    auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(operands.getTypes()));
    auto made = LLVM::CallOp::create(b, loc, declare(name.str(), type, effects), operands);
    if (results.size() <= 1)
      return llvm::to_vector_of<Value>(made.getResults());
    SmallVector<Value> values;
    for (int64_t i = 0; i < int64_t(results.size()); ++i)
      values.push_back(LLVM::ExtractValueOp::create(b, loc, made.getResult(), i));
    return values;
  }

  static StringRef floatName(Type type) { return type.isF16() ? "f16" : type.isBF16() ? "bf16" : "f32"; }
  static StringRef byteName(Type type) { return type.isUnsignedInteger() ? "u8" : "s8"; }

  SmallVector<Value> lowerMma(grid::MmaOp op) {
    std::string name = kGridProduct.str();
    if (isa<IntegerType>(op.getLeftType()))
      name += ("." + byteName(op.getLeftType()) + "." + byteName(op.getRightType())).str();
    else if (!op.getLeftType().isF32())
      name += ("." + floatName(op.getLeftType())).str();
    return call(name, op.getOperands(), op.getResultTypes(), Effects::Exchanges);
  }

  SmallVector<Value> lowerGroupMma(grid::GroupMmaOp op) {
    auto letter = [](grid::FactorLayout layout) {
      return layout == grid::FactorLayout::Registers ? "r" : layout == grid::FactorLayout::AlongSum ? "k" : "m";
    };
    Type left = op.getLeftType(), right = op.getRightType();
    std::string types = isa<IntegerType>(left) ? (byteName(left) + byteName(right)).str() : floatName(left).str();
    SmallVector<Value> operands(op.getLeft());
    operands.push_back(op.getRight());
    if (op.getLeftForm())
      operands.push_back(op.getLeftForm());
    operands.push_back(op.getRightForm());
    llvm::append_range(operands, op.getSums());
    return call(kGridGroupProduct + types + "." + letter(op.getLeftLayout()) + "." + letter(op.getRightLayout()) + "." +
                    Twine(op.getSums().size() * 2),
                operands, op.getResultTypes(), Effects::OrdersTogether);
  }

  SmallVector<Value> lowerGroupWait(grid::GroupWaitOp op) {
    SmallVector<Value> operands = {number(op.getOpen())};
    llvm::append_range(operands, op.getSums());
    StringRef types = op.getSums()[0].getType().isInteger() ? "i32." : "";
    return call(kGridGroupWait + types + Twine(op.getSums().size() * 2), operands, op.getResultTypes(),
                Effects::OrdersTogether);
  }

  SmallVector<Value> lowerTensorCopy(grid::TensorCopyOp op) {
    SmallVector<Value> operands = {op.getTo(), op.getTensor()};
    llvm::append_range(operands, op.getPlace());
    operands.push_back(op.getBarrier());
    return call(kGridFetch + Twine(op.getPlace().size()), operands, {}, Effects::Orders);
  }

  SmallVector<Value> lower(Operation *op) {
    TypeRange results = op->getResultTypes();
    ValueRange operands = op->getOperands();
    constexpr Effects orders = Effects::Orders, together = Effects::OrdersTogether;
    return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
        .Case([&](grid::ThreadIdOp) { return call(kGridThread, {}, results, Effects::None); })
        .Case([&](grid::BlockIdOp) { return call(kGridBlock, {}, results, Effects::None); })
        .Case([&](grid::NumBlocksOp) { return call(kGridBlocks, {}, results, Effects::None); })
        .Case([&](grid::BarrierOp barrier) {
          // Barrier 0 is the block's, 1 that of some of its threads.
          if (std::optional<uint32_t> threads = barrier.getThreads())
            return call(kGridBarrierSome, {number(1), number(*threads)}, {}, together);
          return call(kGridBarrier, ValueRange{number(0)}, {}, together);
        })
        .Case([&](grid::WarpBarrierOp) { return call(kGridWarpMeet, ValueRange{number(-1)}, {}, together); })
        .Case([&](grid::ShuffleXorOp shuffle) {
          return call(kGridShuffle,
                      {number(-1), shuffle.getValue(), number(shuffle.getMask()), number(shuffle.getWidth() - 1)},
                      results, Effects::Exchanges);
        })
        .Case([&](grid::CounterAddOp) { return call(kGridCounterAdd, operands, results, orders); })
        .Case([&](grid::CounterReadOp) { return call(kGridCounterRead, operands, results, orders); })
        .Case([&](grid::MmaOp mma) { return lowerMma(mma); })
        .Case([&](grid::LdmatrixOp lines) {
          return call(lines.getTransposed() ? kGridLinesTurned : kGridLines, operands, results, Effects::Reads);
        })
        .Case([&](grid::AsyncCopyOp copy) {
          StringRef name = copy.getBytes() == 16 ? kGridCopy16 : copy.getBytes() == 8 ? kGridCopy8 : kGridCopy4;
          return call(name, operands, {}, orders);
        })
        .Case([&](grid::AsyncCommitOp) { return call(kGridCopiesClose, {}, {}, orders); })
        .Case([&](grid::AsyncWaitOp wait) {
          return call(kGridCopiesWait, ValueRange{number(wait.getOpen())}, {}, orders);
        })
        .Case([&](grid::GroupPublishOp) { return call(kGridGroupPublish, {}, {}, orders); })
        .Case([&](grid::GroupFenceOp) { return call(kGridGroupBegin, {}, {}, together); })
        .Case([&](grid::GroupMmaOp mma) { return lowerGroupMma(mma); })
        .Case([&](grid::GroupCommitOp) { return call(kGridGroupClose, {}, {}, together); })
        .Case([&](grid::GroupWaitOp wait) { return lowerGroupWait(wait); })
        .Case([&](grid::MbarrierInitOp init) {
          return call(kGridGateInit, {init.getBarrier(), number(init.getArrivals())}, {}, orders);
        })
        .Case([&](grid::MbarrierInitFenceOp) { return call(kGridGatesReady, {}, {}, orders); })
        .Case([&](grid::MbarrierArriveOp) { return call(kGridGateArrive, operands, {}, orders); })
        .Case([&](grid::MbarrierArriveExpectOp expect) {
          return call(kGridGateExpect, {expect.getBarrier(), number(expect.getBytes())}, {}, orders);
        })
        .Case([&](grid::MbarrierWaitOp) { return call(kGridGateWait, operands, {}, orders); })
        .Case([&](grid::TensorCopyOp copy) { return lowerTensorCopy(copy); })
        .Case([&](grid::SetRegistersOp set) {
          StringRef name = set.getGrows() ? kGridRegistersTake : kGridRegistersKeep;
          return call(name, ValueRange{number(set.getCount())}, {}, together);
        });
  }
};

struct LowerGridPass : impl::LowerGridPassBase<LowerGridPass> {
  void runOnOperation() override { Lowerer(getOperation()).run(); }
};

} // namespace
} // namespace hewn::codegen
