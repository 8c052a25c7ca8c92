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
// Left alone, and folded to floats: scales that differ along the sum or by rows, depthwise windows and groups, what a product of bfloat16, a matrix unit or
// tiles that take float32s compute sooner, machines that run a grid of threads. Matrices that are decoded instead (FormCodes).
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Contract/Winograd.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/IntegerForm.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"

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

class SumScaler {
public:
  SumScaler(ContractOpInterface op, Precision precision, const WeightTable &weights)
      : op(op), precision(precision), weights(weights), b(op), c(b, op->getLoc()) {}

  Verdict run() {
    Found<IntegerForm> found = integerForm(op);
    if (!found)
      return Verdict::no(found.why());
    form = *found;
    for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
      if (!graph::getElementType(value).isF32())
        return Verdict::no("it is not of float32");
    Quantized right = *quantizedOf(c, op->getOperand(1), weights); // graph::scaledWeights has seen to that
    if (!isAlongColumns(right.scale) || !isAlongColumns(right.zero))
      return Verdict::no("its weights' scales are not one a column");
    bool hasZeros = right.zero && !isKnownInteger(right.zero, middleOf(right.data), weights);
    bool isByte = !hasZeros && (right.zero || !graph::isUnsigned(graph::getElementType(right.data)));
    Type type = isByte ? Type(b.getI8Type()) : Type(b.getF16Type());
    if (!op->hasAttr(kKeepsWeightsAttr))
      if (Verdict pays = paysToScaleSums(op, type, precision); !pays)
        return pays;
    rewrite(distances(right, type), right);
    return Verdict::yes();
  }

private:
  /// The integer that stands for 0 of those that have a sign, or the same of those that have none.
  static int64_t middleOf(Value integers) { return graph::isUnsigned(graph::getElementType(integers)) ? 128 : 0; }

  /// Whether a parameter of the right operand is one, or one a column.
  bool isAlongColumns(Value parameter) {
    if (isScalar(parameter))
      return true;
    for (auto [i, dim] : llvm::enumerate(graph::getDims(parameter)))
      if (i != form.columnInRight && !dim.is(1))
        return false;
    return true;
  }

  /// The integers as what they are from their zero points.
  Value distances(const Quantized &right, Type type) {
    if (!right.zero)
      return c.cast(right.data, type);
    Type wide = b.getI32Type();
    return c.cast(c.sub({c.cast(right.data, wide), c.cast(right.zero, wide)}), type);
  }

  void rewrite(Value integers, const Quantized &right) {
    op->setOperand(1, integers);
    op->setAttr("to", TypeAttr::get(b.getF32Type()));
    if (!right.scale)
      return;
    b.setInsertionPointAfter(op);
    Value sums = op->getResult(0), scale = right.scale;
    if (!isScalar(scale)) {
      Dims dims(size_t(graph::getRank(sums)), graph::DimExpr(1));
      dims[form.columnInResult] = form.extents[form.roles.column];
      scale = c.reshape(scale, dims);
    }
    Value scaled = c.mul({sums, c.cast(scale, b.getF32Type())});
    sums.replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  }

  ContractOpInterface op;
  Precision precision;
  const WeightTable &weights;
  OpBuilder b;
  graph::Composer c;
  IntegerForm form;
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
      if (graph::scaledWeights(op) && !isDecoded(op, weights))
        ops.push_back(op);
    });
    for (ContractOpInterface op : ops)
      if (Verdict scaled = SumScaler(op, precision, weights).run(); !scaled)
        missed(op, getArgument(), "ScaledBefore", scaled.why());
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
