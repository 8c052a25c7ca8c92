// SPDX-License-Identifier: Apache-2.0
//
// The dialect `plan`: kernels and the program that launches them.
#ifndef HEWN_DIALECTS_PLAN_PLAN_H
#define HEWN_DIALECTS_PLAN_PLAN_H

#include "dialects/Graph/Analysis/Dims.h"
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
inline constexpr int64_t kMaxGridCount = 1 << 20;

/// The module's attribute of type TargetAttr.
inline constexpr llvm::StringLiteral kTargetAttr = "plan.target";
/// The module's attribute where several machines share its constants: how many lanes the widest of them has.
inline constexpr llvm::StringLiteral kPackingLanesAttr = "plan.packing_lanes";
/// The module's attribute, a unit, where several cases of a model share its constants: they are packed as for rows of any number.
inline constexpr llvm::StringLiteral kPacksForAnyRowsAttr = "plan.packs_for_any_rows";
/// The module's attribute, a unit, where one of several machines that share its constants has no instruction that makes float32 of float16: what it can't
/// read as it is would be there twice.
inline constexpr llvm::StringLiteral kSharesFloatsAttr = "plan.shares_floats";
/// On every op of the program that has results: a PlaceAttr for each.
inline constexpr llvm::StringLiteral kPlacesAttr = "plan.places";
/// On loops: for each carried value a PlaceAttr of memory through which it is copied when a step ends, or unit.
inline constexpr llvm::StringLiteral kStagingAttr = "plan.staging";
/// On a launch of one result: the inputs in whose memory the result may be made.
inline constexpr llvm::StringLiteral kMayOverwriteAttr = "plan.may_overwrite";
/// On a launch in a loop's body, a unit: every second step does its tasks from the last one on.
inline constexpr llvm::StringLiteral kTurnsAttr = "plan.turns";
/// On a kernel's function that is launched in tasks, or on a grid: a TasksAttr or GridLaunchAttr.
inline constexpr llvm::StringLiteral kLaunchInfoAttr = "plan.launch_info";
/// On an argument of a kernel's function: memory that blocks write for each other, or that other arguments may be, too.
inline constexpr llvm::StringLiteral kSharedArgumentAttr = "plan.shared";
/// On a kernel for a grid: the number of an argument, a constant, which it may keep on chip where one kernel runs all steps of a
/// loop. Its function says whether it does (GridLaunchAttr).
inline constexpr llvm::StringLiteral kKeepsAttr = "plan.keeps";
/// Bytes of shared memory that stay for everything else beside what blocks keep: what parts have of their own is not known before
/// all are there.
inline constexpr int64_t kSharedBesideKept = 32 << 10;
/// Behind the name of a function that does: the one that brings, of the context, that argument and the symbols; and the one that reads, of
/// the same arguments as the function itself.
inline constexpr llvm::StringLiteral kKeepSuffix = "_keep", kKeptSuffix = "_kept", kKeptMemorySuffix = "_kept_memory";
/// On ops of a block of the program: neighbours of equal numbers become one kernel.
inline constexpr llvm::StringLiteral kJointAttr = "plan.joint";
/// On the program: the arena's size, an integer or an expression.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "plan.arena_bytes";
/// On the program: expressions that offsets and the arena's size refer to as $0, $1, ..., each over the ones before it.
inline constexpr llvm::StringLiteral kArenaLevelsAttr = "plan.arena_levels";
/// On the program: the most bytes of arena that are live at once, where sizes are static: no plan needs less.
inline constexpr llvm::StringLiteral kMaxLiveAttr = "plan.max_live";
/// The name of the function that is the program.
inline constexpr llvm::StringLiteral kProgramName = "main";

/// A GridLaunchAttr that is being written: an engine learns one thing after another.
struct GridLaunch {
  std::optional<graph::DimExpr> blocks;
  int64_t threads = 1;
  mlir::ArrayAttr symbols;
  int64_t sharedBytes = 0, blockBytes = 0, registers = 0;
  graph::DimExpr work, traffic;
  bool alone = false, meets = false;
  int64_t counters = 0;
  mlir::ArrayAttr boxes;
  int64_t keeps = 0, keptBytes = 0;
};

/// What a kernel's function says of its launch on a grid, or in tasks; null where it says nothing of that kind, or is null.
GridLaunchAttr gridLaunchOf(mlir::Operation *function);
TasksAttr tasksOf(mlir::Operation *function);
/// Writes what `change` makes of it.
void changeGridLaunch(mlir::Operation *function, llvm::function_ref<void(GridLaunch &)> change);
/// The expression, in the symbols that a function names, in those of a launch of it; nullopt where they are not as many.
std::optional<graph::DimExpr> atLaunch(const graph::DimExpr &expr, mlir::ArrayAttr symbols, LaunchOp launch);
} // namespace hewn::plan

#endif
