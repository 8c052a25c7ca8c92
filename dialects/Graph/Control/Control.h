// SPDX-License-Identifier: Apache-2.0
//
// Building control flow. What a region yields is only known once it is written, so it is written into a shell: an op
// without results, from which the final one takes the regions.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_CONTROL_H
#define HEWN_DIALECTS_GRAPH_CONTROL_CONTROL_H

#include "dialects/Graph/Analysis/Shapes.h"
#include "mlir/IR/Builders.h"

namespace hewn::graph {

class OnnxNode;

/// Has a run fail where an index is outside of its dim: `extents` one for all indices, or one for each along their last dim.
/// Indices that are known when compiling are looked at now; failure after `refuse`.
llvm::LogicalResult checkIndices(OnnxNode &node, mlir::Value indices, llvm::ArrayRef<DimExpr> extents);

/// Of an op while a model is imported: the results whose first dims, of 1, are there in some runs alone, since data decide for a branch
/// that has them or one that lacks them. Only what is the same with and without them may read such a result: docs/decisions/cases.md.
inline constexpr llvm::StringLiteral kOpenRankAttr = "graph.open_rank";
bool isRankOpen(mlir::Value value);

class RegionOpBuilder {
public:
  /// The op goes where the builder stands.
  RegionOpBuilder(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name, unsigned numRegions);

  /// Of a graph.loop.
  static RegionOpBuilder loop(mlir::OpBuilder &b, mlir::Location loc);

  /// Opens region `i` with arguments of these shapes; what is built next goes into it.
  mlir::Block *open(unsigned i, llvm::ArrayRef<TensorShape> arguments);
  mlir::Value addArgument(unsigned i, const TensorShape &shape);
  void setArgumentDims(unsigned i, unsigned argument, llvm::ArrayRef<DimExpr> dims);
  mlir::Block *block(unsigned i) { return &op->getRegion(i).front(); }
  /// Ends region `i`; the builder stands behind the op again.
  void close(unsigned i, mlir::ValueRange yields);
  /// What comes next goes before the op.
  void standBefore() { b.setInsertionPoint(op); }
  /// The ops of region `i`, which has no arguments and is not closed, go before the op.
  void inlineBlock(unsigned i) { op->getBlock()->getOperations().splice(op->getIterator(), block(i)->getOperations()); }
  /// Whether these dims are made of symbols that are known outside of the regions.
  bool isKnownOutside(llvm::ArrayRef<DimExpr> dims);

  /// The op, in place of the shell.
  mlir::Operation *finish(mlir::ValueRange operands, llvm::ArrayRef<TensorShape> results,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  /// The shell, where no op comes of it; the builder stands behind it.
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
  std::vector<llvm::SmallVector<mlir::Attribute>> lists; // dims of the arguments, by region
};

TensorShape shapeOf(mlir::Value value);

/// A graph.scan, or the body alone where there is one step. `backward` holds for all sequences; `body` gets the states
/// and slices and gives new states and slices of outputs. Null values from `body` give an empty answer.
llvm::SmallVector<mlir::Value>
makeScan(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange states, mlir::ValueRange sequences, bool backward,
         llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange states, mlir::ValueRange slices)> body);

} // namespace hewn::graph

#endif
