// SPDX-License-Identifier: Apache-2.0
//
// Gives contractions operands and sums that the machine has instructions for.
//
//     %y = graph.matmul %x, %w {to = i32}          →   %xw = graph.cast %x {to = i16}
//                                                      %ww = graph.cast %w {to = i16}
//          : (..xui8, ..xi8) -> ..xi32                 %y = graph.matmul %xw, %ww {to = i32} : (..xi16, ..xi16) -> ..xi32
//
// Without sums of four neighbours a machine has those of two (x86: pmaddwd, from the first vectors on), and without these
// products of i32. Casts of constants are folded, those of data are done by whatever makes the data.
//
//     %y = graph.matmul %x, %w                     →   %xw, %ww: the same to f32
//          : (..xf16, ..xf16) -> ..xf16                %s = graph.matmul %xw, %ww {to = f32}
//                                                      %y = graph.cast %s {to = f16}
//
// Sums of narrow floats are float32's and are rounded once. A contraction whose operand is such a result takes the sums as they are,
// and loses no digits between. Operands stay narrow where the machine has a product of them (bfloat16).
//
// So do constants that few rows read: they wait for memory, and are widened when they have come. And those that a quantization stores so.
//
// Left alone: contractions that the machine takes as they are (`dots` of #plan.target, or matrices of its grid), and narrow floats on
// a grid, whose threads widen what they read.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Schedule/GridSchedule.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;

namespace hewn {
#define GEN_PASS_DEF_WIDENCONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

Verdict paysToWiden(ContractOpInterface op, Type type) {
  constexpr int64_t fewRows = 4;
  plan::TargetAttr target = plan::targetOf(op);
  if (type.isF16() && target && !target.getHasHalfConversions())
    return Verdict::no("the machine has no instruction that makes float32 of float16");
  if (type.getIntOrFloatBitWidth() < 16)
    return Verdict::no("the machine has no instruction that makes float32 of float8");
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  if (!roles || plan::contractShape(op, *roles).rows.constant().value_or(fewRows + 1) > fewRows)
    return Verdict::no("its rows are many or known only when run, and float32s are there sooner than they are widened");
  return Verdict::yes();
}

namespace {

/// Whether the machine has products of narrow floats as the operands are.
bool takesNarrow(ContractOpInterface op, Type left, Type right, Type sum) {
  return (plan::findDot(op, left, right, sum) || plan::findMatrix(op, left, right, sum)) && isSummedInPairs(op);
}

/// Whether a few rows are multiplied by constants of 16 bits, which take less time to come from memory as they are.
bool waitsForWeights(ContractOpInterface op) {
  Value right = op->getOperand(1);
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  return roles && !roles->columnInLeft && isa_and_nonnull<graph::ConstantOp>(right.getDefiningOp()) &&
         graph::elementBytes(right) == 2 && paysToWiden(op, graph::getElementType(right));
}

class Widener {
public:
  explicit Widener(MLIRContext *context) : b(context) {}

  void run(ContractOpInterface op) {
    bool keeps = bool(op->removeAttr(kKeepsWeightsAttr)) && graph::widensRight(op);
    if (keeps || graph::termsOf(op) > 1) // as narrow as they are on purpose
      return;
    Type sum = graph::getElementType(op->getResult(0));
    if (sum.isSignlessInteger(32))
      widenIntegers(op);
    else if (auto floats = dyn_cast<FloatType>(sum); floats && floats.getWidth() <= 32 && !plan::gridOf(op))
      widenFloats(op);
  }

private:
  Builder b;
  /// Results that were rounded here, and the sums that they were.
  DenseMap<Value, Value> sums;

  void widenIntegers(ContractOpInterface op) {
    Type left = graph::getElementType(op->getOperand(0)), right = graph::getElementType(op->getOperand(1)),
         sum = b.getI32Type(), half = b.getIntegerType(16);
    if (left == sum || right == sum || plan::findDot(op) || plan::findMatrix(op) || plan::multipliesMatrices(op))
      return;
    castOperands(op, plan::findDot(op, half, half, sum) ? half : sum);
  }

  void widenFloats(ContractOpInterface op) {
    Type left = graph::getElementType(op->getOperand(0)), right = graph::getElementType(op->getOperand(1)),
         result = graph::getElementType(op->getResult(0)), sum = b.getF32Type();
    bool narrow = takesNarrow(op, left, right, sum);
    if (result == sum && ((left == sum && right == sum) || narrow))
      return;
    OpBuilder at(op);
    graph::Composer c(at, op->getLoc());
    bool waits = waitsForWeights(op);
    ContractOpInterface widened = rewriteOperands(op, sum, [&](unsigned operand, Value value) {
      Value known = sums.lookup(value);
      return narrow || (waits && operand == 1) ? value : known ? known : c.cast(value, sum);
    });
    if (!widened || result == sum)
      return;
    at.setInsertionPointAfter(widened);
    Value whole = widened->getResult(0), rounded = c.cast(whole, result);
    whole.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
    sums[rounded] = whole;
  }
};

struct WidenContractionsPass : impl::WidenContractionsPassBase<WidenContractionsPass> {
  void runOnOperation() override {
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) { ops.push_back(op); });
    Widener widener(&getContext());
    for (ContractOpInterface op : ops)
      widener.run(op);
  }
};

} // namespace
} // namespace hewn
