// SPDX-License-Identifier: Apache-2.0
//
// Erases ops whose results and symbols have no uses (see Passes.td).
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_ERASEDEADOPSPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

namespace {
/// Returns the symbols that an op's attributes name, including those that it defines.
llvm::StringSet<> symbolsIn(Operation *op) {
  llvm::StringSet<> found;
  auto add = [&](StringRef symbol) { found.insert(symbol); };
  AttrTypeWalker walker;
  walker.addWalk([&](graph::DimAttr dim) { dim.getExpr().walkSymbols(add); });
  walker.addWalk([&](graph::RequirementAttr requirement) {
    requirement.getLeft().walkSymbols(add);
    requirement.getRight().walkSymbols(add);
  });
  // If an attribute is a list of symbols, the list holds their names as strings.
  walker.addWalk([&](StringAttr name) { add(name.getValue()); });
  walker.walk(op->getAttrDictionary());
  return found;
}

/// Returns the symbols that the op defines. Returns an empty list if the op also has effects other
/// than defining symbols, because it must then not be erased.
SmallVector<StringRef> definedSymbols(Operation *op) {
  if (auto read = dyn_cast<graph::ReadSymbolOp>(op))
    return {read.getSymbol()};
  auto part = dyn_cast<graph::RuntimeCallOpInterface>(op);
  auto effecting = dyn_cast<MemoryEffectOpInterface>(op);
  if (!part || !effecting)
    return {};
  SmallVector<MemoryEffects::EffectInstance> effects;
  effecting.getEffects(effects);
  bool definesSymbolsOnly = llvm::all_of(
      effects, [](const MemoryEffects::EffectInstance &e) { return e.getResource() == graph::SymbolResource::get(); });
  return definesSymbolsOnly ? part.getDefinedSymbols() : SmallVector<StringRef>();
}

struct EraseDeadOpsPass : impl::EraseDeadOpsPassBase<EraseDeadOpsPass> {
  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) { count(op, 1); });
    // Visit ops in reverse order, because the users of an op's results and symbols come after the
    // op and may be dead too.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (op == getOperation() || !isUnused(op))
        return;
      count(op, -1);
      op->erase();
    });
  }

private:
  void count(Operation *op, int by) {
    for (const auto &symbol : symbolsIn(op))
      numNaming[symbol.getKey()] += by;
  }

  bool isUnused(Operation *op) {
    if (isOpTriviallyDead(op))
      return true;
    SmallVector<StringRef> defined = definedSymbols(op);
    return !defined.empty() && op->use_empty() &&
           llvm::all_of(defined, [&](StringRef symbol) { return numNaming[symbol] == 1; });
  }

  /// For each symbol, the number of ops whose attributes name it.
  llvm::StringMap<int> numNaming;
};
} // namespace
} // namespace hewn
