// SPDX-License-Identifier: Apache-2.0
//
// Gathers rows of a quantized table before the dequantization (see Passes.td).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_GATHERBEFOREDEQUANTIZEPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr StringRef kGatherBeforeDequantize = "hewn-gather-before-dequantize";
constexpr unsigned kByte = 8;

unsigned bitsOf(Value value) { return graph::getElementType(value).getIntOrFloatBitWidth(); }

/// Returns true if the value is the result of an elementwise op without regions.
bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<graph::ElementwiseOpInterface>(op) && op->getNumResults() == 1 && !op->getNumRegions();
}

/// Collects the inputs of the elementwise ops that compute a table: `whole` receives each value
/// with dims `dims` (those of the table) from which they compute `value`. Returns false if an input
/// is not constant.
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

/// Returns whether the elementwise ops between the table and a gather can be sunk below the gather,
/// and whether that saves memory.
Eligibility pays(graph::IndexingOpInterface lookUp) {
  Value table = lookUp->getOperand(0);
  Dims dims = graph::getDims(table);
  if (Eligibility few = looksUpFew(lookUp); !few)
    return few;
  llvm::DenseSet<Value> seen;
  llvm::SetVector<Value> whole;
  if (!collect(table, dims, seen, whole))
    return Eligibility::no("the table is not constant");
  unsigned bits = 0;
  for (Value value : whole) {
    if (bitsOf(value) < kByte)
      return Eligibility::no("elements of less than a byte cannot be gathered");
    bits += bitsOf(value);
  }
  return bits < bitsOf(table) ? Eligibility::yes()
                              : Eligibility::no("the operands of its dequantization have no fewer bits");
}

/// Recomputes a table's elementwise ops on the gathered rows.
class Sinker {
public:
  Sinker(OpBuilder &b, graph::IndexingOpInterface lookUp)
      : b(b), lookUp(lookUp), rank(graph::getRank(lookUp->getOperand(0))), dim(*lookUp.getLookedUpDim()),
        results(graph::getRank(lookUp->getResult(0)) - rank + 1) {}

  /// Returns `value`, which has the table's dims or broadcasts to them, with only the gathered
  /// rows. Returns null if an op that computes it does not accept the new dims.
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
      // A value that is broadcast along the table's gathered dim is broadcast along the dims of the
      // indices instead.
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
    return made && succeeded(graph::inferResults(made)) ? made->getResult(0) : Value();
  }

  Value lookUpIn(Value table) {
    Operation *made = b.clone(*lookUp);
    made->setOperand(0, table);
    return succeeded(graph::inferResults(made)) ? made->getResult(0) : Value();
  }

  OpBuilder &b;
  graph::IndexingOpInterface lookUp;
  int64_t rank, dim, results;
  llvm::DenseMap<Value, Value> done;
};

struct GatherBeforeDequantizePass : impl::GatherBeforeDequantizePassBase<GatherBeforeDequantizePass> {
  void runOnOperation() override {
    SmallVector<graph::IndexingOpInterface> lookUps;
    getOperation().walk([&](graph::IndexingOpInterface op) {
      if (!op.getLookedUpDim() || !isComputed(op->getOperand(0)))
        return;
      if (Eligibility found = pays(op))
        lookUps.push_back(op);
      else
        missed(op, kGatherBeforeDequantize, "NotNarrow", found.why());
    });
    for (graph::IndexingOpInterface op : lookUps) {
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
