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
// With three products each operand is the sum of two bfloat16, and the smallest of the four products is left out: an error of
// some 2^-16, where a matrix unit does three products faster than vectors one of float32. (Henry, Tang and Heinecke,
// "Leveraging the bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", 2019.)
//
// On a grid of threads one product is what the warps' matrix instruction does twice as fast; more of them it does itself. What has
// too few rows for it waits for weights: these alone are rounded, and widened when they are read. So are those of a small product
// whose other operand a kernel of its own would have to round.
//
// Left alone: machines without an instruction that pays (`dots`, `matrices` and `grid` of #plan.target), computed right operands
// that few rows read or that would be packed for a matrix unit at every run, depthwise and grouped windows, sums over an odd or short dim,
// few columns, weights that come as a code, windows that minimal filtering does in less time.
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Plan/GridProduct.h"
#include "dialects/Plan/WinogradSchedule.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include <limits>

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_NARROWCONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr int64_t kFewest = 16;
/// Of the results of minimal filtering, where operands may be rounded.
constexpr int64_t kLargestTile = 4;

/// Whether a computed right operand is read by so many rows that it pays to pack it in pairs when run. What is summed is then
/// what a task of a chain may hold on its stack.
bool paysPacking(ContractOpInterface op, const graph::ContractRoles &roles, unsigned products) {
  constexpr int64_t enoughRows = 64, floatBytes = 4, narrowBytes = 2;
  Builder b(op.getContext());
  std::optional<unsigned> summed = graph::plainSummedDim(op, roles);
  std::optional<int64_t> depth = summed ? op.getIterationDims(graph::getDims)[*summed].constant() : std::nullopt;
  return products == 1 && depth && !plan::gridOf(op) &&
         !plan::findMatrix(op, b.getBF16Type(), b.getBF16Type(), b.getF32Type()) &&
         plan::chainRows(op, *depth, floatBytes + narrowBytes) > 0 &&
         plan::contractShape(op, roles).rows.constant().value_or(0) >= enoughRows;
}

/// Whether the engine has a narrow form for it that pays.
bool pays(ContractOpInterface op, unsigned products) {
  for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
    if (!graph::getElementType(value).isF32())
      return false;
  if (!comesInPairs(op) || plan::decoderOf(op))
    return false;
  graph::ContractRoles roles = *graph::contractRoles(op);
  Dims extents = op.getIterationDims(graph::getDims);
  bool constant = isa_and_nonnull<graph::ConstantOp>(op->getOperand(1).getDefiningOp());
  if ((!constant && !paysPacking(op, roles, products)) || extents[roles.column].constant().value_or(0) < kFewest ||
      extents[*graph::plainSummedDim(op, roles)].constant().value_or(0) < kFewest)
    return false;
  if (plan::GridAttr grid = plan::gridOf(op)) // whose warps take more than one term of float32 without this
    return products == 1 && grid.getProducts() > 0;
  Builder b(op.getContext());
  Type bf16 = b.getBF16Type(), f32 = b.getF32Type();
  plan::MatrixAttr matrix = plan::findMatrix(op, bf16, bf16, f32);
  bool hasDot = bool(plan::findDot(op, bf16, bf16, f32));
  if (products > 1)
    return matrix && plan::fills(op, matrix);
  if (!matrix) // minimal filtering of float32 may be faster still, and loses fewer digits
    return hasDot && !plan::chooseWinogradTile(op, kLargestTile, plan::findDot(op, bf16, bf16, f32).getGroup());
  // Beside a matrix unit vectors of pairs are slow, but a few rows wait for weights, which are half as long.
  constexpr int64_t fewRows = 4;
  bool few = plan::contractShape(op, roles).rows.constant().value_or(fewRows + 1) <= fewRows;
  return few ? hasDot : plan::fills(op, matrix);
}

/// x as the sum of two bfloat16. `cross` is the first one where that is finite, else 0: it meets other second terms, which may
/// be 0 and must not make infinity a NaN. Numbers beyond bfloat16's largest are that one and a rest.
struct Terms {
  Value first, cross, second;
};

Terms split(graph::Composer &c, Value x) {
  Type bf16 = c.b.getBF16Type(), type = graph::getElementType(x);
  constexpr double largest = 3.3895313892515355e38, infinity = std::numeric_limits<double>::infinity();
  Value finite = c.op("graph.less", {c.op("graph.abs", {x}), c.scalarLike(x, infinity)});
  Value clamped = c.op("graph.minimum", {x, c.scalarLike(x, largest)});
  clamped = c.op("graph.maximum", {clamped, c.scalarLike(x, -largest)});
  Value first = c.cast(c.op("graph.where", {finite, clamped, x}), bf16);
  Value near = c.cast(first, type), zero = c.scalarLike(x, 0);
  return {first, c.cast(c.op("graph.where", {finite, near, zero}), bf16),
          c.cast(c.op("graph.where", {finite, c.op("graph.sub", {x, near}), zero}), bf16)};
}

/// x y as x1 y1 + x1 y2 + x2 y1: one contraction over three times the depth.
void splitOperands(ContractOpInterface op) {
  std::optional<graph::ContractRoles> roles = graph::contractRoles(op);
  unsigned depth = *graph::plainSummedDim(op, *roles);
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  rewriteOperands(op, b.getF32Type(), [&](unsigned operand, Value value) {
    Terms t = split(c, value);
    int64_t axis = *graph::resultWith(maps[operand], depth);
    return operand == 0 ? c.concat({t.first, t.cross, t.second}, axis) : c.concat({t.first, t.second, t.cross}, axis);
  });
}

/// Whether a grid multiplies with less work where the weights alone are rounded: it has too few rows for matrix instructions, or the left
/// operand comes from no kernel that could round it on the way, and a kernel of its own takes longer than is gained.
bool roundsWeightsAlone(ContractOpInterface op) {
  plan::GridAttr grid = plan::gridOf(op);
  if (!grid || !plan::multipliesMatrices(op))
    return bool(grid);
  Operation *maker = op->getOperand(0).getDefiningOp();
  while (maker && graph::isViewKind(maker))
    maker = maker->getOperand(0).getDefiningOp();
  if (maker && maker->getNumRegions() == 0)
    return false;
  // Factors of 16 bits take half the time of longer ones.
  int64_t products = graph::numElements(op.getIterationDims(graph::getDims)).constant().value_or(INT64_MAX);
  return products / (2 * grid.getProcessors() * grid.getRate()) < grid.getLaunchCycles();
}

void narrowWeights(ContractOpInterface op) {
  OpBuilder b(op);
  graph::Composer c(b, op->getLoc());
  rewriteOperands(op, b.getF32Type(),
                  [&](unsigned operand, Value value) { return operand == 1 ? c.cast(value, b.getBF16Type()) : value; });
}

struct NarrowContractionsPass : impl::NarrowContractionsPassBase<NarrowContractionsPass> {
  using NarrowContractionsPassBase::NarrowContractionsPassBase;

  void runOnOperation() override {
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) {
      if (pays(op, products))
        ops.push_back(op);
    });
    for (ContractOpInterface op : ops) {
      if (products > 1)
        splitOperands(op);
      else if (roundsWeightsAlone(op))
        narrowWeights(op);
      else
        castOperands(op, Builder(op.getContext()).getBF16Type());
    }
  }
};

} // namespace
} // namespace hewn
