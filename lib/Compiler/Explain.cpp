// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` counts of kernels and weights.
#include "lib/Compiler/Explain.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hewn {

namespace {

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

} // namespace

void explainKernels(ModuleOp module, ExplainedVariant &variant) {
  variant.hasKernels = true;
  // In the order of their first launches.
  llvm::MapVector<StringRef, SmallVector<plan::LaunchOp>> launches;
  module.walk<WalkOrder::PreOrder>([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
  SymbolTable table(module);
  for (auto kernel : module.getOps<plan::KernelOp>())
    for (Operation &op : kernel.getBody().front())
      variant.relayouts += isa<graph::RelayoutOp>(op);
  for (auto &[name, list] : launches) {
    variant.launches += int64_t(list.size());
    auto kernel = table.lookup<plan::KernelOp>(name);
    if (!kernel)
      continue;
    ExplainedKernel &one = variant.kernels.emplace_back();
    one.name = name.str();
    one.launches = int64_t(list.size());
    one.why = kernel.getWhy().value_or("").str();
    if (Attribute schedule = kernel.getScheduleAttr())
      llvm::raw_string_ostream(one.schedule) << schedule;
    one.launchesARun = 0;
    for (plan::LaunchOp launch : list)
      if (std::optional<int64_t> each = launchesARun(launch); each && one.launchesARun)
        *one.launchesARun += *each;
      else
        one.launchesARun = std::nullopt;
    one.work = workOf(kernel);
    for (Value operand : list.front()->getOperands())
      (operand.getDefiningOp<graph::ConstantOp>() ? one.constants : one.inputs).push_back(typeText(operand.getType()));
    for (Type result : kernel.getFunctionType().getResults())
      one.outputs.push_back(typeText(result));
  }
}

void explainWeights(ModuleOp module, ExplainedVariant &variant) {
  llvm::StringMap<int> seen;
  module.walk([&](graph::ConstantOp constant) {
    auto weight = dyn_cast<graph::WeightAttr>(constant.getValue());
    if (weight && seen.try_emplace((weight.getKey() + Twine(weight.getOffset())).str(), 1).second) {
      variant.weightBytes += weight.getBytes();
      ++variant.weightConstants;
    }
  });
  module.walk([&](plan::CopyOp copy) {
    variant.copies.push_back({plan::stringifyCopyTo(copy.getTo()).str(), typeText(copy.getOutput().getType())});
  });
}

} // namespace hewn
