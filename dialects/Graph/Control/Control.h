// SPDX-License-Identifier: Apache-2.0
//
// Construction of ops with regions. The result types of such an op are those of the values that its
// regions yield, and are only known after the regions are built. The regions are therefore built in
// a shell: a temporary op without results, from which the final op takes the regions.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_CONTROL_H
#define HEWN_DIALECTS_GRAPH_CONTROL_CONTROL_H

#include "dialects/Graph/Analysis/Shapes.h"
#include "mlir/IR/Builders.h"

namespace hewn::graph {

class OnnxNode;

/// Which indices or lengths are valid for a dim of n elements.
enum class IndexRange {
  Index,    // [-n, n): a negative index counts from the end
  Position, // [0, n)
  Length,   // [0, n]
};

/// Emits a check that ends the run with an error status if an index or length is out of `range`.
/// `extents` has one extent for all indices, or, for index vectors of range Index, one for each
/// entry of their last dim. Indices that are known at compile time are checked now, and `refuse` is
/// called if one is out of range. Calls `refuse` if the indices are not integers.
llvm::LogicalResult checkIndices(OnnxNode &node, mlir::Value indices, llvm::ArrayRef<DimExpr> extents,
                                 IndexRange range = IndexRange::Index);
/// Calls `refuse` if an index that is known at compile time is out of range. Emits no check of
/// other indices: the op's runtime function checks them.
llvm::LogicalResult checkKnownIndices(OnnxNode &node, mlir::Value indices, llvm::ArrayRef<DimExpr> extents,
                                      IndexRange range = IndexRange::Index);

/// Attribute of an op during import. It lists results whose leading dims of 1 exist only in some
/// runs, because they come from a data-dependent branch. Only ops that give equal results with and
/// without these dims may use such a result (docs/decisions/cases.md).
inline constexpr llvm::StringLiteral kOpenRankAttr = "graph.open_rank";
bool isRankOpen(mlir::Value value);

class RegionOpBuilder {
public:
  /// Creates the shell of an op with regions, at the builder's insertion point.
  RegionOpBuilder(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, unsigned numRegions);

  /// Creates the shell of a graph.loop.
  static RegionOpBuilder loop(mlir::OpBuilder &b, mlir::Location loc);

  /// Opens region `i` with block arguments of these shapes, and sets the insertion point into the
  /// region.
  mlir::Block *open(unsigned i, llvm::ArrayRef<TensorShape> arguments);
  mlir::Value addArgument(unsigned i, const TensorShape &shape);
  void setArgumentDims(unsigned i, unsigned argument, llvm::ArrayRef<DimExpr> dims);
  mlir::Block *block(unsigned i) { return &op->getRegion(i).front(); }
  /// Ends region `i` with a terminator that yields the values, and sets the insertion point after
  /// the shell.
  void close(unsigned i, mlir::ValueRange yields);
  /// Sets the insertion point before the shell.
  void standBefore() { b.setInsertionPoint(op); }
  /// Inlines region `i` before the shell. The region must have no arguments and no terminator yet.
  void inlineBlock(unsigned i) { op->getBlock()->getOperations().splice(op->getIterator(), block(i)->getOperations()); }
  /// Returns true if all symbols in the dims are defined outside of the shell's regions.
  bool isKnownOutside(llvm::ArrayRef<DimExpr> dims);

  /// Replaces the shell by the final op, which has results, and returns the final op.
  mlir::Operation *finish(mlir::ValueRange operands, llvm::ArrayRef<TensorShape> results,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// Returns the shell itself as the final op with regions, and sets the insertion point after it.
  mlir::Operation *take() {
    b.setInsertionPointAfter(op);
    return op;
  }

private:
  void writeDims();

  mlir::OpBuilder &b;
  mlir::Location loc;
  std::string name;
  mlir::Operation *op;
  // for each region, the dims of its arguments
  std::vector<llvm::SmallVector<mlir::Attribute>> lists;
};

TensorShape shapeOf(mlir::Value value);

/// Emits a graph.scan. If there is only one step, emits the body without a loop. `body` is called
/// with the states and the slices of a step, and returns the new states and the output slices.
/// `backward` applies to all sequences. Returns an empty list if `body` returns a null value.
llvm::SmallVector<mlir::Value>
makeScan(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange states, mlir::ValueRange sequences, bool backward,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange states, mlir::ValueRange slices)> body);

} // namespace hewn::graph

#endif
