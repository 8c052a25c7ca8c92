// SPDX-License-Identifier: Apache-2.0
#include "dialects/Grid/Grid.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

#include "dialects/Grid/GridDialect.cpp.inc"
#include "dialects/Grid/GridEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Grid/GridAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Grid/GridOps.cpp.inc"

namespace hewn::grid {

void GridDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Grid/GridAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Grid/GridOps.cpp.inc"
      >();
}

/// Both factors of one float type and sums of float32, or bytes and sums of i32.
static LogicalResult verifyFactors(Operation *op, Type left, Type right, TypeRange sums, TypeRange results) {
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

/// A lane has of each eight columns two of row g and two of row g + 8: half as many sums as there are columns.
static LogicalResult verifyGroupSums(Operation *op, ValueRange sums) {
  size_t columns = sums.size() * 2;
  if (columns < 8 || columns > 256 || columns % 8 != 0)
    return op->emitOpError() << columns << " columns: there are 8 to 256, a multiple of 8";
  return success();
}

LogicalResult GroupMmaOp::verify() {
  bool inRegisters = getLeftLayout() == FactorLayout::Registers;
  auto isOf = [](unsigned width) { return [width](Type type) { return type.isInteger(width); }; };
  if (inRegisters && (getLeft().size() != 4 || !llvm::all_of(getLeft().getTypes(), isOf(32)) || getLeftForm()))
    return emitOpError("a left matrix in registers is four words of i32, which have no form");
  if (!inRegisters && (getLeft().size() != 1 || !llvm::all_of(getLeft().getTypes(), isOf(64)) || !getLeftForm()))
    return emitOpError("a left matrix in shared memory is an address of i64 and a form");
  if (getRightLayout() == FactorLayout::Registers)
    return emitOpError("the right matrix is in shared memory");
  if (failed(verifyGroupSums(*this, getSums())) ||
      failed(verifyFactors(*this, getLeftType(), getRightType(), getSums().getTypes(), getResults().getTypes())))
    return failure();
  bool turns = getLeftLayout() == FactorLayout::AcrossSum || getRightLayout() == FactorLayout::AcrossSum;
  if (turns && getLeftType().getIntOrFloatBitWidth() != 16)
    return emitOpError() << "factors of " << getLeftType() << " lie along the sum";
  return success();
}

LogicalResult GroupWaitOp::verify() {
  if (failed(verifyGroupSums(*this, getSums())))
    return failure();
  if (!llvm::all_equal(getSums().getTypes()))
    return emitOpError("all sums of a set are of one type");
  return getSums().getTypes() == getResults().getTypes() ? success() : emitOpError("results are sums");
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

LogicalResult TensorCopyOp::verify() {
  if (!isa<LLVM::LLVMPointerType>(getTensor().getType()))
    return emitOpError() << "the tensor is an argument of the kernel, a pointer, not " << getTensor().getType();
  size_t rank = getPlace().size();
  return rank == 2 || rank == 3 ? success() : emitOpError() << "tensors are of rank 2 or 3, not " << rank;
}

LogicalResult SetRegistersOp::verify() {
  int64_t count = int32_t(getCount());
  if (count < 24 || count > 256 || count % 8 != 0)
    return emitOpError() << count << " registers: there are 24 to 256, a multiple of 8";
  return success();
}

} // namespace hewn::grid
