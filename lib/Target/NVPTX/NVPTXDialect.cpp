// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/NVPTXDialect.h"
#include "lib/Target/NVPTX/Kernels/Kernels.h"
#include "lib/Target/NVPTX/NVPTXMachineOps.h"
#include "lib/Target/NVPTX/NVPTXTarget.h"
#include "lib/Target/NVPTX/Schedule/NVPTXScheduleModel.h"

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

namespace {

struct ScheduledGpu : plan::ScheduledTarget::ExternalModel<ScheduledGpu, plan::GpuAttr> {
  const plan::ScheduleModel &getScheduleModel(Attribute) const { return plan::nvptxScheduleModel(); }
};

struct GeneratedGpu : codegen::GeneratedTarget::ExternalModel<GeneratedGpu, plan::GpuAttr> {
  const codegen::KernelGenerator &getKernelGenerator(Attribute) const { return codegen::nvptxKernelGenerator(); }
};

} // namespace

void registerDialects(DialectRegistry &registry) {
  registry.insert<NVPTXDialect>();
  registry.addExtension(+[](MLIRContext *context, plan::PlanDialect *) {
    context->getOrLoadDialect<NVPTXDialect>();
    plan::GpuAttr::attachInterface<ScheduledGpu, GeneratedGpu>(*context);
  });
}

/// Verifies the number of a thread's wgmma accumulators. For each eight columns, a thread holds two
/// columns of row g and two columns of row g + 8, so it has half as many accumulators as the right
/// operand has columns.
static LogicalResult verifyGroupSums(Operation *op, ValueRange sums) {
  size_t columns = sums.size() * 2;
  if (columns < 8 || columns > 256 || columns % 8 != 0)
    return op->emitOpError() << columns << " columns: must be a multiple of 8 from 8 to 256";
  return success();
}

LogicalResult WgmmaOp::verify() {
  bool inRegisters = getLeftLayout() == FactorLayout::Registers;
  auto isOf = [](unsigned width) { return [width](Type type) { return type.isInteger(width); }; };
  if (inRegisters && (getLeft().size() != 4 || !llvm::all_of(getLeft().getTypes(), isOf(32)) || getLeftForm()))
    return emitOpError("a left operand in registers must be four i32 values without a form");
  if (!inRegisters && (getLeft().size() != 1 || !llvm::all_of(getLeft().getTypes(), isOf(64)) || !getLeftForm()))
    return emitOpError("a left operand in shared memory must be an i64 address with a form");
  if (getRightLayout() == FactorLayout::Registers)
    return emitOpError("the right operand must be in shared memory");
  if (failed(verifyGroupSums(*this, getSums())) ||
      failed(simt::verifyFactors(*this, getLeftType(), getRightType(), getSums().getTypes(), getResults().getTypes())))
    return failure();
  bool turns = getLeftLayout() == FactorLayout::AcrossSum || getRightLayout() == FactorLayout::AcrossSum;
  if (turns && getLeftType().getIntOrFloatBitWidth() != 16)
    return emitOpError() << "operands of type " << getLeftType() << " must be contiguous along K";
  return success();
}

LogicalResult WgmmaWaitGroupOp::verify() {
  if (failed(verifyGroupSums(*this, getSums())))
    return failure();
  if (!llvm::all_equal(getSums().getTypes()))
    return emitOpError("all accumulators of a group must have the same type");
  return getSums().getTypes() == getResults().getTypes() ? success() : emitOpError("results are sums");
}

LogicalResult TmaLoadOp::verify() {
  if (!isa<LLVM::LLVMPointerType>(getTensor().getType()))
    return emitOpError() << "the tensor must be a pointer argument of the kernel, not " << getTensor().getType();
  size_t rank = getPlace().size();
  return rank == 2 || rank == 3 ? success() : emitOpError() << "the tensor must have rank 2 or 3, not " << rank;
}

LogicalResult SetmaxnregOp::verify() {
  int64_t count = int32_t(getCount());
  if (count < 24 || count > 256 || count % 8 != 0)
    return emitOpError() << count << " registers: must be a multiple of 8 from 24 to 256";
  return success();
}

} // namespace hewn::nvptx
