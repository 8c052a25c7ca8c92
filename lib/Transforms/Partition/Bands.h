// SPDX-License-Identifier: Apache-2.0
//
// Pictures that ranks share by lines: layers with small constants and large values.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_BANDS_H
#define HEWN_LIB_TRANSFORMS_PARTITION_BANDS_H

#include "dialects/Graph/Analysis/Bands.h"
#include "lib/Transforms/Partition/Sharding.h"

namespace hewn::partition {

/// A value of which each rank makes some lines along `dim`.
struct Banded {
  int64_t dim;
  /// What each rank makes of it where it is handed on, and what readers want there: further lines come from the ranks that have them.
  llvm::SmallVector<graph::Lines> own, wanted;
  /// Not, where it costs less to make it than that (moves of one value, and what inputs come through): each rank makes all that it wants.
  bool isHanded;
  const llvm::SmallVector<graph::Lines> &made() const { return isHanded ? own : wanted; }
};

using Bands = llvm::DenseMap<mlir::Operation *, Banded>;

/// What ranks share, and how: by lines, and all else by parts of constants.
struct Plan {
  Bands bands;
  Shardings shardings;
  /// The ops that are shared by lines.
  llvm::DenseSet<mlir::Operation *> byLines() const;
};

/// Percent of all constants' bytes that ranks keep whole where nothing is said of it.
inline constexpr int64_t kUsualLines = 2;

/// Convolutions and products whose constants are small are done by lines, each rank those of its band, with all of the constants: what goes
/// between ranks is a few lines in front of windows (the halo), and a gather where somebody wants the whole. All else is chosen as by
/// `chooseShardings`. So are what reads such values line by line, and what makes them.
///
///     %p = graph.pad %x {low = 1, high = 1} : 256x256    %h = exchange %x[a rank's half] : 128x256 → 129x256
///     %y = graph.conv %p, %w                          →  %p = graph.pad %h {low = 1 or 0, high = 0 or 1} : 130x258
///                                                        %y = graph.conv %p, %w : 128x256
///
/// `percent` of all constants' bytes may be those of ops that are done so, the smallest ones first. Below 0: `kUsualLines`, and so many of
/// them as makes the fewest bytes between ranks, which may be none.
Plan choosePlan(mlir::Block &block, int64_t ranks, int64_t percent);

} // namespace hewn::partition

#endif
