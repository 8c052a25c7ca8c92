// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Contract/PackedWeights.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hewn::graph {

bool isMadeOfConstants(Value value) {
  llvm::SetVector<Operation *> makers;
  auto add = [&](Value made) {
    Operation *op = made.getDefiningOp();
    bool known = isa_and_nonnull<ConstantOp>(op) ||
                 (isa_and_nonnull<IndexingOpInterface, ElementwiseOpInterface>(op) && op->getNumOperands());
    if (known)
      makers.insert(op);
    return known;
  };
  if (!add(value))
    return false;
  for (size_t i = 0; i < makers.size(); ++i)
    if (!llvm::all_of(makers[i]->getOperands(), add))
      return false;
  return true;
}

Dims alignedDims(Value parameter, int64_t rank) {
  Dims dims = getDims(parameter);
  while (int64_t(dims.size()) < rank)
    dims.insert(dims.begin(), DimExpr(1));
  return dims;
}

/// The K dim of packed weights is padded to a multiple of this number if one scale covers all of K,
/// so that weights fill 32-bit words and, on every target, vectors.
static constexpr int64_t kWholeVectors = 16;

Value codebookOf(QuantizedOpInterface op) {
  return isa<IndexingOpInterface>(op.getOperation()) ? op->getOperand(1) : Value();
}

Value tableOf(PackedWeightsOpInterface op) {
  auto tables = llvm::make_filter_range(op->getOperands(), [](Value operand) { return getRank(operand) == 1; });
  return tables.empty() ? Value() : *tables.begin();
}

namespace {

/// For each dim of a value, the dims of the quantized integers that were merged into it by
/// reshapes, the outermost first.
using Factors = SmallVector<SmallVector<int64_t>>;

/// Follows `value` through reshapes and transposes to the op that dequantizes it, and stores that
/// op in `found`. Returns nullopt if there is any other op in between, or if a reshape splits a dim
/// of the integers.
std::optional<Factors> factorsOf(Value value, QuantizedOpInterface &found) {
  Operation *op = value.getDefiningOp();
  if (auto quantized = dyn_cast_or_null<QuantizedOpInterface>(op)) {
    found = quantized;
    Factors own;
    for (int64_t d = 0; d < getRank(value); ++d)
      own.push_back({d});
    return own;
  }
  if (!op || !isViewKind(op))
    return std::nullopt;
  std::optional<Factors> inner = factorsOf(op->getOperand(0), found);
  if (!inner)
    return std::nullopt;
  auto view = cast<IndexingOpInterface>(op);
  if (view.getViewKind() == ViewKind::Transpose)
    return Factors(llvm::map_range(view.getViewOrder(), [&](int64_t d) { return (*inner)[d]; }));
  Dims to = getDims(value);
  Factors merged(to.size());
  for (const ReshapeRun &run : reshapeRuns(getDims(op->getOperand(0)), to)) {
    SmallVector<unsigned> whole = llvm::filter_to_vector(run.resultDims, [&](unsigned d) { return !to[d].is(1); });
    if (whole.size() > 1)
      return std::nullopt;
    for (unsigned d : run.operandDims)
      if (!whole.empty())
        llvm::append_range(merged[whole.front()], (*inner)[d]);
  }
  return merged;
}

} // namespace

/// Determines the bit width of quantized weights, their block size along K, and their lookup table.
static void findCode(PackedWeights &weights) {
  Value integers = weights.op->getOperand(0);
  Dims dims = getDims(integers);
  for (Value parameter : {weights.op.getQuantizedScale(), weights.op.getQuantizedZero()}) {
    if (!parameter)
      continue;
    Dims shared = alignedDims(parameter, int64_t(dims.size()));
    for (auto [i, d] : llvm::enumerate(weights.depth))
      if (!shared[d].is(1))
        weights.blockDims = std::max(weights.blockDims, i + 1);
  }
  int64_t block = 1;
  for (int64_t d : ArrayRef(weights.depth).drop_front(weights.blockDims))
    block *= dims[d].constant().value_or(0);
  weights.code.bits = getElementType(integers).getIntOrFloatBitWidth();
  weights.code.block = weights.blockDims ? block : llvm::alignTo(block, kWholeVectors);
  weights.table = codebookOf(weights.op);
}

/// Returns true if the contraction's right operand is a [k, n] matrix and k is the only reduction
/// dim.
static bool readsMatrix(ContractOpInterface op) {
  std::optional<ContractRoles> roles = contractRoles(op);
  std::optional<unsigned> k = roles && !roles->columnInLeft ? plainSummedDim(op, *roles) : std::nullopt;
  AffineMap right = op.getIndexingMaps()[1];
  return k && roles->summed.size() == 1 && termsOf(op) <= 1 && right.getNumResults() == 2 &&
         right.getResult(0) == getAffineDimExpr(*k, op->getContext()) &&
         right.getResult(1) == getAffineDimExpr(roles->column, op->getContext());
}

QuantizedOpInterface scaledWeights(ContractOpInterface op) {
  Operation *maker = op->getOperand(1).getDefiningOp();
  while (maker && isViewKind(maker))
    maker = maker->getOperand(0).getDefiningOp();
  auto quantized = dyn_cast_or_null<QuantizedOpInterface>(maker);
  if (!quantized || codebookOf(quantized) || !quantized.getQuantizedScale())
    return {};
  Value integers = maker->getOperand(0);
  Dims dims = getDims(integers);
  bool isBytes = getElementType(integers).isInteger(8) && dims == getDims(maker->getResult(0));
  return isBytes && llvm::all_of(maker->getOperands(), isMadeOfConstants) &&
                 numElements(dims).constant().value_or(0) > kSmallWeights
             ? quantized
             : QuantizedOpInterface();
}

OrReason<PackedWeights> packedWeights(ContractOpInterface op) {
  constexpr int64_t wordBits = 32;
  PackedWeights weights;
  std::optional<Factors> factors = factorsOf(op->getOperand(1), weights.op);
  if (!factors)
    return Eligibility::no("its right operand is not dequantized from integers");
  if (!readsMatrix(op))
    return Eligibility::no("its right operand is not a [k, n] matrix reduced along k");
  auto isNarrowFloat = [](Value v) {
    auto type = dyn_cast<FloatType>(getElementType(v));
    return type && type.getWidth() <= wordBits;
  };
  if (!isNarrowFloat(op->getOperand(0)) || !isNarrowFloat(op->getOperand(1)) || !isNarrowFloat(op->getResult(0)))
    return Eligibility::no("its types are not floats of at most 32 bits");
  Value integers = weights.op->getOperand(0);
  auto type = dyn_cast<IntegerType>(getElementType(integers));
  Dims dims = getDims(integers);
  if (!type || type.getWidth() > 8 || !weights.op.getQuantizedScale() || dims != getDims(weights.op->getResult(0)))
    return Eligibility::no("its weights are not integers of at most 8 bits with scales");
  if (!llvm::all_of(weights.op->getOperands(), isMadeOfConstants))
    return Eligibility::no("its weights are not constant");
  if (numElements(dims).constant().value_or(0) <= kSmallWeights)
    return Eligibility::no("its weights are small enough to be faster as floats");
  weights.depth = (*factors)[0];
  weights.columns = (*factors)[1];
  findCode(weights);
  if (weights.table && weights.code.bits == 2)
    return Eligibility::no("lookup tables for 2-bit weights are not supported");
  return weights.code.isSound() ? OrReason(weights)
                                : Eligibility::no("a block of weights with one scale does not fill whole 32-bit words");
}

} // namespace hewn::graph
