// SPDX-License-Identifier: Apache-2.0
//
// The roles of a contraction's iteration dims, as BLAS names them: rows m, columns n, summed k, batch.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_CONTRACTROLES_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_CONTRACTROLES_H

#include "dialects/Graph/Graph.h"
#include "mlir/IR/AffineMap.h"

namespace hewn::graph {

/// A contraction as a product of matrices, which is where all engines begin: its iteration dims in four lists, in order.
struct ProductDims {
  llvm::SmallVector<mlir::AffineMap> maps;
  Dims extents;
  /// In both operands, in the left one, in the right one, summed.
  llvm::SmallVector<unsigned> batch, rows, columns, summed;

  /// The extents of a list, and their product.
  Dims dims(llvm::ArrayRef<unsigned> list) const;
  DimExpr count(llvm::ArrayRef<unsigned> list) const;
  /// The iteration dim along which neighbours lie next to each other in the memory of a tensor that `map` reads or writes; nullopt where
  /// that is none or several.
  std::optional<unsigned> innermost(mlir::Value tensor, mlir::AffineMap map) const;
};
ProductDims productDims(ContractOpInterface op);

/// The same for lanes. Iteration dims: batch in both operands, rows in the left one, the column in the right one, summed in neither's result.
struct ContractRoles {
  llvm::SmallVector<unsigned> batch, rows, summed;
  /// The dim that is spread over lanes.
  unsigned column = 0;
  /// Whether the column runs along the left operand too (depthwise convolution: lanes are channels, each with weights of
  /// its own).
  bool columnInLeft = false;
  /// Where lanes are the columns of several groups (groupedLanes): which dim counts groups, and which the channels of one, of which there
  /// are as many as columns, `perGroup`. Neither is among the others: the column's dim stands for all columns.
  std::optional<unsigned> group, within;
  int64_t perGroup = 1;
};

/// The roles; nullopt where more than one dim could be the column.
std::optional<ContractRoles> contractRoles(ContractOpInterface op);

/// The roles of a contraction in groups that have as many channels as columns, a known number and more than one, both of which lie
/// behind each other for all groups, with lanes along all columns: a lane is one of its group's columns, and takes its group's channels one by
/// one. nullopt: it is no such contraction.
std::optional<ContractRoles> groupedLanes(ContractOpInterface op);

/// Terms whose sum each side of the contraction is; 1: the operand itself.
inline unsigned termsOf(ContractOpInterface op) { return op->getNumOperands() / 2; }
/// Term `i` of the left (0) or right (1) side.
inline mlir::Value termOf(ContractOpInterface op, unsigned side, unsigned i) { return op->getOperand(2 * i + side); }
/// The pairs of terms, left and right, whose products are summed: all but those that are as small as what the terms leave out.
/// Neighbours share a term.
llvm::SmallVector<std::pair<unsigned, unsigned>> termPairs(unsigned terms);
/// Whether operands beyond the first two are terms as they must be; an op error where not.
llvm::LogicalResult verifyTerms(mlir::Operation *op, DimsOf dimsOf);

/// The contraction in `body` where it is the only one, among elementwise ops, moves and constants; null otherwise.
ContractOpInterface onlyContraction(mlir::Block &body);

/// The summed dim longer than 1 that is no window's: the channels or k; nullopt where there is none or more than one.
std::optional<unsigned> plainSummedDim(ContractOpInterface op, const ContractRoles &roles);

/// The result of `map` that depends on iteration dim `d`, the first of them.
std::optional<unsigned> resultWith(mlir::AffineMap map, unsigned d);

/// How often iteration dim `d` is counted in a linear expression.
int64_t factorOf(mlir::AffineExpr expr, unsigned d);

/// One dim of the left operand that has a border of zeros: position row * stride + summed * dilation - low of a source of
/// `extent` elements, zero outside.
struct Clip {
  unsigned operandDim, row, summed;
  int64_t stride, dilation, low;
  DimExpr extent;
};

/// Whether it is known while compiling which rows are inside of the source at which places of the clip's window, and these are few enough for
/// code of their own. `extents`: the iteration dims'.
bool hasKnownPlaces(const Clip &clip, const Dims &extents);

/// The left operand's border as clips of windows, where `border` makes that operand and every bordered dim is a window
/// over one row dim and one summed dim; nullopt otherwise.
std::optional<llvm::SmallVector<Clip>> clipsOf(ContractOpInterface op, MoveOpInterface border);

/// The row dim that is cut into tiles of neighbouring rows: the innermost one that is long enough.
unsigned tiledRow(ContractOpInterface op, const ContractRoles &roles);

/// Whether the contraction gains from leaving out the zeros that `border` puts around its left operand: columns or channels share the
/// bookkeeping. Where positions along the tiled row are known only when run, a row outside reads zeros instead: those of all sums that
/// are no window's, whose number is known and small. `whenRun`: whether the engine has code for that.
bool leavesOutBorder(ContractOpInterface op, MoveOpInterface border, const ContractRoles &roles, bool whenRun);

/// A contraction that is one matrix by several, transposed: result[i.., f, p..] = sum over c of left[i.., c, p..] * right[f, c], or right[c, f]. What
/// is summed lies between dims of rows: the channels of pictures, at each of whose pixels the matrix multiplies them.
struct PixelProduct {
  DimExpr items, features, channels, pixels;
  /// Whether the right operand's first dim counts features.
  bool featuresFirst = true;
};
/// nullopt: it is no such contraction, or all rows stand before what is summed, as a product of matrices has them.
std::optional<PixelProduct> pixelProduct(ContractOpInterface op);

/// Whether the left operand is read through windows: at positions that are no iteration dim's alone.
bool hasWindows(ContractOpInterface op);

/// Whether the left operand and the sums are of float32 and the right one is of narrower floats or of integers of 8 bits: as weights that are made
/// float32s when they are read.
bool widensRight(ContractOpInterface op);

/// The op that makes the right operand, a matrix, of a code (CodedOpInterface::getCode), which columns lie along; null where none does.
CodedOpInterface rightDecoder(ContractOpInterface op);

} // namespace hewn::graph

#endif
