// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXDialect.h"
#include "lib/Target/NVPTX/NVPTXMachine.h"
#include "lib/Target/NVPTX/NVPTXMachineOps.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "lib/Target/NVPTX/NVPTXDialect.cpp.inc"
#include "lib/Target/NVPTX/NVPTXEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "lib/Target/NVPTX/NVPTXAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "lib/Target/NVPTX/NVPTXOps.cpp.inc"

namespace hewn::nvptx {

void NVPTXDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lib/Target/NVPTX/NVPTXAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "lib/Target/NVPTX/NVPTXOps.cpp.inc"
      >();
  addInterfaces<NVPTXMachineOps>();
}

void registerDialects(DialectRegistry &registry) {
  registry.insert<NVPTXDialect>();
  registry.addExtension(+[](MLIRContext *context, plan::PlanDialect *) { context->getOrLoadDialect<NVPTXDialect>(); });
}

/// A lane has of each eight columns two of row g and two of row g + 8: half as many sums as there are columns.
static LogicalResult verifyGroupSums(Operation *op, ValueRange sums) {
  size_t columns = sums.size() * 2;
  if (columns < 8 || columns > 256 || columns % 8 != 0)
    return op->emitOpError() << columns << " columns: there are 8 to 256, a multiple of 8";
  return success();
}

LogicalResult WgmmaOp::verify() {
  bool inRegisters = getLeftLayout() == FactorLayout::Registers;
  auto isOf = [](unsigned width) { return [width](Type type) { return type.isInteger(width); }; };
  if (inRegisters && (getLeft().size() != 4 || !llvm::all_of(getLeft().getTypes(), isOf(32)) || getLeftForm()))
    return emitOpError("a left matrix in registers is four words of i32, which have no form");
  if (!inRegisters && (getLeft().size() != 1 || !llvm::all_of(getLeft().getTypes(), isOf(64)) || !getLeftForm()))
    return emitOpError("a left matrix in shared memory is an address of i64 and a form");
  if (getRightLayout() == FactorLayout::Registers)
    return emitOpError("the right matrix is in shared memory");
  if (failed(verifyGroupSums(*this, getSums())) ||
      failed(grid::verifyFactors(*this, getLeftType(), getRightType(), getSums().getTypes(), getResults().getTypes())))
    return failure();
  bool turns = getLeftLayout() == FactorLayout::AcrossSum || getRightLayout() == FactorLayout::AcrossSum;
  if (turns && getLeftType().getIntOrFloatBitWidth() != 16)
    return emitOpError() << "factors of " << getLeftType() << " lie along the sum";
  return success();
}

LogicalResult WgmmaWaitGroupOp::verify() {
  if (failed(verifyGroupSums(*this, getSums())))
    return failure();
  if (!llvm::all_equal(getSums().getTypes()))
    return emitOpError("all sums of a group are of one type");
  return getSums().getTypes() == getResults().getTypes() ? success() : emitOpError("results are sums");
}

LogicalResult TmaLoadOp::verify() {
  if (!isa<LLVM::LLVMPointerType>(getTensor().getType()))
    return emitOpError() << "the tensor is an argument of the kernel, a pointer, not " << getTensor().getType();
  size_t rank = getPlace().size();
  return rank == 2 || rank == 3 ? success() : emitOpError() << "tensors are of rank 2 or 3, not " << rank;
}

LogicalResult SetmaxnregOp::verify() {
  int64_t count = int32_t(getCount());
  if (count < 24 || count > 256 || count % 8 != 0)
    return emitOpError() << count << " registers: there are 24 to 256, a multiple of 8";
  return success();
}

} // namespace hewn::nvptx
