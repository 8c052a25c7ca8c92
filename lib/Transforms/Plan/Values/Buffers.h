// SPDX-License-Identifier: Apache-2.0
//
// Which values of a program share memory.
//
// Views are their operand's memory, subviews are in the memory of what they are assembled to, a loop's body sees its carried values in
// the buffers of the loop's results, and the result of a branch is wherever the branch that ran left it. All others own a buffer.
// `roots` follows these rules back to the owners.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_VALUES_BUFFERS_H
#define HEWN_LIB_TRANSFORMS_PLAN_VALUES_BUFFERS_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace hewn::plan {

/// Bytes of a dense buffer of this type and these dims: bools are bytes, and so are integers of less than
/// eight bits; the padding of a blocked layout is included.
graph::DimExpr bufferBytes(mlir::RankedTensorType type, llvm::ArrayRef<graph::DimExpr> dims);
/// The dims that the buffer of a result must hold: a part's bounds, else the value's own.
graph::Dims bufferDims(mlir::Value value);
inline graph::DimExpr bufferBytes(mlir::Value value) {
  return bufferBytes(mlir::cast<mlir::RankedTensorType>(value.getType()), bufferDims(value));
}

/// What the value is a subview of; null: it is not.
AssembleOp assemblyOf(mlir::Value value);
/// Bytes from the beginning of what a subview lies in to the subview.
graph::DimExpr subviewOffset(mlir::Value subview);

/// Whether the result is a buffer that the op fills, or others fill for it.
bool ownsBuffer(mlir::OpResult result);

/// The buffers in which `value` may lie: results that own one, constants, arguments of the program, and the counter and
/// condition of a loop.
using Roots = llvm::SmallSetVector<mlir::Value, 2>;
Roots roots(mlir::Value value);

/// The inputs of a launch in whose memory its result may be made, as buffers: those that lie in one of their block's
/// own.
llvm::SmallVector<mlir::Value> overwritableBuffers(mlir::Operation *launch);

/// The symbols of the program's inputs: what is known before a run starts.
llvm::StringSet<> inputSymbols(mlir::FunctionOpInterface program);
/// Whether each dim of a buffer is known then: one without elements may have others.
bool hasKnownDims(mlir::Value root, const llvm::StringSet<> &symbols);
/// Whether a buffer has one size, known before a run starts: not so where a loop carries it on with other dims than it had. `symbols`
/// are inputSymbols.
bool hasFixedSize(mlir::Value root, const llvm::StringSet<> &symbols);

} // namespace hewn::plan

#endif
