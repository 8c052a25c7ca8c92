// SPDX-License-Identifier: Apache-2.0
//
// Collects what `hewn explain` reports about kernels and weights.
#include "lib/Compiler/Explain/Explain.h"
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Plan/Plan.h"
#include "lib/Codegen/Contract/Tunable.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

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

void tellNodes(plan::KernelOp kernel, llvm::ArrayRef<plan::LaunchOp> launches, ExplainedKernel &one) {
  Block &body = kernel.getBody().front();
  for (Operation &op : body)
    if (!op.hasTrait<OpTrait::ConstantLike>() && !op.hasTrait<OpTrait::IsTerminator>())
      addNodes(op.getLoc(), one.bodyNames);
  for (Value result : body.getTerminator()->getOperands()) {
    std::vector<std::string> &names = one.outputNames.emplace_back();
    if (Operation *maker = result.getDefiningOp())
      addNodes(maker->getLoc(), names);
  }
  for (plan::LaunchOp launch : launches)
    addNodes(launch->getLoc(), one.launchNodes.emplace_back());
}

std::optional<int64_t> constantBytesOf(plan::LaunchOp launch) {
  graph::DimExpr bytes(0);
  for (Value operand : launch->getOperands())
    if (operand.getDefiningOp<graph::ConstantOp>())
      bytes = bytes + plan::bufferBytes(operand);
  return bytes.constant();
}

} // namespace

void addNodes(Location location, std::vector<std::string> &nodes) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    std::string node = name.getName().str();
    if (!node.empty() && !llvm::is_contained(nodes, node))
      nodes.push_back(std::move(node));
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location each : fused.getLocations())
      addNodes(each, nodes);
  }
}

std::string multipliedType(plan::KernelOp kernel) {
  std::string type;
  int64_t most = -1;
  for (Operation &op : kernel.getBody().front())
    if (auto contraction = dyn_cast<graph::ContractOpInterface>(op)) {
      int64_t work = graph::numElements(contraction.getIterationDims(graph::getDims)).constant().value_or(0);
      if (std::exchange(most, std::max(most, work)) < work)
        type = typeText(graph::getElementType(op.getOperand(0)));
    }
  return type;
}

/// Adds to `one` the alternative schedules that tuning can try for the kernel.
static void tellCandidates(plan::KernelOp kernel, ExplainedKernel &one) {
  if (!kernel.getScheduleAttr()) // -O0 has no schedules
    return;
  codegen::KernelAnalysis analysis(kernel);
  codegen::KernelContext k = codegen::describeKernel(kernel, analysis);
  (void)codegen::takeScratch(k);
  SmallVector<Attribute> candidates = codegen::tuningCandidates(k);
  if (candidates.size() < 2)
    return;
  one.tuningKey = codegen::tuningKey(k);
  for (Attribute candidate : candidates)
    llvm::raw_string_ostream(one.candidates.emplace_back()) << candidate;
}

void explainKernels(ModuleOp module, ExplainedVariant &variant) {
  variant.hasKernels = true;
  // The launches of each kernel. Kernels are in the order of their first launch.
  llvm::MapVector<StringRef, SmallVector<plan::LaunchOp>> launches;
  module.walk<WalkOrder::PreOrder>([&](plan::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
  SymbolTable table(module);
  for (auto kernel : module.getOps<plan::KernelOp>())
    for (Operation &op : kernel.getBody().front())
      variant.relayouts += isa<graph::RelayoutOp>(op);
  for (auto &[name, list] : launches) {
    variant.launches += int64_t(list.size());
    auto kernel = plan::findGraphKernel(table, name);
    if (!kernel)
      continue;
    ExplainedKernel &one = variant.kernels.emplace_back();
    one.name = name.str();
    one.launches = int64_t(list.size());
    one.why = kernel.getWhy().value_or("").str();
    if (Attribute schedule = kernel.getScheduleAttr())
      llvm::raw_string_ostream(one.schedule) << schedule;
    tellCandidates(kernel, one);
    one.launchesARun = 0;
    for (plan::LaunchOp launch : list)
      if (std::optional<int64_t> each = launchesARun(launch); each && one.launchesARun)
        *one.launchesARun += *each;
      else
        one.launchesARun = std::nullopt;
    one.work = workOf(kernel, list);
    one.multiplies = multipliedType(kernel);
    one.constantBytes = constantBytesOf(list.front());
    tellNodes(kernel, list, one);
    for (Value operand : list.front()->getOperands())
      (operand.getDefiningOp<graph::ConstantOp>() ? one.constants : one.inputs).push_back(typeText(operand.getType()));
    for (Type result : kernel.getFunctionType().getResults())
      one.outputs.push_back(typeText(result));
  }
}

void explainTransfers(ModuleOp module, int64_t rank, ExplainedVariant &variant) {
  variant.meetings = 0;
  module.walk([&](Operation *op) {
    if (std::optional<graph::Transfer> transfer = graph::transferOf(op)) {
      ++*variant.meetings;
      variant.moved = variant.moved + graph::movedBytes(*transfer, rank);
    }
  });
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
