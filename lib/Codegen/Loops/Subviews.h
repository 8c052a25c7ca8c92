// SPDX-License-Identifier: Apache-2.0
//
// Results that are concatenated, or interleaved, of operands, each of which makes a subview.
//
//     %r = graph.concat %a, %b                   →     a nest over %a at 0, a nest over %b behind it
//     %r = graph.interleave %a, %b {steps = 2}   →     a nest over %a that writes each second place, one over %b for the others
#ifndef HEWN_LIB_CODEGEN_LOOPS_SUBVIEWS_H
#define HEWN_LIB_CODEGEN_LOOPS_SUBVIEWS_H

#include "dialects/Graph/Move/Interleave.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// A part of a result's space.
struct Subview {
  graph::MoveOpInterface op;
  unsigned operand;
  graph::Assembly assembly;
  /// The part's dims.
  graph::Dims dims;
  /// Where element `at` of the part, which begins at `start` along the dim of subviews one after another, is in the space.
  llvm::SmallVector<graph::Index> placeOf(graph::ElementBuilder &e, llvm::ArrayRef<graph::Index> at,
                                          graph::Index start) const;
};

/// The result in subviews, where the kernel puts operands together and does nothing after that but elementwise ops, none of which
/// reads another subview, and padding along other dims than that of operands one after another. Of more than `most` operands there are none: each is a
/// nest of its own in one function. An element then asks every operand whether it is there.
llvm::SmallVector<Subview> subviewsOf(mlir::Value result, size_t most = 1024);

/// `body` for each of them, with the index at which it begins if they stand one after another.
void forEachSubview(KernelFunction &k, mlir::OpBuilder &b, llvm::ArrayRef<Subview> subviews,
                    llvm::function_ref<void(const Subview &, graph::Index)> body);

/// Whether each subview is better off in a function of its own: they are many, or some and of sizes known only when run. LLVM's time for
/// one function of so many nests grows with the square of their number. Not inside of another kernel's loops.
bool haveFunctions(const KernelFunction &k, llvm::ArrayRef<Subview> subviews);

/// The same in functions: `body` fills the one that it is given, whose arguments stand for the kernel's, and for `more`, which all subviews read.
/// Of those that turn out alike one is left, which is called for all.
void callEachSubview(
    KernelFunction &k, mlir::OpBuilder &b, llvm::ArrayRef<Subview> subviews, llvm::ArrayRef<graph::Index> more,
    llvm::function_ref<void(KernelFunction &, const Subview &, graph::Index, llvm::ArrayRef<graph::Index>)> body);

} // namespace hewn::codegen

#endif
