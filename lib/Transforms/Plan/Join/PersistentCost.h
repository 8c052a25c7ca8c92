// SPDX-License-Identifier: Apache-2.0
//
// Analytic cost model of a program on a GPU: its launches one by one, and as phases of persistent
// kernels with grid-wide barriers.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_JOIN_JOINTCOST_H
#define HEWN_LIB_TRANSFORMS_PLAN_JOIN_JOINTCOST_H

#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Plan/Join/Occupancy.h"
#include <vector>

namespace hewn::plan {

/// Size that the cost model assumes for each symbol.
inline constexpr int64_t kTypicalSize = 128;

/// Returns the number of the operand (resident weights) whose blocks stay in shared memory if a
/// persistent kernel runs all steps of the enclosing scan. Returns nothing if there is no such
/// operand.
std::optional<unsigned> keptOperand(LaunchOp launch);

/// The device work of an op of the program, in cycles. A loop counts with its trip count, or
/// kTypicalSize if that is dynamic.
class DeviceWork {
public:
  DeviceWork(mlir::Operation *op, GpuAttr gpu);

  /// Returns the number of launches and copies that the op takes per run without persistent
  /// kernels.
  double launches() const { return count; }
  /// Returns the cycles that the op takes if each of its kernels is launched on its own.
  double launched() const { return alone; }
  /// Returns the resources of a persistent kernel that has all of this op's work as phases.
  const KernelNeeds &needs() const { return largest; }
  /// Returns the cycles that the op's work takes as phases of a persistent kernel with resources
  /// `persistent`, which are at least needs(). Returns infinity if no thread block with these
  /// resources can be resident.
  double joined(const KernelNeeds &persistent) const;

private:
  struct Part {
    BlocksWork work;
    /// The launch's work inside of a persistent kernel that keeps the weights resident: the work
    /// without loading the weights, and the cycles of reading them from shared memory.
    BlocksWork besideKept;
    double readsKept = 0, times = 1;
    /// True if the kernel keeps matrix tiles of accumulators in registers.
    bool hasTiles = false;
  };
  GpuAttr gpu;
  std::vector<Part> parts;
  KernelNeeds largest;
  double count = 0, alone = 0;

  void add(mlir::Operation *op, double times);
  void addLaunch(LaunchOp launch, double times);
  void addCopies(double number, double times);
  void addHandover(graph::ControlOpInterface loop, double times);
};

/// Returns the fixed cost of a persistent kernel: one launch, less one barrier, because the first
/// phase needs none.
inline double beginning(GpuAttr gpu) {
  return double(gpu.getCosts().getLaunchCycles()) - double(gpu.getCosts().getGridBarrierCycles());
}

/// Predicted cycles of a planned program.
struct Prediction {
  /// The launches of one persistent kernel.
  struct PersistentKernel {
    mlir::Operation *first = nullptr;
    std::vector<DeviceWork> ops;
    KernelNeeds needs;
    double launched = 0, joined = 0, launches = 0;
    /// Number of times that a run launches the kernel.
    double times = 1;
    /// Bytes of resident weights per block, over all loops of the persistent kernel. The weights of
    /// a kernel that several launches use count once.
    int64_t kept = 0;
  };
  std::vector<PersistentKernel> joints;
  /// Predicted cycles of a run with the planned persistent kernels, and cycles of a run in which
  /// each kernel is launched on its own.
  double cycles = 0, apart = 0;
};
Prediction predict(mlir::func::FuncOp program, GpuAttr gpu);

/// Returns the reason why `op` cannot be a phase of a persistent kernel. Returns an empty string if
/// it can, or if the op costs nothing.
llvm::StringRef whyNotJoined(mlir::Operation *op);

} // namespace hewn::plan

#endif
