// SPDX-License-Identifier: Apache-2.0
//
// Reductions over some dims of one operand. The importer resolves the axes, and decomposes
// ReduceL2, ReduceLogSumExp and others into these ops.
#ifndef HEWN_GRAPH_REDUCE
#define HEWN_GRAPH_REDUCE

include "dialects/Graph/GraphKinds.td"

def Graph_ReduceSumOp : SimpleReduce<"reduce_sum", "IdentityValue::Zero", "add(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceSum", 1, 0, "buildReduce">];
}
def Graph_ReduceProdOp : SimpleReduce<"reduce_prod", "IdentityValue::One", "mul(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceProd", 1, 0, "buildReduce">];
}
// Attribute `nnan` of reduce_max: the reduction need not propagate NaN, because the users of the
// result also read the elements of x, and compute NaN from them.
def Graph_ReduceMaxOp : SimpleReduce<"reduce_max", "IdentityValue::Lowest", "maximum(e, kind, a[0], b[0], getNnan())"> {
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$dims, DefaultValuedAttr<BoolAttr, "true">:$keepdims,
                       UnitAttr:$nnan);
  let onnx = [Onnx<"ReduceMax", 1, 0, "buildReduce">];
}
def Graph_ReduceMinOp : SimpleReduce<"reduce_min", "IdentityValue::Highest", "minimum(e, kind, a[0], b[0])"> {
  let onnx = [Onnx<"ReduceMin", 1, 0, "buildReduce">];
}
def Graph_ReduceMeanOp : SimpleReduce<"reduce_mean", "IdentityValue::Zero", "add(e, kind, a[0], b[0])",
    "divideByCount(e, kind, state[0], count)"> {
  let onnx = [Onnx<"ReduceMean", 1, 0, "buildReduce">];
}

//===------------------------------------------------------------------------------------------===//
// Indices of extremes
//===------------------------------------------------------------------------------------------===//

// ArgMax and ArgMin. The state of the reduction is a value and its index along the reduced dim, of
// which there is only one. NaN counts as more extreme than any number, as in NumPy.
class ArgReduce<string mnemonic, string order, string identity> : GraphTensorOp<mnemonic,
    [DeclareOpInterfaceMethods<ReduceOpInterface, ["usesPosition", "append"]>]> {
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$dims, DefaultValuedAttr<BoolAttr, "true">:$keepdims,
                       DefaultValuedAttr<BoolAttr, "false">:$lastIndex);
  let extraClassDefinition = [{
    ::llvm::SmallVector<int64_t> $cppClass::getReducedDims() { return ::llvm::SmallVector<int64_t>(getDims()); }
    bool $cppClass::keepsDims() { return getKeepdims(); }
    bool $cppClass::usesPosition() { return true; }
    ::llvm::LogicalResult $cppClass::inferShapes(::hewn::graph::DimsOf dimsOf,
                                                 ::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &results) {
      if (getDims().size() != 1)
        return emitOpError("must reduce exactly one dim");
      return ::hewn::graph::inferReduce(*this, dimsOf, ::mlir::IntegerType::get(getContext(), 64), results);
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::identity(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                           int64_t lanes) {
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      return ::hewn::graph::argIdentity(e, getX(), getDims()[0], lanes,
                                        ::hewn::graph::body::IdentityValue::}] # identity # [{, getLastIndex());
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::lift(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                       ::mlir::Value element, ::mlir::Value position) {
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      return {element, ::hewn::graph::argPosition(e, getX(), getDims()[0], position)};
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::merge(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                        ::mlir::ValueRange a, ::mlir::ValueRange b) {
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      return ::hewn::graph::argMerge(e, ::hewn::graph::body::numberKind(::hewn::graph::getElementType(getX())),
                                     ::hewn::graph::body::Order::}] # order # [{, getLastIndex(), a, b);
    }
    ::llvm::SmallVector<::mlir::Value> $cppClass::append(::mlir::OpBuilder &builder, ::mlir::Location loc,
                                                         ::mlir::ValueRange state, ::mlir::Value element,
                                                         ::mlir::Value position) {
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      return ::hewn::graph::argAppend(e, ::hewn::graph::body::numberKind(::hewn::graph::getElementType(getX())),
                                      ::hewn::graph::body::Order::}] # order # [{, getLastIndex(), state,
                                      lift(builder, loc, element, position));
    }
    ::mlir::Value $cppClass::finish(::mlir::OpBuilder &builder, ::mlir::Location loc, ::mlir::ValueRange state,
                                    ::mlir::Value) {
      ::mlir::ImplicitLocOpBuilder e(loc, builder);
      return ::hewn::graph::argFinish(e, getLastIndex(), state);
    }
  }];
}

def Graph_ArgMaxOp : ArgReduce<"arg_max", "Greater", "Lowest"> { let onnx = [Onnx<"ArgMax", 1, 0, "buildArgReduce">]; }
def Graph_ArgMinOp : ArgReduce<"arg_min", "Less", "Highest"> { let onnx = [Onnx<"ArgMin", 1, 0, "buildArgReduce">]; }

//===------------------------------------------------------------------------------------------===//
// Reductions that decompose
//===------------------------------------------------------------------------------------------===//

def : OnnxCompose<"ReduceL1", "buildReduce">;
def : OnnxCompose<"ReduceL2", "buildReduce">;
def : OnnxCompose<"ReduceSumSquare", "buildReduce">;
def : OnnxCompose<"ReduceLogSum", "buildReduce">;
def : OnnxCompose<"ReduceLogSumExp", "buildReduce">;
def : OnnxCompose<"GlobalAveragePool", "buildGlobalPool">;
def : OnnxCompose<"GlobalMaxPool", "buildGlobalPool">;
def : OnnxCompose<"GlobalLpPool", "buildGlobalPool">;

#endif
