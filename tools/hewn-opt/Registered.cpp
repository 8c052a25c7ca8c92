// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn-opt/Registered.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Handle/Handle.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Simt/Simt.h"
#include "lib/Target/Targets.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace hewn::tool {

void registerStageDialects(mlir::DialectRegistry &registry) {
  registry
      .insert<simt::SimtDialect, handle::HandleDialect, graph::GraphDialect, plan::PlanDialect,
              mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::bufferization::BufferizationDialect,
              mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::index::IndexDialect, mlir::LLVM::LLVMDialect,
              mlir::linalg::LinalgDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
              mlir::tensor::TensorDialect, mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  target::registerDialects(registry);
}

} // namespace hewn::tool
