// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` prints: the decisions that stand in a planned module, with their reasons.
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Compilation.h"
#include "lib/Transforms/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace hewn {

namespace {

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

} // namespace

std::string describeKernels(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::StringMap<unsigned> launches;
  module.walk([&](plan::LaunchOp launch) { ++launches[launch.getKernel()]; });
  unsigned count = 0, total = 0, relayouts = 0;
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    ++count;
    total += launches[kernel.getSymName()];
    for (Operation &op : kernel.getBody().front())
      relayouts += op.getName().stripDialect() == "relayout";
  }
  os << "kernels: " << count << ", launched " << total << " times in the program's text\n";
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    os << "  " << kernel.getSymName() << " x" << launches[kernel.getSymName()];
    if (std::optional<StringRef> why = kernel.getWhy())
      os << "  because: " << *why;
    os << "\n";
    if (plan::ScheduleAttr schedule = kernel.getScheduleAttr())
      os << "    schedule: " << schedule << "\n";
    for (Type result : kernel.getFunctionType().getResults())
      os << "    makes " << typeText(result) << "\n";
  }
  os << "changes of layout inside kernels: " << relayouts << "\n";
  return text;
}

std::string describePlan(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.walk([&](func::FuncOp function) {
    Attribute arena = function->getAttr(plan::kArenaBytesAttr), live = function->getAttr(plan::kMaxLiveAttr);
    if (!arena)
      return;
    std::optional<graph::DimExpr> bytes = graph::DimExpr::fromAttr(arena), least = graph::DimExpr::fromAttr(live);
    os << "arena: " << (bytes ? bytes->str() : "?") << " bytes";
    if (bytes && least && bytes->constant() && least->constant() && *least->constant() > 0)
      os << ", at most " << least->str() << " alive at once, ratio "
         << llvm::format("%.3f", double(*bytes->constant()) / double(*least->constant()));
    os << "\n";
  });
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
    os << "copy to the " << copy.getTo() << ": " << typeText(copy.getOutput().getType()) << "\n";
  });
  os << "weights: " << weights << " bytes in " << constants << " constants\n";
  return text;
}

} // namespace hewn
