// SPDX-License-Identifier: Apache-2.0
//
// Computes float32 contractions in bfloat16 (see Passes.td).
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Schedule/BfloatSchedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Schedule/SplitBf16Schedule.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include <cstring>

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_LOWERMATMULPRECISIONPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr int64_t kFewest = 16;

/// Returns true if packing a computed right operand in pairs along K at run time pays. In fused
/// attention, the rows of the first GEMM's result must then also fit the stack of a task.
bool paysPacking(ContractOpInterface op, const graph::ContractRoles &roles) {
  constexpr int64_t floatBytes = 4, narrowBytes = 2;
  Builder b(op.getContext());
  std::optional<unsigned> summed = graph::plainSummedDim(op, roles);
  std::optional<int64_t> depth = summed ? op.getIterationDims(graph::getDims)[*summed].constant() : std::nullopt;
  return depth && plan::supports(op, plan::KernelFeature::RuntimePacking) &&
         !plan::findMatrix(op, b.getBF16Type(), b.getBF16Type(), b.getF32Type()) &&
         plan::attentionRows(op, *depth, floatBytes + narrowBytes) > 0 && paysPairs(op);
}

/// Returns true if the contraction can be computed in bfloat16: it is float32, it has enough
/// columns, and instructions that multiply pairs can reduce its K.
bool canBeBfloat16(ContractOpInterface op) {
  for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
    if (!graph::getElementType(value).isF32())
      return false;
  if (graph::termsOf(op) > 1 || !isSummedInPairs(op) || plan::decoderOf(op))
    return false;
  graph::ContractRoles roles = *graph::contractRoles(op);
  Dims extents = op.getIterationDims(graph::getDims);
  return extents[roles.column].constant().value_or(0) >= kFewest &&
         extents[*graph::plainSummedDim(op, roles)].constant().value_or(0) >= kFewest;
}

plan::MatrixUnitAttr matrixOf(ContractOpInterface op) {
  Builder b(op.getContext());
  return plan::findMatrix(op, b.getBF16Type(), b.getBF16Type(), b.getF32Type());
}

plan::DotProductAttr dotOf(ContractOpInterface op) {
  Builder b(op.getContext());
  return plan::findDot(op, b.getBF16Type(), b.getBF16Type(), b.getF32Type());
}

/// Returns whether the contraction is faster in bfloat16 than as a Winograd convolution in float32,
/// which is more accurate. `gain` is the speedup of bfloat16 over the direct convolution in
/// float32.
Eligibility beatsWinograd(ContractOpInterface op, Precision precision, double gain) {
  return plan::chooseWinogradTile(op, plan::largestWinogradTile(precision), gain)
             ? Eligibility::no("Winograd in float32 is faster")
             : Eligibility::yes();
}

/// Returns which operands of a contraction are rounded to bfloat16, according to the expected
/// times. Both operands: if dot-product instructions are faster. The weights: if loading the
/// constant takes longer than the FMAs, and extending it to float32 in the kernel is faster than
/// the dot products. For `constantBytes`, see plan::bfloatTimes.
plan::RoundedOperands chooseRounded(ContractOpInterface op, plan::DotProductAttr dot, int64_t constantBytes) {
  constexpr double enough = 1.1; // a smaller gain may be an error of the model
  bool isConstant = isa_and_nonnull<graph::ConstantOp>(op->getOperand(1).getDefiningOp());
  bool mayExtend = isConstant && paysToWiden(op, Builder(op.getContext()).getBF16Type());
  plan::BfloatTimes times = plan::bfloatTimes(op, dot, constantBytes);
  if (times.dots * enough <= times.floats && (!mayExtend || times.dots <= times.extended))
    return plan::RoundedOperands::Both;
  return mayExtend && times.extended * enough <= times.floats ? plan::RoundedOperands::Weights
                                                              : plan::RoundedOperands::None;
}

/// Returns whether the contraction is faster if operands are rounded to bfloat16 (precision
/// `medium`).
Eligibility paysRounded(ContractOpInterface op, int64_t constantBytes) {
  graph::ContractRoles roles = *graph::contractRoles(op);
  if (!isa_and_nonnull<graph::ConstantOp>(op->getOperand(1).getDefiningOp()) && !paysPacking(op, roles))
    return Eligibility::no("packing the computed right operand in pairs at run time takes longer than it saves");
  if (plan::ScheduleModel::of(op).roundedOperands(op))
    return Eligibility::yes();
  plan::DotProductAttr dot = dotOf(op);
  if (!dot)
    return Eligibility::no("it has too few rows or columns to fill a tile of the matrix unit");
  if (Eligibility beats = beatsWinograd(op, Precision::Medium, std::max(dot.getRelativeRate(), 1.0)); !beats)
    return beats;
  return chooseRounded(op, dot, constantBytes) != plan::RoundedOperands::None
             ? Eligibility::yes()
             : Eligibility::no("float32 is as fast: the target's bfloat16 dot products are slow, and the FMAs take "
                               "longer than loading the weights");
}

/// Returns true if the constant can be split into bfloat16 components: its elements are finite, and
/// the largest magnitude is so far above the smallest bfloat16 that components which underflow are
/// negligible. Also returns true if the bytes are not available (parsed IR).
bool canBeSplit(graph::ConstantOp constant) {
  constexpr uint32_t magnitude = 0x7fffffff, infinity = 0x7f800000, least = 0x21800000; // 2^-60
  const WeightStore &weights = graph::weightsOf(constant.getContext());
  ArrayRef<char> bytes;
  if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
    bytes = weights.bytes(weight);
  else if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue()))
    bytes = elements.getRawData();
  uint32_t largest = 0;
  for (size_t i = 0; i + sizeof(uint32_t) <= bytes.size(); i += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, bytes.data() + i, sizeof bits);
    largest = std::max(largest, bits & magnitude);
  }
  weights.letGo(bytes);
  return largest < infinity && (largest == 0 || largest >= least);
}

/// Returns whether the contraction's operands should be split into bfloat16 components: the
/// constant can be split, and splitting pays.
Eligibility paysSplitting(ContractOpInterface op, Precision precision) {
  constexpr double enough = 1.25; // a smaller gain may be an error of the model
  auto constant = op->getOperand(1).getDefiningOp<graph::ConstantOp>();
  if (!constant)
    return Eligibility::no("the right operand is computed, and only constants are split into bfloat16 components");
  graph::ContractRoles roles = *graph::contractRoles(op);
  if (precision == Precision::Highest && plan::packingLanes(op))
    return Eligibility::no(
        "several targets share the constant, which cannot be split into bfloat16 components for one of them");
  if (precision == Precision::Highest && !plan::contractShape(op, roles).rows.constant())
    return Eligibility::no("the number of rows is dynamic, and may be too small for split bfloat16 to gain");
  double gain = plan::gainOfTerms(op, matrixOf(op), plan::bfloat16Terms(precision));
  if (gain < enough)
    return Eligibility::no("split bfloat16 is not expected to be faster");
  if (Eligibility beats = beatsWinograd(op, precision, gain); !beats)
    return beats;
  return canBeSplit(constant) ? Eligibility::yes()
                              : Eligibility::no("the constant is not finite, or too small for bfloat16 components");
}

/// Replaces both operands of the contraction by their bfloat16 components.
void splitOperands(ContractOpInterface op, unsigned terms) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  SmallVector<Value> operands;
  for (unsigned i = 0; i < terms; ++i)
    for (Value value : {op->getOperand(0), op->getOperand(1)})
      operands.push_back(c.term(value, i, terms));
  Operation *made = b.clone(*op);
  made->setOperands(operands);
  made->setAttr("to", TypeAttr::get(b.getF32Type()));
  op->getResult(0).replaceAllUsesWith(made->getResult(0));
  op->erase();
}

/// Returns true if only the weights of a contraction are rounded to bfloat16.
bool roundsWeightsAlone(ContractOpInterface op, int64_t constantBytes) {
  std::optional<plan::RoundedOperands> rounded = plan::ScheduleModel::of(op).roundedOperands(op);
  return (rounded ? *rounded : chooseRounded(op, dotOf(op), constantBytes)) == plan::RoundedOperands::Weights;
}

void castWeights(ContractOpInterface op) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  bool extendsInKernel = plan::supports(op, plan::KernelFeature::PackedWeights);
  ContractOpInterface narrow = rewriteOperands(op, b.getF32Type(), [&](unsigned operand, Value value) {
    return operand == 1 ? c.cast(value, b.getBF16Type()) : value;
  });
  if (narrow && extendsInKernel)
    narrow->setAttr(kKeepsWeightsAttr, b.getUnitAttr());
}

/// Returns the bytes, in float32, of all constants that are right operands of the function's
/// contractions. Each constant counts once.
int64_t constantBytesOf(func::FuncOp function) {
  DenseSet<Operation *> constants;
  int64_t elements = 0;
  function.walk([&](ContractOpInterface op) {
    if (auto constant = op->getOperand(1).getDefiningOp<graph::ConstantOp>();
        constant && constants.insert(constant).second)
      elements += graph::numElements(graph::getDims(constant.getResult())).constant().value_or(0);
  });
  return elements * int64_t(sizeof(float));
}

struct LowerMatmulPrecisionPass : impl::LowerMatmulPrecisionPassBase<LowerMatmulPrecisionPass> {
  using LowerMatmulPrecisionPassBase::LowerMatmulPrecisionPassBase;

  void runOnOperation() override {
    unsigned terms = plan::bfloat16Terms(precision);
    int64_t constantBytes = constantBytesOf(getOperation());
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) {
      if (!canBeBfloat16(op) || !plan::ScheduleModel::of(op).multipliesBfloat16(op, terms))
        return;
      if (Eligibility pays = terms > 1 ? paysSplitting(op, precision) : paysRounded(op, constantBytes))
        ops.push_back(op);
      else
        missed(op, getArgument(), "NotNarrowed", pays.why());
    });
    for (ContractOpInterface op : ops) {
      if (terms > 1)
        splitOperands(op, terms);
      else if (roundsWeightsAlone(op, constantBytes))
        castWeights(op);
      else
        castOperands(op, Builder(op.getContext()).getBF16Type());
    }
  }
};

} // namespace

} // namespace hewn
