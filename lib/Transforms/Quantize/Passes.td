// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_QUANTIZE_PASSES
#define HEWN_QUANTIZE_PASSES

include "mlir/Pass/PassBase.td"

def NarrowContractionsPass : Pass<"hewn-narrow-contractions", "::mlir::func::FuncOp"> {
  let summary = "Give products of float32 to bfloat16 where the machine is faster at them";
  let options = [Option<"precision", "precision", "::hewn::Precision", "::hewn::Precision::Highest",
                        "How exact products of float32 must be", "::hewn::precisionValues()">];
}

def FormCodesPass : Pass<"hewn-form-codes", "::mlir::func::FuncOp"> {
  let summary = "Leave weights in few bits that contractions of floats decode as they go";
  let options = [Option<"precision", "precision", "::hewn::Precision", "::hewn::Precision::Highest",
                        "How exact products of float32 must be", "::hewn::precisionValues()">];
}

def ScaleBehindSumsPass : Pass<"hewn-scale-behind-sums", "::mlir::func::FuncOp"> {
  let summary = "Leave weights in 8 bits that contractions of floats widen as they read them, and take their scales behind the sums";
  // It evaluates what zero points are made of.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [Option<"precision", "precision", "::hewn::Precision", "::hewn::Precision::Highest",
                        "How exact products of float32 must be", "::hewn::precisionValues()">];
}

def FormIntegerContractionsPass : Pass<"hewn-form-integer-contractions", "::mlir::func::FuncOp"> {
  let summary = "Compute contractions of quantized tensors on their integers";
  // It evaluates what zero points are made of.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def RecognizeCodesPass : Pass<"hewn-recognize-codes", "::mlir::func::FuncOp"> {
  let summary = "See quantized weights behind elementwise ops that make floats of small integers";
}

def LookUpNarrowPass : Pass<"hewn-look-up-narrow", "::mlir::func::FuncOp"> {
  let summary = "Look rows up in tables of narrow elements before these are made wide";
}

def ExposeOperandsPass : Pass<"hewn-expose-operands", "::mlir::func::FuncOp"> {
  let summary = "Make what would be quantized results of the program, so that a run shows its range";
}

def QuantizeContractionsPass : Pass<"hewn-quantize-contractions", "::mlir::func::FuncOp"> {
  let summary = "Write a quantization into contractions of floats";
  let options = [Option<"text", "quantization", "std::string", "\"int8\"", "A name, a file or the text of one">];
}

def WidenContractionsPass : Pass<"hewn-widen-contractions", "::mlir::func::FuncOp"> {
  let summary = "Give contractions of 8-bit integers and narrow floats operands and sums that the machine has instructions for";
  let options = [Option<"largestTile", "largest-tile", "int64_t", /*default=*/"0",
                        "The largest tile of results that minimal filtering may make; 0: no such transformation">];
}

#endif
