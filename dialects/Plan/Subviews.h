// SPDX-License-Identifier: Apache-2.0
//
// Types and layouts of subviews. A subview is a tensor that is stored in a part of another tensor's
// buffer; the other tensor is called the whole.
#ifndef HEWN_DIALECTS_PLAN_SUBVIEWS_H
#define HEWN_DIALECTS_PLAN_SUBVIEWS_H

#include "dialects/Graph/Indexing/Interleave.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

/// Returns true if the positions of subviews in a whole tensor of type `type` depend on static dims
/// only.
bool knowsDims(mlir::RankedTensorType type, const graph::Assembly &assembly);

/// Returns true if `subview`, operand number `number` of a plan.assemble, can be stored directly in
/// the whole tensor. Conditions: the dims of both tensors have the same memory order, neither
/// tensor has a blocked layout, and an interleaved subview has all elements that belong to it.
bool liesAsIn(mlir::RankedTensorType subview, mlir::RankedTensorType whole, const graph::Assembly &assembly,
              int64_t number);

/// Attribute of a plan.assemble whose subviews are interleaved: for each dim, the distance between
/// neighboring elements of a subview, in elements of the whole along that dim (graph::Assembly).
inline constexpr llvm::StringLiteral kStepsAttr = "plan.steps";
/// Returns how a plan.assemble combines its subviews: by concatenation or by interleaving.
graph::Assembly formOf(AssembleOp op);

/// Maximum number of uses of a subview. It limits the time of the search for the whole tensor of a
/// value, which visits all users of the value.
inline constexpr unsigned kMaxSubviewReaders = 32;

/// Returns the type with which `subview` is stored in the whole tensor: without a blocked layout,
/// with its dims in the memory order of the whole, and with strides if it is not contiguous there.
/// Returns the type of `subview` itself if it is contiguous in the whole and can be stored there
/// directly (`liesAsIn`).
mlir::RankedTensorType subviewType(mlir::RankedTensorType subview, mlir::RankedTensorType whole,
                                   const graph::Assembly &assembly);

/// Returns the type of a copy of the subview in a buffer of its own, where it is contiguous. Its
/// dims have the memory order of the whole tensor.
mlir::RankedTensorType contiguousType(mlir::RankedTensorType subview, mlir::RankedTensorType whole);

/// Returns true if a tensor of type `subview`, stored at its position in the whole tensor, has the
/// memory layout that the type of the whole requires of these elements.
bool fillsWhole(mlir::RankedTensorType subview, mlir::RankedTensorType whole, const graph::Assembly &assembly,
                int64_t number);

} // namespace hewn::plan

#endif
