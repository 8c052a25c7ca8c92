// SPDX-License-Identifier: Apache-2.0
//
// Conversion of attributes to the integer parameters of runtime calls.
#ifndef HEWN_DIALECTS_GRAPH_INDEXING_SCATTER_H
#define HEWN_DIALECTS_GRAPH_INDEXING_SCATTER_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"

namespace hewn::graph {

/// Returns the number that the runtime functions use for an ONNX `reduction`, or -1 if it is
/// unknown.
int64_t scatterReduction(llvm::StringRef name);
/// Returns the bit pattern of a float as an integer, which is how runtime calls pass float
/// parameters.
int64_t floatBits(const llvm::APFloat &value);

} // namespace hewn::graph

#endif
