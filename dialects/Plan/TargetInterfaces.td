// SPDX-License-Identifier: Apache-2.0
//
// The interface of target descriptions (#plan.cpu, #plan.gpu): what passes and kernel generators
// query without knowing the kind of target. The target's plan::ScheduleModel (lib/Schedule) states
// which kernels the target has and how they are scheduled.
#ifndef HEWN_PLAN_TARGET_INTERFACES
#define HEWN_PLAN_TARGET_INTERFACES

include "mlir/IR/OpBase.td"

/// A method whose default is that the target does not have the feature.
class Plan_TargetMethod<string text, string type, string method, string otherwise>
    : InterfaceMethod<text, type, method, (ins), "", "return " # otherwise # ";">;

def Plan_TargetAttrInterface : AttrInterface<"TargetAttr"> {
  let cppNamespace = "::hewn::plan";
  let description = "A target description: sizes, rates and instructions, without names of targets.";
  let methods = [
    InterfaceMethod<"Returns the bytes of a vector register, or of the longest load of a thread.", "int64_t", "getVectorBytes">,
    InterfaceMethod<"Returns the bytes of the L2 cache.", "int64_t", "getL2Bytes">,
    Plan_TargetMethod<"Returns the number of vector registers.", "int64_t", "getVectorRegisters", "0">,
    Plan_TargetMethod<"Returns the bytes of the L1 data cache.", "int64_t", "getL1Bytes", "0">,
    Plan_TargetMethod<"Returns the number of ways of the L1 data cache.", "int64_t", "getL1Ways", "0">,
    Plan_TargetMethod<"Returns the bytes of the L3 cache that one core uses.", "int64_t", "getL3Bytes", "0">,
    Plan_TargetMethod<"Returns the #plan.vector_costs of the cost models for vector code, or null.", "::mlir::Attribute",
                      "getVectorCosts", "{}">,
    Plan_TargetMethod<"Returns the #plan.dot_product instructions, or null.", "::mlir::ArrayAttr", "getDots", "{}">,
    Plan_TargetMethod<"Returns the #plan.matrix_unit list, or null.", "::mlir::ArrayAttr", "getMatrices", "{}">,
    Plan_TargetMethod<"Returns true if vectors of half the width issue at twice the rate.", "bool", "getDoubleRateHalfVectors", "false">,
    Plan_TargetMethod<"Returns true if an instruction converts float16 to float32.", "bool", "getHasHalfConversions", "false">,
    Plan_TargetMethod<"Returns true if an FMA can multiply a vector by one lane of a register.", "bool", "getHasFmaByLane", "false">,
    Plan_TargetMethod<"Returns true if an instruction computes a float32 multiply-add with one rounding.", "bool", "getHasFma", "false">,
    Plan_TargetMethod<"Returns the intrinsic that multiplies by powers of two (`#plan.cpu`), or null.", "::mlir::StringAttr",
                      "getScaleIntrinsic", "{}">,
    Plan_TargetMethod<"Returns the intrinsic that permutes float32 lanes (`#plan.cpu`), or null.", "::mlir::StringAttr",
                      "getPermuteIntrinsic", "{}">,
    Plan_TargetMethod<"Returns the intrinsic that permutes bytes (`#plan.cpu`), or null.", "::mlir::StringAttr",
                      "getPermuteBytesIntrinsic", "{}">,
  ];
}

#endif
