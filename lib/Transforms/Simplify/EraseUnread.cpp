// SPDX-License-Identifier: Apache-2.0
//
// Erases ops of which nobody reads a result or a symbol. An op that tells a symbol has an effect (graph::SymbolResource), since the symbol
// may be read where its results are not:
//
//     %0 = graph.non_zero %x {count = "n", ...}                  stays: the program returns n
//     %1 = graph.dim_value {values = [#graph.dim<"n">]}
//
// so that no other pass may take it for dead. Here those go whose symbols stand nowhere else.
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_ERASEUNREADPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

namespace {
/// The symbols that an op's attributes name, its own among them.
llvm::StringSet<> symbolsIn(Operation *op) {
  llvm::StringSet<> found;
  auto add = [&](StringRef symbol) { found.insert(symbol); };
  AttrTypeWalker walker;
  walker.addWalk([&](graph::DimAttr dim) { dim.getExpr().walkSymbols(add); });
  walker.addWalk([&](graph::RequirementAttr requirement) {
    requirement.getLeft().walkSymbols(add);
    requirement.getRight().walkSymbols(add);
  });
  // Lists of symbols are of their names.
  walker.addWalk([&](StringAttr name) { add(name.getValue()); });
  walker.walk(op->getAttrDictionary());
  return found;
}

/// The symbols that the op tells; empty where that is not all that it does.
SmallVector<StringRef> symbolsToldBy(Operation *op) {
  if (auto read = dyn_cast<graph::ReadSymbolOp>(op))
    return {read.getSymbol()};
  auto part = dyn_cast<graph::PartOpInterface>(op);
  auto effecting = dyn_cast<MemoryEffectOpInterface>(op);
  if (!part || !effecting)
    return {};
  SmallVector<MemoryEffects::EffectInstance> effects;
  effecting.getEffects(effects);
  bool tellsAlone = llvm::all_of(
      effects, [](const MemoryEffects::EffectInstance &e) { return e.getResource() == graph::SymbolResource::get(); });
  return tellsAlone ? part.getDefinedSymbols() : SmallVector<StringRef>();
}

struct EraseUnreadPass : impl::EraseUnreadPassBase<EraseUnreadPass> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) { count(op, 1); });
    // What reads an op's results and symbols stands behind it.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (op == getOperation() || !isUnread(op))
        return;
      count(op, -1);
      op->erase();
    });
  }

private:
  void count(Operation *op, int by) {
    for (const auto &symbol : symbolsIn(op))
      naming[symbol.getKey()] += by;
  }

  bool isUnread(Operation *op) {
    if (isOpTriviallyDead(op))
      return true;
    SmallVector<StringRef> told = symbolsToldBy(op);
    return !told.empty() && op->use_empty() &&
           llvm::all_of(told, [&](StringRef symbol) { return naming[symbol] == 1; });
  }

  /// How many ops name each symbol.
  llvm::StringMap<int> naming;
};
} // namespace
} // namespace hewn
