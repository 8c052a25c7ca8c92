// SPDX-License-Identifier: Apache-2.0
//
// Lowers the ops of the dialect `simt` and of target dialects to calls (see Passes.td).
#include "dialects/Simt/Simt.h"
#include "lib/Codegen/GPU/MachineOps.h"
#include "lib/Codegen/GPU/SimtFunctions.h"
#include "lib/Codegen/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace hewn::codegen {
#define GEN_PASS_DEF_LOWERSIMTPASS
#include "lib/Codegen/Passes.h.inc"

namespace {

/// Returns the MachineOps of the op's dialect, or null if the dialect has none.
const MachineOps *machineOps(Operation *op) {
  return op->getDialect() ? op->getDialect()->getRegisteredInterface<MachineOps>() : nullptr;
}

class Lowerer {
public:
  explicit Lowerer(ModuleOp module) : module(module), calls(module) {}

  void run() {
    SmallVector<Operation *> ops;
    module.walk([&](Operation *op) {
      if (isa_and_nonnull<simt::SimtDialect>(op->getDialect()) || machineOps(op))
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
  SimtCalls calls;

  Value number(int64_t value) { return calls.number(value); }
  SmallVector<Value> call(const Twine &name, ValueRange operands, TypeRange results, SimtEffects effects) {
    return calls.call(name, operands, results, effects);
  }

  SmallVector<Value> lowerMma(simt::MmaOp op) {
    std::string name = kSimtProduct.str();
    auto add = [&](Type type) { name += ("." + SimtCalls::factorName(type)).str(); };
    if (!op.getLeftType().isF32())
      add(op.getLeftType());
    if (isa<IntegerType>(op.getLeftType()))
      add(op.getRightType());
    return call(name, op.getOperands(), op.getResultTypes(), SimtEffects::Exchanges);
  }

  SmallVector<Value> lower(Operation *op) {
    TypeRange results = op->getResultTypes();
    ValueRange operands = op->getOperands();
    constexpr SimtEffects orders = SimtEffects::Orders, together = SimtEffects::OrdersTogether;
    return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
        .Case([&](simt::ThreadIdOp) { return call(kSimtThread, {}, results, SimtEffects::None); })
        .Case([&](simt::BlockIdOp) { return call(kSimtBlock, {}, results, SimtEffects::None); })
        .Case([&](simt::NumBlocksOp) { return call(kSimtBlocks, {}, results, SimtEffects::None); })
        .Case([&](simt::BarrierOp barrier) {
          // Hardware barrier 0 waits for all threads of the block, barrier 1 for its first
          // `threads` ones.
          if (std::optional<uint32_t> threads = barrier.getThreads())
            return call(kSimtBarrierSome, {number(1), number(*threads)}, {}, together);
          return call(kSimtBarrier, ValueRange{number(0)}, {}, together);
        })
        .Case([&](simt::WarpBarrierOp) { return call(kSimtWarpBarrier, ValueRange{number(-1)}, {}, together); })
        .Case([&](simt::ShuffleXorOp shuffle) {
          return call(kSimtShuffle,
                      {number(-1), shuffle.getValue(), number(shuffle.getMask()), number(shuffle.getWidth() - 1)},
                      results, SimtEffects::Exchanges);
        })
        .Case([&](simt::CounterAddOp) { return call(kSimtCounterAdd, operands, results, orders); })
        .Case([&](simt::CounterReadOp read) {
          return call(read.getRelaxed() ? kSimtCounterPeek : kSimtCounterRead, operands, results, orders);
        })
        .Case([&](simt::Exp2Op) { return call(kSimtExp2, operands, results, SimtEffects::None); })
        .Case([&](simt::MmaOp mma) { return lowerMma(mma); })
        .Case([&](simt::LdmatrixOp lines) {
          return call(lines.getTransposed() ? kSimtLdmatrixTransposed : kSimtLdmatrix,
                      calls.plus(lines.getLine(), int64_t(lines.getOffset())), results, SimtEffects::Reads);
        })
        .Case([&](simt::AsyncCopyOp copy) {
          StringRef name = copy.getBytes() == 16 ? kSimtCopy16 : copy.getBytes() == 8 ? kSimtCopy8 : kSimtCopy4;
          return call(name, operands, {}, orders);
        })
        .Case([&](simt::AsyncCommitOp) { return call(kSimtCopiesClose, {}, {}, orders); })
        .Case([&](simt::AsyncWaitOp wait) {
          return call(kSimtCopiesWait, ValueRange{number(wait.getOpen())}, {}, orders);
        })
        .Case([&](simt::PrefetchOp) { return call(kSimtPrefetch, operands, {}, orders); })
        .Case([&](simt::MbarrierInitOp init) {
          return call(kSimtMbarrierInit, {init.getBarrier(), number(init.getArrivals())}, {}, orders);
        })
        .Case([&](simt::MbarrierInitFenceOp) { return call(kMbarrierPipelineReady, {}, {}, orders); })
        .Case([&](simt::MbarrierArriveOp) { return call(kSimtMbarrierArrive, operands, {}, orders); })
        .Case([&](simt::MbarrierArriveExpectOp expect) {
          return call(kSimtMbarrierExpect, {expect.getBarrier(), number(expect.getBytes())}, {}, orders);
        })
        .Case([&](simt::MbarrierWaitOp) { return call(kSimtMbarrierWait, operands, {}, orders); });
  }
};

struct LowerSimtPass : impl::LowerSimtPassBase<LowerSimtPass> {
  void runOnOperation() override { Lowerer(getOperation()).run(); }
};

} // namespace
} // namespace hewn::codegen
