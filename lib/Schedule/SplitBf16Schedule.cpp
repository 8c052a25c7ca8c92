// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/SplitBf16Schedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hewn::plan {

/// Number of rows that the cost model assumes for a contraction with a dynamic number of rows.
static constexpr int64_t kUnknownRows = 128;

/// Returns true if all rows of the contraction's left operand have the same distance in memory, as
/// in a matrix or in a 1x1 convolution with stride 1. A tile of M rows may then span several rows
/// of the convolution's result.
static bool rowsMeet(graph::ContractOpInterface op, const graph::ContractRoles &roles, const graph::Dims &extents) {
  AffineMap left = op.getIndexingMaps()[0];
  std::optional<unsigned> plain = graph::plainSummedDim(op, roles);
  return llvm::all_of(roles.summed, [&](unsigned d) { return d == plain || extents[d].is(1); }) &&
         llvm::all_of(roles.rows, [&](unsigned d) {
           std::optional<unsigned> i = graph::resultWith(left, d);
           return i && graph::factorOf(left.getResult(*i), d) == 1;
         });
}

unsigned bfloat16Terms(Precision precision) {
  return precision == Precision::Medium ? 1 : precision == Precision::High ? 2 : 3;
}

double gainOfTerms(graph::ContractOpInterface op, MatrixUnitAttr matrix, unsigned terms) {
  if (!fills(op, matrix))
    return 0;
  graph::ContractRoles roles = *graph::contractRoles(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  auto count = [&](ArrayRef<unsigned> dims) {
    double product = 1;
    for (unsigned d : dims)
      product *= double(extents[d].constant().value_or(kUnknownRows));
    return product;
  };
  ContractShape shape = contractShape(op, roles);
  shape.matrix = matrix;
  if (rowsMeet(op, roles, extents)) {
    shape.rows = graph::DimExpr(1);
    for (unsigned d : roles.rows)
      shape.rows = shape.rows * extents[d];
  }
  int64_t m = chooseContractTile(op, shape).m;
  auto whole = [](int64_t extent, int64_t step) { return double(llvm::divideCeil(extent, step) * step); };
  int64_t tiled = shape.rows.constant().value_or(kUnknownRows), columns = *extents[roles.column].constant();
  double rows = count(roles.rows), depth = count(roles.summed), batch = count(roles.batch);
  // A tile of the matrix unit that is only partly filled with rows takes as long as a full one.
  double tile = double(std::min<int64_t>(m, matrix.getRows()));
  double rowsDone = rows / double(tiled) * whole(tiled, m) * double(matrix.getRows()) / tile;
  double pairs = double(graph::termPairs(terms).size());

  // The times of the split-bf16 kernel are in cycles of a core. Splitting a vector of float32 into
  // components takes about ten vector instructions, including the load and the stores. Accumulators
  // are written to memory before the epilogue reads them.
  constexpr double splitSteps = 8, sumSteps = 3, floatBytes = 4, termBytes = 2;
  VectorCostsAttr costs = costsOf(op);
  auto memoryBytesPerCycle = double(costs.getMemoryBytesPerCycle());
  double lanes = double(vectorLanes(op)), multiplied = lanes * double(costs.getFmasPerCycle()),
         weights = batch * double(columns) * depth;
  double byVectors = batch * rows * whole(columns, int64_t(lanes)) * depth / multiplied;
  byVectors = std::max(byVectors, weights * floatBytes / memoryBytesPerCycle);
  double byTiles = batch * rowsDone * whole(columns, matrix.getColumns()) * depth * pairs /
                   (multiplied * double(matrix.getRelativeRate()));
  byTiles = std::max(byTiles, weights * termBytes * terms / memoryBytesPerCycle);
  // A left operand that several contractions share is split into bfloat16 components once, so each
  // contraction is charged a share of that time.
  Value left = op->getOperand(0);
  double readers = double(llvm::count_if(left.getUsers(), llvm::IsaPred<graph::ContractOpInterface>));
  double elements = 1;
  for (const graph::DimExpr &d : graph::getDims(left))
    elements *= double(d.constant().value_or(kUnknownRows));
  byTiles += elements * splitSteps / lanes / std::max(readers, 1.0) + batch * rows * double(columns) * sumSteps / lanes;
  return byVectors / byTiles;
}

} // namespace hewn::plan
