// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` says of kernels and weights.
#include "lib/Compiler/Explain.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Compilation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hewn {

namespace {

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// "1 constant", "2 constants".
std::string counted(int64_t count, StringRef what) {
  return std::to_string(count) + " " + what.str() + (count == 1 ? "" : "s");
}

} // namespace

std::string describeKernels(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  // In the order of their first launches.
  llvm::MapVector<StringRef, SmallVector<plan::LaunchOp>> launches;
  module.walk<WalkOrder::PreOrder>([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
  SymbolTable table(module);
  unsigned total = 0, relayouts = 0;
  for (auto &[name, list] : launches)
    total += list.size();
  for (auto kernel : module.getOps<plan::KernelOp>())
    for (Operation &op : kernel.getBody().front())
      relayouts += isa<graph::RelayoutOp>(op);
  os << "kernels: " << launches.size() << ", launched " << counted(total, "time") << " in the program's text\n";
  for (auto &[name, list] : launches) {
    auto kernel = table.lookup<plan::KernelOp>(name);
    if (!kernel)
      continue;
    os << "  " << name << " x" << list.size();
    if (std::optional<StringRef> why = kernel.getWhy())
      os << "  because: " << *why;
    os << "\n";
    if (Attribute schedule = kernel.getScheduleAttr())
      os << "    schedule: " << schedule << "\n";
    std::optional<int64_t> times = 0;
    for (plan::LaunchOp launch : list)
      if (std::optional<int64_t> each = launchesARun(launch); each && times)
        *times += *each;
      else
        times = std::nullopt;
    if (std::optional<Work> work = workOf(kernel)) {
      os << "    a launch: " << work->flop << " flop in contractions, " << work->bytes << " bytes";
      if (times)
        os << "; " << *times << (*times == 1 ? " launch" : " launches") << " a run";
      os << "\n";
    }
    auto tell = [&](StringRef what, ArrayRef<Type> types) {
      if (!types.empty())
        os << "    " << what << " " << llvm::join(llvm::map_range(types, typeText), ", ") << "\n";
    };
    SmallVector<Type> values, constants;
    for (Value operand : list.front()->getOperands())
      (operand.getDefiningOp<graph::ConstantOp>() ? constants : values).push_back(operand.getType());
    tell("takes", values);
    tell("with constants", constants);
    tell("makes", kernel.getFunctionType().getResults());
  }
  os << "changes of layout inside kernels: " << relayouts << "\n";
  return text;
}

std::string describeWeights(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t weights = 0, constants = 0;
  llvm::StringMap<int> seen;
  module.walk([&](graph::ConstantOp constant) {
    auto weight = dyn_cast<graph::WeightAttr>(constant.getValue());
    if (weight && seen.try_emplace((weight.getKey() + Twine(weight.getOffset())).str(), 1).second) {
      weights += weight.getBytes();
      ++constants;
    }
  });
  module.walk([&](plan::CopyOp copy) {
    os << "copy to the " << plan::stringifyCopyTo(copy.getTo()) << ": " << typeText(copy.getOutput().getType()) << "\n";
  });
  os << "weights: " << weights << " bytes in " << counted(constants, "constant") << "\n";
  return text;
}

} // namespace hewn
