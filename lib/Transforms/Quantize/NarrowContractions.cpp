// SPDX-License-Identifier: Apache-2.0
//
// Gives products of float32 to bfloat16, with float32 sums.
//
//     %y = graph.matmul %x, %w : tensor<6x64xf32>     →   %xb = graph.cast %x {to = bf16}
//                                                         %wb = graph.cast %w {to = bf16}
//                                                         %y = graph.matmul %xb, %wb {to = f32} : tensor<6x64xf32>
//
// A product of bfloat16 is exact in float32, so only the rounding of the operands costs accuracy (2^-9 of each); the machine
// does two of them where it does one of float32, and weights are half as many bytes. Casts of constants are folded, those of
// data become a second result of whatever makes the data.
//
// Left alone: machines without an instruction that pays (`dots` of #plan.target), right operands that are not constant (they
// would have to be packed in pairs at every run), depthwise and grouped windows, sums over an odd or short dim, few columns.
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Plan/Schedule.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_NARROWCONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr int64_t kFewest = 16;

/// Whether the engine has a narrow form for it that pays.
bool pays(ContractOpInterface op) {
  for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
    if (!graph::getElementType(value).isF32())
      return false;
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  if (!roles || roles->columnInLeft || !isa_and_nonnull<graph::ConstantOp>(op->getOperand(1).getDefiningOp()))
    return false;
  Dims extents = op.getIterationDims(graph::getDims);
  for (unsigned d : roles->batch)
    if (!extents[d].is(1))
      return false;
  if (extents[roles->column].constant().value_or(0) < kFewest)
    return false;
  std::optional<unsigned> pairs = graph::plainSummedDim(op, *roles);
  int64_t summed = pairs ? extents[*pairs].constant().value_or(0) : 0;
  return summed >= kFewest && summed % 2 == 0;
}

struct NarrowContractionsPass : impl::NarrowContractionsPassBase<NarrowContractionsPass> {
  void runOnOperation() override {
    Builder b(&getContext());
    if (!plan::findDot(getOperation(), b.getBF16Type(), b.getBF16Type(), b.getF32Type()))
      return;
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) {
      if (pays(op))
        ops.push_back(op);
    });
    for (ContractOpInterface op : ops) {
      castOperands(op, b.getBF16Type());
      op->setAttr("to", TypeAttr::get(b.getF32Type()));
    }
  }
};

} // namespace
} // namespace hewn
