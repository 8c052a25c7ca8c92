// SPDX-License-Identifier: Apache-2.0
//
// Describes the cluster of devices over which a model is partitioned (docs/reference/cluster.md).
#ifndef HEWN_LIB_COMPILER_PARTITION_CLUSTER_H
#define HEWN_LIB_COMPILER_PARTITION_CLUSTER_H

#include "lib/Compiler/MachineRates.h"
#include "lib/Compiler/Partition/LinkCosts.h"
#include "lib/Support/Diagnostics.h"
#include <optional>

namespace hewn {

struct Cluster {
  /// Name of the cluster file, as the user gave it.
  std::string name;
  int64_t nodes = 1, devicesPerNode = 1;
  Link within, between;
  /// `device`: peak FMA rate and memory bandwidth of one device. `isMeasured`: true if the rate and
  /// the bandwidth were measured on this machine instead of given in the file.
  MachineRates device;
  bool isMeasured = false;
  /// `efficiency`: fraction of the peak rates that kernels reach. `launch`: launch overhead of a
  /// kernel in seconds.
  double efficiency = 0.8, launch = 0;
  /// Memory size of a device in bytes, or nullopt if it is unlimited.
  std::optional<double> memory;
  /// True if the runs per second of all replicas together are maximized. False if the time of one
  /// run is minimized.
  bool wantsThroughput = false;

  int64_t devices() const { return nodes * devicesPerNode; }
  /// Returns the group of `ranks` consecutive ranks, starting at the first device.
  RankGroup group(int64_t ranks) const;
  /// Returns the device's peak FMA rate for `type`, or that of float32 if the cluster has none for
  /// `type`. If `rounds`, float32 operands may be rounded to bfloat16: they then have the rate of
  /// bfloat16 if that is higher.
  double rateOf(llvm::StringRef type, bool rounds) const;
  /// Returns the link between two ranks.
  const Link &link(int64_t from, int64_t to) const {
    return from / devicesPerNode == to / devicesPerNode ? within : between;
  }
};

/// Reads a cluster file. `given` is the text of the file if it starts with a brace, otherwise its
/// path. Reports all errors with their lines, and returns nullopt if there are any. If the file
/// contains no rates, measures those of this machine with code for `target`.
std::optional<Cluster> readCluster(llvm::StringRef given, llvm::StringRef target, Diagnostics &diagnostics);

} // namespace hewn

#endif
