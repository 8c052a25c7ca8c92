// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Graph.h"
#include "dialects/Grid/Grid.h"
#include "dialects/Handle/Handle.h"
#include "dialects/Plan/Plan.h"
#include "hewn/version.h"
#include "lib/Codegen/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Batch/Passes.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Layout/Passes.h"
#include "lib/Transforms/Lower/Passes.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"

int hewn_opt_main(int argc, char **argv);

int hewn_opt_main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << "hewn-opt " HEWN_VERSION " (LLVM " LLVM_VERSION_STRING ")\n"; });
  mlir::DialectRegistry registry;
  registry
      .insert<hewn::grid::GridDialect, hewn::handle::HandleDialect, hewn::graph::GraphDialect, hewn::plan::PlanDialect,
              mlir::affine::AffineDialect, mlir::arith::ArithDialect, mlir::bufferization::BufferizationDialect,
              mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::index::IndexDialect, mlir::LLVM::LLVMDialect,
              mlir::linalg::LinalgDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
              mlir::tensor::TensorDialect, mlir::ub::UBDialect, mlir::vector::VectorDialect>();
  hewn::target::registerDialects(registry);
  hewn::registerHewnSimplifyPasses();
  hewn::registerHewnQuantizePasses();
  hewn::registerHewnBatchPasses();
  hewn::registerHewnLayoutPasses();
  hewn::registerHewnFusePasses();
  hewn::registerHewnLowerPasses();
  hewn::codegen::registerHewnCodegenPasses();
  hewn::target::registerPasses();
  mlir::registerTransformsPasses();
  mlir::registerConvertLinalgToLoopsPass();
  hewn::registerHewnPlanPasses();
  hewn::WeightTable weights;
  hewn::registerPipelines(weights);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "hewn's passes on the text of a stage\n", registry));
}
