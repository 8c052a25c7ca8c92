// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/StorageRounding.h"
#include "dialects/Graph/Analysis/Shapes.h"
#include "dialects/Graph/Builders/Discontinuous.h"

using namespace mlir;

namespace hewn::codegen {

Value roundToStorageType(OpBuilder &b, Location loc, Value tensor, Value element) {
  Type type = graph::getElementType(tensor), compute = graph::computeType(type);
  // The kernel's arguments have been loaded from memory, so they are already rounded.
  if (isa<BlockArgument>(tensor) || compute == type || !isa<FloatType>(type))
    return element;
  if (graph::isHeldInByte(type))
    return graph::fromByte(b, loc, type, graph::toByte(b, loc, type, element));
  auto vector = dyn_cast<VectorType>(element.getType());
  Value narrow = arith::TruncFOp::create(b, loc, vector ? Type(vector.clone(type)) : type, element);
  return arith::ExtFOp::create(b, loc, element.getType(), narrow);
}

bool readsStored(Operation *op) { return op->hasTrait<graph::Discontinuous>(); }

} // namespace hewn::codegen
