// SPDX-License-Identifier: Apache-2.0
//
// Leaves tables in the narrow elements that they come in, where rows of them are looked up.
//
//     %w = graph.dequantize %q, %s : (tensor<30000x384xi8>, tensor<30000x1xf32>)      %r = graph.gather %q, %i {axis = 0}
//     %y = graph.gather %w, %i {axis = 0}                                          →  %t = graph.gather %s, %i {axis = 0}
//                                                                                     %y = graph.dequantize %r, %t
//
// A run looks up some rows, so elementwise ops that make wide elements of narrow constants are done on these alone: what is read of the table, and
// what is kept of it, are the narrow ones. What differs along the dim that is looked up is looked up too, the rest is broadcast as before. It gives the same numbers,
// as elementwise ops see one element at a time, but that a product and the sum behind it are rounded once in a kernel (docs/decisions/numbers/contracted-products.md).
//
// Left alone, and folded: tables that are no smaller before these ops, small ones, elements of less than a byte (no kernel looks up a part of a byte), look-ups of more
// elements than the table has, tables of one row, and models that are split over ranks, whose tables are split by rows as floats.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_LOOKUPNARROWPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr StringRef kLookUpNarrow = "hewn-look-up-narrow";
constexpr unsigned kByte = 8;

unsigned bitsOf(Value value) { return graph::getElementType(value).getIntOrFloatBitWidth(); }

/// Whether the value is what one elementwise op makes of constants.
bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<graph::ElementwiseOpInterface>(op) && op->getNumResults() == 1 && !op->getNumRegions();
}

/// What elementwise ops make a table of that is as large as it: in `whole`, each once, of what was not `seen` yet. False where one of them is computed by
/// no such op and is no constant.
bool collect(Value value, const Dims &dims, llvm::DenseSet<Value> &seen, llvm::SetVector<Value> &whole) {
  if (!seen.insert(value).second)
    return true;
  if (graph::getDims(value) != dims)
    return graph::isMadeOfConstants(value);
  if (!isComputed(value)) {
    whole.insert(value);
    return graph::isMadeOfConstants(value);
  }
  return llvm::all_of(value.getDefiningOp()->getOperands(),
                      [&](Value operand) { return collect(operand, dims, seen, whole); });
}

/// Why the ops before a look-up are not done behind it.
Verdict pays(graph::MoveOpInterface lookUp) {
  Value table = lookUp->getOperand(0);
  Dims dims = graph::getDims(table);
  if (Verdict few = looksUpFew(lookUp); !few)
    return few;
  llvm::DenseSet<Value> seen;
  llvm::SetVector<Value> whole;
  if (!collect(table, dims, seen, whole))
    return Verdict::no("the table is not constant");
  unsigned bits = 0;
  for (Value value : whole) {
    if (bitsOf(value) < kByte)
      return Verdict::no("its elements are less than a byte");
    bits += bitsOf(value);
  }
  return bits < bitsOf(table) ? Verdict::yes() : Verdict::no("what it is made of is no smaller");
}

/// Does on looked-up rows what makes a table.
class Sinker {
public:
  Sinker(OpBuilder &b, graph::MoveOpInterface lookUp)
      : b(b), lookUp(lookUp), rank(graph::getRank(lookUp->getOperand(0))), dim(*lookUp.getLookedUpDim()),
        results(graph::getRank(lookUp->getResult(0)) - rank + 1) {}

  /// What the look-up gives of `value`, as many dims as the table or broadcast to it. Null: an op refuses.
  Value of(Value value) {
    if (Value made = done.lookup(value))
      return made;
    return done[value] = make(value);
  }

private:
  Value make(Value value) {
    graph::Composer c(b, value.getLoc());
    Dims dims = graph::alignedDims(value, rank);
    if (!dims[size_t(dim)].is(1) && !isComputed(value))
      return lookUpIn(c.reshape(value, dims));
    if (dims[size_t(dim)].is(1)) {
      // Broadcast along what is looked up, and so along the indices' dims.
      Dims shape(ArrayRef<DimExpr>(dims).take_front(size_t(dim)));
      shape.append(size_t(results), DimExpr(1));
      shape.append(dims.begin() + dim + 1, dims.end());
      return c.reshape(value, shape);
    }
    SmallVector<Value> operands =
        llvm::map_to_vector(value.getDefiningOp()->getOperands(), [&](Value operand) { return of(operand); });
    bool areMade = llvm::all_of(operands, [](Value operand) { return bool(operand); });
    Operation *made = areMade ? b.clone(*value.getDefiningOp()) : nullptr;
    if (made)
      made->setOperands(operands);
    // Null: the op takes no such dims, or what makes an operand refuses.
    return made && succeeded(graph::inferResults(made)) ? made->getResult(0) : Value();
  }

  Value lookUpIn(Value table) {
    Operation *made = b.clone(*lookUp);
    made->setOperand(0, table);
    // Null: the op takes no such table.
    return succeeded(graph::inferResults(made)) ? made->getResult(0) : Value();
  }

  OpBuilder &b;
  graph::MoveOpInterface lookUp;
  int64_t rank, dim, results;
  llvm::DenseMap<Value, Value> done;
};

struct LookUpNarrowPass : impl::LookUpNarrowPassBase<LookUpNarrowPass> {
  void runOnOperation() override {
    SmallVector<graph::MoveOpInterface> lookUps;
    getOperation().walk([&](graph::MoveOpInterface op) {
      if (!op.getLookedUpDim() || !isComputed(op->getOperand(0)))
        return;
      if (Verdict found = pays(op))
        lookUps.push_back(op);
      else
        missed(op, kLookUpNarrow, "NotNarrow", found.why());
    });
    for (graph::MoveOpInterface op : lookUps) {
      OpBuilder b(op);
      if (Value made = Sinker(b, op).of(op->getOperand(0))) {
        op->getResult(0).replaceAllUsesWith(made);
        op->erase();
      }
    }
  }
};

} // namespace
} // namespace hewn
