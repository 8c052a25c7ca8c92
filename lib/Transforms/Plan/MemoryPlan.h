// SPDX-License-Identifier: Apache-2.0
//
// Assigns buffers to the values of a program, in this order:
//
// 1. Values that the function returns use the output buffers.
// 2. Slices that a counted loop yields are written directly into the loop's stacked result.
// 3. Values of dynamic size are allocated at run time.
// 4. All other values are packed into the arena by lifetime (Offsets.h). A launch reuses the buffer
//    of an input if it may overwrite the input and the input has no later user.
//
// The memory plan keeps the order of ops; OrderLaunches changes it. Loop-carried values are copied
// from step to step.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_MEMORYPLAN_H
#define HEWN_LIB_TRANSFORMS_PLAN_MEMORYPLAN_H

#include "dialects/Plan/Plan.h"
#include "lib/Transforms/Plan/Arena/Offsets.h"
#include "lib/Transforms/Plan/Arena/Samples.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/ADT/StringSet.h"
#include <functional>
#include <map>

namespace hewn::plan {

/// Returns the arena buffers that the program needs, in program order. Used to compare the memory
/// of two orders of a program's ops.
std::vector<Request> arenaRequests(mlir::func::FuncOp program);

/// Returns the peak of live arena bytes for each sample of the symbolic sizes.
std::vector<int64_t> liveBytes(mlir::func::FuncOp program, llvm::ArrayRef<Sample> samples);

class MemoryPlan {
public:
  explicit MemoryPlan(mlir::func::FuncOp program)
      : program(program), context(program.getContext()), symbols(inputSymbols(program)), liveness(program) {}

  /// Assigns buffers outside of the arena (outputs, slices, run-time allocations), and collects the
  /// requests for arena buffers.
  void collect();
  const std::vector<Request> &inArena() const { return requests; }

  /// Assigns an arena offset to every request.
  void pack();
  /// Writes all buffer assignments as attributes of the ops.
  void write();
  /// Emits a remark of `pass` for each launch that may overwrite an input but does not.
  void emitRemarks(llvm::StringRef pass);

private:
  BufferAttr place(BufferKind kind) { return BufferAttr::get(context, kind); }
  BufferAttr place(BufferKind kind, const graph::DimExpr &offset) { return BufferAttr::get(context, kind, offset); }

  /// Returns the only buffer that `value` may use, if it belongs to the result of an op in `block`
  /// and has no assignment yet. Returns null otherwise.
  mlir::Value ownRoot(mlir::Value value, mlir::Block *block);
  void placeReturned();
  void placeSlices(graph::ControlOpInterface loop);
  void placeInMemory(mlir::Value value, Lifetime life);

  /// Assigns staging buffers to loop-carried values that swap their buffers in a step. Each is
  /// first copied to its staging buffer, so that none is overwritten before it is read.
  void stage(graph::ControlOpInterface loop);
  mlir::Attribute placeOf(mlir::OpResult result);

  mlir::func::FuncOp program;
  mlir::MLIRContext *context;
  llvm::StringSet<> symbols;
  Liveness liveness;
  llvm::DenseMap<mlir::Value, BufferAttr> places;
  std::map<mlir::Operation *, llvm::SmallVector<mlir::Attribute>> staging;
  std::vector<Request> requests;
  std::vector<std::function<void(BufferAttr)>> requesters;
  /// The arena buffer request of each value. A value that reuses the buffer of another value has
  /// the same request as that value.
  llvm::DenseMap<mlir::Value, unsigned> requestOf;
  std::vector<std::pair<mlir::Value, unsigned>> sharers;
  Arena arena;
};

} // namespace hewn::plan

#endif
