// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/TermSchedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hewn::plan {

/// The unknown rows of a matrix, of which there may be many.
static constexpr int64_t kUnknownRows = 128;

/// Whether the rows of all lines lie evenly spaced, so that a tile may have some of several: windows of one place, step by step.
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

double gainOfTerms(graph::ContractOpInterface op, MatrixAttr matrix, unsigned terms) {
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
  // Rows that only fill a part of a tile take as long as all of it.
  double tile = double(std::min<int64_t>(m, matrix.getRows()));
  double rowsDone = rows / double(tiled) * whole(tiled, m) * double(matrix.getRows()) / tile;
  double pairs = double(graph::termPairs(terms).size());

  // In cycles of a core. A number is split in some ten steps of a vector, and read and written besides; sums go through memory before
  // what follows on them.
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
  // What several contractions read is split once.
  Value left = op->getOperand(0);
  double readers = double(llvm::count_if(left.getUsers(), llvm::IsaPred<graph::ContractOpInterface>));
  double elements = 1;
  for (const graph::DimExpr &d : graph::getDims(left))
    elements *= double(d.constant().value_or(kUnknownRows));
  byTiles += elements * splitSteps / lanes / std::max(readers, 1.0) + batch * rows * double(columns) * sumSteps / lanes;
  return byVectors / byTiles;
}

} // namespace hewn::plan
