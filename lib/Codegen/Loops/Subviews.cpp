// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/Subviews.h"

#include "dialects/Graph/Analysis/Sharding.h"

#include "mlir/IR/OperationSupport.h"

#include <unordered_map>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

/// Returns the concat or interleave that the result is computed from, through elementwise ops and
/// padding, or null if there is none. Adds the padding ops to `paddings`.
static graph::IndexingOpInterface assembledBy(Value result, SmallVector<graph::PaddingOpInterface> &paddings) {
  Operation *op = result.getDefiningOp();
  bool once = true; // true if each value on the path has a single use
  while (op) {
    Operation *next = nullptr;
    if (auto padding = dyn_cast<graph::PaddingOpInterface>(op)) {
      paddings.push_back(padding);
      next = op->getOperand(0).getDefiningOp();
    } else if (isa<graph::ElementwiseOpInterface>(op)) {
      for (Value operand : op->getOperands())
        if (!next && operand.getDefiningOp() && graph::getDims(operand) == graph::getDims(op->getResult(0)))
          next = operand.getDefiningOp();
    } else {
      break;
    }
    once &= next && next->getResult(0).hasOneUse();
    op = next;
  }
  if (!paddings.empty() && !once)
    return nullptr;
  return dyn_cast_or_null<graph::IndexingOpInterface>(op);
}

/// Returns true if the padding does not change the indices along dim `dim`.
static bool keepsIndices(graph::PaddingOpInterface padding, int64_t dim) {
  const graph::DimSharding cut{dim};
  std::optional<graph::ShardingRule> form =
      graph::shardingRule(padding, cut, graph::getDims(padding->getResult(0))[dim]);
  return form && form->operands[0] == cut;
}

SmallVector<Subview> subviewsOf(Value result, size_t most) {
  Dims dims = graph::getDims(result);
  SmallVector<graph::PaddingOpInterface> paddings;
  graph::IndexingOpInterface move = assembledBy(result, paddings);
  Operation *op = move;
  std::optional<graph::Assembly> assembly = move ? graph::assemblyOf(move) : std::nullopt;
  SmallVector<Subview> subviews;
  if (!assembly || op->getNumOperands() > most)
    return subviews;
  bool fits = paddings.empty()
                  ? graph::readAtOwnIndex(*op->getBlock(), dims).contains(op->getResult(0))
                  : !assembly->isInterleaved() &&
                        llvm::all_of(paddings, [&](auto padding) { return keepsIndices(padding, assembly->dim); });
  if (!fits)
    return subviews;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Subview subview{move, unsigned(i), *assembly, dims};
    SmallVector<int64_t> first = assembly->firstOf(int64_t(i));
    for (auto [d, step] : llvm::enumerate(assembly->steps))
      if (step != 1)
        subview.dims[d] = graph::Assembly::lengthOf(dims[d], first[d], step);
    if (!assembly->isInterleaved())
      subview.dims[assembly->dim] = graph::getDims(operand)[assembly->dim];
    if (llvm::none_of(subview.dims, [](const DimExpr &dim) { return dim.is(0); }))
      subviews.push_back(std::move(subview));
  }
  return subviews;
}

SmallVector<Index> Subview::placeOf(graph::ElementBuilder &e, ArrayRef<Index> at, Index start) const {
  SmallVector<Index> place(at);
  if (!assembly.isInterleaved()) {
    place[assembly.dim] = e.add(at[assembly.dim], start);
    return place;
  }
  SmallVector<int64_t> first = assembly.firstOf(operand);
  for (auto [d, step] : llvm::enumerate(assembly.steps))
    if (step != 1)
      place[d] = e.add(e.mul(at[d], e.constant(step)), e.constant(first[d]));
  return place;
}

void forEachSubview(KernelContext &k, OpBuilder &b, ArrayRef<Subview> subviews,
                    llvm::function_ref<void(const Subview &, Index)> body) {
  // Compute each subview's start from the previous one: a separate sum of extents for each would be
  // quadratic in code size.
  ElementEmitter e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Index start = e.constant(0);
  for (const Subview &subview : subviews) {
    body(subview, start);
    if (!subview.assembly.isInterleaved())
      start = e.add(start, e.expression(subview.dims[subview.assembly.dim]));
  }
}

bool haveFunctions(const KernelContext &k, ArrayRef<Subview> subviews) {
  constexpr size_t fewOpen = 8, few = 64;
  bool isOpen = llvm::any_of(subviews, [](const Subview &subview) {
    return !subview.assembly.isInterleaved() && !subview.dims[subview.assembly.dim].constant();
  });
  return !k.nested && subviews.size() > (isOpen ? fewOpen : few);
}

namespace {

/// Creates an empty function with the kernel's arguments, followed by `more` index arguments. The
/// body of each subview's function is first emitted into this draft.
KernelContext beginDraft(KernelContext &k, OpBuilder &b, size_t more) {
  KernelContext draft = k;
  SmallVector<Type> types(k.function.getArgumentTypes());
  types.append(more, b.getIndexType());
  b.setInsertionPoint(k.function);
  draft.function =
      func::FuncOp::create(b, k.loc(), (k.function.getName() + ".subview").str(), b.getFunctionType(types, {}));
  Block *entry = draft.function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b, k.loc());
  auto own = [&](Value argument) { return entry->getArgument(cast<BlockArgument>(argument).getArgNumber()); };
  for (auto &[value, buffer] : draft.inputs)
    buffer.memref = own(buffer.memref);
  for (Buffer &buffer : draft.outputs)
    buffer.memref = own(buffer.memref);
  for (auto &symbol : draft.symbols)
    symbol.second = own(symbol.second);
  return draft;
}

/// Transfers the draft function's body to a new function that has only those arguments that the
/// body uses. Adds their numbers to `used`. Leaves the draft empty.
func::FuncOp takeBody(KernelContext &draft, OpBuilder &b, SmallVectorImpl<unsigned> &used) {
  Block &from = draft.function.front();
  SmallVector<Type> types;
  for (BlockArgument argument : from.getArguments())
    if (!argument.use_empty()) {
      used.push_back(argument.getArgNumber());
      types.push_back(argument.getType());
    }
  b.setInsertionPoint(draft.function);
  auto function = func::FuncOp::create(b, draft.loc(), draft.function.getName(), b.getFunctionType(types, {}));
  function.setPrivate();
  // Keep LLVM from inlining the functions of subviews. Inlining would form one large function,
  // which takes long to compile.
  function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
  Block *to = function.addEntryBlock();
  b.setInsertionPointToEnd(to);
  func::ReturnOp::create(b, draft.loc());
  to->getOperations().splice(to->begin(), from.getOperations(), from.begin(), std::prev(from.end()));
  for (auto [i, number] : llvm::enumerate(used))
    from.getArgument(number).replaceAllUsesWith(to->getArgument(i));
  return function;
}

/// Returns a hash of a function's ops, which is equal for equivalent functions.
llvm::hash_code hashOf(func::FuncOp function) {
  llvm::hash_code hash(0);
  function.getBody().walk([&](Operation *op) {
    auto ignore = OperationEquivalence::ignoreHashValue;
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(op, ignore, ignore, OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

} // namespace

void callEachSubview(KernelContext &k, OpBuilder &b, ArrayRef<Subview> subviews, ArrayRef<Index> more,
                     llvm::function_ref<void(KernelContext &, const Subview &, Index, ArrayRef<Index>)> body) {
  OpBuilder::InsertionGuard guard(b);
  OpBuilder::InsertPoint caller = b.saveInsertionPoint();
  KernelContext draft = beginDraft(k, b, 1 + more.size());
  b.restoreInsertionPoint(caller);
  Block &entry = draft.function.front();
  size_t first = k.function.getNumArguments();
  SmallVector<Index> ownMore;
  SmallVector<Value> all(k.function.getArguments());
  all.emplace_back(); // placeholder for the start of each subview
  for (auto [i, index] : llvm::enumerate(more)) {
    ownMore.push_back({entry.getArgument(first + 1 + i)});
    all.push_back(index.base);
  }
  unsigned number = 0;
  // The map from hashes to functions is not a DenseMap, which reserves two hash values.
  std::unordered_map<size_t, SmallVector<func::FuncOp>> functions;
  forEachSubview(k, b, subviews, [&](const Subview &subview, Index start) {
    OpBuilder::InsertPoint here = b.saveInsertionPoint();
    b.setInsertionPoint(entry.getTerminator());
    body(draft, subview, {entry.getArgument(first)}, ownMore);
    SmallVector<unsigned> used;
    func::FuncOp own = takeBody(draft, b, used);
    SmallVector<func::FuncOp> &equal = functions[hashOf(own)];
    auto *found = llvm::find_if(equal, [&](func::FuncOp other) {
      return OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &own.getBody(),
                                                        OperationEquivalence::IgnoreLocations);
    });
    if (found != equal.end()) {
      own.erase();
      own = *found;
    } else {
      own.setName((k.function.getName() + ".subview" + Twine(number++)).str());
      equal.push_back(own);
    }
    b.restoreInsertionPoint(here);
    all[first] = start.base;
    SmallVector<Value> passed;
    for (unsigned i : used)
      passed.push_back(all[i]);
    func::CallOp::create(b, k.loc(), own, passed);
  });
  draft.function.erase();
}

} // namespace hewn::codegen
