// SPDX-License-Identifier: Apache-2.0
//
// What it takes to hand bytes from rank to rank, by the alpha-beta model (Hockney, "The communication challenge for MPP", 1994): a message of n
// bytes takes latency + n / bandwidth.
//
// Collectives by Thakur, Rabenseifner, Gropp: "Optimization of Collective Communication Operations in MPICH" (2005), p ranks, n bytes each:
//
//     sum     ring                    2 (p-1) a  +  2 (p-1)/p n b        few ranks, long sums
//             recursive doubling      lg p a     +  lg p n b             short sums
//             halving and doubling    2 lg p a   +  2 (p-1)/p n b        (Rabenseifner's)
//     scatter ring                    (p-1) a    +  (p-1)/p n b      a sum of which each rank has a part
//             halving                 lg p a     +  (p-1)/p n b
//     gather  ring                    (p-1) a    +  (p-1) n b
//             doubling                lg p a     +  (p-1) n b
//
// and, of p ranks that are d to a node, in two levels (Cho et al.: "BlueConnect", 2019): chunks of the sum in each node, then those between nodes, then
// the whole in each node. What adding itself takes is not in it: it is less than what moving takes on all links but memory's.
#ifndef HEWN_LIB_COMPILER_PARTITION_LINKCOSTS_H
#define HEWN_LIB_COMPILER_PARTITION_LINKCOSTS_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace hewn {

/// Seconds; bytes a second that one device takes in while it gives as many.
struct Link {
  double latency = 0, bandwidth = 0;
  double messageSeconds(double bytes) const { return latency + bytes / bandwidth; }
};

/// Ranks that do something together: `perNode` of them at a time are on one node.
struct RankGroup {
  int64_t ranks, perNode;
  Link within, between;
  /// What a way that knows no nodes waits for.
  const Link &slowest() const { return perNode >= ranks ? within : between; }
};

struct LinkCost {
  double seconds = 0;
  /// The fastest way, by its name above; empty where nothing is moved.
  llvm::StringRef way;
};

/// `bytes`: of the sum, whether ranks then have all of it or a part, and of what each rank brings.
LinkCost sumCost(const RankGroup &group, double bytes);
LinkCost scatterCost(const RankGroup &group, double bytes);
LinkCost gatherCost(const RankGroup &group, double bytes);

} // namespace hewn

#endif
