// SPDX-License-Identifier: Apache-2.0
//
// A kernel's work cut into equal tasks, so that the program can spread it over threads.
//
// A kernel with tasks takes two more arguments, `begin` and `end`, and does the tasks in between; its function says in
// `plan.launch_info` how many there are, as an expression over the symbols that it names (TasksAttr). The program calls it through
// the runtime's parallel_for. Tasks write to different memory and may run in any order.
#ifndef HEWN_LIB_CODEGEN_TASKS_H
#define HEWN_LIB_CODEGEN_TASKS_H

#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// The cost of a kernel in vector instructions or thereabouts.
graph::DimExpr vectorWork(const graph::DimExpr &elements, int64_t lanes, int64_t instructionsEach);

/// A nest over `counts`, its leading dims as tasks where the kernel's `work` is worth sharing. Call one of these once a kernel; a
/// kernel of several nests uses `KernelElements::loopNest`.
void overTasks(KernelFunction &k, KernelElements &e, llvm::ArrayRef<graph::DimExpr> counts, const graph::DimExpr &work,
               llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);

/// `count` tasks, of which `body` does those from `begin` to `end`, so that a thread can prepare once what all of its tasks need. It may
/// write to memory of task `begin`.
void overRanges(KernelFunction &k, KernelElements &e, const graph::DimExpr &count, const graph::DimExpr &work,
                llvm::function_ref<void(graph::Index begin, graph::Index end)> body);

/// The same for work that needs memory beside its operands: a task for each of `slots` buffers of it, with an equal share of the
/// nest in order. `enter` is called at the start of a slot, `body` at each point.
void overSlots(KernelFunction &k, KernelElements &e, int64_t slots, llvm::ArrayRef<graph::DimExpr> counts,
               const graph::DimExpr &work, llvm::function_ref<void(graph::Index)> enter,
               llvm::function_ref<void(llvm::ArrayRef<graph::Index>)> body);

} // namespace hewn::codegen

#endif
