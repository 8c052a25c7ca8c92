// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_QUANTIZE_PASSES
#define HEWN_QUANTIZE_PASSES

include "mlir/Pass/PassBase.td"

def NarrowContractionsPass : Pass<"hewn-narrow-contractions", "::mlir::func::FuncOp"> {
  let summary = "Give products of float32 to bfloat16 where the machine is faster at them";
}

#endif
