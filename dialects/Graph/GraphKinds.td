// SPDX-License-Identifier: Apache-2.0
//
// The classes that a family's rows are written in. A family's .td includes this and no other family: its ops are generated from
// its own file alone.
#ifndef HEWN_GRAPH_KINDS
#define HEWN_GRAPH_KINDS

include "dialects/Graph/GraphBase.td"
include "dialects/Graph/Analysis/Requirements/Requirements.td"

// Builders/Discontinuous.h
def Discontinuous : NativeOpTrait<"Discontinuous"> { let cppNamespace = "::hewn::graph"; }

//===--------------------------------------------------------------------------------------------------------------------===//
// Elementwise: one row an op. `body` is C++ on scalars or vectors (`in`) by the functions of
// ElementwiseBodies.h; `e` builds, `kind` is the number kind of the first operand's elements, `type` the result's element type.
//===--------------------------------------------------------------------------------------------------------------------===//

// `verifier` says which operands fit (`verifySameElementType(*this, of)`: all of one element type of that sort), `elementType` what the result's
// elements are: C++ over `operandType(i)` and the attributes.
class Elementwise<string mnemonic, dag args, string body, string verifier = "verifySameElementType(*this, Accepts::Any)", string elementType = "operandType(0)", list<Trait> traits = []>
    : GraphTensorOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<ElementwiseOpInterface>], traits)> {
  let arguments = args;
  let extraClassDefinition = [{
    ::mlir::Value $cppClass::emit(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange in) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      auto operandType = [&](unsigned i) { return ::hewn::graph::getElementType((*this)->getOperand(i)); };
      [[maybe_unused]] NumberKind kind = numberKind(operandType(0));
      [[maybe_unused]] ::mlir::Type type = ::hewn::graph::getElementType(getResult());
      return }] # body # [{;
    }
    ::llvm::LogicalResult $cppClass::inferShapes(::hewn::graph::DimsOf dimsOf, ::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &results) {
      using namespace ::hewn::graph::body;
      [[maybe_unused]] auto operandType = [&](unsigned i) { return ::hewn::graph::getElementType((*this)->getOperand(i)); };
      if (::mlir::failed(}] # verifier # [{))
        return ::mlir::failure();
      return inferElementwise(*this, dimsOf, }] # elementType # [{, results);
    }
  }];
}

class Unary<string mnemonic, string accepts, string body, list<Trait> traits = []>
    : Elementwise<mnemonic, (ins Tensor:$x), body, "verifySameElementType(*this, Accepts::" # accepts # ")", "operandType(0)", traits>;
class Binary<string mnemonic, string accepts, string body>
    : Elementwise<mnemonic, (ins Tensor:$a, Tensor:$b), body, "verifySameElementType(*this, Accepts::" # accepts # ")">;

//===--------------------------------------------------------------------------------------------------------------------===//
// Reductions
//===--------------------------------------------------------------------------------------------------------------------===//

class Reduce<string mnemonic> : GraphTensorOp<mnemonic, [DeclareOpInterfaceMethods<ReduceOpInterface>]> {
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$dims, DefaultValuedAttr<BoolAttr, "true">:$keepdims);
  code commonMethods = [{
    ::llvm::SmallVector<int64_t> $cppClass::getReducedDims() { return ::llvm::SmallVector<int64_t>(getDims()); }
    bool $cppClass::keepsDims() { return getKeepdims(); }
  }];
}

// A reduction whose state is one value of compute type; `identity` and `merge` are bodies like an elementwise op's.
class SimpleReduce<string mnemonic, string identity, string merge, string finish = "state[0]"> : Reduce<mnemonic> {
  let extraClassDefinition = commonMethods # [{
    ::llvm::LogicalResult $cppClass::inferShapes(::hewn::graph::DimsOf dimsOf, ::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &results) {
      return ::hewn::graph::inferReduce(*this, dimsOf, ::hewn::graph::getElementType(getX()), results);
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::identity(::mlir::OpBuilder &builder, ::mlir::Location loc, int64_t lanes) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      ::mlir::Type element = ::hewn::graph::getElementType(getX());
      return {::hewn::graph::reduceConstant(e, element, lanes, }] # identity # [{)};
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::lift(::mlir::OpBuilder &, ::mlir::Location, ::mlir::Value element, ::mlir::Value) {
      return {element};
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::merge(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange a, ::mlir::ValueRange b) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      [[maybe_unused]] NumberKind kind = numberKind(::hewn::graph::getElementType(getX()));
      return ::llvm::SmallVector<::mlir::Value>(1, }] # merge # [{);
    }
    ::mlir::Value $cppClass::finish(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange state, ::mlir::Value count) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      [[maybe_unused]] NumberKind kind = numberKind(::hewn::graph::getElementType(getX()));
      return }] # finish # [{;
    }
  }];
}

//===--------------------------------------------------------------------------------------------------------------------===//
// Moves and contractions
//===--------------------------------------------------------------------------------------------------------------------===//

// Reads are looked at as `emitAt` writes them; a move of which ONNX asks more than that has `Requires` in `traits`.
class Move<string mnemonic, list<string> methods = [], list<Trait> traits = []>
    : GraphTensorOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<MoveOpInterface, methods>], traits)>;
def Requires : DeclareOpInterfaceMethods<RequiringOpInterface>;

// Every contraction has an optional attribute `to`: the element type of the sums where it is not the operands'.
class Contract<string mnemonic, list<Trait> traits = []>
    : GraphTensorOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<ContractOpInterface>], traits)>;

//===--------------------------------------------------------------------------------------------------------------------===//
// Parts of the runtime. `params` is C++ for the list of integers that the part gets, in the order that services.h gives. What a part
// trusts of its operands' dims its op says in `requireDims`; it does not link without.
//===--------------------------------------------------------------------------------------------------------------------===//

class Part<string mnemonic, string part, string params, list<string> methods = [], list<Trait> traits = [Pure]>
    : GraphOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<ShapeOpInterface>,
                                     DeclareOpInterfaceMethods<RequiringOpInterface>,
                                     DeclareOpInterfaceMethods<PartOpInterface, methods>], traits)> {
  let results = (outs Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  code partMethods = [{
    ::llvm::StringRef $cppClass::getPartName() { return "}] # part # [{"; }
    ::llvm::SmallVector<int64_t> $cppClass::getPartParams() { return }] # params # [{; }
  }];
  let extraClassDefinition = partMethods;
}

// A part that tells an extent of its results: it is the symbol `count`, and the buffers have room for the most there can be.
// That is an effect: who asks for the extent may not read the results.
def SymbolResource : Resource<"::hewn::graph::SymbolResource">;
class CountingPart<string mnemonic, string part, string params, list<Trait> traits = []>
    : Part<mnemonic, part, params, ["getBoundDims", "getDefinedSymbols"],
           !listconcat([MemoryEffects<[MemWrite<SymbolResource>]>], traits)> {
  let extraClassDefinition = partMethods # [{
    ::llvm::SmallVector<::llvm::StringRef> $cppClass::getDefinedSymbols() { return {getCount()}; }
  }];
}

#endif
