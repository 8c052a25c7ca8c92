// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Control/RequirementOps.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult RequireDimsOp::verify() {
  std::optional<Dims> sizes = parseDims(getSizes());
  if (!sizes || sizes->size() != 2)
    return emitOpError("sizes must be two expressions");
  return success();
}

void RequireDimsOp::requireDims(Requirements &requirements) {
  Dims sizes = *parseDims(getSizes());
  requirements.add({getRelation(), sizes[0], sizes[1]});
}

} // namespace hewn::graph
