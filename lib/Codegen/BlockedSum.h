// SPDX-License-Identifier: Apache-2.0
//
// Blocked summation, for every kernel generator that accumulates.
//
// The rounding error of a sequence of dependent float additions grows with the length of the
// sequence. Generators therefore emit their accumulation loops through BlockedSum, which adds in
// blocks: a partial sum over at most kSumBlock additions starts at zero and is then added to an
// outer accumulator, and the partial sums of long or dynamic ranges are themselves added in blocks.
// A sum of n elements then has a longest sequence of at most about
//
//   2 * kSumBlock + n / kSumBlock^2
//
// additions, which is less than the square root of n for n from 2^19 to 2^32
// (docs/decisions/numbers/long-sums.md).
#ifndef HEWN_LIB_CODEGEN_BLOCKEDSUM_H
#define HEWN_LIB_CODEGEN_BLOCKEDSUM_H

#include "lib/Codegen/ElementEmitter.h"
#include <functional>

namespace hewn::codegen {

/// Number of consecutive additions to one accumulator, at most.
constexpr int64_t kSumBlock = 256;

class BlockedSum {
public:
  using States = llvm::SmallVector<mlir::Value>;
  using Merge = std::function<States(mlir::ValueRange, mlir::ValueRange)>;
  using Body = llvm::function_ref<States(llvm::ArrayRef<graph::Index>, mlir::ValueRange)>;
  using Loop = llvm::function_ref<States(graph::Index, graph::Index, mlir::ValueRange)>;

  /// `identity` is the state of no elements. `merge` emits the combination of two states. If that
  /// code adds no floats, as for maxima and integers, no blocks are formed.
  BlockedSum(ElementEmitter &e, States identity, Merge merge);

  /// Emits nested loops over `extents` like ElementEmitter::loopNest, in blocks. An iteration makes
  /// at most `perIteration` consecutive additions to its state.
  States nest(llvm::ArrayRef<graph::DimExpr> extents, int64_t perIteration, int64_t unrollLimit, mlir::ValueRange state,
              Body body) const;

  /// Emits the accumulation over from, from + step, and so on while less than `to`, in blocks.
  /// `trips` is the number of iterations, if static. `loop` emits the loop over a block: it gets
  /// the block's bounds and its initial state, and returns the state after it. An iteration makes
  /// at most `perIteration` consecutive additions to its state.
  States range(graph::Index from, graph::Index to, int64_t step, std::optional<int64_t> trips, int64_t perIteration,
               mlir::ValueRange state, Loop loop) const {
    return blocks(from, to, step, trips, std::max<int64_t>(kSumBlock / perIteration, 1), state, loop);
  }

  /// Emits a prefix scan over [0, extent) in blocks. `step` emits the step at an index: it gets the
  /// state after the previous blocks (empty if blocks are not formed) and that of the elements of
  /// the block, and returns the latter after the step. `merge` joins the two.
  void scan(const graph::DimExpr &extent, mlir::ValueRange state,
            llvm::function_ref<States(graph::Index, mlir::ValueRange, mlir::ValueRange)> step) const;

  /// Emits `body`, which accumulates from the identity, and merges its result with `state`.
  States restart(mlir::ValueRange state, llvm::function_ref<States(mlir::ValueRange)> body) const;

  /// Returns true if `inside` additions are a block of their own, but `count` times as many are
  /// not. Each of the `count` parts of a sum is then accumulated from the identity.
  bool restarts(std::optional<int64_t> inside, int64_t count) const {
    return rounds && inside && *inside <= kSumBlock && *inside * count > kSumBlock;
  }

private:
  States blocks(graph::Index from, graph::Index to, int64_t step, std::optional<int64_t> trips, int64_t most,
                mlir::ValueRange state, Loop loop) const;
  States forLoop(graph::Index from, graph::Index to, int64_t step, mlir::ValueRange state,
                 llvm::function_ref<States(graph::Index, mlir::ValueRange)> body) const;

  ElementEmitter &e;
  States identity;
  Merge merge;
  bool rounds = false; // merging adds floats
};

} // namespace hewn::codegen

#endif
