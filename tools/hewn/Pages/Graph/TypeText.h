// SPDX-License-Identifier: Apache-2.0
//
// Short texts for the types of values in the graph.
#ifndef HEWN_TOOLS_HEWN_PAGES_TYPETEXT_H
#define HEWN_TOOLS_HEWN_PAGES_TYPETEXT_H

#include "llvm/Support/JSON.h"
#include <string>

namespace hewn::tool {

/// Returns the shape of a value in explain's record, and its layout if that is not row-major and
/// has a name: "1×64×56×56 NHWC".
std::string shapeText(const llvm::json::Object &value);
/// Returns the element type of the value and the parameters of its layout: "f32, layout [0, 2, 3,
/// 1]". Returns the MLIR type of a value that is no tensor.
std::string elementText(const llvm::json::Object &value);

} // namespace hewn::tool

#endif
