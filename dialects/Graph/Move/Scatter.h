// SPDX-License-Identifier: Apache-2.0
//
// How parameters of parts are written as integers.
#ifndef HEWN_DIALECTS_GRAPH_MOVE_SCATTER_H
#define HEWN_DIALECTS_GRAPH_MOVE_SCATTER_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringRef.h"

namespace hewn::graph {

/// ONNX's `reduction` as the parts number it; -1 for an unknown one.
int64_t scatterReduction(llvm::StringRef name);
/// A float as its 32 bits.
int64_t floatBits(const llvm::APFloat &value);

} // namespace hewn::graph

#endif
