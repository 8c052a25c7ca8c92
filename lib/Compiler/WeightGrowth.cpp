// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/WeightGrowth.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "lib/Compiler/Explain/Explain.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace hewn {

/// Adds a weight unless it was added before.
void WeightGrowth::add(Weights &weights, graph::ConstantOp constant, graph::WeightAttr weight) {
  if (!weights.keys.insert(weight.getKey().str() + " " + std::to_string(weight.getOffset())).second)
    return;
  weights.bytes += uint64_t(weight.getBytes());
  std::string type;
  llvm::raw_string_ostream(type) << graph::getElementType(constant.getResult());
  weights.types.insert(type);
}

static void visitWeights(ModuleOp module, llvm::function_ref<void(graph::ConstantOp, graph::WeightAttr)> visit) {
  module.walk([&](graph::ConstantOp constant) {
    if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue()))
      visit(constant, weight);
  });
}

/// Returns the users of a constant, and the users of values that are computed from constants only.
static llvm::SetVector<Operation *> readersOf(graph::ConstantOp constant) {
  llvm::SetVector<Operation *> readers;
  readers.insert(constant);
  for (size_t i = 0; i < readers.size(); ++i) {
    bool isConstant = i == 0 || llvm::all_of(readers[i]->getOperands(),
                                             [](mlir::Value operand) { return graph::isMadeOfConstants(operand); });
    if (isConstant)
      readers.insert(readers[i]->user_begin(), readers[i]->user_end());
  }
  return readers;
}

void WeightGrowth::noteModel(ModuleOp module) {
  visitWeights(module, [&](graph::ConstantOp constant, graph::WeightAttr weight) {
    add(model, constant, weight);
    llvm::SetVector<Operation *> readers = readersOf(constant);
    for (Operation *reader : readers.getArrayRef().drop_front()) {
      std::vector<std::string> nodes;
      addNodes(reader->getLoc(), nodes);
      for (const std::string &node : nodes)
        add(before[node], constant, weight);
    }
  });
}

void WeightGrowth::noteArtifact(ModuleOp module) {
  ++numModules;
  visitWeights(module, [&](graph::ConstantOp constant, graph::WeightAttr weight) {
    std::vector<std::string> nodes;
    addNodes(constant.getLoc(), nodes);
    for (Operation *user : constant->getUsers())
      addNodes(user->getLoc(), nodes);
    auto node = llvm::find_if(nodes, [&](const std::string &name) { return before.count(name) > 0; });
    if (node != nodes.end())
      add(after[*node], constant, weight);
  });
}

std::string WeightGrowth::warning(uint64_t artifactBytes) const {
  constexpr uint64_t share = 4, slack = 1 << 20;
  constexpr size_t most = 3;
  if (artifactBytes < model.bytes + model.bytes / share + slack)
    return "";
  auto megabytes = [](uint64_t bytes) { return llvm::formatv("{0:f1} MB", double(bytes) / 1e6).str(); };
  std::vector<std::pair<uint64_t, std::string>> grown;
  for (const auto &[node, weights] : after) {
    const Weights &own = before.at(node);
    if (weights.bytes > own.bytes)
      grown.push_back({weights.bytes - own.bytes, "node '" + node + "' stores " + megabytes(weights.bytes) + " of " +
                                                      llvm::join(weights.types, " and ") + " instead of " +
                                                      megabytes(own.bytes) + " of " + llvm::join(own.types, " and ")});
  }
  llvm::sort(grown, [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string text = "the weights of the artifact have " + megabytes(artifactBytes) + " and those of the model " +
                     megabytes(model.bytes);
  for (size_t i = 0; i < std::min(grown.size(), most); ++i)
    text += (i == 0 ? ": " : "; ") + grown[i].second;
  if (grown.size() > most)
    text += "; ...";
  if (numModules > 1)
    text += "; the artifact has " + std::to_string(numModules) + " variants of the code";
  return text + " (`hewn explain` lists the reasons by node)";
}

} // namespace hewn
