// SPDX-License-Identifier: Apache-2.0
//
// The analytic model of a program on a grid: what its launches take one by one, and as parts of one kernel whose blocks wait for
// each other.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_JOIN_JOINTCOST_H
#define HEWN_LIB_TRANSFORMS_PLAN_JOIN_JOINTCOST_H

#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Plan/Join/Occupancy.h"
#include <vector>

namespace hewn::plan {

/// What a symbol is taken for where a decision depends on it.
inline constexpr int64_t kTypicalSize = 128;

/// The function of the kernel; null: it is not there.
mlir::func::FuncOp functionOf(LaunchOp launch);

/// The number of the launch's operand that blocks keep where one kernel runs all steps of the scan around it; nullopt: none.
std::optional<unsigned> keptOperand(LaunchOp launch);

/// What the device does for an op of the program, in cycles; of loops for as many steps as are known, or kTypicalSize.
class DeviceWork {
public:
  DeviceWork(mlir::Operation *op, GridAttr grid);

  /// Launches and copies a run.
  double launches() const { return count; }
  /// With a launch each.
  double launched() const { return alone; }
  /// What a kernel needs that has all of it as parts.
  const KernelNeeds &needs() const { return largest; }
  /// As a part of a kernel that runs, of blocks that need `joint`, at least what this does; infinite where these can't be.
  double joined(const KernelNeeds &joint) const;

private:
  struct Part {
    BlocksWork work;
    /// In a joint kernel: of what blocks don't keep on chip, and cycles of a block that reads what it keeps.
    BlocksWork besideKept;
    double readsKept = 0, times = 1;
    /// Sums of products that stay in registers, as tiles of matrices have them.
    bool hasTiles = false;
  };
  GridAttr grid;
  std::vector<Part> parts;
  KernelNeeds largest;
  double count = 0, alone = 0;

  void add(mlir::Operation *op, double times);
  void addLaunch(LaunchOp launch, double times);
  void addCopies(double number, double times);
  void addHandover(graph::ControlOpInterface loop, double times);
};

/// Beside the cost of its parts what a joint kernel takes: it is launched, and nobody meets before its first part.
inline double beginning(GridAttr grid) {
  return double(grid.getCosts().getLaunchCycles()) - double(grid.getCosts().getGridBarrierCycles());
}

/// What the model says of a planned program, in cycles.
struct Prediction {
  /// Launches that become one kernel.
  struct Joint {
    mlir::Operation *first = nullptr;
    std::vector<DeviceWork> ops;
    KernelNeeds needs;
    double launched = 0, joined = 0, launches = 0;
    /// How often it is launched.
    double times = 1;
    /// Bytes of constants that each block keeps over the steps of its loops; of a kernel once.
    int64_t kept = 0;
  };
  std::vector<Joint> joints;
  /// A run as it is planned, and one with a launch for each kernel.
  double cycles = 0, apart = 0;
};
Prediction predict(mlir::func::FuncOp program, GridAttr grid);

/// Why `op` can't be a part of a joint kernel; empty: it can, or it costs nothing.
llvm::StringRef whyNotJoined(mlir::Operation *op);

} // namespace hewn::plan

#endif
