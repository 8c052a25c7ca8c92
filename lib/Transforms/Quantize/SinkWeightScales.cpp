// SPDX-License-Identifier: Apache-2.0
//
// Keeps 8-bit weights of float contractions and applies their scales after accumulation (see
// Passes.td).
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/IntegerForm.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"

#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_SINKWEIGHTSCALESPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

Eligibility paysToScaleSums(ContractOpInterface op, Type type, Precision precision) {
  if (!plan::supports(op, plan::KernelFeature::PackedWeights))
    return Eligibility::no("the target's kernels multiply weights that are extended at compile time");
  Builder b(op.getContext());
  Type bf16 = b.getBF16Type(), f32 = b.getF32Type();
  plan::MatrixUnitAttr matrix = plan::findMatrix(op, bf16, bf16, f32);
  if (matrix && plan::fills(op, matrix))
    return Eligibility::no("float weights are faster: the matrix unit multiplies faster than weights are extended");
  plan::DotProductAttr dot = plan::findDot(op, bf16, bf16, f32);
  if (precision == Precision::Medium && dot && dot.getRelativeRate() > 1 && isSummedInPairs(op))
    return Eligibility::no(
        "bfloat16 weights are faster: the target's dot products multiply faster than integers are extended");
  // The contraction still reads float32 weights at this point, so this is the Winograd tile size of
  // a float32 convolution.
  int64_t tile = plan::chooseWinogradTile(op, plan::largestWinogradTile(op, plan::largestWinogradTile(precision)));
  if (tile > plan::kLargestHalfTile)
    return Eligibility::no("its Winograd tile needs float32 precision");
  return paysToWiden(op, type);
}

namespace {

/// Returns the op that dequantizes computed 8-bit integers with a scale, if the right operand is a
/// view or a broadcast of its result (key heads that several query heads share). Otherwise returns
/// null.
graph::QuantizedOpInterface computedScaled(ContractOpInterface op) {
  auto passes = [](Operation *maker) {
    auto move = dyn_cast_or_null<graph::IndexingOpInterface>(maker);
    return move && (graph::isViewKind(maker) || move.getIsBroadcast());
  };
  Operation *maker = op->getOperand(1).getDefiningOp();
  while (passes(maker))
    maker = maker->getOperand(0).getDefiningOp();
  auto quantized = dyn_cast_or_null<graph::QuantizedOpInterface>(maker);
  bool isScaled = isa_and_nonnull<graph::ElementwiseOpInterface>(maker) && quantized && quantized.getQuantizedScale() &&
                  !graph::codebookOf(quantized);
  Value integers = isScaled ? maker->getOperand(0) : Value();
  bool isBytes = integers && graph::getElementType(integers).isInteger(8) &&
                 graph::getDims(integers) == graph::getDims(maker->getResult(0));
  return isBytes && !graph::isMadeOfConstants(integers) ? quantized : graph::QuantizedOpInterface();
}

class SumScaler {
public:
  SumScaler(ContractOpInterface op, Precision precision, const WeightStore &weights)
      : op(op), precision(precision), weights(weights), b(op), c(b, op->getLoc()) {}

  /// Rewrites a contraction whose weights are constants.
  Eligibility ofConstants() {
    if (OrReason<IntegerForm> found = integerForm(op); !found)
      return Eligibility::no(found.why());
    if (Eligibility floats = isOfFloats(); !floats)
      return floats;
    // The right operand is dequantized: graph::scaledWeights has checked that.
    Quantized right = *quantizedOf(c, op->getOperand(1), weights);
    if (!isBehindSum(right.scale))
      return Eligibility::no("the scales of its weights vary along other dims than the columns");
    bool hasZeros = right.zero && !isKnownInteger(right.zero, middleOf(right.data), weights);
    bool isByte = !hasZeros && (right.zero || !graph::isUnsigned(graph::getElementType(right.data)));
    Type type = isByte ? Type(b.getI8Type()) : Type(b.getF16Type());
    if (!op->hasAttr(kKeepsWeightsAttr))
      if (Eligibility pays = paysToScaleSums(op, type, precision); !pays)
        return pays;
    rewrite(distances(right, type), right.scale, {});
    return Eligibility::yes();
  }

  /// Rewrites a contraction with one row whose right operand is computed 8-bit integers, such as a
  /// decoder's key and value cache.
  Eligibility ofComputed() {
    std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
    if (!plan::supports(op, plan::KernelFeature::PackedWeights))
      return Eligibility::no("the target's kernels multiply weights that are extended at compile time");
    if (!roles || roles->columnInLeft)
      return Eligibility::no("the right operand has no column dim of its own");
    if (Eligibility floats = isOfFloats(); !floats)
      return floats;
    graph::ProductDims product = graph::productDims(op);
    if (!product.count(product.rows).is(1))
      return Eligibility::no("several rows read its integers, and converting them to float once is faster");
    if (!graph::plainSummedDim(op, *roles) || roles->summed.size() != 1 || !sumsOfRowsFit())
      return Eligibility::no(
          "it reduces window dims only or several dims, or its dims have another order than the result's");
    // The right operand is dequantized: computedScaled has checked that.
    Quantized right = *quantizedOf(c, op->getOperand(1), weights);
    if (right.zero && isKnownInteger(right.zero, 0, weights))
      right.zero = {};
    auto fits = [&](Value parameter) { return isBehindSum(parameter) || placedAs(op, parameter, 1, 0); };
    if (!fits(right.scale) || !fits(right.zero))
      return Eligibility::no("its scales or zero points vary along both K and the columns");
    op->setAttr(kKeepsWeightsAttr, b.getUnitAttr());
    Value scale = right.scale, zeros;
    if (!isBehindSum(scale)) {
      op->setOperand(0, multiplied(op->getOperand(0), scale, 0));
      scale = {};
    }
    if (right.zero)
      zeros = sumsOfZeros(c.cast(right.zero, b.getF32Type()));
    rewrite(right.data, scale, zeros);
    return Eligibility::yes();
  }

private:
  Eligibility isOfFloats() {
    for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
      if (!graph::getElementType(value).isF32())
        return Eligibility::no("it is not of float32");
    return Eligibility::yes();
  }

  /// Returns the unsigned or signed integer that becomes 0 if the integers are converted to the
  /// signed type.
  static int64_t middleOf(Value integers) { return graph::isUnsigned(graph::getElementType(integers)) ? 128 : 0; }

  bool isBehindSum(Value parameter) { return placedAs(op, parameter, 1, 2).has_value(); }

  Value multiplied(Value value, Value parameter, unsigned side) {
    return c.mul({value, c.cast(c.reshape(parameter, *placedAs(op, parameter, 1, side)), b.getF32Type())});
  }

  /// Returns true if the sums of the rows of the contraction's left operand, in which the reduction
  /// dim has size 1, broadcast to the contraction's result.
  bool sumsOfRowsFit() {
    SmallVector<AffineMap> maps = op.getIndexingMaps();
    graph::ContractRoles roles = *graph::contractRoles(op);
    AffineExpr summed = getAffineDimExpr(roles.summed.front(), op->getContext()),
               column = getAffineDimExpr(roles.column, op->getContext());
    auto fits = [&](auto pair) {
      auto [left, result] = pair;
      return left == result || (left == summed && result == column);
    };
    return maps[0].getNumResults() == maps[2].getNumResults() &&
           llvm::all_of(llvm::zip(maps[0].getResults(), maps[2].getResults()), fits);
  }

  /// Returns the amount that the zero points of the right operand add to each accumulator.
  Value sumsOfZeros(Value zero) {
    Value left = op->getOperand(0);
    unsigned depth = *graph::resultWith(op.getIndexingMaps()[0], graph::contractRoles(op)->summed.front());
    if (isBehindSum(zero))
      return multiplied(c.sum(left, int64_t(depth), true), zero, 2);
    return c.sum(multiplied(left, zero, 0), int64_t(depth), true);
  }

  /// Returns the right operand's integers minus its zero points, as type `type`.
  Value distances(const Quantized &right, Type type) {
    if (!right.zero)
      return c.cast(right.data, type);
    Type wide = b.getI32Type();
    return c.cast(c.sub({c.cast(right.data, wide), c.cast(right.zero, wide)}), type);
  }

  /// Rewrites the contraction to multiply by `integers`, then subtracts `zeros` from the result and
  /// multiplies it by `scale`. `zeros` and `scale` may be null.
  void rewrite(Value integers, Value scale, Value zeros) {
    op->setOperand(1, integers);
    op->setAttr("to", TypeAttr::get(b.getF32Type()));
    b.setInsertionPointAfter(op);
    Value sums = op->getResult(0), result = sums;
    Operation *first = nullptr;
    if (zeros) {
      result = c.sub({result, zeros});
      first = result.getDefiningOp();
    }
    if (scale)
      result = multiplied(result, scale, 2);
    sums.replaceAllUsesExcept(result, first ? first : result.getDefiningOp());
  }

  ContractOpInterface op;
  Precision precision;
  const WeightStore &weights;
  OpBuilder b;
  graph::Composer c;
};

struct SinkWeightScalesPass : impl::SinkWeightScalesPassBase<SinkWeightScalesPass> {
  using SinkWeightScalesPassBase::SinkWeightScalesPassBase;

  void runOnOperation() override {
    const WeightStore &weights = graph::weightsOf(&getContext());
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) {
      if (graph::scaledWeights(op) ? !isDecoded(op, weights) : bool(computedScaled(op)))
        ops.push_back(op);
    });
    for (ContractOpInterface op : ops) {
      SumScaler scaler(op, precision, weights);
      if (Eligibility scaled = graph::scaledWeights(op) ? scaler.ofConstants() : scaler.ofComputed(); !scaled)
        missed(op, getArgument(), "ScaledBefore", scaled.why());
    }
    // Erase float weights without remaining uses, and views that were created for contractions that
    // were then not rewritten.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *dead) {
      if (isOpTriviallyDead(dead))
        dead->erase();
    });
  }

private:
  /// Returns true if PackLowBitWeights will pack the contraction's weights.
  bool isDecoded(ContractOpInterface op, const WeightStore &weights) {
    OrReason<graph::PackedWeights> coded = packedWeights(op, weights);
    return coded && (op->hasAttr(kKeepsWeightsAttr) || paysToDecode(op, *coded, precision));
  }
};

} // namespace

} // namespace hewn
