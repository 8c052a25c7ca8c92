// SPDX-License-Identifier: Apache-2.0
//
// Leaves weights of 8 bits as they are where a contraction of floats reads them, and takes their scales behind its sums.
//
//     %w = graph.dequantize %q, %s : (tensor<64x32x3x3xi8>, tensor<64x1x1x1xf32>)   →   %p = graph.conv %x, %q {to = f32} : (..xf32, ..xi8) -> ..xf32
//     %y = graph.conv %x, %w                                                            %y = graph.mul %p, %s
//
// A scale that a column has alone multiplies each product of its sum, so it may as well multiply the sum: the kernel's epilogue does. The kernel makes
// float32s of the integers as it reads them; no digit of them is lost, and the file of weights has a quarter of the bytes. Integers that have zero
// points are their distances from these: 8 bits still, where a zero point is the middle one of integers without a sign, else float16s, which have
// 11 digits. Windows that minimal filtering multiplies become float16s, too (WidenContractions).
//
// So are integers that are computed, where one row reads them: keys and values that a decoder keeps. Scales along the sum multiply the row first, and zero points
// take sums of the row off. Many rows read floats, which are made once.
//
// Left alone, and folded to floats: scales that differ along the sum or by rows, depthwise windows and groups, what a product of bfloat16, a matrix unit or
// tiles that take float32s compute sooner, machines that run a grid of threads. Matrices that are decoded instead (FormCodes).
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Schedule/Schedule.h"
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
#define GEN_PASS_DEF_SCALEBEHINDSUMSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

Verdict paysToScaleSums(ContractOpInterface op, Type type, Precision precision) {
  if (plan::gridOf(op))
    return Verdict::no("a grid of threads multiplies floats that were widened before");
  Builder b(op.getContext());
  Type bf16 = b.getBF16Type(), f32 = b.getF32Type();
  plan::MatrixAttr matrix = plan::findMatrix(op, bf16, bf16, f32);
  if (matrix && plan::fills(op, matrix))
    return Verdict::no("the machine's matrix unit multiplies floats sooner than they are widened");
  if (precision == Precision::Medium && plan::findDot(op, bf16, bf16, f32) && isSummedInPairs(op))
    return Verdict::no("the machine multiplies pairs of bfloat16 sooner than integers are widened");
  // Before there are integers: float32s' tiles.
  int64_t tile = plan::chooseWinogradTile(op, plan::largestWinogradTile(op, plan::largestWinogradTile(precision)));
  if (tile > plan::kLargestHalfTile)
    return Verdict::no("its windows are transformed in tiles that take float32's digits");
  return paysToWiden(op, type);
}

namespace {

/// What makes floats of integers of 8 bits, computed ones, by a scale, of which the right operand is a view or a broadcast (heads of keys that several of
/// queries read); null where nothing does.
graph::QuantizedOpInterface computedScaled(ContractOpInterface op) {
  auto passes = [](Operation *maker) {
    auto move = dyn_cast_or_null<graph::MoveOpInterface>(maker);
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
  SumScaler(ContractOpInterface op, Precision precision, const WeightTable &weights)
      : op(op), precision(precision), weights(weights), b(op), c(b, op->getLoc()) {}

  /// Of weights.
  Verdict ofConstants() {
    if (Found<IntegerForm> found = integerForm(op); !found)
      return Verdict::no(found.why());
    if (Verdict floats = isOfFloats(); !floats)
      return floats;
    Quantized right = *quantizedOf(c, op->getOperand(1), weights); // graph::scaledWeights has seen to that
    if (!isBehindSum(right.scale))
      return Verdict::no("its weights' scales are not one a column");
    bool hasZeros = right.zero && !isKnownInteger(right.zero, middleOf(right.data), weights);
    bool isByte = !hasZeros && (right.zero || !graph::isUnsigned(graph::getElementType(right.data)));
    Type type = isByte ? Type(b.getI8Type()) : Type(b.getF16Type());
    if (!op->hasAttr(kKeepsWeightsAttr))
      if (Verdict pays = paysToScaleSums(op, type, precision); !pays)
        return pays;
    rewrite(distances(right, type), right.scale, {});
    return Verdict::yes();
  }

  /// Of what is computed, as the keys and values that a decoder keeps, and one row reads.
  Verdict ofComputed() {
    std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
    if (plan::gridOf(op))
      return Verdict::no("a grid of threads multiplies floats that were widened before");
    if (!roles || roles->columnInLeft)
      return Verdict::no("the contraction has no columns of its right operand's own");
    if (Verdict floats = isOfFloats(); !floats)
      return floats;
    graph::ProductDims product = graph::productDims(op);
    if (!product.count(product.rows).is(1))
      return Verdict::no("many rows read its integers, and floats are made of them once");
    if (!graph::plainSummedDim(op, *roles) || roles->summed.size() != 1 || !sumsOfRowsFit())
      return Verdict::no("it sums over windows alone, over several dims, or in another order than its result's");
    Quantized right = *quantizedOf(c, op->getOperand(1), weights); // computedScaled has seen to that
    if (right.zero && isKnownInteger(right.zero, 0, weights))
      right.zero = {};
    auto fits = [&](Value parameter) { return isBehindSum(parameter) || placedAs(op, parameter, 1, 0); };
    if (!fits(right.scale) || !fits(right.zero))
      return Verdict::no("its scales or zero points differ along the sum and along columns");
    op->setAttr(kKeepsWeightsAttr, b.getUnitAttr());
    Value scale = right.scale, zeros;
    if (!isBehindSum(scale)) {
      op->setOperand(0, multiplied(op->getOperand(0), scale, 0));
      scale = {};
    }
    if (right.zero)
      zeros = sumsOfZeros(c.cast(right.zero, b.getF32Type()));
    rewrite(right.data, scale, zeros);
    return Verdict::yes();
  }

private:
  Verdict isOfFloats() {
    for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
      if (!graph::getElementType(value).isF32())
        return Verdict::no("it is not of float32");
    return Verdict::yes();
  }

  /// The integer that stands for 0 of those that have a sign, or the same of those that have none.
  static int64_t middleOf(Value integers) { return graph::isUnsigned(graph::getElementType(integers)) ? 128 : 0; }

  bool isBehindSum(Value parameter) { return placedAs(op, parameter, 1, 2).has_value(); }

  Value multiplied(Value value, Value parameter, unsigned side) {
    return c.mul({value, c.cast(c.reshape(parameter, *placedAs(op, parameter, 1, side)), b.getF32Type())});
  }

  /// Whether sums of the left operand's rows, with one element along the summed dim, broadcast to the result.
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

  /// What zero points make of each sum.
  Value sumsOfZeros(Value zero) {
    Value left = op->getOperand(0);
    unsigned depth = *graph::resultWith(op.getIndexingMaps()[0], graph::contractRoles(op)->summed.front());
    if (isBehindSum(zero))
      return multiplied(c.sum(left, int64_t(depth), true), zero, 2);
    return c.sum(multiplied(left, zero, 0), int64_t(depth), true);
  }

  /// The integers as what they are from their zero points.
  Value distances(const Quantized &right, Type type) {
    if (!right.zero)
      return c.cast(right.data, type);
    Type wide = b.getI32Type();
    return c.cast(c.sub({c.cast(right.data, wide), c.cast(right.zero, wide)}), type);
  }

  /// `scale` and `zeros`, which is taken off before, may be null.
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
  const WeightTable &weights;
  OpBuilder b;
  graph::Composer c;
};

struct ScaleBehindSumsPass : impl::ScaleBehindSumsPassBase<ScaleBehindSumsPass> {
  ScaleBehindSumsPass() = default;
  explicit ScaleBehindSumsPass(const ScaleBehindSumsPassOptions &options, const WeightTable *table = nullptr)
      : ScaleBehindSumsPassBase(options), table(table) {}
  const WeightTable *table = nullptr;

  void runOnOperation() override {
    static const WeightTable none;
    const WeightTable &weights = table ? *table : none;
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) {
      if (graph::scaledWeights(op) ? !isDecoded(op, weights) : bool(computedScaled(op)))
        ops.push_back(op);
    });
    for (ContractOpInterface op : ops) {
      SumScaler scaler(op, precision, weights);
      if (Verdict scaled = graph::scaledWeights(op) ? scaler.ofConstants() : scaler.ofComputed(); !scaled)
        missed(op, getArgument(), "ScaledBefore", scaled.why());
    }
    // Floats that nobody reads any more, and views of integers that were looked at in vain.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *dead) {
      if (isOpTriviallyDead(dead))
        dead->erase();
    });
  }

private:
  /// Whether it is FormCodes'.
  bool isDecoded(ContractOpInterface op, const WeightTable &weights) {
    Found<graph::CodedWeights> coded = codedWeights(op, weights);
    return coded && (op->hasAttr(kKeepsWeightsAttr) || paysToDecode(op, *coded, precision));
  }
};

} // namespace

std::unique_ptr<Pass> createScaleBehindSumsPass(const ScaleBehindSumsPassOptions &options, const WeightTable *weights) {
  return std::make_unique<ScaleBehindSumsPass>(options, weights);
}

} // namespace hewn
