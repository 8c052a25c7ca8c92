// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LOWER_PASSES
#define HEWN_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def LowerKernelsNaivePass : Pass<"hewn-lower-kernels-naive", "::hewn::plan::KernelOp"> {
  let summary = "Lower a plan.kernel to one plain loop nest per op";
  let description = [{
    Lowers kernels at -O0. The ops of a kernel are computed one after the other; each one writes its
    entire result to memory before the next one starts.

    ```mlir
    plan.kernel @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %y = graph.relu %x
      graph.yield %y
    }
    // becomes
    func.func @k(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
      linalg.generic ins(view of %x) outs(view of %y)
    }
    ```

    At -O0 a kernel has one op, which writes the kernel's result. Kernels with several ops (in
    tests) allocate memory for intermediate values. Ops that linalg cannot express become scf loops.
    Blocked layouts are not supported.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif
