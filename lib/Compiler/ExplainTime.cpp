// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` says of the time that a device takes, by the model that decides which launches become one kernel.
#include "lib/Compiler/Compilation.h"
#include "lib/Transforms/Plan/Join/JointCost.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace hewn {

std::string describeTime(ModuleOp module) {
  auto target = module->getAttrOfType<plan::TargetAttr>(plan::kTargetAttr);
  auto program = module.lookupSymbol<func::FuncOp>(plan::kProgramName);
  if (!target || !target.getGrid() || !target.getGrid().getCosts().getLaunchCycles() || !program)
    return "";
  plan::GridAttr grid = target.getGrid();
  plan::Prediction prediction = plan::predict(program, grid);
  auto microseconds = [&](double cycles) {
    return llvm::formatv("{0:f1} us", cycles / double(grid.getCosts().getMegahertz())).str();
  };
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [i, joint] : llvm::enumerate(prediction.joints)) {
    StringRef name;
    joint.first->walk([&](plan::LaunchOp launch) { name = name.empty() ? launch.getKernel() : name; });
    os << "joint kernel " << i << ": from " << name << " on, " << int64_t(joint.launches)
       << " launches and copies; by the model " << microseconds(joint.launched) << " one by one, "
       << microseconds(joint.joined) << " as one";
    os << "; blocks of " << joint.needs.threads << " threads of some " << joint.needs.registers << " registers, "
       << plan::blocksAtOnce(joint.needs, grid) << " at once on a processor";
    if (joint.kept > 0)
      os << "; each block keeps up to " << joint.kept << " bytes of constants on chip over the steps of its loops";
    os << "\n";
  }
  os << "predicted: a run takes " << microseconds(prediction.cycles) << "; " << microseconds(prediction.apart)
     << " with a launch for each kernel";
  bool symbolic = false;
  program.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        symbolic |= !type.hasStaticShape();
  });
  if (symbolic)
    os << "; sizes that are not known are taken for " << plan::kTypicalSize;
  os << "\n";
  return text;
}

} // namespace hewn
