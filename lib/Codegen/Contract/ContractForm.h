// SPDX-License-Identifier: Apache-2.0
//
// What the contraction engine knows of a kernel before it emits: operands in memory, rows that a tile may hold, windows that
// reach over a border.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTFORM_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTFORM_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/KernelFunction.h"
#include "lib/Support/Remarks.h"

namespace hewn::codegen {

struct ContractForm {
  graph::ContractOpInterface op;
  llvm::SmallVector<mlir::AffineMap> maps;
  graph::Dims extents;
  graph::ContractRoles roles;
  /// Operands; the left one without its border.
  Buffer lhs, rhs;
  /// Where the right operand comes as a code, whose words `rhs` is: how, and its scales and offsets (no memref: none), which lie in panels
  /// as it does; and the table that codes are places in (no memref: they are numbers).
  std::optional<graph::Code> code;
  Buffer scale, offset, table;
  /// Where further terms of either side lie (graph::termsOf), in memory like the operands, which are the first.
  llvm::SmallVector<mlir::Value> leftTerms, rightTerms;
  mlir::Value leftTerm(unsigned i) const { return i ? leftTerms[i - 1] : lhs.memref; }
  mlir::Value rightTerm(unsigned i) const { return i ? rightTerms[i - 1] : rhs.memref; }
  /// Where a border of zeros is left out.
  llvm::SmallVector<graph::Clip> clips;
  /// The row dim that tiles are cut from, and the others that are longer than 1. Where all rows lie evenly spaced in every
  /// buffer they are `merged`: counted by the tiled dim alone, the others stay at 0.
  std::optional<unsigned> tiled;
  llvm::SmallVector<unsigned> outerRows;
  bool merged = false;
  /// Rows along the tiled dim, and elements between neighbours of them in the left operand.
  graph::DimExpr rows, rowStride;
  /// The machine's instruction for operands narrower than the sums, and the dim whose neighbours it sums; null: operands are
  /// of the sums' type.
  plan::DotAttr dot;
  std::optional<unsigned> grouped;
  /// The matrix unit for whole tiles, beside or instead of `dot`; null: vectors alone.
  plan::MatrixAttr matrix;
  /// Elements of an operand in a lane.
  int64_t group() const { return dot || matrix ? 32 / int64_t(rhs.elementType.getIntOrFloatBitWidth()) : 1; }
  /// The clip along the tiled dim; null where there is none.
  const graph::Clip *tiledClip() const;
  /// Whether only a run tells which rows of a tile are inside of the source.
  bool clipsWhenRun() const { return tiledClip() && !graph::hasKnownPlaces(*tiledClip(), extents); }
  plan::ContractShape shape() const;

  /// Whether all iterations read the one element along the buffer's dim `i`. Where a border is left out, a dim of 1 is a source of one
  /// element that windows walk over, and is not.
  static bool isBroadcast(const Buffer &buffer, unsigned i, llvm::ArrayRef<graph::Clip> clips);
  /// Distance in `buffer` between neighbours along iteration dim `d`; maps are linear. `clips`: the borders that are left out of the buffer.
  static graph::DimExpr strideAlong(const Buffer &buffer, mlir::AffineMap map, unsigned d,
                                    llvm::ArrayRef<graph::Clip> clips = {});
};

/// The kernel's contraction, where the engine can take it: one contraction, operands in memory (the left one
/// perhaps inside a border of zeros), columns contiguous in the right one or packed in blocks, around it elementwise ops and
/// moves alone. `unit`: what is to multiply; absent: the fastest that the machine has for it.
Found<ContractForm> contractForm(KernelFunction &k, std::optional<plan::Unit> unit = std::nullopt);

} // namespace hewn::codegen

#endif
