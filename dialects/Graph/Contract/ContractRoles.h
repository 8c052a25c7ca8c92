// SPDX-License-Identifier: Apache-2.0
//
// Classifies the iteration dims of a contraction by their roles in a batched GEMM: rows (M),
// columns (N), reduction dims (K), batch.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_CONTRACTROLES_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_CONTRACTROLES_H

#include "dialects/Graph/Graph.h"
#include "mlir/IR/AffineMap.h"

namespace hewn::graph {

/// A contraction as a GEMM: its iteration dims, divided into four lists by their role. Each list is
/// in iteration order.
struct ProductDims {
  llvm::SmallVector<mlir::AffineMap> maps;
  Dims extents;
  /// Iteration dims by the operands that they index: `batch` dims index both operands, `rows` only
  /// the left one, `columns` only the right one. `summed` are the reduction dims.
  llvm::SmallVector<unsigned> batch, rows, columns, summed;

  /// `dims` returns the extents of the listed iteration dims; `count` returns their number of
  /// points, the extents multiplied.
  Dims dims(llvm::ArrayRef<unsigned> list) const;
  DimExpr count(llvm::ArrayRef<unsigned> list) const;
  /// Returns the iteration dim along which `tensor`, indexed by `map`, is contiguous in memory.
  /// Returns nullopt unless there is exactly one such dim.
  std::optional<unsigned> innermost(mlir::Value tensor, mlir::AffineMap map) const;
};
ProductDims productDims(ContractOpInterface op);

/// The roles of a contraction's iteration dims in vector code. Dims in `batch` index both operands,
/// those in `rows` only the left one, and `column` the right one. Dims in `summed` are reduction
/// dims.
struct ContractRoles {
  llvm::SmallVector<unsigned> batch, rows, summed;
  /// The column dim of the contraction, which is mapped to vector lanes.
  unsigned column = 0;
  /// True if `column` also indexes the left operand, as in a depthwise convolution: a lane is a
  /// channel and has its own weights.
  bool columnInLeft = false;
  /// Only set by `groupedLanes`, where a vector has columns of several groups: `group` is the group
  /// dim, `within` the reduced channel dim of a group, and `perGroup` the number of columns and of
  /// channels in a group. `group` and `within` are in no other list, and `column` represents
  /// the columns of all groups.
  std::optional<unsigned> group, within;
  int64_t perGroup = 1;
};

/// Returns the roles of a contraction's iteration dims, or nullopt if there is no unique column
/// dim.
std::optional<ContractRoles> contractRoles(ContractOpInterface op);

/// Returns the roles of a grouped contraction whose lanes run over the columns of all groups. A
/// lane computes one column of its group and reduces over the channels of this group. Returns
/// nullopt unless a group has as many channels as columns, this number is static and above 1, and
/// the groups are contiguous in the input and in the result.
std::optional<ContractRoles> groupedLanes(ContractOpInterface op);

/// Returns the number of split-bf16 components of each operand of a contraction; 1 if the operands
/// are not split.
inline unsigned termsOf(ContractOpInterface op) { return op->getNumOperands() / 2; }
/// Returns split-bf16 component `i` of the contraction's left (`side` 0) or right (`side` 1)
/// operand.
inline mlir::Value termOf(ContractOpInterface op, unsigned side, unsigned i) { return op->getOperand(2 * i + side); }
/// Returns the pairs (i, j) of left and right split-bf16 components that are multiplied: those with
/// i + j < terms. The other pairs would contribute no more than the error of the split. Consecutive
/// pairs have a component in common.
llvm::SmallVector<std::pair<unsigned, unsigned>> termPairs(unsigned terms);
/// Verifies that all operands of a contraction beyond the first two are split-bf16 components with
/// the dims of the first two. Emits an op error if not.
llvm::LogicalResult verifyTerms(mlir::Operation *op, DimsOf dimsOf);

/// Returns the contraction in the block `body` if there is only one and all other ops are
/// elementwise ops, indexing ops and constants. Returns null otherwise.
ContractOpInterface onlyContraction(mlir::Block &body);

/// Returns the reduction dim of a contraction that is longer than 1 and not a window dim: the
/// channels of a convolution, or K of a matmul. Returns nullopt unless there is exactly one.
std::optional<unsigned> plainSummedDim(ContractOpInterface op, const ContractRoles &roles);

/// Returns the number of the first result of the indexing map `map` that depends on iteration dim
/// `d`, or nullopt if there is none.
std::optional<unsigned> resultWith(mlir::AffineMap map, unsigned d);

/// Returns the coefficient of iteration dim `d` in the linear expression `expr`.
int64_t factorOf(mlir::AffineExpr expr, unsigned d);

/// A dim of the left operand that is zero-padded and read through a window. `row` (a row dim) and
/// `summed` (a reduction dim) are iteration dims. The index into the source, which is not padded,
/// is row * stride + summed * dilation - low. The element is zero if this index is not in [0,
/// extent).
struct Clip {
  unsigned operandDim, row, summed;
  int64_t stride, dilation, low;
  DimExpr extent;
};

/// Returns true if it is known at compile time, for each offset of a window, which result rows read
/// inside of the unpadded source, and if the window is small enough to emit separate code for each
/// offset. `extents` are the extents of the iteration dims.
bool hasKnownPlaces(const Clip &clip, const Dims &extents);

/// Returns a `Clip` for each dim that `border`, the zero padding of the left operand, pads. Returns
/// nullopt if `border` does not produce the left operand, or if a padded dim is not a window over
/// one row dim and one reduction dim.
std::optional<llvm::SmallVector<Clip>> clipsOf(ContractOpInterface op, IndexingOpInterface border);

/// Returns the row dim of a contraction that kernels tile: the innermost one that is long enough
/// for a tile.
unsigned tiledRow(ContractOpInterface op, const ContractRoles &roles);

/// Returns true if the contraction should read the unpadded source and check bounds, instead of a
/// copy with zero padding (`border`). This pays if there are enough columns or channels per check.
/// If the bounds along the tiled row dim are dynamic, rows outside of the source are read from a
/// row of zeros, whose length must be static and small. `whenRun`: the kernel generator supports
/// such dynamic bounds.
bool leavesOutBorder(ContractOpInterface op, IndexingOpInterface border, const ContractRoles &roles, bool whenRun);

/// The dims of a 1x1 convolution as NCHW GEMM: result[i.., f, p..] = sum over c of left[i.., c,
/// p..] * right[f, c] (or right[c, f]). The reduction dim c (channels) is between the row dims i
/// (batch) and p (pixels).
struct PixelProduct {
  DimExpr items, features, channels, pixels;
  /// True if the right operand of the 1x1 convolution is [features, channels], false if it is
  /// [channels, features].
  bool featuresFirst = true;
};
/// Returns the dims of a 1x1 convolution as NCHW GEMM. Returns nullopt for other contractions, and
/// if no row dim is after the reduction dim, as in a matmul.
std::optional<PixelProduct> pixelProduct(ContractOpInterface op);

/// Returns true if an index into the contraction's left operand depends on more than one iteration
/// dim, as in the windows of a convolution.
bool hasWindows(ContractOpInterface op);

/// Returns true if the contraction's left operand and accumulators are float32, and its right
/// operand is a float type below 32 bits or an 8-bit integer type. Kernels extend such a right
/// operand, usually weights, to float32 when they load it.
bool widensRight(ContractOpInterface op);

/// Returns the op that produces the contraction's right operand, a matrix, from packed low-bit
/// weights that are stored along its columns (PackedWeightsOpInterface::getCode). Returns null if
/// there is none.
PackedWeightsOpInterface rightDecoder(ContractOpInterface op);

} // namespace hewn::graph

#endif
