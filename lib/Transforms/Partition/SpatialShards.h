// SPDX-License-Identifier: Apache-2.0
//
// Spatial sharding with halos, for layers with small constants and large feature maps.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_BANDS_H
#define HEWN_LIB_TRANSFORMS_PARTITION_BANDS_H

#include "dialects/Graph/Analysis/Halo.h"
#include "lib/Transforms/Partition/Sharding.h"

namespace hewn::partition {

/// A value that ranks shard spatially: each rank has a range of its rows along `dim`.
struct Banded {
  int64_t dim;
  /// For each rank, the rows of the value that it produces, and the rows that its ops need. A rank
  /// receives the missing rows from the ranks that produce them.
  llvm::SmallVector<graph::Lines> own, wanted;
  /// True if ranks exchange rows of the value. False if recomputing is cheaper (indexing ops with
  /// one operand, and ops on inputs); each rank then produces all rows that it needs.
  bool isHanded;
  const llvm::SmallVector<graph::Lines> &made() const { return isHanded ? own : wanted; }
};

using Bands = llvm::DenseMap<mlir::Operation *, Banded>;

/// The shardings of a program. `bands` holds the spatially sharded ops; all other ops are sharded
/// by their constants.
struct Plan {
  Bands bands;
  Shardings shardings;
  /// Returns the ops that ranks shard spatially.
  llvm::DenseSet<mlir::Operation *> byLines() const;
};

/// Default of the limit `percent` of choosePlan(): ops with spatial sharding may have at most this
/// percentage of the bytes of all constants.
inline constexpr int64_t kUsualLines = 2;

/// Chooses spatial shardings. For convolutions and GEMMs with small constants, each rank computes a
/// range of result rows, with full constants. Ranks exchange only the rows next to that range that
/// windows read (the halo), and gather a value if a user needs it in full. Users of such values,
/// and their producers, are sharded too if they work row by row. `chooseShardings` shards all other
/// ops.
///
///     %p = graph.pad %x {low = 1, high = 1} : 256x256
///     %y = graph.conv %p, %w
///     // becomes, on each of two ranks
///     %h = exchange %x[the rank's half] : 128x256 -> 129x256
///     %p = graph.pad %h {low = 1 or 0, high = 0 or 1} : 130x258
///     %y = graph.conv %p, %w : 128x256
///
/// `percent` limits the constants of spatially sharded ops, as a percentage of the bytes of all
/// constants; ops with the smallest constants come first. If it is negative, the limit is
/// `kUsualLines`, and the number of such ops (possibly none) is the one with the fewest transferred
/// bytes.
Plan choosePlan(mlir::Block &block, int64_t ranks, int64_t percent);

} // namespace hewn::partition

#endif
