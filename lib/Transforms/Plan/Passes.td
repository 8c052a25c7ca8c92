// SPDX-License-Identifier: Apache-2.0
//
// The passes that plan memory.
#ifndef HEWN_TRANSFORMS_PLAN_PASSES
#define HEWN_TRANSFORMS_PLAN_PASSES

include "mlir/Pass/PassBase.td"

def PlaceSubviewsPass : Pass<"hewn-place-subviews", "::mlir::ModuleOp"> {
  let summary = "Makes what is only concatenated or interleaved in place, as subviews of the whole.";
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def MarkInPlacePass : Pass<"hewn-mark-in-place", "::mlir::ModuleOp"> {
  let summary = "Says of each launch which inputs' memory its result may take, by what the kernel does.";
}

def TurnStepsPass : Pass<"hewn-turn-steps", "::mlir::ModuleOp"> {
  let summary = "Says which launches of a loop's body go over their tasks forwards and backwards by turns.";
}

def OrderLaunchesPass : Pass<"hewn-order-launches", "::mlir::ModuleOp"> {
  let summary = "Puts launches into an order in which less memory is live at once, where there is one; for joint kernels, in which fewer meet.";
}

def InsertCopiesPass : Pass<"hewn-insert-copies", "::mlir::ModuleOp"> {
  let summary = "Copies values between the host's memory and the device's, where the machine has both.";
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def PlanMemoryPass : Pass<"hewn-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value of the program a place: arena offset, output, or memory allocated when run.";
}

def VerifyPlanPass : Pass<"hewn-verify-plan", "::mlir::ModuleOp"> {
  let summary = "Checks that the program can be emitted: known ops, a place for every result, no two live values in one place.";
}

def JoinLaunchesPass : Pass<"hewn-join-launches", "::mlir::ModuleOp"> {
  let summary = "Says which neighbouring launches become one kernel, where launching costs a grid more than what is launched.";
}

#endif
