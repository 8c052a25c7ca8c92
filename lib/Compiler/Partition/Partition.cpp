// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Partition/Partition.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Handle/Handle.h"
#include "dialects/Plan/Plan.h"
#include "lib/Importer/ONNX/Importer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using hewn::graph::Condition;
using hewn::graph::DimExpr;

namespace hewn {

std::string PartitionShape::text() const {
  std::string text = "tensor=" + std::to_string(tensor) + ",pipeline=" + std::to_string(stages);
  if (microBatches > 1)
    text += ",microbatches=" + std::to_string(microBatches);
  if (lines >= 0)
    text += ",lines=" + std::to_string(lines);
  return orderedSums ? text + ",sums=ordered" : text;
}

bool readPartition(StringRef text, PartitionShape &shape, Diagnostics &diagnostics) {
  auto refuse = [&](const Twine &why) {
    diagnostics.error("--partition: " + why);
    return false;
  };
  if (text == "auto") {
    shape.isAuto = true;
    return true;
  }
  struct Number {
    StringRef name, of;
    int64_t least, most;
    int64_t *value;
    bool isSeen = false;
  };
  Number numbers[] = {{"tensor", "a number of ranks", 1, kMostRanks, &shape.tensor},
                      {"pipeline", "a number of ranks", 1, kMostRanks, &shape.stages},
                      {"microbatches", "a number of micro-batches", 1, kMostMicroBatches, &shape.microBatches},
                      {"lines", "a percentage", 0, 100, &shape.lines}};
  SmallVector<StringRef> words;
  text.split(words, ',');
  for (StringRef word : words) {
    if (word == "sums=ordered") {
      if (std::exchange(shape.orderedSums, true))
        return refuse("'sums' is given twice");
      continue;
    }
    auto [name, value] = word.split('=');
    auto *number = llvm::find_if(numbers, [&, name = name](const Number &one) { return one.name == name; });
    if (number == std::end(numbers))
      return refuse("expected auto, or a comma-separated list of tensor=N, pipeline=N, microbatches=N, sums=ordered "
                    "and lines=PERCENT, not '" +
                    word + "'");
    if (std::exchange(number->isSeen, true))
      return refuse("'" + name + "' is given twice");
    if (value.getAsInteger(10, *number->value) || *number->value < number->least || *number->value > number->most)
      return refuse("'" + word + "' is not " + number->of + " from " + Twine(number->least) + " to " +
                    Twine(number->most));
  }
  if (shape.microBatches > 1 && shape.stages == 1)
    return refuse("microbatches=N needs a pipeline: '" + text + "' has no pipeline=N of 2 or more");
  if (shape.orderedSums && shape.tensor == 1)
    return refuse("sums=ordered needs tensor parallelism: '" + text + "' has no tensor=N of 2 or more");
  if (shape.lines >= 0 && shape.tensor == 1)
    return refuse("lines=PERCENT needs tensor parallelism: '" + text + "' has no tensor=N of 2 or more");
  if (shape.ranks() > kMostRanks)
    return refuse("'" + text + "' has " + Twine(shape.ranks()) + " ranks; at most " + Twine(kMostRanks) +
                  " are supported");
  return true;
}

/// Returns a name for the symbol whose value is the rank. The name differs from those of all dims
/// of the model.
static std::string rankSymbol(importer::Cases &cases) {
  std::string name = "rank";
  auto isInput = [&] {
    for (importer::Case &one : cases.list)
      if (one.module)
        for (Value argument : one.module->lookupSymbol<func::FuncOp>(plan::kProgramName).getArguments())
          for (const DimExpr &dim : graph::getDims(argument)) {
            bool found = false;
            dim.walkSymbols([&](StringRef symbol) { found |= symbol == name; });
            if (found)
              return true;
          }
    return false;
  };
  while (isInput())
    name += "_";
  return name;
}

/// Clones the model's module for one rank, and records the symbol for the rank, with the symbol's
/// range, in the program.
static OwningOpRef<ModuleOp> moduleOfRank(ModuleOp module, StringRef symbol, int64_t ranks) {
  OwningOpRef<ModuleOp> own = module.clone();
  auto main = own->lookupSymbol<func::FuncOp>(plan::kProgramName);
  Builder b(own->getContext());
  SmallVector<NamedAttribute> ranges;
  if (auto given = main->getAttrOfType<DictionaryAttr>(graph::kDimRangesAttr))
    llvm::append_range(ranges, given.getValue());
  ranges.push_back(b.getNamedAttr(symbol, b.getDenseI64ArrayAttr({0, ranks - 1})));
  main->setAttr(graph::kDimRangesAttr, b.getDictionaryAttr(ranges));
  main->setAttr(graph::kRankSymbolAttr, b.getStringAttr(symbol));
  return own;
}

bool hasHandles(ModuleOp module) {
  auto isHandle = [](Value value) { return handle::isHandle(getElementTypeOrSelf(value)); };
  return module
      ->walk([&](Operation *op) {
        bool found = llvm::any_of(op->getOperands(), isHandle) || llvm::any_of(op->getResults(), isHandle);
        for (Region &region : op->getRegions())
          for (mlir::Block &block : region)
            found |= llvm::any_of(block.getArguments(), isHandle);
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool addRanks(importer::Cases &cases, int64_t ranks, Diagnostics &diagnostics) {
  for (importer::Case &one : cases.list)
    if (one.module && hasHandles(*one.module)) {
      diagnostics.error(
          "--partition: the model has strings, sequences or optional values, which ranks cannot transfer");
      return false;
    }
  for (importer::Case &one : cases.list)
    if (one.module && !one.module->lookupSymbol<func::FuncOp>(plan::kProgramName)) {
      diagnostics.error("--partition needs a model, but this module has no function 'main'");
      return false;
    }
  std::string name = rankSymbol(cases);
  DimExpr symbol = DimExpr::symbol(name);
  importer::Cases all;
  int count = int(cases.list.size()), asked = int(cases.tree.questions.size());
  // The decision tree of the partitioned model tests rank == 0, rank == 1, and so on; no test is
  // needed for the last rank. Below each outcome, it contains the decision tree of the
  // unpartitioned model.
  auto treeOf = [&](int64_t rank) { return asked ? int(ranks - 1 + rank * asked) : int(-1 - rank * count); };
  for (int64_t rank = 0; rank + 1 < ranks; ++rank)
    all.tree.questions.push_back(
        {Condition::equal(symbol, DimExpr(rank)), treeOf(rank), rank + 2 < ranks ? int(rank + 1) : treeOf(rank + 1)});
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto moved = [&](int next) { return next >= 0 ? treeOf(rank) + next : int(next - rank * count); };
    for (const graph::CaseTree::Question &question : cases.tree.questions)
      all.tree.questions.push_back({question.condition, moved(question.yes), moved(question.no)});
    for (importer::Case &one : cases.list) {
      std::vector<graph::Fact> facts = one.facts;
      facts.push_back({Condition::equal(symbol, DimExpr(rank)), true});
      all.list.push_back({std::move(facts), nullptr, one.refusal});
      if (one.module)
        all.list.back().module = moduleOfRank(*one.module, name, ranks);
    }
  }
  cases = std::move(all);
  return true;
}

} // namespace hewn
