// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_SIMPLIFY_PASSES
#define HEWN_SIMPLIFY_PASSES

include "mlir/Pass/PassBase.td"

def DecomposeOpsPass : Pass<"hewn-decompose-ops"> {
  let summary = "Decompose ops into elementwise, reduction, prefix scan, contraction and indexing ops";
  let description = [{
    Replaces every op with `DecomposeOpInterface` by the ops that the interface builds, until none
    is left. Nested regions are included.

    ```mlir
    %y = graph.softmax %x {axis = 1}
    // becomes
    %m = graph.reduce_max %x ...
    %d = graph.sub %x, %m
    %e = graph.exp %d
    %s = graph.reduce_sum %e ...
    %y = graph.div %e, %s
    ```

    If the decomposition of an op has more precise result dims than the op itself (a dim computed
    from constant scales, for example), result dims are inferred again for the whole module.
    Afterwards, dead ops are erased.

    If an op cannot be decomposed, its interface reports an error. The decomposition pass does not
    optimize: fusion puts the resulting ops back into one kernel. If a kernel generator has a better
    algorithm for an entire op, it has to match the op before this pass.
  }];
}

def EraseDeadOpsPass : Pass<"hewn-erase-dead-ops", "::mlir::func::FuncOp"> {
  let summary = "Erase ops whose results and symbols have no uses";
  let description = [{
    Some ops define a symbol, such as the number of non-zero elements. Such an op has a memory
    effect (`graph::SymbolResource`), because another op may use the symbol even if the op's results
    have no uses. Other passes therefore do not erase it. This pass erases the op if its results
    have no uses and no other op names its symbols.

    ```mlir
    %0 = graph.non_zero %x {count = "n", ...}        // kept: the program returns n
    %1 = graph.dim_value {values = [#graph.dim<"n">]}
    ```
  }];
}

def LowerHandlesPass : Pass<"hewn-lower-handles", "::mlir::ModuleOp"> {
  let summary = "Replace handle types (string, sequence, optional) by i64";
  let description = [{
    A handle to a string, sequence or optional value is a 64-bit integer at run time. This pass
    replaces the handle types, so that later passes see integers only. The original type of a
    function argument or result stays in its `handle.held` attribute, for callers.

    ```mlir
    func.func @main(%x: tensor<2x!handle.string>)
      %y = graph.transpose %x ...
      %z = graph.retype %y ...
    // becomes
    func.func @main(%x: tensor<2xi64> {handle.held = "!handle.string"})
      %y = graph.transpose %x : tensor<2xi64> ...
      // %z is replaced by %y
    ```

    This pass does not dereference handles. Ops that dereference them are runtime calls.
  }];
}

def FoldConstantsPass : Pass<"hewn-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compile and run constant subgraphs and replace them by their results";
  let description = [{
    Folds constants with the compiler's own pipeline: a subgraph that depends on constants only is
    compiled, run, and replaced by its results. Ops have no folders. A view of a constant becomes a
    constant of the view's type, without running anything.

    ```mlir
    %w = graph.constant ...
    %s = graph.sqrt %w
    %f = graph.div %a, %s
    %y = graph.conv %x, %f
    // becomes
    %f = graph.constant {value = #graph.weight<"folded.7c1f9b2a60e4d853", 0 : 4096>}
    %y = graph.conv %x, %f
    ```

    Not folded:

    - results that are much larger than their operands (an expanded scalar would grow the weights)
    - packed low-bit weights that a contraction dequantizes in its kernel, and integer weights that
      may become such weights later
    - dynamic shapes
    - ops with regions
    - ops of a subgraph that the evaluator rejects, or all ops if there is no evaluator

    Dequantization of a matrix is folded although the result is larger, because every run would
    repeat the conversion.

    The work of constant folding is bounded by a fixed number of operations plus a number per
    constant element, because a short model file may request any amount of work. Constant subgraphs
    are run in batches, so that the constants of a large model are never in memory twice.

    The graph dialect of the context owns the evaluator (`graph::evaluatorOf`).
  }];
  let options = [
    Option<"maxFoldedOps", "max-folded-ops", "int64_t", "::hewn::Limits().folding",
           "Element operations that folding may execute, in addition to a number per constant element">,
    Option<"kept", "kept", "::hewn::KeptCodes", "::hewn::KeptCodes::None",
           "Low-bit weights that stay integers, because a contraction may read them packed", [{::llvm::cl::values(
             clEnumValN(::hewn::KeptCodes::None, "none", "none"),
             clEnumValN(::hewn::KeptCodes::Matrices, "matrices", "matrices that can be packed"),
             clEnumValN(::hewn::KeptCodes::All, "all", "also all 8-bit weights"))}]>];
}

def InsertShapeGuardsPass : Pass<"hewn-insert-shape-guards", "::mlir::func::FuncOp"> {
  let summary = "Insert run-time checks of dynamic dims";
  let description = [{
    Kernels assume that operand shapes match; a mismatch would read out of bounds. Each op lists its
    conditions on dims (`requirementsOf`). A condition that the types do not prove becomes an entry
    in `graph.requires`. A run checks the entries first and returns an error status if one does not
    hold.

    ```mlir
    func @main(%x {graph.dims = [2, "n"]}, %w {graph.dims = ["m", 3]}) {
      %0 = graph.matmul %x, %w
    // becomes
    func @main(...) attributes {graph.requires = [#graph.requirement<"node", equal, "m", "n">]} {
    ```

    A condition between static dims that does not hold is a compile-time error. Conditions on
    data-dependent dims, or on ops in branches and uncounted loops, cannot be checked at the start
    of a run. For these, a `graph.require_dims` op is inserted before the op. The body of a loop
    over a sequence counts as always executed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def VerifyInBoundsPass : Pass<"hewn-verify-in-bounds", "::mlir::func::FuncOp"> {
  let summary = "Verify that every op's dim requirements hold by type or are checked at run time";
  let description = [{
    Runs at the end of the graph stage. For every op, each condition on dims (`requirementsOf`) must
    hold by type or be checked before the op runs. Kernels rely on this. The pass reports an error
    for an op whose requirements are unknown, and for an op that a pass has created after
    `hewn-insert-shape-guards` without a check, because such an op could read out of bounds.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def SinkReshapesPass : Pass<"hewn-sink-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Sink reshapes, transposes and interleaving concats of a contraction's result below elementwise ops";
  let description = [{
    Exporters insert a reshape between a matmul and its activation to flatten the batch. All ops of
    a kernel share one iteration space, so elementwise ops after a reshape cannot be evaluated on
    the contraction's accumulators. The pass sinks the reshape below the elementwise ops, so that
    they fuse into the contraction's epilogue.

    ```mlir
    %0 = graph.matmul %x, %w : tensor<128x3072xf32>
    %1 = graph.reshape %0 : tensor<1x128x3072xf32>
    %2 = graph.add %1, %bias : tensor<1x128x3072xf32>
    // becomes
    %0 = graph.matmul %x, %w : tensor<128x3072xf32>
    %1 = graph.add %0, %bias : tensor<128x3072xf32>
    %2 = graph.reshape %1 : tensor<1x128x3072xf32>
    ```

    Three patterns:

    | pattern | other operands of the elementwise op |
    | --- | --- |
    | reshape | reshaped to the contraction's shape (a full-size or a broadcast operand) |
    | reshapes and transposes | scalars, or constants that vary along one dim of the contraction's result |
    | interleaving concat | equal for all interleaved operands; the op is cloned for each |

    Pattern `reshape`: a broadcast operand is supported if its dims are trailing dims of both
    shapes, or if it is broadcast along all or none of the dims that the reshape merges or splits.

    Pattern `reshapes and transposes` (space-to-depth, heads transposed into the batch): not sunk if
    the elementwise op has a result type with more bits, because more bytes would be transposed. If
    the sequence consists of reshapes followed by one transpose, other full-size operands are
    transposed back, and layout assignment absorbs that transpose.

    Not rewritten: elementwise ops with several results, and reshapes of values that are not
    computed by a contraction or by elementwise ops on its result.
  }];
}

#endif
