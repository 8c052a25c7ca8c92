// SPDX-License-Identifier: Apache-2.0
//
// Transpositions in registers: elements are read in vectors along one dim, and written along another.
//
// As many vectors as the result's line is long, or as a vector has lanes, are read, one for each place of the line; shuffles
// make them vectors of lines. Gathers and scatters, one element at a time on every machine so far, would take longer.
#ifndef HEWN_LIB_CODEGEN_LOOPS_REGISTERTRANSPOSE_H
#define HEWN_LIB_CODEGEN_LOOPS_REGISTERTRANSPOSE_H

#include "lib/Codegen/KernelElements.h"

namespace hewn::codegen {

/// Rows of a matrix, vectors of equal length, to its columns one after the other, in as many vectors.
llvm::SmallVector<mlir::Value> columnsOf(mlir::OpBuilder &b, mlir::Location loc, llvm::SmallVector<mlir::Value> rows);

/// How a nest is transposed: in the dims in which `at` counts.
struct RegisterTranspose {
  unsigned lane; ///< along which vectors are read
  unsigned line; ///< along which results lie innermost
  int64_t count; ///< vectors that become lines together
  bool whole;    ///< `count` is all of a line, and lines of neighbours along `lane` lie one after the other
};

/// The transpose of results with these extents and strides, of which `line` is 1, and are read along `lane`; nullopt where lines or
/// vectors would stay mostly empty. `lanes` is a power of two.
std::optional<RegisterTranspose> planTranspose(unsigned lane, unsigned line, llvm::ArrayRef<graph::DimExpr> extents,
                                               llvm::ArrayRef<graph::DimExpr> strides, int64_t lanes);
/// How many steps of `count` there are along the line.
graph::DimExpr transposeTiles(const RegisterTranspose &transpose, llvm::ArrayRef<graph::DimExpr> extents);

/// The loop along `lane` for step `tile` along the line. `values` gives the results' elements at a place, whose dim `lane` has a
/// vector of indices; `store` takes an element of the result of that number, vectors along the line.
void transposedLoop(KernelElements &e, const RegisterTranspose &transpose, llvm::ArrayRef<graph::DimExpr> extents,
                    llvm::SmallVector<graph::Index> at, graph::Index tile,
                    llvm::function_ref<llvm::SmallVector<mlir::Value>(llvm::ArrayRef<graph::Index>)> values,
                    llvm::function_ref<void(unsigned, llvm::ArrayRef<graph::Index>, mlir::Value)> store);

} // namespace hewn::codegen

#endif
