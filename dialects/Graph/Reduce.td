// SPDX-License-Identifier: Apache-2.0
//
// Reductions over dims of one operand. Importing resolves axes; ReduceL2, ReduceLogSumExp and kin are composed of these.
#ifndef HEWN_GRAPH_REDUCE
#define HEWN_GRAPH_REDUCE

include "dialects/Graph/GraphBase.td"

class Reduce<string mnemonic> : GraphTensorOp<mnemonic, [DeclareOpInterfaceMethods<ReduceOpInterface>]> {
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$dims, DefaultValuedAttr<BoolAttr, "true">:$keepdims);
  code commonMethods = [{
    ::llvm::SmallVector<int64_t> $cppClass::getReducedDims() { return ::llvm::SmallVector<int64_t>(getDims()); }
    bool $cppClass::keepsDims() { return getKeepdims(); }
  }];
}

// A reduction whose state is one value of compute type; `identity` and `merge` are bodies as in Elementwise.td.
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

def Graph_ReduceSumOp : SimpleReduce<"reduce_sum", "Extreme::Zero", "add(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceSum", 1, 0, "buildReduce">];
}
def Graph_ReduceProdOp : SimpleReduce<"reduce_prod", "Extreme::One", "mul(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceProd", 1, 0, "buildReduce">];
}
def Graph_ReduceMaxOp : SimpleReduce<"reduce_max", "Extreme::Lowest", "maximum(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceMax", 1, 0, "buildReduce">];
}
def Graph_ReduceMinOp : SimpleReduce<"reduce_min", "Extreme::Highest", "minimum(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceMin", 1, 0, "buildReduce">];
}
def Graph_ReduceMeanOp : SimpleReduce<"reduce_mean", "Extreme::Zero", "add(e, kind, a[0], b[0])", "divideByCount(e, kind, state[0], count)"> {
  let onnx = [Onnx<"ReduceMean", 1, 0, "buildReduce">];
}

#endif
