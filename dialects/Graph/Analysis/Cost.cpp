// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Cost.h"
#include "dialects/Graph/Graph.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace hewn::graph {

bool isTranscendental(Operation &op) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise)
    return false;
  Block scratch;
  OpBuilder build(op.getContext());
  build.setInsertionPointToStart(&scratch);
  SmallVector<Value> in;
  for (Value operand : op.getOperands())
    in.push_back(scratch.addArgument(computeType(getElementType(operand)), op.getLoc()));
  elementwise.emit(build, op.getLoc(), in);
  return llvm::any_of(scratch, [](Operation &emitted) {
    return isa_and_nonnull<math::MathDialect>(emitted.getDialect()) &&
           !isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::RoundEvenOp, math::TruncOp,
                math::CopySignOp, math::FmaOp>(emitted);
  });
}

} // namespace hewn::graph
