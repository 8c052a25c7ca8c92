// SPDX-License-Identifier: Apache-2.0
//
// The kinds of op. Passes, engines and both targets are written against these and know no op by name.
#ifndef HEWN_GRAPH_INTERFACES
#define HEWN_GRAPH_INTERFACES

include "mlir/IR/OpBase.td"

def ShapeOpInterface : OpInterface<"ShapeOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = "An op whose result types follow from its operands' dims and its attributes.";
  let verify = "return ::hewn::graph::verifyShapes($_op);";
  let methods = [InterfaceMethod<[{
      Appends dims and element type of every result; `dimsOf` gives an operand's. Emits an op error and fails where the op
      is ill-formed: this is the op's verifier as well.
    }], "::llvm::LogicalResult", "inferShapes",
    (ins "::hewn::graph::DimsOf":$dimsOf, "::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &":$results)>];
}

def ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    result[i] = f(operands[i]...), operands broadcast as ONNX does. `emit` writes f in arith and math ops on scalars or
    vectors of compute types (`computeType`); it uses `in`, the op's attributes and element types, and nothing else.
  }];
  let methods = [
    InterfaceMethod<"Emits the body on compute-type scalars or equal-length vectors.", "::mlir::Value", "emit",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$in)>];
}

def ReduceOpInterface : OpInterface<"ReduceOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    Reduces operand 0 over some dims. A partial result is a list of values, the state: `identity`, `lift` of an element,
    `merge` of two states (associative and commutative), `finish`. Values are scalars or vectors of compute types.
  }];
  let methods = [
    InterfaceMethod<"The reduced dims of operand 0, ascending.", "::llvm::SmallVector<int64_t>", "getReducedDims">,
    InterfaceMethod<"Whether reduced dims stay as 1.", "bool", "keepsDims">,
    InterfaceMethod<"The state of no element; `lanes` 0 for scalars.", "::llvm::SmallVector<::mlir::Value>", "identity",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "int64_t":$lanes)>,
    InterfaceMethod<"The state of one element; `position` (i64) is its index along the reduced dim, for arg-reductions.",
      "::llvm::SmallVector<::mlir::Value>", "lift",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::Value":$element, "::mlir::Value":$position)>,
    InterfaceMethod<"Combines two states.", "::llvm::SmallVector<::mlir::Value>", "merge",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$lhs, "::mlir::ValueRange":$rhs)>,
    InterfaceMethod<"The result, in compute type; `count` (i64, like the state) is the number of reduced elements.",
      "::mlir::Value", "finish",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$state, "::mlir::Value":$count)>,
    InterfaceMethod<"Whether `lift` reads `position`.", "bool", "usesPosition", (ins), "", "return false;">,
    InterfaceMethod<[{
        The state of `state`, which is made of nothing but elements taken in so, and of one behind all of these: the same as `merge` with what `lift`
        makes of it, and often less.
      }], "::llvm::SmallVector<::mlir::Value>", "append",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$state, "::mlir::Value":$element, "::mlir::Value":$position),
      "", "return $_op.merge(b, loc, state, $_op.lift(b, loc, element, position));">];
}

def CumulateOpInterface : OpInterface<"CumulateOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    Carries a state along one dim of operand 0; each step turns state and element into state and output element. The result
    has the operand's shape.
  }];
  let methods = [
    InterfaceMethod<"The dim along which the state runs.", "int64_t", "getCumulatedDim">,
    InterfaceMethod<"Whether it runs from the end.", "bool", "runsBackward">,
    InterfaceMethod<"The state before the first step; `lanes` 0 for scalars.", "::llvm::SmallVector<::mlir::Value>", "initial",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "int64_t":$lanes)>,
    InterfaceMethod<"One step: replaces `state`, returns the output element.", "::mlir::Value", "step",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::llvm::SmallVectorImpl<::mlir::Value> &":$state,
           "::mlir::Value":$element)>,
    InterfaceMethod<"The state of elements and those behind them, of two states that both began at `initial`.",
      "::llvm::SmallVector<::mlir::Value>", "join",
      (ins "::mlir::OpBuilder &":$b, "::mlir::Location":$loc, "::mlir::ValueRange":$earlier, "::mlir::ValueRange":$later)>];
}

def ContractOpInterface : OpInterface<"ContractOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    result[c(i)] = sum over reduction dims of lhs[a(i)] * rhs[b(i)], over an iteration space i. Maps are affine, the result's is
    a projection of the parallel dims; padding is a move op of its own, so every access is in bounds. An attribute `to` gives the
    type of the sums where it is not the operands'. Where each side is a sum of terms, the further ones are operands behind these
    two, left and right in turn, of the same types: products of all pairs but the smallest are summed (`termPairs`).
  }];
  let methods = [
    InterfaceMethod<"Maps of lhs (operand 0), rhs (operand 1) and the result.", "::llvm::SmallVector<::mlir::AffineMap>", "getIndexingMaps">,
    InterfaceMethod<"For each iteration dim, whether it is summed over.", "::llvm::SmallVector<bool>", "getReductionDims">,
    InterfaceMethod<"The extent of each iteration dim.", "::hewn::graph::Dims", "getIterationDims",
      (ins "::hewn::graph::DimsOf":$dimsOf)>];
}

def QuantizedOpInterface : OpInterface<"QuantizedOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An elementwise op whose result is (operand 0 - zero point) * scale, of integers that stand for numbers. A contraction of two
    of them can be computed on the integers. One of kind move instead finds numbers in a table (operand 1) by integers without a sign, and
    multiplies them by the scale.
  }];
  let methods = [
    InterfaceMethod<"The scale, broadcast to the data; null: 1.", "::mlir::Value", "getQuantizedScale">,
    InterfaceMethod<"The zero point, of the data's type and broadcast to it; null: 0.", "::mlir::Value", "getQuantizedZero">];
}

def MoveOpInterface : OpInterface<"MoveOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    Each result element is computed from elements that the op finds by index: transpose, slice, pad, concat, gather, resize.
    `emitAt` writes the element at an index, reading operands through the builder, so that it can be absorbed by the loads of
    a consumer.
  }];
  let methods = [
    InterfaceMethod<"The result element at index `at`, in compute type.", "::mlir::Value", "emitAt",
      (ins "::hewn::graph::ElementBuilder &":$e, "::llvm::ArrayRef<::hewn::graph::Index>":$at)>,
    InterfaceMethod<[{Where the result is the operand's memory under another shape or order of dims: row-major reshape, or a
      transposition (result dim i is operand dim order[i]).}],
      "::hewn::graph::ViewKind", "getViewKind", (ins), "", "return ::hewn::graph::ViewKind::None;">,
    InterfaceMethod<"The order of a transposition.", "::llvm::SmallVector<int64_t>", "getViewOrder", (ins), "", "return {};">,
    InterfaceMethod<[{How one of `parts` equal parts of the result, cut along a dim, is made of parts of operands and of others as a whole
      (Analysis/Cuts.h); nullopt where elements along it depend on each other.}],
      "std::optional<::hewn::graph::CutForm>", "getCutForm",
      (ins "const ::hewn::graph::Cut &":$cut, "const ::hewn::graph::Parts &":$parts), "", "return std::nullopt;">,
    InterfaceMethod<[{How some lines of the result are made of lines of operands and of others as a whole (Analysis/Bands.h); nullopt where they are not
      made of lines one behind the other.}],
      "std::optional<::hewn::graph::BandForm>", "getBandForm", (ins "const ::hewn::graph::Band &":$wanted), "", "return std::nullopt;">,
    InterfaceMethod<"Whether the result is the operand repeated along dims of which it has none, or one element.", "bool", "getIsBroadcast", (ins), "",
      "return false;">,
    InterfaceMethod<[{Where each element is one of operand 0's whose place along one dim is an integer of operand 1, and along others its own:
      that dim.}],
      "std::optional<int64_t>", "getLookedUpDim", (ins), "", "return std::nullopt;">];
}

def ConcatOpInterface : OpInterface<"ConcatOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    A move whose result is all operands one after another along a dim. An engine takes one subview of the result after another
    (`ElementBuilder::setSubview`) instead of choosing one for each element.
  }];
  let methods = [InterfaceMethod<"The dim along which operands follow each other.", "int64_t", "getConcatDim">];
}

def PaddingOpInterface : OpInterface<"PaddingOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = "A move that pads operand 0. A contraction can leave zeros out instead of reading them.";
  let methods = [
    InterfaceMethod<"The padding before the operand along each dim, where it is of zeros and takes nothing away (no crop).",
      "std::optional<::llvm::SmallVector<int64_t>>", "getZeroPadding">];
}

def SplitKOpInterface : OpInterface<"SplitKOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    A move whose result is any tensors along a new first dim whose sum is operand 0. A contraction can cut its own sum into so
    many parts (split-K).
  }];
  let methods = [InterfaceMethod<"How many tensors.", "int64_t", "getNumSplits">];
}

def CodedOpInterface : OpInterface<"CodedOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    A move whose result is a matrix of numbers in few bits (operand 0, words) by scales and perhaps offsets (operands 1 and 2), or by
    scales and a table of one dim that codes are places in. A contraction can take the words as they are.
  }];
  let methods = [InterfaceMethod<"How words, scales and offsets say the numbers.", "::hewn::graph::Code", "getCode">];
}

def ControlOpInterface : OpInterface<"ControlOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    Control flow: an op whose regions, of one block each, run as often as the op says and read values of outside directly.

    Branches: one of the regions runs, once. Regions take no arguments; result i is operand i of the terminator of the region
    that ran.

    A loop: the only region runs in steps. Each of the body's arguments is a carried value's, a slice of a sequence or one of
    `getControlValues`; each operand of its terminator is what a step hands on of a carried value, the slice that it adds to a
    stacked one, or the next condition; each result is carried or stacked. Slices lie along dim 0, where each is contiguous in
    memory.

    Who plans memory, copies or emission asks this and knows no op. What an op's lists leave out is none of theirs: an op without
    a trip count goes on while its condition holds. (docs/decisions/control-flow.md says why these aren't MLIR's interfaces.)
  }];
  let methods = [
    InterfaceMethod<"Whether it is a loop; else its regions are branches.", "bool", "isLoop">,
    InterfaceMethod<"The values of one element that decide which region runs, and how often.",
      "::hewn::graph::ControlValues", "getControlValues">,
    InterfaceMethod<[{How many steps a loop takes, where that is known before the first one and nothing ends it earlier: a counted loop. It
      has no trip count, no condition and none to follow, and its stacked results are made in place.}],
      "std::optional<::hewn::graph::DimExpr>", "getNumSteps", (ins), "", "return std::nullopt;">,
    InterfaceMethod<"The values that a loop's steps hand on.",
      "::llvm::SmallVector<::hewn::graph::CarriedValue>", "getCarriedValues", (ins), "", "return {};">,
    InterfaceMethod<"The operands of which each step gets a slice; of a counted loop, they are as long as it has steps.",
      "::llvm::SmallVector<::hewn::graph::SlicedValue>", "getSlicedValues", (ins), "", "return {};">,
    InterfaceMethod<"The results to which each step adds a slice.",
      "::llvm::SmallVector<::hewn::graph::StackedValue>", "getStackedValues", (ins), "", "return {};">];
  let extraClassDeclaration = [{
    /// The block that a loop runs in steps.
    ::mlir::Block &getLoopBody();
    /// Whether the operand, of the op or of a terminator in it, is one of `getControlValues`; the same of an argument.
    bool decides(const ::mlir::OpOperand &operand);
    bool decides(::mlir::BlockArgument argument);
    /// The number among `getCarriedValues` of the one whose argument or result this is.
    std::optional<unsigned> findCarried(::mlir::Value value);
    /// The sequence of which the argument is a slice; null: it is none.
    ::mlir::Value findSequence(::mlir::BlockArgument argument);
  }];
}

def ComposeOpInterface : OpInterface<"ComposeOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = "An op that is written in others: Softmax = reduce, elementwise, reduce, elementwise.";
  let methods = [
    InterfaceMethod<"Writes the op before itself and returns the values of its results.",
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "compose", (ins "::mlir::OpBuilder &":$b)>];
}

def PartOpInterface : OpInterface<"PartOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An op that calls a named part of the runtime (`hewn_part_<name>`): what no tensor code says well. Result dims are upper
    bounds on entry; a result dim that depends on data is a symbol of its own, written by the part.
  }];
  let methods = [
    InterfaceMethod<"The part's name.", "::llvm::StringRef", "getPartName">,
    InterfaceMethod<"Its parameters: attributes as integers, floats by their bits.", "::llvm::SmallVector<int64_t>", "getPartParams">,
    InterfaceMethod<"The dims that each result's buffer must hold; without a word of the op, the results' own.",
      "::llvm::SmallVector<::hewn::graph::Dims>", "getBoundDims", (ins "::hewn::graph::DimsOf":$dimsOf), "", [{
        return ::llvm::map_to_vector($_op->getResults(), [&](::mlir::Value result) { return dimsOf(result); });
      }]>,
    InterfaceMethod<"The symbols that only the part can tell: those of dims that depend on data.",
      "::llvm::SmallVector<::llvm::StringRef>", "getDefinedSymbols", (ins), "", "return {};">];
}

#endif
