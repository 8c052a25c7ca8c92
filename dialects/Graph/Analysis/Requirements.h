// SPDX-License-Identifier: Apache-2.0
//
// What dims must be where types and symbols leave it open: checked when a run begins.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_REQUIREMENTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_REQUIREMENTS_H

#include "dialects/Graph/Analysis/Dims.h"

namespace hewn::graph {

/// On the function `main`: a list of [node, "equal" | "broadcast" | "atMost", expression, expression], each text.
inline constexpr llvm::StringLiteral kRequiresAttr = "graph.requires";

/// The least dims that operand 0 of a move must have for all reads to be inside of it; empty: any will do.
Dims leastDims(mlir::Operation *op);
/// Whether the result of a move is operand 0, broadcast.
bool broadcasts(mlir::Operation *op);

} // namespace hewn::graph

#endif
