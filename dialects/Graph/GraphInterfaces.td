// SPDX-License-Identifier: Apache-2.0
//
// The op interfaces, through which passes, kernel generators and targets handle ops without naming
// them.
#ifndef HEWN_GRAPH_INTERFACES
#define HEWN_GRAPH_INTERFACES

include "mlir/IR/OpBase.td"

def ShapeOpInterface : OpInterface<"ShapeOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = "An op whose result types follow from its attributes and the dims of its operands.";
  let verify = "return ::hewn::graph::verifyShapes($_op);";
  let methods = [InterfaceMethod<[{
      Appends the dims and the element type of every result. `dimsOf` returns the dims of an
      operand. Also verifies the op: emits an op error and fails if the op is invalid.
    }], "::llvm::LogicalResult", "inferShapes",
    (ins "::hewn::graph::DimsOf":$dimsOf, "::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &":$results)>];
}

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    result[i] = f(operands[i]...), where the operands are broadcast as in ONNX. `emit` emits f as
    arith and math ops on scalars or vectors of compute types (`computeType`). The emitted code may
    only depend on `in`, the op's attributes and the element types.
  }];
  let methods = [
    InterfaceMethod<"Emits the op's body on compute-type scalars or vectors of equal length.", "::mlir::Value", "emit",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$in)>];
}

def ReduceOpInterface : OpInterface<"ReduceOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    Reduces operand 0 over some of its dims. The partial result (state) is a list of values, which
    are scalars or vectors of compute types. `identity` emits the initial state, `lift` the state of
    one element, `merge` the combination of two states (associative and commutative), and `finish`
    the result.
  }];
  let methods = [
    InterfaceMethod<"Returns the reduced dims of operand 0 in ascending order.", "::llvm::SmallVector<int64_t>",
      "getReducedDims">,
    InterfaceMethod<"Returns true if the reduced dims are kept in the result with size 1.", "bool", "keepsDims">,
    InterfaceMethod<"Emits the initial state (of no elements): vectors of `lanes` elements, or scalars if `lanes` is 0.",
      "::llvm::SmallVector<::mlir::Value>", "identity",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "int64_t":$lanes)>,
    InterfaceMethod<"Emits the state of one element. `position` (i64) is its index along the reduced dim (for ArgMax).",
      "::llvm::SmallVector<::mlir::Value>", "lift",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::Value":$element, "::mlir::Value":$position)>,
    InterfaceMethod<"Emits the combination of two states.", "::llvm::SmallVector<::mlir::Value>", "merge",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$lhs, "::mlir::ValueRange":$rhs)>,
    InterfaceMethod<"Emits the result in compute type. `count` (i64, shaped as the state) is the number of elements.",
      "::mlir::Value", "finish",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$state, "::mlir::Value":$count)>,
    InterfaceMethod<"Returns true if `lift` uses `position`.", "bool", "usesPosition", (ins), "", "return false;">,
    InterfaceMethod<[{
        Emits the state after one more element. `state` must have been built by `append` alone, from
        elements with lower positions. The result is equal to merging `state` with the lifted
        element, but is often cheaper to compute.
      }], "::llvm::SmallVector<::mlir::Value>", "append",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$state, "::mlir::Value":$element,
           "::mlir::Value":$position),
      "", "return $_op.merge(b, loc, state, $_op.lift(b, loc, element, position));">];
}

def PrefixScanOpInterface : OpInterface<"PrefixScanOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    A prefix scan: carries a state along one dim of operand 0. Each step computes the next state and
    an output element from the state and an input element. The result has the operand's shape.
  }];
  let methods = [
    InterfaceMethod<"Returns the scanned dim.", "int64_t", "getCumulatedDim">,
    InterfaceMethod<"Returns true if the scan runs from the last element to the first.", "bool", "runsBackward">,
    InterfaceMethod<"Emits the initial state, as vectors of `lanes` elements, or scalars if `lanes` is 0.",
      "::llvm::SmallVector<::mlir::Value>", "initial",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "int64_t":$lanes)>,
    InterfaceMethod<"Emits one step: replaces `state` and returns the output element.", "::mlir::Value", "step",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::llvm::SmallVectorImpl<::mlir::Value> &":$state,
           "::mlir::Value":$element)>,
    InterfaceMethod<[{
        Emits the state after two consecutive segments of the scanned dim, from the states after
        each segment. Both segments were scanned from `initial`.
      }], "::llvm::SmallVector<::mlir::Value>", "join",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$earlier,
           "::mlir::ValueRange":$later)>];
}

def ContractOpInterface : OpInterface<"ContractOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    result[c(i)] = sum over the reduction dims of lhs[a(i)] * rhs[b(i)], for all i in an iteration
    space. The maps a and b are affine; c is a projection to the parallel dims. Padding is a
    separate indexing op, so every access is in bounds. The attribute `to` gives the element type of
    the accumulators and the result, if it is not that of the operands.

    Both operands of a contraction may be split into components whose sum is the operand
    (split-bf16). Further components are operands after the first two, alternating between left and
    right, and all components have the same type. The op multiplies the pairs of components that
    `termPairs` lists, and adds up the results. It omits all other pairs, which contribute less than
    the error of the split.
  }];
  let methods = [
    InterfaceMethod<"Returns the indexing maps of lhs (operand 0), rhs (operand 1) and the result.",
      "::llvm::SmallVector<::mlir::AffineMap>", "getIndexingMaps">,
    InterfaceMethod<"Returns, for each iteration dim, whether it is a reduction dim.", "::llvm::SmallVector<bool>",
      "getReductionDims">,
    InterfaceMethod<"Returns the extent of each iteration dim.", "::hewn::graph::Dims", "getIterationDims",
      (ins "::hewn::graph::DimsOf":$dimsOf)>];
}

def QuantizedOpInterface : OpInterface<"QuantizedOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    Dequantizes integers: result = (operand 0 - zero point) * scale. A contraction of two such
    results can be computed on the integers. The op is either elementwise, or an indexing op that
    looks up operand 0 (unsigned integers) in a table (operand 1) and multiplies the entries by the
    scale.
  }];
  let methods = [
    InterfaceMethod<"Returns the scale, which broadcasts to the data, or null if it is 1.", "::mlir::Value",
      "getQuantizedScale">,
    InterfaceMethod<"Returns the zero point, which has the data's type and broadcasts to it, or null if it is 0.",
      "::mlir::Value", "getQuantizedZero">];
}

def IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An indexing (data movement) op: computes each result element from operand elements at computed
    indices. Examples: transpose, slice, pad, concat, gather, resize. `emitAt` emits the result
    element at an index and reads operands through the builder, so that it can be fused into the
    loads of a user.
  }];
  let methods = [
    InterfaceMethod<"Emits the result element at index `at`, in compute type.", "::mlir::Value", "emitAt",
      (ins "::hewn::graph::ElementBuilder &":$e, "::llvm::ArrayRef<::hewn::graph::Index>":$at)>,
    InterfaceMethod<[{
        Returns whether the result can be a view of the operand: its memory with another shape
        (row-major reshape) or with another dim order (transpose: result dim i is operand dim
        order[i]).
      }], "::hewn::graph::ViewKind", "getViewKind", (ins), "", "return ::hewn::graph::ViewKind::None;">,
    InterfaceMethod<"Returns the dim order of a transpose.", "::llvm::SmallVector<int64_t>", "getViewOrder", (ins), "",
      "return {};">,
    InterfaceMethod<[{
        Returns how the op computes one shard of its result, and which shard of each operand it
        needs for that (Analysis/Sharding.h). Returns nullopt if the elements along the sharded dim
        depend on each other.
      }], "std::optional<::hewn::graph::ShardingRule>", "getShardingRule",
      (ins "const ::hewn::graph::DimSharding &":$cut, "const ::hewn::graph::ShardCount &":$parts), "", "return std::nullopt;">,
    InterfaceMethod<[{
        Returns which operand rows the op needs to compute the result rows `wanted`
        (Analysis/Halo.h). Returns nullopt if these operand rows are not a contiguous range.
      }], "std::optional<::hewn::graph::HaloRule>", "getHaloRule", (ins "const ::hewn::graph::HaloShard &":$wanted), "",
      "return std::nullopt;">,
    InterfaceMethod<"Returns true if the result repeats the operand along new dims, or repeats a single element.",
      "bool", "getIsBroadcast", (ins), "", "return false;">,
    InterfaceMethod<[{
        Returns the dim along which the op is a lookup in operand 0: operand 1 gives the index along
        this dim, and the result's own index is used along the other dims. Returns nullopt if the op
        is not such a gather.
      }], "std::optional<int64_t>", "getLookedUpDim", (ins), "", "return std::nullopt;">,
    InterfaceMethod<[{
        Returns true if the result equals operand 0 whenever the two have the same dims, as for a
        resize. If dims are dynamic, a kernel generator can emit a copy for this case.
      }], "bool", "getCopiesEqualDims", (ins), "", "return false;">];
}

def ConcatOpInterface : OpInterface<"ConcatOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An indexing op that concatenates its operands along a dim. For each operand, a kernel generator
    can emit a loop nest over the subview of the result that the operand fills
    (`ElementBuilder::setSubview`). Otherwise, each element would select its operand.
  }];
  let methods = [InterfaceMethod<"Returns the concatenation dim.", "int64_t", "getConcatDim">];
}

def PaddingOpInterface : OpInterface<"PaddingOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = "An indexing op that pads operand 0. A contraction can read operand 0 and skip the zero padding.";
  let methods = [
    InterfaceMethod<"Returns the number of zeros before the operand along each dim; nullopt for other padding or crops.",
      "std::optional<::llvm::SmallVector<int64_t>>", "getZeroPadding">];
}

def SplitKOpInterface : OpInterface<"SplitKOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An indexing op whose result has a new first dim. The slices along this dim may be any tensors
    whose sum is operand 0. A contraction that produces operand 0 can therefore store its split-K
    partials in the result.
  }];
  let methods = [InterfaceMethod<"Returns the number of slices along the new dim.", "int64_t", "getNumSplits">];
}

def PackedWeightsOpInterface : OpInterface<"PackedWeightsOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An indexing op that unpacks a matrix of low-bit weights. Operand 0 holds packed 32-bit words.
    Operands 1 and 2 are the scales and optional offsets, or the scales and a one-dim lookup table.
    A contraction can read the packed words directly.
  }];
  let methods = [InterfaceMethod<"Returns the encoding of the packed weights.", "::hewn::graph::WeightEncoding", "getCode">];
}

def ControlOpInterface : OpInterface<"ControlOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An op with single-block regions, which decides which of its regions run, and how often. The
    regions may use outer values.

    Branches: exactly one region runs, once. Regions have no arguments; result i is operand i of the
    terminator of the region that ran.

    Loops: the op has one region (the body), which runs once in each step.

    | value | role |
    | --- | --- |
    | argument of the body | a carried value, a slice of a sequence, or one of `getControlValues` |
    | operand of the terminator | a next carried value, a stacked slice, or the next condition |
    | result of the op | a carried or a stacked value |

    A loop slices its operands along dim 0, so that each slice is contiguous in memory.

    Passes for memory planning, transfers and emission use this interface and do not name single
    ops. A loop without a trip count runs while its condition holds. docs/decisions/control-flow.md
    explains why MLIR's interfaces are not used.
  }];
  let methods = [
    InterfaceMethod<"Returns true for a loop, false for branches.", "bool", "isLoop">,
    InterfaceMethod<"Returns the one-element values that decide which region runs, and how often.",
      "::hewn::graph::ControlValues", "getControlValues">,
    InterfaceMethod<[{
        Returns the number of steps of a counted loop. A counted loop is one whose number of steps
        is known before its first step, and that no condition ends earlier. It has no trip count,
        condition or next condition among its control values, and its stacked results are computed
        in place.
      }], "std::optional<::hewn::graph::DimExpr>", "getNumSteps", (ins), "", "return std::nullopt;">,
    InterfaceMethod<"Returns the loop-carried values.",
      "::llvm::SmallVector<::hewn::graph::CarriedValue>", "getCarriedValues", (ins), "", "return {};">,
    InterfaceMethod<"Returns the operands of which each step gets one slice. A counted loop has as many steps as slices.",
      "::llvm::SmallVector<::hewn::graph::SlicedValue>", "getSlicedValues", (ins), "", "return {};">,
    InterfaceMethod<"Returns the results to which each step adds a slice.",
      "::llvm::SmallVector<::hewn::graph::StackedValue>", "getStackedValues", (ins), "", "return {};">];
  let extraClassDeclaration = [{
    /// Returns the body block of a loop.
    ::mlir::Block &getLoopBody();
    /// Returns true if the operand (of the op, or of a terminator in its regions) or the block
    /// argument is one of `getControlValues`.
    bool decides(const ::mlir::OpOperand &operand);
    bool decides(::mlir::BlockArgument argument);
    /// Returns the index in `getCarriedValues` of the entry whose argument or result is `value`.
    std::optional<unsigned> findCarried(::mlir::Value value);
    /// Returns the sequence whose slice the block argument is, or null if it is not a slice.
    ::mlir::Value findSequence(::mlir::BlockArgument argument);
  }];
}

def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = "An op that decomposes into other ops. Softmax: reduce, elementwise, reduce, elementwise.";
  let methods = [
    InterfaceMethod<"Emits the decomposition before the op and returns the values that replace its results.",
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "compose", (ins "::mlir::OpBuilder &":$b)>];
}

def RuntimeCallOpInterface : OpInterface<"RuntimeCallOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An op that calls a runtime function (`hewn_op_<name>`), for computations that cannot be
    expressed well as tensor ops. A result dim that depends on data is a symbol, which the runtime
    function sets, and has an upper bound, for which memory is reserved.
  }];
  let methods = [
    InterfaceMethod<"Returns the name of the runtime function.", "::llvm::StringRef", "getRuntimeFunction">,
    InterfaceMethod<"Returns the parameters of the call: attributes as integers, and floats as their bit patterns.",
      "::llvm::SmallVector<int64_t>", "getCallParams">,
    InterfaceMethod<"Returns the dims for which each result needs memory; the default is the result's dims.",
      "::llvm::SmallVector<::hewn::graph::Dims>", "getBoundDims", (ins "::hewn::graph::DimsOf":$dimsOf), "", [{
        return ::llvm::map_to_vector($_op->getResults(), [&](::mlir::Value result) { return dimsOf(result); });
      }]>,
    InterfaceMethod<"Returns the symbols of data-dependent dims, which the runtime function writes.",
      "::llvm::SmallVector<::llvm::StringRef>", "getDefinedSymbols", (ins), "", "return {};">];
}

#endif
