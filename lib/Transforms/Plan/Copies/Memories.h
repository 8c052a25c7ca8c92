// SPDX-License-Identifier: Apache-2.0
//
// In which memory a value of the program lies, on a machine whose kernels run on a device with memory of its own.
//
// Kernels, what loops carry and what ranks hand each other are the device's; other parts of the runtime, conditions and numbers of trips are the host's.
// Inputs and constants are had in both.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_COPIES_MEMORIES_H
#define HEWN_LIB_TRANSFORMS_PLAN_COPIES_MEMORIES_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

enum class Memory { Host, Device, Both };

Memory memoryOf(mlir::Value value);

/// The memory from which `operand`'s owner reads it; Both: either.
Memory memoryWanted(mlir::OpOperand &operand);

/// Whether `argument` of the program is read from `memory`, itself or through views.
bool isReadFrom(mlir::Value argument, Memory memory);

} // namespace hewn::plan

#endif
