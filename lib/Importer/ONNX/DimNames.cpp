// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/DimNames.h"

#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Graph.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace mlir;

namespace hewn::importer {

DimNames::DimNames(const onnx::GraphProto &graph, ArrayRef<DimBinding> bindings) {
  llvm::StringSet<> initialized = initializedNames(graph);
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!initialized.contains(input.name()))
      for (auto [d, dim] : llvm::enumerate(input.type().tensor_type().shape().dim()))
        if (isDimName(dim.dim_param()))
          list.push_back({dim.dim_param(), input.name() + "[" + std::to_string(d) + "]"});
  classes.grow(list.size());
  for (const DimBinding &binding : bindings) {
    SmallVector<unsigned> bound;
    for (unsigned i = 0; i < list.size(); ++i)
      if (list[i].name == binding.name || symbolText(list[i].name) == binding.name)
        bound.push_back(i);
    joinAll(bound);
  }
}

bool DimNames::mayDiffer() const {
  llvm::StringMap<unsigned> first;
  for (unsigned i = 0; i < list.size(); ++i)
    if (classes.findLeader(first.try_emplace(list[i].name, i).first->second) != classes.findLeader(i))
      return true;
  return false;
}

std::vector<unsigned> DimNames::groups() const {
  std::vector<unsigned> all;
  for (unsigned i = 0; i < list.size(); ++i)
    all.push_back(classes.findLeader(i)); // the leader of a class is its smallest member
  return all;
}

/// Makes those of the given dims equal that have the same name. Returns true if some of them were
/// not equal before.
bool DimNames::joinAll(ArrayRef<unsigned> dims) {
  bool changed = false;
  llvm::StringMap<unsigned> first;
  for (unsigned i : dims) {
    unsigned other = first.try_emplace(list[i].name, i).first->second;
    changed |= classes.findLeader(other) != classes.findLeader(i);
    classes.join(other, i);
  }
  return changed;
}

/// Makes dims of one name equal if both sides of an equation contain dims of this name, but not
/// the same ones.
bool DimNames::join(ArrayRef<unsigned> left, ArrayRef<unsigned> right) {
  auto byName = [&](ArrayRef<unsigned> dims) {
    std::map<StringRef, std::set<unsigned>> leaders;
    for (unsigned i : dims)
      leaders[list[i].name].insert(classes.findLeader(i));
    return leaders;
  };
  std::map<StringRef, std::set<unsigned>> ofLeft = byName(left), ofRight = byName(right);
  bool changed = false;
  for (const auto &[name, dims] : ofLeft) {
    auto other = ofRight.find(name);
    if (other == ofRight.end() || other->second == dims)
      continue;
    SmallVector<unsigned> all(dims.begin(), dims.end());
    all.append(other->second.begin(), other->second.end());
    changed |= joinAll(all);
  }
  return changed;
}

/// Decomposes composite ops, whose requirements are those of their parts. Keeps an op that can't be
/// decomposed.
static void decompose(ModuleOp module) {
  llvm::SmallPtrSet<Operation *, 4> kept;
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<graph::DecomposeOpInterface> ops;
    module.walk([&](graph::DecomposeOpInterface op) {
      if (!kept.contains(op))
        ops.push_back(op);
    });
    for (graph::DecomposeOpInterface op : ops) {
      OpBuilder b(op);
      FailureOr<SmallVector<Value>> values = op.compose(b);
      if (failed(values)) {
        kept.insert(op);
        continue;
      }
      op->replaceAllUsesWith(*values);
      op->erase();
      changed = true;
    }
  }
}

void DimNames::joinRequired(ModuleOp module, ArrayRef<std::string> symbols) {
  // requirementsOf reports ops whose requirements are not known before a later pass
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  decompose(module);
  Origins origins;
  for (auto [i, symbol] : llvm::enumerate(symbols))
    origins[symbol].push_back(i);
  auto originsOf = [&](ArrayRef<graph::DimExpr> dims) {
    SmallVector<unsigned> all;
    for (const graph::DimExpr &dim : dims)
      dim.walkSymbols([&](StringRef symbol) { llvm::append_range(all, origins.lookup(symbol)); });
    return all;
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto read = dyn_cast<graph::ReadSymbolOp>(op)) {
      // a symbol that represents an expression over dims
      auto held = read.getTensor().getDefiningOp<graph::DimValueOp>();
      std::optional<graph::Dims> values = held ? graph::parseDims(held.getValues()) : std::nullopt;
      if (values && size_t(read.getIndex()) < values->size())
        origins[read.getSymbol()] = originsOf((*values)[read.getIndex()]);
      return;
    }
    FailureOr<graph::Requirements> requirements = graph::requirementsOf(op);
    if (failed(requirements)) {
      SmallVector<unsigned> all;
      for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
        for (Value value : values)
          if (isa<RankedTensorType>(value.getType()))
            llvm::append_range(all, originsOf(graph::getDims(value)));
      joinAll(all);
      return;
    }
    for (const graph::Requirement &requirement : requirements->list())
      if (requirement.relation == graph::Relation::Equal || requirement.relation == graph::Relation::Broadcast)
        join(originsOf(requirement.left), originsOf(requirement.right));
  });
}

bool DimNames::joinCompared(const graph::Condition &condition, ArrayRef<std::string> symbols) {
  SmallVector<unsigned> compared;
  condition.difference.walkSymbols([&](StringRef name) {
    for (auto [i, symbol] : llvm::enumerate(symbols))
      if (symbol == name)
        compared.push_back(i);
  });
  return joinAll(compared);
}

std::vector<std::string> DimNames::warnings() const {
  constexpr size_t most = 4; // dims of a group and groups that a warning lists
  llvm::MapVector<StringRef, llvm::MapVector<unsigned, SmallVector<StringRef>>> names;
  for (auto [i, dim] : llvm::enumerate(list))
    names[dim.name][classes.findLeader(i)].push_back(dim.text);
  std::vector<std::string> all;
  for (const auto &[name, groups] : names) {
    if (groups.size() < 2)
      continue;
    SmallVector<std::string> texts;
    for (const auto &[leader, dims] : ArrayRef(groups.getArrayRef()).take_front(most))
      texts.push_back(llvm::join(ArrayRef(dims).take_front(most), ", ") + (dims.size() > most ? ", ..." : ""));
    all.push_back(("the inputs declare '" + name + "' for dims that the model does not require to be equal: " +
                   llvm::join(texts, "; ") + (groups.size() > most ? "; ..." : "") +
                   "; a run may give each group its own size (--dim-names=strict requires one size)")
                      .str());
  }
  return all;
}

} // namespace hewn::importer
