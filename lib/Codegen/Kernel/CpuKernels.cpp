// SPDX-License-Identifier: Apache-2.0
//
// Generates kernels that are loops of vector instructions.
#include "lib/Codegen/Contract/AttentionEngine.h"
#include "lib/Codegen/Contract/ContractEngine.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Contract/Tunable.h"
#include "lib/Codegen/Contract/WinogradEngine.h"
#include "lib/Codegen/Kernel/KernelGenerator.h"
#include "lib/Codegen/Loops/LoopEngine.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using hewn::graph::Dims;

namespace hewn::codegen {

namespace {

class CpuKernelGenerator : public KernelGenerator {
public:
  bool owns(Attribute schedule) const override { return !plan::isOfGpu(schedule); }

  /// Fails if the shapes of one of the steps of fused attention do not match.
  FailureOr<Attribute> choose(KernelContext &k, Attribute) const override {
    const OrReason<graph::FusedAttention> &attention = k.analysis->attention;
    if (attention) {
      FailureOr<plan::AttentionAttr> schedule = chooseAttention(k, *attention);
      if (failed(schedule))
        return failure();
      if (*schedule)
        return Attribute(*schedule);
    } else if (k.analysis->contractions.size() > 1) {
      missedContraction(k, "NotChained", attention.why());
    }
    if (Attribute schedule = chooseWinograd(k))
      return schedule;
    if (Attribute schedule = chooseContraction(k))
      return schedule;
    return Attribute(chooseLoops(k));
  }

  Dims scratch(KernelContext &k, Attribute schedule) const override { return contractionScratch(k, schedule); }

  LogicalResult emit(KernelContext &k, OpBuilder &b, Attribute schedule,
                     const std::optional<Buffer> &memory) const override {
    return llvm::TypeSwitch<Attribute, LogicalResult>(schedule)
        .Case([&](plan::AttentionAttr attention) { return emitAttention(k, b, attention, memory); })
        .Case([&](plan::WinogradAttr winograd) { return emitWinograd(k, b, winograd, memory); })
        .Case([&](plan::ContractAttr contract) { return emitContraction(k, b, contract, memory); })
        .Case([&](plan::LoopsAttr loops) { return emitLoops(k, b, loops); });
  }
};

} // namespace

const KernelGenerator &cpuKernelGenerator() {
  static const CpuKernelGenerator generator;
  return generator;
}

} // namespace hewn::codegen
