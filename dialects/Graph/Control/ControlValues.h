// SPDX-License-Identifier: Apache-2.0
//
// What `ControlOpInterface` answers: how values get into the regions of control flow and out of them.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_CONTROLVALUES_H
#define HEWN_DIALECTS_GRAPH_CONTROL_CONTROLVALUES_H

#include "mlir/IR/Operation.h"

namespace hewn::graph {

/// The values of one element by which it is decided which region runs, and how often. The host holds them, wherever kernels run. Null:
/// the op has none such.
struct ControlValues {
  /// Operands of the op: the most steps that a loop takes (i64), and (i1) whether a loop takes a first step, or which of two branches
  /// runs: the first one where it holds.
  mlir::OpOperand *tripCount = nullptr, *condition = nullptr;
  /// An operand of the terminator of a loop's body: whether there is another step (i1).
  mlir::OpOperand *nextCondition = nullptr;
  /// Arguments of a loop's body: the number of the step (i64, from 0 on), and the condition under which it was entered.
  mlir::BlockArgument inductionVariable, conditionArgument;
};

/// A value that each step of a loop hands to the next one, and the last one to the result.
struct CarriedValue {
  /// What the first step gets, and what the result is where there is no step.
  mlir::Value initial;
  mlir::BlockArgument argument;
  /// What a step hands on: an operand of the body's terminator.
  mlir::Value next;
  mlir::OpResult result;
};

/// A sequence of which each step gets the slice at one index of dim 0, without that dim.
struct SlicedValue {
  mlir::Value sequence;
  mlir::BlockArgument slice;
  /// Whether the first step gets the last slice.
  bool backward = false;
};

/// A result to which each step adds its slice, along a dim in front of the slice's.
struct StackedValue {
  /// An operand of the body's terminator.
  mlir::Value slice;
  mlir::OpResult result;
  /// Whether the first step makes the last slice.
  bool backward = false;
};

} // namespace hewn::graph

#endif
