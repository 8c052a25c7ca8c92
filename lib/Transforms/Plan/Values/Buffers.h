// SPDX-License-Identifier: Apache-2.0
//
// Which values of a program share a buffer.
//
// | value | buffer |
// | --- | --- |
// | view | its operand's |
// | subview | part of the assembled result's |
// | loop-carried value in the body | that of the loop's result |
// | result of a branch | that of the branch that ran |
// | all others | their own |
//
// The function `roots` follows these rules from a value back to the values that own a buffer.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_VALUES_BUFFERS_H
#define HEWN_LIB_TRANSFORMS_PLAN_VALUES_BUFFERS_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace hewn::plan {

/// Returns the bytes of a dense buffer of this type and these dims. Bools and sub-byte integers
/// take one byte; the padding of a blocked layout is included.
graph::DimExpr bufferBytes(mlir::RankedTensorType type, llvm::ArrayRef<graph::DimExpr> dims);
/// Returns the dims for which the buffer of an op's result is allocated: for a runtime call, the
/// upper bounds of the result's dims; for other ops, the dims of `value`.
graph::Dims bufferDims(mlir::Value value);
inline graph::DimExpr bufferBytes(mlir::Value value) {
  return bufferBytes(mlir::cast<mlir::RankedTensorType>(value.getType()), bufferDims(value));
}

/// Returns the `plan.assemble` op of which the value is a subview, or null.
AssembleOp assemblyOf(mlir::Value value);
/// Returns the offset of a subview from the beginning of the assembled result, in bytes.
graph::DimExpr subviewOffset(mlir::Value subview);

/// Returns true if the op's result has its own buffer, rather than sharing that of another value.
/// The op writes the buffer itself, or the launches that produce its subviews do.
bool ownsBuffer(mlir::OpResult result);

/// Returns the buffers that `value` may use: results that own one, constants, arguments of the
/// program, and the counter and condition of a loop.
using Roots = llvm::SmallSetVector<mlir::Value, 2>;
Roots roots(mlir::Value value);

/// Returns the buffers of inputs that the launch's result may reuse, as values of the launch's
/// block.
llvm::SmallVector<mlir::Value> overwritableBuffers(mlir::Operation *launch);

/// Returns the symbols of the program's inputs, which are known before a run starts.
llvm::StringSet<> inputSymbols(mlir::FunctionOpInterface program);
/// Returns true if all dims of a buffer are known before a run starts, including buffers without
/// elements.
bool hasKnownDims(mlir::Value root, const llvm::StringSet<> &symbols);
/// Returns true if a buffer has one size that is known before a run starts. Returns false if a loop
/// carries the value with changing dims. `symbols` are the result of inputSymbols().
bool hasFixedSize(mlir::Value root, const llvm::StringSet<> &symbols);

} // namespace hewn::plan

#endif
