// SPDX-License-Identifier: Apache-2.0
//
// The plan dialect: targets, kernels and their schedules, and the program that launches the
// kernels.
#ifndef HEWN_DIALECTS_PLAN_PLAN_H
#define HEWN_DIALECTS_PLAN_PLAN_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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

#include "dialects/Plan/TargetInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

namespace hewn::plan {
/// Returns true if `schedule` is one of the schedules of GPU kernels (`#plan.gpu_...`).
bool isOfGpu(mlir::Attribute schedule);
/// Maximum of each count in a GPU schedule. Sizes that are computed from the counts then do not
/// overflow.
inline constexpr int64_t kMaxGridCount = 1 << 20;

/// Attribute of the module: the target that it is compiled for, a TargetAttr.
inline constexpr llvm::StringLiteral kTargetAttr = "plan.target";
/// Attributes of a module that is a variant of an artifact: the name of its target, and the name by
/// which tuning files identify the target. See also kTitleAttr (lib/Support/Remarks.h).
inline constexpr llvm::StringLiteral kTargetNameAttr = "plan.target_name", kTuningTargetAttr = "plan.tuning_target";
/// Attribute of a module that shares packed weights with modules for other targets: the number of
/// vector lanes of the target with the widest vectors, for which the weights are packed.
inline constexpr llvm::StringLiteral kPackingLanesAttr = "plan.packing_lanes";
/// Unit attribute of a module that shares packed weights with other specializations of the model.
/// The layout of the weights then must not depend on the number of rows of the matmul that reads
/// them.
inline constexpr llvm::StringLiteral kPacksForAnyRowsAttr = "plan.packs_for_any_rows";
/// Unit attribute of a module that shares weights with modules for other targets, at least one of
/// which cannot convert float16 to float32. Weights then stay float32 in all of these modules: the
/// targets without the conversion need float32, and a float16 copy for the others would take
/// additional memory.
inline constexpr llvm::StringLiteral kSharesFloatsAttr = "plan.shares_floats";
/// Attribute of each op in the program that has results: a list with a BufferAttr for each result.
inline constexpr llvm::StringLiteral kBuffersAttr = "plan.buffers";
/// Attribute of a loop with an entry for each loop-carried value: the arena buffer through which
/// the value is copied at the end of an iteration, or unit if it is copied directly to its
/// destination.
inline constexpr llvm::StringLiteral kStagingAttr = "plan.staging";
/// Attribute of a launch with one result: the numbers of those inputs in whose buffer the kernel
/// may write the result, which saves a buffer.
inline constexpr llvm::StringLiteral kMayOverwriteAttr = "plan.may_overwrite";
/// Unit attribute of a launch in a loop body. Every second iteration runs the tasks of the kernel
/// in reverse order, so that it starts with the data that the previous iteration left in the cache.
inline constexpr llvm::StringLiteral kAlternatesAttr = "plan.alternates";
/// Attribute of the function of a kernel: how it is launched, a TasksAttr (CPU) or GpuLaunchAttr
/// (GPU).
inline constexpr llvm::StringLiteral kLaunchInfoAttr = "plan.launch_info";
/// Unit attribute of an argument of a kernel's function. It marks memory that may alias other
/// arguments, or that some blocks write and other blocks read.
inline constexpr llvm::StringLiteral kSharedArgumentAttr = "plan.shared";
/// Attribute of a GPU kernel: the number of a constant argument (weights) that the kernel may keep
/// in shared memory for all iterations of a loop, if the whole loop runs in one persistent kernel.
/// Whether the generated code does so is in the GpuLaunchAttr of its function (`keptBytes`).
inline constexpr llvm::StringLiteral kResidentWeightsAttr = "plan.resident_weights";
/// Attribute of a kernel: the dims of the float32 scratch memory that its schedule needs, where the
/// kernel has none of this size. An empty list removes the kernel's scratch memory.
/// `hewn-insert-scratch` applies the attribute and removes it.
inline constexpr llvm::StringLiteral kScratchAttr = "plan.scratch";
/// Bytes of shared memory that are never used for resident weights. They are reserved for the
/// phases of a persistent kernel, because it is not known how much memory the phases need until all
/// of them are emitted.
inline constexpr int64_t kSharedBesideKept = 32 << 10;
/// Suffixes of the symbols that belong to a kernel function with resident weights:
/// - `_keep` is a function that loads the weights into shared memory. Its arguments are the
///   context, the weights and the symbols.
/// - `_kept` is a variant of the kernel that reads the weights from shared memory. It has the
///   arguments of the kernel function.
/// - `_kept_memory` is the shared memory that holds the weights.
inline constexpr llvm::StringLiteral kKeepSuffix = "_keep", kKeptSuffix = "_kept", kKeptMemorySuffix = "_kept_memory";
/// Attribute of ops in a block of the program: the number of a persistent kernel. Adjacent ops with
/// equal numbers are combined into one persistent kernel.
inline constexpr llvm::StringLiteral kPersistentAttr = "plan.persistent";
/// Attribute of the program: the arena size in bytes, an integer or an expression over symbols.
inline constexpr llvm::StringLiteral kArenaBytesAttr = "plan.arena_bytes";
/// Attribute of the program: a list of common expressions. The arena size, buffer offsets and later
/// entries of the list refer to entry i by the symbol $i.
inline constexpr llvm::StringLiteral kArenaLevelsAttr = "plan.arena_levels";
/// Attribute of the program, if its sizes are static: the maximum over all ops of the arena bytes
/// that are live at once. This is a lower bound of the arena size.
inline constexpr llvm::StringLiteral kMaxLiveAttr = "plan.max_live";
/// Name of the function that launches the kernels (the program).
inline constexpr llvm::StringLiteral kProgramName = "main";

/// A mutable copy of a GpuLaunchAttr, in which kernel generators set single fields
/// (`changeGpuLaunch`).
struct GpuLaunch {
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

/// Return the launch attribute of a kernel's function. Return null if `function` is null or has no
/// launch attribute of this type.
GpuLaunchAttr gpuLaunchOf(mlir::Operation *function);
TasksAttr tasksOf(mlir::Operation *function);
/// Calls `change` on the GPU launch attribute of `function` and stores the result. Creates the
/// attribute first if there is none.
void changeGpuLaunch(mlir::Operation *function, llvm::function_ref<void(GpuLaunch &)> change);
/// Returns the kernel with this name, or null if there is none or if it is lowered.
KernelOp findGraphKernel(const mlir::SymbolTable &table, llvm::StringRef name);
/// Returns the entry function of the launched kernel, or the companion function with the given
/// suffix. Returns null if there is none, for example because the kernel is not lowered.
mlir::func::FuncOp entryOf(LaunchOp launch, llvm::StringRef suffix = "");

/// The graph ops of a kernel while code is emitted for them. Kernel generators create functions
/// next to the kernel whose ops they read. Therefore the constructor puts the ops into a kernel
/// inside of `kernel`, and generators insert functions before that one. Unless `replaceByCode` is
/// called, the destructor puts the ops back and erases everything that was emitted.
class KernelSource {
public:
  explicit KernelSource(KernelOp kernel);
  KernelSource(const KernelSource &) = delete;
  KernelSource &operator=(const KernelSource &) = delete;
  ~KernelSource();
  /// Returns the kernel with the graph ops.
  KernelOp get() const { return source; }
  /// Erases the graph ops. The emitted functions become the body of the lowered kernel.
  void replaceByCode();

private:
  KernelOp kernel, source;
};

/// Converts `expr`, an expression over the symbols of a kernel, to one over the symbols of the
/// program, by substituting the symbols that `launch` passes. Returns nullopt if the launch passes
/// another number of symbols than the kernel has.
std::optional<graph::DimExpr> atLaunch(const graph::DimExpr &expr, mlir::ArrayAttr symbols, LaunchOp launch);
} // namespace hewn::plan

#endif
