// SPDX-License-Identifier: Apache-2.0
//
// The dialect `plan`: kernels and the program that launches them.
#ifndef HEWN_DIALECTS_PLAN_PLAN_H
#define HEWN_DIALECTS_PLAN_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/PlanDialect.h.inc"
#include "dialects/Plan/PlanEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

namespace hewn::plan {
/// Whether a schedule is one of a machine with a grid of threads.
bool isOfGrid(mlir::Attribute schedule);
/// The most of anything that such a schedule counts: sizes made of these fit their integers.
inline constexpr int64_t kMostOfGrid = 1 << 20;

/// The module's attribute of type TargetAttr.
inline constexpr llvm::StringLiteral kTargetAttr = "plan.target";
/// The module's attribute where several machines share its constants: how many lanes the widest of them has.
inline constexpr llvm::StringLiteral kPackingLanesAttr = "plan.packing_lanes";
/// On every op of the program that has results: a PlaceAttr for each.
inline constexpr llvm::StringLiteral kPlacesAttr = "plan.places";
/// On loops: for each carried value a PlaceAttr of memory through which it is copied when a step ends, or unit.
inline constexpr llvm::StringLiteral kStagingAttr = "plan.staging";
/// On a launch of one result: the inputs in whose memory the result may be made.
inline constexpr llvm::StringLiteral kMayOverwriteAttr = "plan.may_overwrite";
/// On a kernel's function that is cut into tasks: how many there are, an integer or an expression.
inline constexpr llvm::StringLiteral kTasksAttr = "plan.tasks";
/// On a kernel's function for a grid: how many blocks it is launched on, an integer or an expression, and threads of a block.
inline constexpr llvm::StringLiteral kBlocksAttr = "plan.blocks";
inline constexpr llvm::StringLiteral kThreadsAttr = "plan.threads";
/// On such a function: bytes of shared memory that a block is given when launched; absent where it has what it needs.
inline constexpr llvm::StringLiteral kSharedBytesAttr = "plan.shared_bytes";
/// On such a function: for each of its last arguments a BoxAttr that says what it is; they are made when it is launched.
inline constexpr llvm::StringLiteral kBoxesAttr = "plan.boxes";
/// On a kernel's function for a grid: registers that a thread wants, about; absent: few. Bytes of shared memory of a block; absent: none.
inline constexpr llvm::StringLiteral kRegistersAttr = "plan.registers";
inline constexpr llvm::StringLiteral kBlockBytesAttr = "plan.block_bytes";
/// On a kernel's function for a grid: its products, as those of words at the machine's `rate` that take as long, an integer or an
/// expression; absent: none.
inline constexpr llvm::StringLiteral kWorkAttr = "plan.work";
/// On such a function: how many bytes it reads and writes, each once.
inline constexpr llvm::StringLiteral kTrafficAttr = "plan.traffic";
/// On a kernel's function for a grid: it is launched by itself, never as a part of another kernel.
inline constexpr llvm::StringLiteral kAloneAttr = "plan.alone";
/// On a kernel's function for a grid: its blocks wait for each other, so that all must run at once. Behind its symbols it takes
/// the arena.
inline constexpr llvm::StringLiteral kMeetsAttr = "plan.meets";
/// On a kernel's function for a grid: so many counters of 32 bits it takes behind its symbols, and behind the arena where its blocks
/// wait for each other. They are 0 before and behind it, but for the first one, by which blocks wait.
inline constexpr llvm::StringLiteral kCountersAttr = "plan.counters";
/// On an argument of a kernel's function: memory that blocks write for each other, or that other arguments may be, too.
inline constexpr llvm::StringLiteral kSharedArgumentAttr = "plan.shared";
/// On a kernel for a grid: the number of an argument, a constant, which it may keep on chip where one kernel runs all steps of a
/// loop. On its function: it does, with functions beside it (kKeepSuffix) that bring the argument there, and that read it there.
inline constexpr llvm::StringLiteral kKeepsAttr = "plan.keeps";
/// Bytes of shared memory that stay for everything else beside what blocks keep: what parts have of their own is not known before
/// all are there.
inline constexpr int64_t kSharedBesideKept = 32 << 10;
/// On such a function: bytes of shared memory that a block keeps.
inline constexpr llvm::StringLiteral kKeptBytesAttr = "plan.kept_bytes";
/// Behind the name of such a function: the one that brings, of the context, that argument and the symbols; and the one that reads, of
/// the same arguments as the function itself.
inline constexpr llvm::StringLiteral kKeepSuffix = "_keep", kKeptSuffix = "_kept", kKeptMemorySuffix = "_kept_memory";
/// On ops of a block of the program: neighbours of equal numbers become one kernel.
inline constexpr llvm::StringLiteral kJointAttr = "plan.joint";
/// On a kernel's function: the names in which its attributes are written, in the order of its symbols.
inline constexpr llvm::StringLiteral kSymbolsAttr = "plan.symbols";
/// On the program: the arena's size, an integer or an expression.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "plan.arena_bytes";
/// On the program: the most bytes of arena that are live at once, where sizes are static: no plan needs less.
inline constexpr llvm::StringLiteral kMaxLiveAttr = "plan.max_live";
/// The name of the function that is the program.
inline constexpr llvm::StringLiteral kProgramName = "main";
} // namespace hewn::plan

#endif
