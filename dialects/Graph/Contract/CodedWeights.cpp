// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hewn::graph {

/// Weights of fewer elements lie in a near cache, and are ready sooner as floats.
static constexpr int64_t kSmallElements = 16 << 10;

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

std::optional<CodedWeights> codedWeights(ContractOpInterface op) {
  constexpr int64_t wordBits = 32;
  std::optional<ContractRoles> roles = contractRoles(op);
  std::optional<unsigned> k = roles && !roles->columnInLeft ? plainSummedDim(op, *roles) : std::nullopt;
  AffineMap right = op.getIndexingMaps()[1];
  if (!k || roles->summed.size() != 1 || termsOf(op) > 1 || right.getNumResults() != 2 ||
      right.getResult(0) != getAffineDimExpr(*k, op->getContext()) ||
      right.getResult(1) != getAffineDimExpr(roles->column, op->getContext()))
    return std::nullopt;
  CodedWeights weights;
  std::optional<Factors> factors = factorsOf(op->getOperand(1), weights.op);
  auto isNarrowFloat = [](Value v) {
    auto type = dyn_cast<FloatType>(getElementType(v));
    return type && type.getWidth() <= wordBits;
  };
  if (!factors || !isNarrowFloat(op->getOperand(0)) || !isNarrowFloat(op->getOperand(1)) ||
      !isNarrowFloat(op->getResult(0)))
    return std::nullopt;
  Value integers = weights.op->getOperand(0), scale = weights.op.getQuantizedScale(),
        zero = weights.op.getQuantizedZero();
  auto type = dyn_cast<IntegerType>(getElementType(integers));
  Dims dims = getDims(integers);
  if (!type || type.getWidth() > 8 || !scale || dims != getDims(weights.op->getResult(0)) ||
      numElements(dims).constant().value_or(0) <= kSmallElements ||
      !llvm::all_of(weights.op->getOperands(), isMadeOfConstants))
    return std::nullopt;
  weights.depth = (*factors)[0];
  weights.columns = (*factors)[1];
  for (Value parameter : {scale, zero}) {
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
  weights.code.bits = type.getWidth();
  weights.code.block = weights.blockDims ? block : llvm::alignTo(block, kWholeVectors);
  return weights.code.isSound() ? std::optional(weights) : std::nullopt;
}

} // namespace hewn::graph
