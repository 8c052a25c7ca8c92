// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Contract/CodedWeights.h"
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
                 (isa_and_nonnull<MoveOpInterface, ElementwiseOpInterface>(op) && op->getNumOperands());
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

/// What shares a scale along all of the sum is padded to so many elements: whole words, and whole vectors of any machine.
static constexpr int64_t kWholeVectors = 16;

Value codebookOf(QuantizedOpInterface op) {
  return isa<MoveOpInterface>(op.getOperation()) ? op->getOperand(1) : Value();
}

Value tableOf(CodedOpInterface op) {
  auto tables = llvm::make_filter_range(op->getOperands(), [](Value operand) { return getRank(operand) == 1; });
  return tables.empty() ? Value() : *tables.begin();
}

namespace {

/// For each dim of a value the dims of the integers that make it, from the outermost.
using Factors = SmallVector<SmallVector<int64_t>>;

/// Follows views up to what makes floats of integers; `found` is that. nullopt where another op is in between, or a dim is divided.
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
  auto view = cast<MoveOpInterface>(op);
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

/// How many neighbours along the sum share a scale, and of how many bits the integers are.
static void findCode(CodedWeights &weights) {
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

/// Whether the right operand is a matrix [k, n] that is summed along k alone.
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

Found<CodedWeights> codedWeights(ContractOpInterface op) {
  constexpr int64_t wordBits = 32;
  CodedWeights weights;
  std::optional<Factors> factors = factorsOf(op->getOperand(1), weights.op);
  if (!factors)
    return Verdict::no("its right operand is not made of integers by scales alone");
  if (!readsMatrix(op))
    return Verdict::no("its right operand is no matrix that is summed along its rows");
  auto isNarrowFloat = [](Value v) {
    auto type = dyn_cast<FloatType>(getElementType(v));
    return type && type.getWidth() <= wordBits;
  };
  if (!isNarrowFloat(op->getOperand(0)) || !isNarrowFloat(op->getOperand(1)) || !isNarrowFloat(op->getResult(0)))
    return Verdict::no("it computes with other types than floats of at most 32 bits");
  Value integers = weights.op->getOperand(0);
  auto type = dyn_cast<IntegerType>(getElementType(integers));
  Dims dims = getDims(integers);
  if (!type || type.getWidth() > 8 || !weights.op.getQuantizedScale() || dims != getDims(weights.op->getResult(0)))
    return Verdict::no("its weights are no integers of at most 8 bits with scales");
  if (!llvm::all_of(weights.op->getOperands(), isMadeOfConstants))
    return Verdict::no("its weights are not constant");
  if (numElements(dims).constant().value_or(0) <= kSmallWeights)
    return Verdict::no("its weights are few, and ready sooner as floats");
  weights.depth = (*factors)[0];
  weights.columns = (*factors)[1];
  findCode(weights);
  if (weights.table && weights.code.bits == 2)
    return Verdict::no("no kernel looks up codes of 2 bits");
  return weights.code.isSound() ? Found(weights) : Verdict::no("neighbours that share a scale do not fill whole words");
}

} // namespace hewn::graph
