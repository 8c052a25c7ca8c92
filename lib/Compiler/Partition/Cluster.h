// SPDX-License-Identifier: Apache-2.0
//
// The machines that a model is to be split over, as a file says it: docs/reference/cluster.md.
#ifndef HEWN_LIB_COMPILER_PARTITION_CLUSTER_H
#define HEWN_LIB_COMPILER_PARTITION_CLUSTER_H

#include "lib/Compiler/MachineRates.h"
#include "lib/Compiler/Partition/LinkCosts.h"
#include "lib/Support/Diagnostics.h"
#include <optional>

namespace hewn {

struct Cluster {
  /// The file, as it was given.
  std::string name;
  int64_t nodes = 1, devicesPerNode = 1;
  Link within, between;
  /// What a device multiplies and reads a second at most; and whether that was measured here.
  MachineRates device;
  bool isMeasured = false;
  /// What of these rates kernels reach, and seconds beside them that each takes.
  double efficiency = 0.8, launch = 0;
  /// Bytes a device has; none: as many as are wanted.
  std::optional<double> memory;
  /// Whether the most runs a second of all replicas are wanted, and not the shortest run.
  bool wantsThroughput = false;

  int64_t devices() const { return nodes * devicesPerNode; }
  /// `ranks` ranks of one after another, from the first device of the cluster on.
  RankGroup group(int64_t ranks) const;
  /// Products of this type a second: at the type's own rate where there is one, else float32's; `rounds`: float32 may be multiplied as bfloat16.
  double rateOf(llvm::StringRef type, bool rounds) const;
  /// The link from one rank to another.
  const Link &link(int64_t from, int64_t to) const {
    return from / devicesPerNode == to / devicesPerNode ? within : between;
  }
};

/// Reads a file, or its text where that begins with a brace. nullopt after errors: all that is wrong, each with its line. Rates that are not in
/// it are measured here, for code for `target`.
std::optional<Cluster> readCluster(llvm::StringRef given, llvm::StringRef target, Diagnostics &diagnostics);

} // namespace hewn

#endif
