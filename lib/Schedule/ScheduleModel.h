// SPDX-License-Identifier: Apache-2.0
//
// What passes query about the kernels of a target: which forms the kernel generators support, and
// what the cost models choose. A target description (#plan.cpu, #plan.gpu) provides the model, so
// that no pass depends on the kind of target.
#ifndef HEWN_LIB_SCHEDULE_SCHEDULEMODEL_H
#define HEWN_LIB_SCHEDULE_SCHEDULEMODEL_H

#include "lib/Schedule/Schedule.h"

namespace hewn::plan {
class ScheduleModel;
} // namespace hewn::plan

#include "lib/Schedule/ScheduleModel.h.inc"

namespace hewn::plan {

/// A form of kernels that the generators of some targets support.
enum class KernelFeature {
  /// Kernels are vectorized along the innermost dim in memory, so that the order of the dims of an
  /// operand decides how fast it is read. Otherwise, threads access rows and columns at the same
  /// cost.
  InnermostVectors,
  /// Kernels extend right operands with fewer bits (integers, float16, bfloat16) in registers, and
  /// apply scales after the accumulation.
  PackedWeights,
  /// Lookups read rows of weights that are packed in panels for a contraction.
  PackedTables,
  /// Contractions of two computed integer operands use integer instructions.
  ComputedIntegers,
  /// Contractions multiply float16 and bfloat16 operands without a conversion to the accumulator
  /// type.
  HalfOperands,
  /// A computed right operand can be packed in pairs along K at run time.
  RuntimePacking,
  /// Winograd convolutions.
  Winograd,
  /// A convolution folds zero padding whose amount is dynamic.
  DynamicPadding,
  /// The channels of several groups of a grouped convolution share a vector.
  GroupedLanes,
  /// 1x1 convolutions in NCHW are matmuls that are vectorized along the pixels.
  PixelVectors,
  /// Convolutions with a channel multiplier are expanded to one output channel per group.
  ChannelMultiplier,
  /// Matrix-vector products whose matrix is contiguous along K are multiply-reduce kernels.
  MatvecReductions,
  /// Kernels write results to strided subviews of a larger buffer.
  StridedSubviews,
  /// A kernel computes concats of more than two operands.
  WideConcats,
  /// Fused attention has operands of 16 bits.
  NarrowAttention,
  /// Quantization multiplies by a reciprocal and corrects the result by FMAs.
  ReciprocalQuantize,
  /// The tasks of a kernel run in a known order, so that a core finds data of the previous task in
  /// its caches.
  OrderedTasks,
  /// The cost of integer contractions is known.
  IntegerCosts,
  /// `hewn tune` measures schedules.
  MeasuredSchedules,
  /// Kernels have a memory of their own, separate from the host's.
  SeparateMemory,
  /// A kernel keeps weights in on-chip memory for all steps of a loop.
  ResidentWeights,
};

/// The operands of a float32 contraction that are rounded to bfloat16 at precision `medium`.
enum class RoundedOperands { None, Weights, Both };

/// The kernels of a target.
class ScheduleModel {
public:
  virtual ~ScheduleModel() = default;

  /// Returns the model of the target that the module of `op` is compiled for. A module without a
  /// target has the model of CPUs.
  static const ScheduleModel &of(mlir::Operation *op);

  /// Returns true if the kernel generators of the target support `feature`.
  virtual bool supports(KernelFeature feature) const = 0;

  /// Returns whether fusing two contractions as attention pays, with the reason if not.
  virtual Eligibility fusesAttention(const graph::FusedAttention &attention) const = 0;
  /// See plan::chooseContractTile.
  virtual ContractTile contractTile(mlir::Operation *op, const ContractShape &shape, int64_t block) const = 0;

  /// Returns whether the thread blocks of a kernel compute the contraction by matrix instructions,
  /// with the reason if not.
  virtual Eligibility multipliesMatrices(graph::ContractOpInterface op) const;
  /// Returns true if the instructions for the contraction need operands that are contiguous along
  /// K.
  virtual bool wantsAlongSum(graph::ContractOpInterface op) const;
  /// Returns the fastest tile of a thread block for a contraction that `multipliesMatrices`, with a
  /// number of split-K partials if `maySplit`. Returns null if no tile fits in shared memory.
  virtual GpuTileAttr blockTile(graph::ContractOpInterface op, bool maySplit) const;
  /// Returns the estimated cost of the contraction in a kernel of thread blocks, as the number of
  /// 32-bit multiply-adds that the target's matrix instructions execute in the same time.
  virtual graph::DimExpr blockWork(graph::ContractOpInterface op) const;

  /// Returns true if the target has instructions for the contraction with each float32 operand
  /// split into this number of bfloat16 components. 1: operands that are rounded to bfloat16.
  virtual bool multipliesBfloat16(graph::ContractOpInterface op, unsigned components) const = 0;
  /// Returns which operands of the contraction are rounded to bfloat16, or nullopt if the expected
  /// times of the methods decide (BfloatSchedule.h).
  virtual std::optional<RoundedOperands> roundedOperands(graph::ContractOpInterface op) const = 0;

  /// Returns true if adjacent launches on the target can be merged into a persistent kernel.
  virtual bool formsPersistentKernels(TargetAttr target) const;
};

/// Returns true if the kernels of the target of `op`'s module support `feature`.
inline bool supports(mlir::Operation *op, KernelFeature feature) { return ScheduleModel::of(op).supports(feature); }

/// Returns the model of CPUs.
const ScheduleModel &cpuScheduleModel();

/// Attaches the model of CPUs to #plan.cpu. Families of GPUs attach theirs.
void registerScheduleModels(mlir::DialectRegistry &registry);

} // namespace hewn::plan

#endif
