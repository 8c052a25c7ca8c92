// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/Subviews.h"

#include "dialects/Graph/Analysis/Cuts.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

/// What puts operands together, to which elementwise ops and paddings lead from the result; `paddings`: those. Null: there is none.
static graph::MoveOpInterface assembledBy(Value result, SmallVector<graph::PaddingOpInterface> &paddings) {
  Operation *op = result.getDefiningOp();
  bool once = true; // each on the way is read, for the next one alone
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
  return dyn_cast_or_null<graph::MoveOpInterface>(op);
}

/// Whether elements along the dim stay where they are.
static bool keepsPlaces(graph::PaddingOpInterface padding, int64_t dim) {
  const graph::Cut cut{dim};
  std::optional<graph::CutForm> form = graph::cutForm(padding, cut, graph::getDims(padding->getResult(0))[dim]);
  return form && form->operands[0] == cut;
}

SmallVector<Subview> subviewsOf(Value result) {
  Dims dims = graph::getDims(result);
  SmallVector<graph::PaddingOpInterface> paddings;
  graph::MoveOpInterface move = assembledBy(result, paddings);
  Operation *op = move;
  std::optional<graph::Assembly> assembly = move ? graph::assemblyOf(move) : std::nullopt;
  constexpr unsigned most =
      1024; // each is a nest of its own; without them an element asks every operand whether it is there
  SmallVector<Subview> subviews;
  if (!assembly || op->getNumOperands() > most)
    return subviews;
  bool fits = paddings.empty()
                  ? graph::readAtOwnIndex(*op->getBlock(), dims).contains(op->getResult(0))
                  : !assembly->isInterleaved() &&
                        llvm::all_of(paddings, [&](auto padding) { return keepsPlaces(padding, assembly->dim); });
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

void forEachSubview(KernelFunction &k, OpBuilder &b, ArrayRef<Subview> subviews,
                    llvm::function_ref<void(const Subview &, Index)> body) {
  // Written out, each start would be a sum of all extents before it.
  KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Index start = e.constant(0);
  for (const Subview &subview : subviews) {
    body(subview, start);
    if (!subview.assembly.isInterleaved())
      start = e.add(start, e.expression(subview.dims[subview.assembly.dim]));
  }
}

bool haveFunctions(const KernelFunction &k, ArrayRef<Subview> subviews) {
  constexpr size_t few = 8;
  return !k.nested && subviews.size() > few && llvm::any_of(subviews, [](const Subview &subview) {
    return !subview.assembly.isInterleaved() && !subview.dims[subview.assembly.dim].constant();
  });
}

namespace {

/// An empty function with the kernel's arguments and an index after them, as a kernel of its own.
KernelFunction beginSubviewFunction(KernelFunction &k, OpBuilder &b, unsigned number) {
  KernelFunction subview = k;
  SmallVector<Type> types(k.function.getArgumentTypes());
  types.push_back(b.getIndexType());
  b.setInsertionPoint(k.function);
  subview.function = func::FuncOp::create(b, k.loc(), (k.function.getName() + ".subview" + Twine(number)).str(),
                                          b.getFunctionType(types, {}));
  subview.function.setPrivate();
  // Back in one function they would be what they are kept from.
  subview.function->setAttr("passthrough", b.getStrArrayAttr({"noinline"}));
  Block *entry = subview.function.addEntryBlock();
  b.setInsertionPointToEnd(entry);
  b.setInsertionPoint(func::ReturnOp::create(b, k.loc()));
  auto own = [&](Value argument) { return entry->getArgument(cast<BlockArgument>(argument).getArgNumber()); };
  for (auto &[value, buffer] : subview.inputs)
    buffer.memref = own(buffer.memref);
  for (Buffer &buffer : subview.outputs)
    buffer.memref = own(buffer.memref);
  for (auto &symbol : subview.symbols)
    symbol.second = own(symbol.second);
  return subview;
}

/// Takes the arguments away that are not used, and says which are.
BitVector dropUnusedArguments(func::FuncOp function) {
  BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    unused[argument.getArgNumber()] = argument.use_empty();
  (void)function.eraseArguments(unused); // fails for bodies with arguments that functions don't know: there are none
  return unused.flip();
}

} // namespace

void callEachSubview(KernelFunction &k, OpBuilder &b, ArrayRef<Subview> subviews,
                     llvm::function_ref<void(KernelFunction &, const Subview &, Index)> body) {
  SmallVector<func::FuncOp> functions;
  auto alike = [](func::FuncOp x, func::FuncOp y) {
    return OperationEquivalence::isRegionEquivalentTo(&x.getBody(), &y.getBody(),
                                                      OperationEquivalence::IgnoreLocations);
  };
  forEachSubview(k, b, subviews, [&](const Subview &subview, Index start) {
    OpBuilder::InsertionGuard guard(b);
    OpBuilder::InsertPoint caller = b.saveInsertionPoint();
    KernelFunction own = beginSubviewFunction(k, b, functions.size());
    body(own, subview, {own.function.getArguments().back()});
    BitVector used = dropUnusedArguments(own.function);
    auto found = llvm::find_if(functions, [&](func::FuncOp other) { return alike(other, own.function); });
    if (found != functions.end()) {
      own.function.erase();
      own.function = *found;
    } else {
      functions.push_back(own.function);
    }
    b.restoreInsertionPoint(caller);
    SmallVector<Value> all(k.function.getArguments()), passed;
    all.push_back(start.base);
    for (unsigned i : used.set_bits())
      passed.push_back(all[i]);
    func::CallOp::create(b, k.loc(), own.function, passed);
  });
}

} // namespace hewn::codegen
