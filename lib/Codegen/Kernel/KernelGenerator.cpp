// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Kernel/KernelGenerator.h"

using namespace mlir;

#include "lib/Codegen/Kernel/KernelGenerator.cpp.inc"

namespace hewn::codegen {

const KernelGenerator &KernelGenerator::of(plan::KernelOp kernel) {
  plan::TargetAttr target = plan::targetOf(kernel);
  return target ? cast<GeneratedTarget>(target).getKernelGenerator() : cpuKernelGenerator();
}

namespace {

struct CpuTarget : GeneratedTarget::ExternalModel<CpuTarget, plan::CpuAttr> {
  const KernelGenerator &getKernelGenerator(Attribute) const { return cpuKernelGenerator(); }
};

} // namespace

void registerKernelGenerators(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, plan::PlanDialect *) { plan::CpuAttr::attachInterface<CpuTarget>(*context); });
}

} // namespace hewn::codegen
