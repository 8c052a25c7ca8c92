// SPDX-License-Identifier: Apache-2.0
//
// Tensors that are subviews of others.
#ifndef HEWN_DIALECTS_PLAN_SUBVIEWS_H
#define HEWN_DIALECTS_PLAN_SUBVIEWS_H

#include "dialects/Graph/Move/Interleave.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// Whether the dims are known along which operands of such an op are put together.
bool knowsDims(mlir::RankedTensorType type, const graph::Assembly &assembly);

/// Whether a subview, operand `number` of what puts such together, lies in memory as the whole does: its dims are in the same order, and in
/// no blocks. One that is interleaved has as many elements as are its own.
bool liesAsIn(mlir::RankedTensorType subview, mlir::RankedTensorType whole, const graph::Assembly &assembly,
              int64_t number);

/// On a plan.assemble whose subviews are interleaved: a step for each dim (graph::Assembly).
inline constexpr llvm::StringLiteral kStepsAttr = "plan.steps";
/// How it puts its subviews together.
graph::Assembly formOf(AssembleOp op);

/// How often a subview is read at most: whoever asks what a value is a subview of looks through its readers.
inline constexpr unsigned kMaxSubviewReaders = 32;

/// The type of a tensor like `subview` inside of the whole: its dims in the whole's order, in no blocks, and with gaps where it is no run
/// of elements there. One that lies so (`liesAsIn`) and needs no gaps keeps its type.
mlir::RankedTensorType subviewType(mlir::RankedTensorType subview, mlir::RankedTensorType whole,
                                   const graph::Assembly &assembly);

/// The type of the same tensor in memory of its own: its dims in the whole's order, with nothing between elements.
mlir::RankedTensorType contiguousType(mlir::RankedTensorType subview, mlir::RankedTensorType whole);

/// Whether what is made as a tensor of type `subview` at its place in the whole is the whole's elements there.
bool fillsWhole(mlir::RankedTensorType subview, mlir::RankedTensorType whole, const graph::Assembly &assembly,
                int64_t number);

} // namespace hewn::plan

#endif
