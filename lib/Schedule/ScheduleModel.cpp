// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/ScheduleModel.h"

using namespace mlir;

#include "lib/Schedule/ScheduleModel.cpp.inc"

namespace hewn::plan {

const ScheduleModel &ScheduleModel::of(Operation *op) {
  TargetAttr target = targetOf(op);
  return target ? cast<ScheduledTarget>(target).getScheduleModel() : cpuScheduleModel();
}

Eligibility ScheduleModel::multipliesMatrices(graph::ContractOpInterface) const {
  return Eligibility::no("the target has no MMA for this precision");
}

bool ScheduleModel::wantsAlongSum(graph::ContractOpInterface) const { return false; }

GpuTileAttr ScheduleModel::blockTile(graph::ContractOpInterface, bool) const { return {}; }

graph::DimExpr ScheduleModel::blockWork(graph::ContractOpInterface) const { return {}; }

bool ScheduleModel::formsPersistentKernels(TargetAttr) const { return false; }

namespace {

struct CpuTarget : ScheduledTarget::ExternalModel<CpuTarget, CpuAttr> {
  const ScheduleModel &getScheduleModel(Attribute) const { return cpuScheduleModel(); }
};

} // namespace

void registerScheduleModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, PlanDialect *) { CpuAttr::attachInterface<CpuTarget>(*context); });
}

} // namespace hewn::plan
