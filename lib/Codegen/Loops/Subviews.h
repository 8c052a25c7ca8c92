// SPDX-License-Identifier: Apache-2.0
//
// Results that are concatenated or interleaved from operands. A separate nest is emitted for each
// operand, which writes a subview of the result.
//
//     %r = graph.concat %a, %b                   →  nest over %a, nest over %b after it
//     %r = graph.interleave %a, %b {steps = 2}   →  nest over %a (even indices), %b (odd indices)
#ifndef HEWN_LIB_CODEGEN_LOOPS_SUBVIEWS_H
#define HEWN_LIB_CODEGEN_LOOPS_SUBVIEWS_H

#include "dialects/Graph/Indexing/Interleave.h"
#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// A subview of a result: the part that is one operand of a concat or interleave.
struct Subview {
  graph::IndexingOpInterface op;
  unsigned operand;
  graph::Assembly assembly;
  /// Dims of the subview, not of the result.
  graph::Dims dims;
  /// Returns the result index of the subview's element `at`. For a concat, `start` is the operand's
  /// first index along the concatenated dim.
  llvm::SmallVector<graph::Index> placeOf(graph::ElementBuilder &e, llvm::ArrayRef<graph::Index> at,
                                          graph::Index start) const;
};

/// Returns the subviews of a result that is computed from a concat or interleave by elementwise ops
/// that read no other subview, and by padding along other dims than the concatenated one. Returns
/// an empty list if the concat or interleave has more than `most` operands, since each subview is a
/// nest in the same function. Each element of the result then checks at run time which operand it
/// belongs to.
llvm::SmallVector<Subview> subviewsOf(mlir::Value result, size_t most = 1024);

/// Calls `body` for each subview, with its first index along the concatenated dim. Interleaved
/// subviews do not use that index.
void forEachSubview(KernelContext &k, mlir::OpBuilder &b, llvm::ArrayRef<Subview> subviews,
                    llvm::function_ref<void(const Subview &, graph::Index)> body);

/// Returns true if each subview should be emitted as a separate function: if there are many, or
/// several with dynamic sizes. LLVM's compile time for a function is quadratic in the number of
/// such nests. Returns false inside of another kernel's loops.
bool haveFunctions(const KernelContext &k, llvm::ArrayRef<Subview> subviews);

/// Emits a function for each subview and calls it. `body` emits the code of a function: it gets a
/// context whose arguments are those of the kernel, and the function's arguments for the indices
/// `more`, which all subviews use. Identical functions are merged.
void callEachSubview(
    KernelContext &k, mlir::OpBuilder &b, llvm::ArrayRef<Subview> subviews, llvm::ArrayRef<graph::Index> more,
    llvm::function_ref<void(KernelContext &, const Subview &, graph::Index, llvm::ArrayRef<graph::Index>)> body);

} // namespace hewn::codegen

#endif
