// SPDX-License-Identifier: Apache-2.0
//
// The memory of each value of a program, on targets whose kernels run on a device with its own
// memory.
//
// Kernels, loop-carried values and transfers between ranks use device memory. Other runtime calls,
// conditions and trip counts use host memory. Inputs and constants exist in both.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_COPIES_MEMORIES_H
#define HEWN_LIB_TRANSFORMS_PLAN_COPIES_MEMORIES_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

enum class Memory { Host, Device, Both };

Memory memoryOf(mlir::Value value);

/// Returns the memory (host or device) from which the op that owns the operand reads it. Returns
/// Both if the op can read either.
Memory memoryWanted(mlir::OpOperand &operand);

/// Returns true if the program argument is read from `memory`, directly or through views.
bool isReadFrom(mlir::Value argument, Memory memory);

} // namespace hewn::plan

#endif
