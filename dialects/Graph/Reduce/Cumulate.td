// SPDX-License-Identifier: Apache-2.0
//
// Prefix scans: cumulative sums and cumulative multiplication along one dim.
#ifndef HEWN_GRAPH_REDUCE_CUMULATE
#define HEWN_GRAPH_REDUCE_CUMULATE

include "dialects/Graph/GraphKinds.td"

// C++ expressions of a prefix scan: `first` is the state before the first element. `merge` computes
// the next state from the state and an element, as in Reduce.td.
class Cumulate<string mnemonic, string first, string merge>
    : GraphTensorOp<mnemonic, [DeclareOpInterfaceMethods<PrefixScanOpInterface>]> {
  let arguments = (ins Tensor:$x, I64Attr:$dim, DefaultValuedAttr<BoolAttr, "false">:$exclusive,
                       DefaultValuedAttr<BoolAttr, "false">:$backward);
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferShapes(::hewn::graph::DimsOf dimsOf,
                                                 ::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &results) {
      if (getDim() >= dimsOf(getX()).size())
        return emitOpError("dim is outside of the operand's rank");
      results.push_back({dimsOf(getX()), ::hewn::graph::getElementType(getX())});
      return ::llvm::success();
    }
    int64_t $cppClass::getCumulatedDim() { return getDim(); }
    bool $cppClass::runsBackward() { return getBackward(); }
    ::llvm::SmallVector<::mlir::Value> $cppClass::initial(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                          int64_t lanes) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      return {::hewn::graph::reduceConstant(e, ::hewn::graph::getElementType(getX()), lanes, }] # first # [{)};
    }
    ::mlir::Value $cppClass::step(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                  ::llvm::SmallVectorImpl<::mlir::Value> &state, ::mlir::Value element) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      NumberKind kind = numberKind(::hewn::graph::getElementType(getX()));
      ::mlir::Value before = state[0];
      state[0] = }] # merge # [{;
      return getExclusive() ? before : state[0];
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::join(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                       ::mlir::ValueRange state, ::mlir::ValueRange later) {
      using namespace ::hewn::graph::body;
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      NumberKind kind = numberKind(::hewn::graph::getElementType(getX()));
      ::mlir::Value element = later[0];
      return {}] # merge # [{};
    }
  }];
}

def Graph_CumSumOp : Cumulate<"cumsum", "IdentityValue::Zero", "add(e, kind, state[0], element)"> {
  let summary = "Cumulative sum of x along `dim`; `exclusive` excludes x[i], `backward` starts at the end";
  let onnx = [Onnx<"CumSum", 11, 0, "buildCumulate">];
}
def Graph_CumProdOp : Cumulate<"cumprod", "IdentityValue::One", "mul(e, kind, state[0], element)"> {
  let summary = "Cumulative multiplication of x along `dim`; `exclusive` excludes x[i], `backward` starts at the end";
  let onnx = [Onnx<"CumProd", 26, 0, "buildCumulate">];
}

#endif
