// SPDX-License-Identifier: Apache-2.0
//
// The model of kernels that are loops of vector instructions.
#include "lib/Schedule/ScheduleModel.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace hewn::plan {

namespace {

/// Returns true if a row of the attention scores fits the stack buffer of a task.
bool fitsStack(const graph::FusedAttention &attention) {
  std::optional<int64_t> columns = graph::getDims(attention.first->getResult(0)).back().constant();
  return columns && attentionRows(attention.first, *columns, attention.columnBytes()) > 0;
}

class CpuScheduleModel : public ScheduleModel {
public:
  bool supports(KernelFeature feature) const override {
    constexpr KernelFeature missing[] = {KernelFeature::HalfOperands, KernelFeature::NarrowAttention,
                                         KernelFeature::SeparateMemory, KernelFeature::ResidentWeights};
    return !llvm::is_contained(missing, feature);
  }

  /// The result of the first GEMM (the attention scores) must exceed the cache, and the rows of it
  /// that one step of the fused kernel computes must fit.
  Eligibility fusesAttention(const graph::FusedAttention &attention) const override {
    TargetAttr target = targetOf(attention.first);
    graph::Dims space = graph::getDims(attention.first->getResult(0));
    // Fused attention supports rows larger than the stack buffer only in float32, because other
    // types have no scratch memory.
    if (!graph::getElementType(attention.weights).isF32() && !fitsStack(attention))
      return Eligibility::no(
          "not fused into attention: a row of a type other than float32 does not fit the stack buffer");
    int64_t all = graph::numElements(space).constant().value_or(INT64_MAX / 4) * 4;
    return target && all > target.getL2Bytes() / 4
               ? Eligibility::yes()
               : Eligibility::no("not fused into attention: the first GEMM's result fits the cache");
  }

  ContractTile contractTile(Operation *op, const ContractShape &shape, int64_t block) const override {
    return registerTile(op, shape, block);
  }

  bool multipliesBfloat16(graph::ContractOpInterface op, unsigned components) const override {
    Builder b(op.getContext());
    Type half = b.getBF16Type(), sum = b.getF32Type();
    return findMatrix(op, half, half, sum) || (components == 1 && findDot(op, half, half, sum));
  }

  std::optional<RoundedOperands> roundedOperands(graph::ContractOpInterface op) const override {
    Builder b(op.getContext());
    MatrixUnitAttr matrix = findMatrix(op, b.getBF16Type(), b.getBF16Type(), b.getF32Type());
    return matrix && fills(op, matrix) ? std::optional(RoundedOperands::Both) : std::nullopt;
  }
};

} // namespace

const ScheduleModel &cpuScheduleModel() {
  static const CpuScheduleModel model;
  return model;
}

} // namespace hewn::plan
