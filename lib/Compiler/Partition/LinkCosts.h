// SPDX-License-Identifier: Apache-2.0
//
// Costs of transfers between ranks by the alpha-beta model (Hockney, "The communication challenge
// for MPP", 1994): a message of n bytes takes latency + n / bandwidth.
//
// Collectives by Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations
// in MPICH" (2005), for p ranks with n bytes each:
//
//     all-reduce      ring                    2 (p-1) a  +  2 (p-1)/p n b     few ranks, many bytes
//                     recursive doubling      lg p a     +  lg p n b          few bytes
//                     halving and doubling    2 lg p a   +  2 (p-1)/p n b     (Rabenseifner)
//     reduce-scatter  ring                    (p-1) a    +  (p-1)/p n b
//                     halving                 lg p a     +  (p-1)/p n b
//     all-gather      ring                    (p-1) a    +  (p-1) n b
//                     doubling                lg p a     +  (p-1) n b
//
// If several ranks share a node, there is also a two-level variant (Cho et al.: "BlueConnect",
// 2019): reduce-scatter within each node, all-reduce between nodes, all-gather within each node.
// The time of the additions is ignored: it is less than that of the transfer on all links except
// shared memory.
#ifndef HEWN_LIB_COMPILER_PARTITION_LINKCOSTS_H
#define HEWN_LIB_COMPILER_PARTITION_LINKCOSTS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace hewn {

/// A link between two devices: its latency in seconds, and its bandwidth in bytes per second in
/// each direction (full duplex).
struct Link {
  double latency = 0, bandwidth = 0;
  double messageSeconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// The ranks that take part in a collective. Each node of the cluster contains `perNode` of these
/// ranks.
struct RankGroup {
  int64_t ranks, perNode;
  Link within, between;
  /// Returns the link that limits a collective algorithm which does not distinguish nodes: the link
  /// between nodes, unless all ranks share a node.
  const Link &slowest() const { return perNode >= ranks ? within : between; }
};

struct LinkCost {
  double seconds = 0;
  /// Name of the fastest algorithm for the collective, as in the table above (such as "ring").
  /// Empty if nothing is transferred.
  llvm::StringRef way;
};

/// Return the costs of all-reduce, reduce-scatter and all-gather. `bytes` is the size of the
/// reduced tensor; for gatherCost it is the size of the part that each rank contributes.
LinkCost sumCost(const RankGroup &group, double bytes);
LinkCost scatterCost(const RankGroup &group, double bytes);
LinkCost gatherCost(const RankGroup &group, double bytes);

} // namespace hewn

#endif
