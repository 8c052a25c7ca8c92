// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_QUANTIZE_PASSES
#define HEWN_QUANTIZE_PASSES

include "mlir/Pass/PassBase.td"

def NarrowContractionsPass : Pass<"hewn-narrow-contractions", "::mlir::func::FuncOp"> {
  let summary = "Give products of float32 to bfloat16 where the machine is faster at them";
  let options = [Option<"products", "products", "unsigned", "1",
    "Products of bfloat16 for one of float32: 1, or 3 or 6 of the 2 or 3 terms that sum to an operand">];
}

def FormCodesPass : Pass<"hewn-form-codes", "::mlir::func::FuncOp"> {
  let summary = "Leave weights in few bits that contractions of floats decode as they go";
  let options = [Option<"products", "products", "unsigned", "0", "Products of bfloat16 that may stand for one of float32; 0: none may">];
}

def FormIntegerContractionsPass : Pass<"hewn-form-integer-contractions", "::mlir::func::FuncOp"> {
  let summary = "Compute contractions of quantized tensors on their integers";
}

def WidenContractionsPass : Pass<"hewn-widen-contractions", "::mlir::func::FuncOp"> {
  let summary = "Give contractions of 8-bit integers and narrow floats operands and sums that the machine has instructions for";
}

#endif
