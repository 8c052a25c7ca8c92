// SPDX-License-Identifier: Apache-2.0
#include "dialects/Grid/Grid.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "dialects/Grid/GridDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Grid/GridOps.cpp.inc"

namespace hewn::grid {

void GridDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Grid/GridOps.cpp.inc"
      >();
}

LogicalResult verifyFactors(Operation *op, Type left, Type right, TypeRange sums, TypeRange results) {
  auto isByte = [](Type type) { return type.isInteger(8) && !type.isSignedInteger(); };
  bool bytes = isByte(left) && isByte(right);
  if (!bytes && (left != right || !isa<Float32Type, Float16Type, BFloat16Type>(left)))
    return op->emitOpError() << "factors are two of f32, f16 or bf16, or each of them i8 or ui8, not " << left
                             << " and " << right;
  if (!llvm::all_of(sums, [&](Type type) { return bytes ? type.isSignlessInteger(32) : type.isF32(); }))
    return op->emitOpError() << "sums of " << left << " are " << (bytes ? "i32" : "f32");
  if (sums != results)
    return op->emitOpError("results are sums");
  return success();
}

LogicalResult MmaOp::verify() {
  if (getLeft().size() != 4 || getRight().size() != 2 || getSums().size() != 4)
    return emitOpError("a lane has four words of the left matrix, two of the right one, four sums");
  return verifyFactors(*this, getLeftType(), getRightType(), getSums().getTypes(), getResults().getTypes());
}

LogicalResult ShuffleXorOp::verify() {
  if (!llvm::isPowerOf2_32(getWidth()) || getMask() >= getWidth())
    return emitOpError() << "a lane of " << getWidth() << " is no other one's number with " << getMask() << " changed";
  return success();
}

LogicalResult AsyncCopyOp::verify() {
  if (!llvm::is_contained({4, 8, 16}, int(getBytes())))
    return emitOpError() << "copies of 4, 8 or 16 bytes go on their way, not of " << getBytes();
  return success();
}

} // namespace hewn::grid
