// SPDX-License-Identifier: Apache-2.0
//
// The types that `ControlOpInterface` returns: how values enter and leave the regions of an op.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_CONTROLVALUES_H
#define HEWN_DIALECTS_GRAPH_CONTROL_CONTROLVALUES_H

#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// The one-element values that decide which region runs, and how often. They are in host memory,
/// even if kernels run on a GPU. A member is null if the op has no such value.
struct ControlValues {
  /// Operands of the op. `tripCount` (i64) is the maximum number of steps of a loop. `condition`
  /// (i1) decides whether a loop has a first step, or which of two branches runs (the first one if
  /// true).
  mlir::OpOperand *tripCount = nullptr, *condition = nullptr;
  /// The operand of the loop body's terminator (i1) that decides whether the loop runs another
  /// step.
  mlir::OpOperand *nextCondition = nullptr;
  /// Arguments of a loop body: the number of the step (i64, from 0), and the value of the loop's
  /// condition for this step.
  mlir::BlockArgument inductionVariable, conditionArgument;
};

/// A loop-carried value, with the op's operand and result, and the body's argument and yielded
/// value.
struct CarriedValue {
  /// The operand of the loop that is the carried value in the first step, and the loop's result if
  /// there are no steps.
  mlir::Value initial;
  mlir::BlockArgument argument;
  /// The operand of the loop body's terminator that is the carried value in the next step.
  mlir::Value next;
  mlir::OpResult result;
};

/// An operand of a loop that is sliced along dim 0: each step gets one slice, without that dim.
struct SlicedValue {
  mlir::Value sequence;
  mlir::BlockArgument slice;
  /// True if the slices are taken in reverse order, so that the first step gets the last slice.
  bool backward = false;
};

/// A result of a loop that consists of one slice per step, stacked along a new dim 0.
struct StackedValue {
  /// The operand of the loop body's terminator that is the slice of a step.
  mlir::Value slice;
  mlir::OpResult result;
  /// True if the slices are stacked in reverse order, so that the first step computes the last
  /// slice.
  bool backward = false;
};

} // namespace hewn::graph

#endif
