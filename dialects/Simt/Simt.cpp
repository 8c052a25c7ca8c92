// SPDX-License-Identifier: Apache-2.0
#include "dialects/Simt/Simt.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "dialects/Simt/SimtDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Simt/SimtOps.cpp.inc"

namespace hewn::simt {

void SimtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Simt/SimtOps.cpp.inc"
      >();
}

LogicalResult verifyFactors(Operation *op, Type left, Type right, TypeRange sums, TypeRange results) {
  auto isByte = [](Type type) { return type.isInteger(8) && !type.isSignedInteger(); };
  bool bytes = isByte(left) && isByte(right);
  if (!bytes && (left != right || !isa<Float32Type, Float16Type, BFloat16Type>(left)))
    return op->emitOpError()
           << "operands of an MMA have the same type f32, f16 or bf16, or each of them is i8 or ui8, not " << left
           << " and " << right;
  if (!llvm::all_of(sums, [&](Type type) { return bytes ? type.isSignlessInteger(32) : type.isF32(); }))
    return op->emitOpError() << "accumulators for operands of type " << left << " are " << (bytes ? "i32" : "f32");
  if (sums != results)
    return op->emitOpError("result types differ from the accumulator types");
  return success();
}

LogicalResult MmaOp::verify() {
  if (getLeft().size() != 4 || getRight().size() != 2 || getSums().size() != 4)
    return emitOpError("an MMA takes four left registers, two right registers and four accumulators");
  return verifyFactors(*this, getLeftType(), getRightType(), getSums().getTypes(), getResults().getTypes());
}

LogicalResult ShuffleXorOp::verify() {
  if (!llvm::isPowerOf2_32(getWidth()) || getMask() >= getWidth())
    return emitOpError() << "a shuffle in a warp of " << getWidth() << " lanes cannot use the mask " << getMask();
  return success();
}

LogicalResult AsyncCopyOp::verify() {
  if (!llvm::is_contained({4, 8, 16}, int(getBytes())))
    return emitOpError() << "asynchronous copies have 4, 8 or 16 bytes, not " << getBytes();
  return success();
}

} // namespace hewn::simt
