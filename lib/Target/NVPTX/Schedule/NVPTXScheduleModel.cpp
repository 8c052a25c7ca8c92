// SPDX-License-Identifier: Apache-2.0
//
// The model of the kernels of NVIDIA GPUs.
#include "lib/Target/NVPTX/Schedule/NVPTXScheduleModel.h"
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Target/NVPTX/Schedule/MmaSchedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hewn::plan {

namespace {

class NVPTXScheduleModel : public ScheduleModel {
public:
  bool supports(KernelFeature feature) const override {
    constexpr KernelFeature own[] = {KernelFeature::HalfOperands, KernelFeature::NarrowAttention,
                                     KernelFeature::SeparateMemory, KernelFeature::ResidentWeights};
    return llvm::is_contained(own, feature);
  }

  /// The head dims of both contractions must be static, and small enough for accumulators in
  /// registers.
  Eligibility fusesAttention(const graph::FusedAttention &attention) const override {
    constexpr int64_t longest = 128;
    graph::ContractOpInterface first = attention.first;
    std::optional<graph::ContractRoles> roles = graph::contractRoles(first);
    std::optional<unsigned> summed = roles ? graph::plainSummedDim(first, *roles) : std::nullopt;
    if (!gpuOf(first).getMmasPerProduct() || !summed)
      return Eligibility::no("the target has no MMA for this contraction");
    std::optional<int64_t> depth = first.getIterationDims(graph::getDims)[*summed].constant(),
                           width = graph::getDims(attention.second->getResult(0)).back().constant();
    if (!depth || !width)
      return Eligibility::no("a head dimension is dynamic");
    return *depth <= longest && *width <= longest
               ? Eligibility::yes()
               : Eligibility::no("a head dimension is too large for accumulators in registers");
  }

  /// Returns the tile of a thread block. For small matrices the tile is smaller, so that they need
  /// less padding.
  ContractTile contractTile(Operation *, const ContractShape &shape, int64_t block) const override {
    constexpr int64_t side = 64, least = 8;
    auto fit = [&](int64_t extent) { return std::clamp(int64_t(llvm::PowerOf2Ceil(extent)), least, side); };
    return {fit(rowsFor(shape)), block ? block : fit(columnsFor(shape))};
  }

  Eligibility multipliesMatrices(graph::ContractOpInterface op) const override { return plan::multipliesMatrices(op); }
  bool wantsAlongSum(graph::ContractOpInterface op) const override { return plan::wantsAlongSum(op); }

  GpuTileAttr blockTile(graph::ContractOpInterface op, bool maySplit) const override {
    return chooseTile(op, maySplit);
  }
  graph::DimExpr blockWork(graph::ContractOpInterface op) const override {
    GpuCostsAttr costs = gpuOf(op).getCosts();
    graph::DimExpr products = graph::numElements(op.getIterationDims(graph::getDims));
    if (!multipliesMatrices(op))
      return (products * graph::DimExpr(costs.getMmaProductsPerCycle()))
          .floorDiv(graph::DimExpr(costs.getThreadProductsPerCycle()));
    int64_t bits = stagedType(op).getIntOrFloatBitWidth();
    auto schedule = dyn_cast<GpuContractAttr>(op->getParentOfType<KernelOp>().getScheduleAttr());
    int64_t rate =
        schedule && schedule.getGroups() ? costs.getWarpgroupProductsPerCycle() : costs.getMmaProductsPerCycle();
    return (products * graph::DimExpr(productsOf(op) * bits * costs.getMmaProductsPerCycle()))
        .floorDiv(graph::DimExpr(32 * rate));
  }

  /// The kernels implement bf16x3 and bf16x6 in the MMA itself, without split operands.
  bool multipliesBfloat16(graph::ContractOpInterface op, unsigned components) const override {
    return components == 1 && gpuOf(op).getMmasPerProduct() > 0;
  }

  /// Only the weights are rounded in two cases: the GEMM is too skinny for MMA; or no kernel
  /// computes the left operand and could round it as well, and a separate kernel for the rounding
  /// costs more than it gains.
  std::optional<RoundedOperands> roundedOperands(graph::ContractOpInterface op) const override {
    if (!plan::multipliesMatrices(op))
      return RoundedOperands::Weights;
    Operation *maker = op->getOperand(0).getDefiningOp();
    while (maker && graph::isViewKind(maker))
      maker = maker->getOperand(0).getDefiningOp();
    if (maker && maker->getNumRegions() == 0)
      return RoundedOperands::Both;
    // MMA takes half the time if its operands are 16-bit.
    GpuAttr gpu = gpuOf(op);
    int64_t products = graph::numElements(op.getIterationDims(graph::getDims)).constant().value_or(INT64_MAX);
    int64_t cycles = products / (2 * gpu.getProcessors() * gpu.getCosts().getMmaProductsPerCycle());
    return cycles < gpu.getCosts().getLaunchCycles() ? RoundedOperands::Weights : RoundedOperands::Both;
  }

  bool formsPersistentKernels(TargetAttr target) const override {
    return cast<GpuAttr>(target).getCosts().getGridBarrierCycles() > 0;
  }
};

} // namespace

const ScheduleModel &nvptxScheduleModel() {
  static const NVPTXScheduleModel model;
  return model;
}

} // namespace hewn::plan
