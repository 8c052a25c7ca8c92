// SPDX-License-Identifier: Apache-2.0
//
// In-register transposes, for results whose innermost dim is not innermost in the operands:
// elements are loaded in vectors along one dim and stored in vectors along another.
//
// A tile has one vector for each index of the results' innermost dim, up to the number of lanes;
// shuffles transpose the tile. Gather and scatter instructions would take longer: they access one
// element at a time on all targets so far.
#ifndef HEWN_LIB_CODEGEN_LOOPS_REGISTERTRANSPOSE_H
#define HEWN_LIB_CODEGEN_LOOPS_REGISTERTRANSPOSE_H

#include "lib/Codegen/ElementEmitter.h"

namespace hewn::codegen {

/// Transposes a matrix whose rows are vectors of equal length. Returns its elements in column-major
/// order, as the same number of vectors.
llvm::SmallVector<mlir::Value> columnsOf(mlir::OpBuilder &b, mlir::Location loc, llvm::SmallVector<mlir::Value> rows);

/// How a nest is transposed. `lane` and `line` are numbers of the nest's dims.
struct RegisterTranspose {
  unsigned lane; ///< dim along which vectors are loaded
  unsigned line; ///< dim that is innermost in the results
  int64_t count; ///< vectors that are transposed together
  bool whole;    ///< `count` is the extent of `line`, and rows of adjacent lanes are contiguous
};

/// Plans the transpose of results with these extents and strides (the stride of `line` is 1), whose
/// operands are loaded along dim `lane`. Returns nullopt if loaded or stored vectors would be
/// mostly empty. `lanes` must be a power of two.
std::optional<RegisterTranspose> planTranspose(unsigned lane, unsigned line, llvm::ArrayRef<graph::DimExpr> extents,
                                               llvm::ArrayRef<graph::DimExpr> strides, int64_t lanes);
/// Returns the number of tiles along dim `line`, each with `count` indices.
graph::DimExpr transposeTiles(const RegisterTranspose &transpose, llvm::ArrayRef<graph::DimExpr> extents);

/// Emits the loop along dim `lane` for tile number `tile` along dim `line`. `values` returns the
/// results' elements at an index whose component `lane` is a vector index. `store` stores a vector
/// along `line` to the result with the given number.
void transposedLoop(ElementEmitter &e, const RegisterTranspose &transpose, llvm::ArrayRef<graph::DimExpr> extents,
                    llvm::SmallVector<graph::Index> at, graph::Index tile,
                    llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::Index>)> values,
                    llvm::function_ref<void(unsigned, llvm::ArrayRef<graph::Index>, mlir::Value)> store);

} // namespace hewn::codegen

#endif
