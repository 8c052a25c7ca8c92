// SPDX-License-Identifier: Apache-2.0
//
// Constants that store the transpose of another constant, such as tied embeddings: one table for
// lookups and a transposed one for a matmul. Passes that pack or shard one of the two replace the
// other.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_TRANSPOSED_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_TRANSPOSED_H

#include "dialects/Graph/Graph.h"

namespace hewn::graph {

/// Attribute of a `graph.constant`: the `#graph.weight` of the matrix whose transpose it stores.
inline constexpr llvm::StringLiteral kTransposeOfAttr = "graph.transpose_of";

/// Returns the weight of the matrix whose transpose the constant stores, or null if there is none.
inline WeightAttr transposeOf(ConstantOp constant) { return constant->getAttrOfType<WeightAttr>(kTransposeOfAttr); }

} // namespace hewn::graph

#endif
