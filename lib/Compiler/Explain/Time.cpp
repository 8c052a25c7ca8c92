// SPDX-License-Identifier: Apache-2.0
//
// Estimates the run time by the device's cost model, which also decides which launches form
// persistent kernels.
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Transforms/Plan/Join/PersistentCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace hewn {

void explainTime(ModuleOp module, ExplainedVariant &variant) {
  auto target = module->getAttrOfType<plan::TargetAttr>(plan::kTargetAttr);
  auto program = module.lookupSymbol<func::FuncOp>(plan::kProgramName);
  auto grid = dyn_cast_or_null<plan::GpuAttr>(target);
  if (!grid || !grid.getCosts().getLaunchCycles() || !program)
    return;
  plan::Prediction prediction = plan::predict(program, grid);
  auto microseconds = [&](double cycles) { return cycles / double(grid.getCosts().getMegahertz()); };
  ExplainedTime &time = variant.time.emplace();
  for (const plan::Prediction::PersistentKernel &persistent : prediction.joints) {
    StringRef name;
    persistent.first->walk([&](plan::LaunchOp launch) { name = name.empty() ? launch.getKernel() : name; });
    time.joints.push_back({name.str(), int64_t(persistent.launches), persistent.needs.threads,
                           persistent.needs.registers, plan::blocksAtOnce(persistent.needs, grid), persistent.kept,
                           microseconds(persistent.launched), microseconds(persistent.joined)});
  }
  time.microseconds = microseconds(prediction.cycles);
  time.apartMicroseconds = microseconds(prediction.apart);
  program.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()); type && !type.hasStaticShape())
        time.assumedSize = plan::kTypicalSize;
  });
}

} // namespace hewn
