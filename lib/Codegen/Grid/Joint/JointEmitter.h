// SPDX-License-Identifier: Apache-2.0
//
// Emits the function of a joint kernel: its parts one after another, and grid barriers between those that need it.
#ifndef HEWN_LIB_CODEGEN_GRID_JOINT_JOINTEMITTER_H
#define HEWN_LIB_CODEGEN_GRID_JOINT_JOINTEMITTER_H

#include "lib/Codegen/Grid/Joint/JointNeeds.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <array>

namespace hewn::codegen {

/// What a joint kernel is made of. All values are those of the program.
struct Joint {
  std::string name;
  llvm::SmallVector<mlir::Operation *> ops;
  /// What it reads from outside, and what it makes there, in the order of its arguments.
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::OpResult> outputs;
  /// The names of the symbols that sizes, offsets and trips are written in.
  llvm::SmallVector<std::string> symbols;
};

class JointEmitter {
public:
  JointEmitter(mlir::ModuleOp module, const Joint &joint);
  /// The function, before the program; null after an error.
  mlir::func::FuncOp emit();

private:
  void begin();
  mlir::LogicalResult emitOps(llvm::ArrayRef<mlir::Operation *> ops);
  mlir::LogicalResult emitLaunch(plan::LaunchOp launch);
  mlir::LogicalResult emitLoop(graph::ControlOpInterface loop);
  /// Begins a step: where its slices are, of `length` steps at number `index`.
  mlir::LogicalResult enterSlices(graph::ControlOpInterface loop, mlir::Value index, mlir::Value length);
  /// Copies of states at the end of a step, to their places, the last argument.
  mlir::LogicalResult handOver(graph::ControlOpInterface loop, llvm::ArrayRef<mlir::Value> homes);
  mlir::LogicalResult passSymbols(plan::LaunchOp launch, llvm::SmallVector<mlir::Value> &arguments);
  /// By as many threads as the part has.
  void callPart(mlir::func::FuncOp part, mlir::ValueRange arguments);
  /// All blocks, or at least the threads of each one, are done with what is before the part.
  void separate(JointPart part);
  /// `prefetches`: of memory, from its second argument to its third one, while blocks wait.
  mlir::func::FuncOp emitMeeting(bool prefetches);
  void prefetch(mlir::Value first, mlir::Value end);
  void choosePrefetches();
  /// A kernel's function, or one beside it, as one that the joint kernel calls.
  mlir::func::FuncOp partOf(mlir::func::FuncOp kernel);
  /// Launches of a loop's steps whose blocks keep a constant: brings it there. Others don't find room.
  mlir::LogicalResult keepConstants(graph::ControlOpInterface loop);
  /// Bytes of shared memory that a function has for itself. Failure: more than a block may have, or no numbers, which has been said.
  mlir::FailureOr<int64_t> sharedBytesOf(mlir::func::FuncOp part);
  mlir::LogicalResult layOutShared();

  // Memory: bytes from the first one of a value on.
  mlir::Value pointer(mlir::Value value);
  mlir::Value placeFor(mlir::OpResult result);
  mlir::Value at(mlir::Value base, mlir::Value byte, const graph::DimExpr &bytes);
  /// A value's memory as a part takes it.
  mlir::Value viewOf(mlir::Value value, mlir::Value memory, mlir::Type argument);
  void copy(mlir::Value to, mlir::Value from, const graph::DimExpr &bytes);

  mlir::Value expression(const graph::DimExpr &expr);
  mlir::Value constant(int64_t value);
  mlir::Value number(int32_t value);

  mlir::ModuleOp module;
  const Joint &joint;
  JointNeeds needs;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::func::FuncOp function;
  std::array<mlir::func::FuncOp, 2> meetings; // without prefetches, with them
  mlir::Value arena, counters, counter, thread, block, blocks;
  int64_t threads = 0;
  llvm::StringMap<mlir::Value> symbols;
  llvm::StringMap<mlir::func::FuncOp> parts;
  /// Constants of which so many bytes are asked for at the meeting before the op.
  llvm::DenseMap<mlir::Operation *, std::pair<mlir::Value, int64_t>> prefetches;
  /// Launches that read what their blocks keep, and the memory of all kernels that do.
  llvm::DenseSet<mlir::Operation *> keeping;
  llvm::StringMap<int64_t> kept;
  llvm::DenseMap<mlir::Value, mlir::Value> pointers;
  /// Of the current step of each loop: the slices of its outputs, and where states that take turns are made, by their places.
  struct Step {
    llvm::DenseMap<int64_t, mlir::Value> slices;
    llvm::SmallVector<std::pair<graph::DimExpr, mlir::Value>> turns;
  };
  llvm::DenseMap<mlir::Operation *, Step> steps;
};

} // namespace hewn::codegen

#endif
