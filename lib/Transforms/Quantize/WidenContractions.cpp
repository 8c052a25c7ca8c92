// SPDX-License-Identifier: Apache-2.0
//
// Gives contractions of 8-bit integers operands that the machine has instructions for.
//
//     %y = graph.matmul %x, %w {to = i32}          →   %xw = graph.cast %x {to = i16}
//                                                      %ww = graph.cast %w {to = i16}
//          : (..xui8, ..xi8) -> ..xi32                 %y = graph.matmul %xw, %ww {to = i32} : (..xi16, ..xi16) -> ..xi32
//
// Without sums of four neighbours a machine has those of two (x86: pmaddwd, from the first vectors on), and without these
// products of i32. Casts of constants are folded, those of data are done by whatever makes the data.
//
// Left alone: contractions that the machine takes as they are (`dots` of #plan.target, or matrices of its grid).
#include "dialects/Plan/GridSchedule.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;

namespace hewn {
#define GEN_PASS_DEF_WIDENCONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

struct WidenContractionsPass : impl::WidenContractionsPassBase<WidenContractionsPass> {
  void runOnOperation() override {
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) { ops.push_back(op); });
    for (ContractOpInterface op : ops) {
      Type left = graph::getElementType(op->getOperand(0)), right = graph::getElementType(op->getOperand(1)),
           sum = graph::getElementType(op->getResult(0)), half = IntegerType::get(&getContext(), 16);
      if (!sum.isSignlessInteger(32) || left == sum || right == sum || plan::findDot(op) || plan::findMatrix(op) ||
          plan::multipliesMatrices(op))
        continue;
      castOperands(op, plan::findDot(op, half, half, sum) ? half : sum);
    }
  }
};

} // namespace
} // namespace hewn
