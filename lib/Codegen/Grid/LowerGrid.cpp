// SPDX-License-Identifier: Apache-2.0
//
// Calls a function for each op of the dialect `grid` (GridFunctions.h) and for those of the machine's own (MachineOps.h), and says on its
// declaration what LLVM may do with it.
//
//     grid.barrier
//     %v = grid.shuffle_xor %x, 16 of 32
//     →
//     llvm.call @hewn.grid.barrier(%c0) : (i32) -> ()
//     %v = llvm.call @hewn.grid.shuffle(%all, %x, %c16, %c31) : (i32, i32, i32, i32) -> i32
//
// For code that stays LLVM IR and runs on a CPU in tests; a target makes instructions of the ops by a pass of its own (Device::addLowering).
#include "dialects/Grid/Grid.h"
#include "lib/Codegen/Grid/GridFunctions.h"
#include "lib/Codegen/Grid/MachineOps.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::codegen {
#define GEN_PASS_DEF_LOWERGRIDPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

/// Whether a target's dialect has the op beside the dialect `grid`; then what it is.
const MachineOps *machineOps(Operation *op) {
  return op->getDialect() ? op->getDialect()->getRegisteredInterface<MachineOps>() : nullptr;
}

class Lowerer {
public:
  explicit Lowerer(ModuleOp module) : module(module), calls(module) {}

  void run() {
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa_and_nonnull<grid::GridDialect>(op->getDialect()) || machineOps(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      calls.moveTo(op);
      const MachineOps *own = machineOps(op);
      op->replaceAllUsesWith(own ? own->lowerToCall(op, calls) : lower(op));
      op->erase();
    }
  }

private:
  ModuleOp module;
  GridCalls calls;

  Value number(int64_t value) { return calls.number(value); }
  SmallVector<Value> call(const Twine &name, ValueRange operands, TypeRange results, GridEffects effects) {
    return calls.call(name, operands, results, effects);
  }

  SmallVector<Value> lowerMma(grid::MmaOp op) {
    std::string name = kGridProduct.str();
    auto add = [&](Type type) { name += ("." + GridCalls::factorName(type)).str(); };
    if (!op.getLeftType().isF32())
      add(op.getLeftType());
    if (isa<IntegerType>(op.getLeftType()))
      add(op.getRightType());
    return call(name, op.getOperands(), op.getResultTypes(), GridEffects::Exchanges);
  }

  SmallVector<Value> lower(Operation *op) {
    TypeRange results = op->getResultTypes();
    ValueRange operands = op->getOperands();
    constexpr GridEffects orders = GridEffects::Orders, together = GridEffects::OrdersTogether;
    return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
        .Case([&](grid::ThreadIdOp) { return call(kGridThread, {}, results, GridEffects::None); })
        .Case([&](grid::BlockIdOp) { return call(kGridBlock, {}, results, GridEffects::None); })
        .Case([&](grid::NumBlocksOp) { return call(kGridBlocks, {}, results, GridEffects::None); })
        .Case([&](grid::BarrierOp barrier) {
          // Barrier 0 is the block's, 1 that of some of its threads.
          if (std::optional<uint32_t> threads = barrier.getThreads())
            return call(kGridBarrierSome, {number(1), number(*threads)}, {}, together);
          return call(kGridBarrier, ValueRange{number(0)}, {}, together);
        })
        .Case([&](grid::WarpBarrierOp) { return call(kGridWarpBarrier, ValueRange{number(-1)}, {}, together); })
        .Case([&](grid::ShuffleXorOp shuffle) {
          return call(kGridShuffle,
                      {number(-1), shuffle.getValue(), number(shuffle.getMask()), number(shuffle.getWidth() - 1)},
                      results, GridEffects::Exchanges);
        })
        .Case([&](grid::CounterAddOp) { return call(kGridCounterAdd, operands, results, orders); })
        .Case([&](grid::CounterReadOp read) {
          return call(read.getRelaxed() ? kGridCounterPeek : kGridCounterRead, operands, results, orders);
        })
        .Case([&](grid::Exp2Op) { return call(kGridExp2, operands, results, GridEffects::None); })
        .Case([&](grid::MmaOp mma) { return lowerMma(mma); })
        .Case([&](grid::LdmatrixOp lines) {
          return call(lines.getTransposed() ? kGridLdmatrixTransposed : kGridLdmatrix,
                      calls.plus(lines.getLine(), int64_t(lines.getOffset())), results, GridEffects::Reads);
        })
        .Case([&](grid::AsyncCopyOp copy) {
          StringRef name = copy.getBytes() == 16 ? kGridCopy16 : copy.getBytes() == 8 ? kGridCopy8 : kGridCopy4;
          return call(name, operands, {}, orders);
        })
        .Case([&](grid::AsyncCommitOp) { return call(kGridCopiesClose, {}, {}, orders); })
        .Case([&](grid::AsyncWaitOp wait) {
          return call(kGridCopiesWait, ValueRange{number(wait.getOpen())}, {}, orders);
        })
        .Case([&](grid::PrefetchOp) { return call(kGridPrefetch, operands, {}, orders); })
        .Case([&](grid::MbarrierInitOp init) {
          return call(kGridMbarrierInit, {init.getBarrier(), number(init.getArrivals())}, {}, orders);
        })
        .Case([&](grid::MbarrierInitFenceOp) { return call(kGridMbarriersReady, {}, {}, orders); })
        .Case([&](grid::MbarrierArriveOp) { return call(kGridMbarrierArrive, operands, {}, orders); })
        .Case([&](grid::MbarrierArriveExpectOp expect) {
          return call(kGridMbarrierExpect, {expect.getBarrier(), number(expect.getBytes())}, {}, orders);
        })
        .Case([&](grid::MbarrierWaitOp) { return call(kGridMbarrierWait, operands, {}, orders); });
  }
};

struct LowerGridPass : impl::LowerGridPassBase<LowerGridPass> {
  void runOnOperation() override { Lowerer(getOperation()).run(); }
};

} // namespace
} // namespace hewn::codegen
