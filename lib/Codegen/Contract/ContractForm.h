// SPDX-License-Identifier: Apache-2.0
//
// Analyzes a kernel that is a contraction: the layout of its operands in memory, the rows that a
// tile may have, and the zero padding that is folded into the loop bounds.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTFORM_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTFORM_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/Kernel/KernelContext.h"
#include "lib/Support/Remarks.h"

namespace hewn::codegen {

struct ContractForm {
  graph::ContractOpInterface op;
  llvm::SmallVector<mlir::AffineMap> maps;
  graph::Dims extents;
  graph::ContractRoles roles;
  /// The contraction's operands in memory. `lhs` is the left operand before its zero padding, which
  /// `clips` describes.
  Buffer lhs, rhs;
  /// Encoding of packed low-bit weights, if the right operand is such weights; `rhs` then holds
  /// their packed 32-bit words. `scale` and `offset` are packed in panels like `rhs`; `table` is
  /// the lookup table that the weights index. `offset` and `table` have a null memref if the
  /// encoding has none.
  std::optional<graph::WeightEncoding> code;
  Buffer scale, offset, table;
  /// Memory of the second and later split-bf16 components of the left and the right operand
  /// (graph::termsOf). Their layouts are those of `lhs` and `rhs`, which hold the first components.
  llvm::SmallVector<mlir::Value> leftTerms, rightTerms;
  mlir::Value leftTerm(unsigned i) const { return i ? leftTerms[i - 1] : lhs.memref; }
  mlir::Value rightTerm(unsigned i) const { return i ? rightTerms[i - 1] : rhs.memref; }
  /// Zero padding that is folded into the contraction: loop bounds skip it instead of reading
  /// zeros.
  llvm::SmallVector<graph::Clip> clips;
  /// The contraction's row dims: `tiled` is the one that is tiled, and `outerRows` are the others
  /// that are longer than 1. If rows are evenly spaced in every buffer, `merged` is true: the index
  /// of the tiled dim then counts all rows, and the indices of the other row dims stay at 0.
  std::optional<unsigned> tiled;
  llvm::SmallVector<unsigned> outerRows;
  bool merged = false;
  /// Number of the contraction's rows along the tiled dim, and the stride in elements between
  /// adjacent rows in the left operand.
  graph::DimExpr rows, rowStride;
  /// The dot-product instruction for operands with fewer bits than the accumulators, and the
  /// reduction dim whose adjacent elements the instruction adds up. Both are null if the operands
  /// have the accumulators' type.
  plan::DotProductAttr dot;
  std::optional<unsigned> grouped;
  /// The matrix unit that computes full tiles. Tiles with fewer rows use `dot` or vector FMA. Null
  /// if no matrix unit is used.
  plan::MatrixUnitAttr matrix;
  /// Number of operand elements in a 32-bit lane of a vector.
  int64_t group() const { return dot || matrix ? 32 / int64_t(rhs.elementType.getIntOrFloatBitWidth()) : 1; }
  /// Returns the folded padding along the tiled row dim, or null if there is none.
  const graph::Clip *tiledClip() const;
  /// Returns true if the kernel must determine at run time which rows of a tile are inside of the
  /// input, and which are in the zero padding.
  bool clipsWhenRun() const { return tiledClip() && !graph::hasKnownPlaces(*tiledClip(), extents); }
  plan::ContractShape shape() const;

  /// Returns true if all iterations access a single element along dim `i` of the buffer. Returns
  /// false for a dim of size 1 with folded padding: windows pass over its element and also reach
  /// outside of it.
  static bool isBroadcast(const Buffer &buffer, unsigned i, llvm::ArrayRef<graph::Clip> clips);
  /// Returns the distance in elements of `buffer` between adjacent iterations of the contraction's
  /// dim `d`. `map` must be linear. `clips` is the padding that is folded, so that `buffer` does
  /// not contain it.
  static graph::DimExpr strideAlong(const Buffer &buffer, mlir::AffineMap map, unsigned d,
                                    llvm::ArrayRef<graph::Clip> clips = {});
};

/// Analyzes the kernel, or returns the reason why the contraction generator does not support it.
/// Conditions: the kernel has one contraction, and otherwise elementwise and indexing ops; both
/// operands are in memory (the left one may have folded zero padding); columns are contiguous in
/// the right operand or packed in panels. `unit` is the unit that multiplies; by default, the
/// target's fastest unit for the operand types.
OrReason<ContractForm> contractForm(KernelContext &k, std::optional<plan::Unit> unit = std::nullopt);

} // namespace hewn::codegen

#endif
