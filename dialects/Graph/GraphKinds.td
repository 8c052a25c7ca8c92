// SPDX-License-Identifier: Apache-2.0
//
// TableGen base classes of ops. The .td of a family includes this file and no other family's .td,
// so that its ops are generated from its own file.
#ifndef HEWN_GRAPH_KINDS
#define HEWN_GRAPH_KINDS

include "dialects/Graph/GraphBase.td"
include "dialects/Graph/Analysis/Requirements/Requirements.td"

// Trait of ops whose result is discontinuous in an operand (Builders/Discontinuous.h).
def Discontinuous : NativeOpTrait<"Discontinuous"> { let cppNamespace = "::hewn::graph"; }

//===------------------------------------------------------------------------------------------===//
// Elementwise ops. `body` is a C++ expression that emits the op on scalars or vectors (`in`) with
// the functions of ElementwiseBodies.h. In this expression, `e` is the builder, `kind` the number
// kind (signed, unsigned or float) of the first operand's elements, and `type` the element type of
// the result.
//===------------------------------------------------------------------------------------------===//

// Base class of elementwise ops. `verifier` is a C++ expression that checks the operands. For
// example, `verifySameElementType(*this, of)` checks that all operands have the same element type,
// of category `of`. `elementType` is a C++ expression over `operandType(i)` and the attributes. Its
// value is the element type of the result.
class Elementwise<string mnemonic, dag args, string body,
                  string verifier = "verifySameElementType(*this, Accepts::Any)",
                  string elementType = "operandType(0)", list<Trait> traits = []>
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
    ::llvm::LogicalResult $cppClass::inferShapes(::hewn::graph::DimsOf dimsOf,
                                                 ::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &results) {
      using namespace ::hewn::graph::body;
      [[maybe_unused]] auto operandType = [&](unsigned i) {
        return ::hewn::graph::getElementType((*this)->getOperand(i));
      };
      if (::mlir::failed(}] # verifier # [{))
        return ::mlir::failure();
      return inferElementwise(*this, dimsOf, }] # elementType # [{, results);
    }
  }];
}

class Unary<string mnemonic, string accepts, string body, list<Trait> traits = []>
    : Elementwise<mnemonic, (ins Tensor:$x), body, "verifySameElementType(*this, Accepts::" # accepts # ")",
                  "operandType(0)", traits>;
class Binary<string mnemonic, string accepts, string body>
    : Elementwise<mnemonic, (ins Tensor:$a, Tensor:$b), body, "verifySameElementType(*this, Accepts::" # accepts # ")">;

//===------------------------------------------------------------------------------------------===//
// Reductions
//===------------------------------------------------------------------------------------------===//

class Reduce<string mnemonic> : GraphTensorOp<mnemonic, [DeclareOpInterfaceMethods<ReduceOpInterface>]> {
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$dims, DefaultValuedAttr<BoolAttr, "true">:$keepdims);
  code commonMethods = [{
    ::llvm::SmallVector<int64_t> $cppClass::getReducedDims() { return ::llvm::SmallVector<int64_t>(getDims()); }
    bool $cppClass::keepsDims() { return getKeepdims(); }
  }];
}

// A reduction whose state is one value of compute type. `identity` and `merge` are C++ expressions
// that emit its initial state and the combination of two states, like the `body` of elementwise
// ops.
class SimpleReduce<string mnemonic, string identity, string merge, string finish = "state[0]"> : Reduce<mnemonic> {
  let extraClassDefinition = commonMethods # [{
    ::llvm::LogicalResult $cppClass::inferShapes(::hewn::graph::DimsOf dimsOf,
                                                 ::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &results) {
      return ::hewn::graph::inferReduce(*this, dimsOf, ::hewn::graph::getElementType(getX()), results);
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::identity(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                           int64_t lanes) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      ::mlir::Type element = ::hewn::graph::getElementType(getX());
      return {::hewn::graph::reduceConstant(e, element, lanes, }] # identity # [{)};
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::lift(::mlir::OpBuilder &, ::mlir::Location, ::mlir::Value element,
                                                       ::mlir::Value) {
      return {element};
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::merge(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                        ::mlir::ValueRange a, ::mlir::ValueRange b) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      [[maybe_unused]] NumberKind kind = numberKind(::hewn::graph::getElementType(getX()));
      return ::llvm::SmallVector<::mlir::Value>(1, }] # merge # [{);
    }
    ::mlir::Value $cppClass::finish(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange state,
                                    ::mlir::Value count) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      [[maybe_unused]] NumberKind kind = numberKind(::hewn::graph::getElementType(getX()));
      return }] # finish # [{;
    }
  }];
}

//===------------------------------------------------------------------------------------------===//
// Indexing ops and contractions
//===------------------------------------------------------------------------------------------===//

// Base class of indexing ops. The bounds of such an op's reads follow from the accesses that
// `emitAt` emits. If ONNX has further requirements on the sizes, the op has `Requires` in `traits`.
class Move<string mnemonic, list<string> methods = [], list<Trait> traits = []>
    : GraphTensorOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<IndexingOpInterface, methods>], traits)>;
def Requires : DeclareOpInterfaceMethods<RequiringOpInterface>;

// Base class of contractions. The optional attribute `to` of a contraction is the element type of
// its accumulators and result, if this is not the element type of the operands.
class Contract<string mnemonic, list<Trait> traits = []>
    : GraphTensorOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<ContractOpInterface>], traits)>;

//===------------------------------------------------------------------------------------------===//
// Runtime calls. `params` is a C++ expression for the list of integer parameters, in the order of
// services.h. `requireDims` states what the runtime function assumes about the dims of its
// operands. Linking fails if an op does not define this method.
//===------------------------------------------------------------------------------------------===//

class Part<string mnemonic, string part, string params, list<string> methods = [], list<Trait> traits = [Pure]>
    : GraphOp<mnemonic, !listconcat([DeclareOpInterfaceMethods<ShapeOpInterface>,
                                     DeclareOpInterfaceMethods<RequiringOpInterface>,
                                     DeclareOpInterfaceMethods<RuntimeCallOpInterface, methods>], traits)> {
  let results = (outs Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  code partMethods = [{
    ::llvm::StringRef $cppClass::getRuntimeFunction() { return "}] # part # [{"; }
    ::llvm::SmallVector<int64_t> $cppClass::getCallParams() { return }] # params # [{; }
  }];
  let extraClassDefinition = partMethods;
}

// A runtime call that determines a dim of its results. This dim is the symbol `count`, and the
// result buffers have memory for its upper bound. Writing the symbol is a side effect, because the
// symbol may be used even if the results are not.
def SymbolResource : Resource<"::hewn::graph::SymbolResource">;
class CountingPart<string mnemonic, string part, string params, list<Trait> traits = []>
    : Part<mnemonic, part, params, ["getBoundDims", "getDefinedSymbols"],
           !listconcat([MemoryEffects<[MemWrite<SymbolResource>]>], traits)> {
  let extraClassDefinition = partMethods # [{
    ::llvm::SmallVector<::llvm::StringRef> $cppClass::getDefinedSymbols() { return {getCount()}; }
  }];
}

#endif
