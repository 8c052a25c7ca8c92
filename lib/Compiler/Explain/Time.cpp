// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` says of the time that a device takes, by the model that decides which launches become one kernel.
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Transforms/Plan/Join/JointCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace hewn {

void explainTime(ModuleOp module, ExplainedVariant &variant) {
  auto target = module->getAttrOfType<plan::TargetAttr>(plan::kTargetAttr);
  auto program = module.lookupSymbol<func::FuncOp>(plan::kProgramName);
  if (!target || !target.getGrid() || !target.getGrid().getCosts().getLaunchCycles() || !program)
    return;
  plan::GridAttr grid = target.getGrid();
  plan::Prediction prediction = plan::predict(program, grid);
  auto microseconds = [&](double cycles) { return cycles / double(grid.getCosts().getMegahertz()); };
  ExplainedTime &time = variant.time.emplace();
  for (const plan::Prediction::Joint &joint : prediction.joints) {
    StringRef name;
    joint.first->walk([&](plan::LaunchOp launch) { name = name.empty() ? launch.getKernel() : name; });
    time.joints.push_back({name.str(), int64_t(joint.launches), joint.needs.threads, joint.needs.registers,
                           plan::blocksAtOnce(joint.needs, grid), joint.kept, microseconds(joint.launched),
                           microseconds(joint.joined)});
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
