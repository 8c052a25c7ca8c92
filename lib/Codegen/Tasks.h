// SPDX-License-Identifier: Apache-2.0
//
// Splits the work of a kernel into equal tasks that threads can run in parallel.
//
// The function of a kernel with tasks has two more arguments, `begin` and `end`, and runs the tasks
// in this range. The attribute `plan.launch_info` of the function has the number of tasks, an
// expression over the symbols (TasksAttr). The program calls the function through the runtime's
// parallel_for. Tasks write to disjoint memory and may run in any order.
#ifndef HEWN_LIB_CODEGEN_TASKS_H
#define HEWN_LIB_CODEGEN_TASKS_H

#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// Returns an estimate of a kernel's cost as a number of vector instructions.
graph::DimExpr vectorWork(const graph::DimExpr &elements, int64_t lanes, int64_t instructionsEach);

/// Emits a nest with the trip counts `counts`. Its leading dims form tasks if the cost `work` is
/// large enough. A kernel may call only one of overTasks, overRanges and overSlots, once; it emits
/// further nests by `ElementEmitter::loopNest`.
void overTasks(KernelContext &k, ElementEmitter &e, llvm::ArrayRef<graph::DimExpr> counts, const graph::DimExpr &work,
               llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);

/// Forms `count` tasks. `body` emits the code of one call, which runs the tasks [begin, end). The
/// code may first do work that all of these tasks share, and may write to the memory of task
/// `begin`.
void overRanges(KernelContext &k, ElementEmitter &e, const graph::DimExpr &count, const graph::DimExpr &work,
                llvm::function_ref<void(graph::Index begin, graph::Index end)> body);

/// Emits a nest with the trip counts `counts` for work that needs scratch memory. There are `slots`
/// scratch buffers, and one task for each, which processes an equal contiguous share of the nest.
/// `enter` is called at the start of a task, `body` at each point of its share.
void overSlots(KernelContext &k, ElementEmitter &e, int64_t slots, llvm::ArrayRef<graph::DimExpr> counts,
               const graph::DimExpr &work, llvm::function_ref<void(graph::Index)> enter,
               llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);

} // namespace hewn::codegen

#endif
