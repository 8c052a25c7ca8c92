// SPDX-License-Identifier: Apache-2.0
//
// Where the values of a program are, while that is decided.
//
// In this order: results that are returned go to the outputs; what a counted loop yields slice by slice is made in the slice;
// sizes that are known only when run are allocated then; all else is packed into the arena by lifetime
// (Offsets.h), in the memory of an input where the launch allows it and nobody else needs that.
//
// It does not choose the order of ops (OrderLaunches), and carries a loop's values by copies.
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

/// What a program's arena must hold: in the order of the text, so that two orders can be compared.
std::vector<Request> arenaRequests(mlir::func::FuncOp program);

/// Bytes of the arena that are live at once, at most, for each sample of the sizes.
std::vector<int64_t> liveBytes(mlir::func::FuncOp program, llvm::ArrayRef<Sample> samples);

class MemoryPlan {
public:
  explicit MemoryPlan(mlir::func::FuncOp program)
      : program(program), context(program.getContext()), symbols(inputSymbols(program)), liveness(program) {}

  /// Places what has a place of its own, and lists what the arena must hold.
  void collect();
  const std::vector<Request> &inArena() const { return requests; }

  /// Gives everything in the arena an offset.
  void pack();
  /// Writes all of it as attributes.
  void write();
  /// A remark of `pass` for each launch that might write over an input and does not.
  void emitRemarks(llvm::StringRef pass);

private:
  PlaceAttr place(PlaceKind kind) { return PlaceAttr::get(context, kind); }
  PlaceAttr place(PlaceKind kind, const graph::DimExpr &offset) { return PlaceAttr::get(context, kind, offset); }

  /// The only buffer in which `value` lies, if that is a result of `block` which nothing has placed yet.
  mlir::Value ownRoot(mlir::Value value, mlir::Block *block);
  void placeReturned();
  void placeSlices(graph::ControlOpInterface loop);
  void placeInMemory(mlir::Value value, Lifetime life);

  /// Carried values that swap must not overwrite each other: they go through memory of their own.
  void stage(graph::ControlOpInterface loop);
  mlir::Attribute placeOf(mlir::OpResult result);

  mlir::func::FuncOp program;
  mlir::MLIRContext *context;
  llvm::StringSet<> symbols;
  Liveness liveness;
  llvm::DenseMap<mlir::Value, PlaceAttr> places;
  std::map<mlir::Operation *, llvm::SmallVector<mlir::Attribute>> staging;
  std::vector<Request> requests;
  std::vector<std::function<void(PlaceAttr)>> requesters;
  /// Which request a value's memory is, and the values that are made in the memory of another's.
  llvm::DenseMap<mlir::Value, unsigned> requestOf;
  std::vector<std::pair<mlir::Value, unsigned>> sharers;
  Arena arena;
};

} // namespace hewn::plan

#endif
