// SPDX-License-Identifier: Apache-2.0
//
// Emits the function of a persistent kernel: its phases in sequence, with grid-wide barriers
// between them.
#ifndef HEWN_LIB_CODEGEN_GPU_JOINT_JOINTEMITTER_H
#define HEWN_LIB_CODEGEN_GPU_JOINT_JOINTEMITTER_H

#include "lib/Codegen/GPU/Persistent/PersistentNeeds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <array>

namespace hewn::codegen {

/// The contents of a persistent kernel, as ops and values of the program.
struct PersistentKernel {
  std::string name;
  llvm::SmallVector<mlir::Operation *> ops;
  /// Values from outside that the kernel reads, and results that it writes for ops outside, in the
  /// order of the kernel's arguments.
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::OpResult> outputs;
  /// Names of the symbols that occur in sizes, offsets and trip counts.
  llvm::SmallVector<std::string> symbols;
};

class PersistentEmitter {
public:
  explicit PersistentEmitter(const PersistentKernel &persistent);
  /// Emits a lowered plan.kernel before the program's function and returns its entry function, or
  /// returns null after an error was emitted.
  mlir::func::FuncOp emit();
  /// Returns the largest number of blocks that phases between two barriers have in total. Valid
  /// after `emit`.
  int64_t sideBySide() const { return mostSideBySide; }

private:
  void begin();
  mlir::LogicalResult emitOps(llvm::ArrayRef<mlir::Operation *> ops);
  mlir::LogicalResult emitLaunch(plan::LaunchOp launch);
  mlir::LogicalResult emitLoop(graph::ControlOpInterface loop);
  /// Computes the addresses of the slices that a loop reads and writes in step `index` of `length`.
  mlir::LogicalResult enterSlices(graph::ControlOpInterface loop, mlir::Value index, mlir::Value length);
  /// Emits the copies of loop-carried values to their buffers, `homes`, at the end of a step.
  mlir::LogicalResult handOver(graph::ControlOpInterface loop, llvm::ArrayRef<mlir::Value> homes);
  mlir::LogicalResult passSymbols(plan::LaunchOp launch, llvm::SmallVector<mlir::Value> &arguments);
  /// Emits the call of a phase, in a branch if the phase has fewer threads than the block.
  void callPart(mlir::func::FuncOp part, mlir::ValueRange arguments);
  /// Emits the barrier before a phase: grid-wide if the phase depends on earlier phases, else
  /// a barrier of the block.
  void separate(PersistentPhase part);
  /// Emits the function of grid-wide barriers. If `prefetches` is true, blocks prefetch memory
  /// while they wait: the addresses from the function's second argument to its third.
  mlir::func::FuncOp emitMeeting(bool prefetches);
  void prefetch(mlir::Value first, mlir::Value end);
  void choosePrefetches();
  /// Returns the persistent kernel's own copy of a function of another kernel, whose launch becomes
  /// a phase: the entry function or a companion function.
  mlir::func::FuncOp partOf(mlir::func::FuncOp original);
  /// Copies the symbols that `copy` references, directly or not, from the kernel of `original` to
  /// the persistent kernel.
  void copyReferenced(mlir::func::FuncOp copy, mlir::func::FuncOp original);
  void turnBlocks(mlir::func::FuncOp part);
  mlir::Value firstBlock(plan::LaunchOp launch);
  /// For the launches in a loop that have resident weights: emits calls that load the weights
  /// before the loop, and records that the launches read them in shared memory. Skips launches
  /// whose weights do not fit shared memory.
  mlir::LogicalResult markResidentWeights(graph::ControlOpInterface loop);
  /// Returns the bytes of shared memory that a function uses. Emits an error and fails if they
  /// exceed the limit of a block, or if an element type is not a number.
  mlir::FailureOr<int64_t> sharedBytesOf(mlir::func::FuncOp part);
  mlir::LogicalResult layOutShared();

  // The following functions return the memory of values as memrefs of bytes.
  mlir::Value pointer(mlir::Value value);
  mlir::Value placeFor(mlir::OpResult result);
  mlir::Value at(mlir::Value base, mlir::Value byte, const graph::DimExpr &bytes);
  /// Returns the value's memory as a memref of type `argument`, for a call of a phase.
  mlir::Value viewOf(mlir::Value value, mlir::Value memory, mlir::Type argument);
  void copy(mlir::Value to, mlir::Value from, const graph::DimExpr &bytes);

  mlir::Value expression(const graph::DimExpr &expr);
  mlir::Value constant(int64_t value);
  mlir::Value number(int32_t value);

  const PersistentKernel &persistent;
  PersistentNeeds needs;
  mlir::OpBuilder b;
  mlir::Location loc;
  plan::KernelOp kernel;
  mlir::func::FuncOp function;
  // functions of grid-wide barriers: without and with prefetches
  std::array<mlir::func::FuncOp, 2> meetings;
  mlir::Value arena, counters, counter, thread, block, blocks;
  int64_t threads = 0;
  /// Number of blocks that the phases since the last grid-wide barrier have in total, and its
  /// maximum so far.
  int64_t blocksBefore = 0, mostSideBySide = 0;
  llvm::StringMap<mlir::Value> symbols;
  llvm::StringMap<mlir::func::FuncOp> parts;
  /// For ops that follow grid-wide barriers: the constant that is prefetched at the barrier,
  /// and the number of bytes.
  llvm::DenseMap<mlir::Operation *, std::pair<mlir::Value, int64_t>> prefetches;
  /// Launches that read resident weights from shared memory, and for each of their kernels the
  /// number of bytes.
  llvm::DenseSet<mlir::Operation *> keeping;
  llvm::StringMap<int64_t> kept;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  /// Addresses in the current step of a loop: the slices of its stacked outputs, by result number,
  /// and the current buffers of double-buffered values, by arena offset.
  struct Step {
    llvm::DenseMap<int64_t, mlir::Value> slices;
    llvm::SmallVector<std::pair<graph::DimExpr, mlir::Value>> turns;
  };
  llvm::DenseMap<mlir::Operation *, Step> steps;
};

} // namespace hewn::codegen

#endif
