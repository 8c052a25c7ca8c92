// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix and a vector whose lines run along the sum become reductions.
//
//     %t = graph.transpose %w : tensor<768x512xf32> -> tensor<512x768xf32>       %0 = graph.mul %x, %w : tensor<768x512xf32>
//     %y = graph.matmul %x, %t : tensor<1x512xf32>, tensor<512x768xf32>    →     %y = graph.reduce_sum %0 over dim 1
//
// A tile has lanes along columns, of which there would be one, or a matrix that was written for that with columns apart, which another
// kernel turns over for a single use. Lanes along the sum read each element once, as it lies: one query of attention by all keys, a
// product with its transposed operand, dot products of rows.
//
// Left alone: constant matrices, which are packed as they are wanted; short sums, of which a vector's lanes are no part; sums whose length is
// known only when run; other types than float32 and float64 (and 8-bit integers by float32s), which the machine may have products of its own for; machines that
// run a grid of threads.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Plan/Target.h"
#include "lib/Transforms/Fuse/Passes.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_REDUCEDOTSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

/// A tensor in memory, and which of its dims is each dim of what the contraction reads.
struct Stored {
  Value tensor;
  SmallVector<int64_t> order;
};

Stored storedAs(Value operand) {
  auto move = operand.getDefiningOp<graph::MoveOpInterface>();
  if (move && move.getViewKind() == graph::ViewKind::Transpose)
    return {move->getOperand(0), move.getViewOrder()};
  return {operand, llvm::to_vector(llvm::seq<int64_t>(graph::getRank(operand)))};
}

/// Whether each dim of an operand is an iteration dim of its own, and none another position, as in windows.
bool isPlain(AffineMap map) { return map.isProjectedPermutation(); }

/// The iteration dim of each dim of an operand.
SmallVector<unsigned> plainDims(AffineMap map) {
  return llvm::map_to_vector(map.getResults(), [](AffineExpr e) { return cast<AffineDimExpr>(e).getPosition(); });
}

class Reducer {
public:
  Reducer(ContractOpInterface op) : op(op), product(graph::productDims(op)) {}

  bool takes() {
    constexpr int64_t shortest = 32; // sums of fewer elements are as fast in tiles
    bool isPlainSum = graph::termsOf(op) == 1 && product.summed.size() == 1 && llvm::all_of(product.maps, isPlain) &&
                      product.extents[product.summed[0]].constant().value_or(0) >= shortest;
    Type type = graph::getElementType(op->getResult(0));
    auto isOfIt = [&](Value value) { return graph::getElementType(value) == type; };
    bool isWide = (type.isF32() || type.isF64()) && (llvm::all_of(op->getOperands(), isOfIt) || widensComputed());
    bool oneRow = product.count(product.rows).is(1), oneColumn = product.count(product.columns).is(1);
    return isPlainSum && isWide && ((oneColumn && runsAlongSum(0)) || (oneRow && runsAlongSum(1)));
  }

  void run() {
    OpBuilder b(op);
    graph::Composer compose(b, op.getLoc());
    SmallVector<unsigned> order = plainDims(product.maps[2]);
    int64_t rank = order.size();
    order.push_back(product.summed[0]);
    Value sums = compose.sum(compose.mul({inOrder(compose, 0, order), inOrder(compose, 1, order)}), {rank}, false);
    op->getResult(0).replaceAllUsesWith(sums);
    op->erase();
  }

private:
  ContractOpInterface op;
  graph::ProductDims product;

  /// Whether the right operand is narrower, and computed: who reads it makes float32s of it.
  bool widensComputed() { return graph::widensRight(op) && !op->getOperand(1).getDefiningOp<graph::ConstantOp>(); }

  /// Whether neighbours in the operand's memory are neighbours along the sum, and it is no constant.
  bool runsAlongSum(unsigned side) {
    Stored stored = storedAs(op->getOperand(side));
    SmallVector<unsigned> dims = plainDims(product.maps[side]);
    auto own = llvm::to_vector(llvm::seq<int64_t>(graph::getRank(stored.tensor)));
    llvm::erase_if(own, [&](int64_t d) { return graph::getDims(stored.tensor)[d].is(1); });
    return !own.empty() && !stored.tensor.getDefiningOp<graph::ConstantOp>() &&
           dims[llvm::find(stored.order, own.back()) - stored.order.begin()] == product.summed[0];
  }

  /// The operand's elements with dims of `order`: 1 where it has none.
  Value inOrder(graph::Composer &compose, unsigned side, ArrayRef<unsigned> order) {
    Stored stored = storedAs(op->getOperand(side));
    SmallVector<unsigned> dims = plainDims(product.maps[side]);
    SmallVector<int64_t> turned;
    Dims shape;
    for (unsigned d : order) {
      auto *place = llvm::find(dims, d);
      if (place == dims.end()) {
        shape.push_back(DimExpr(1));
        continue;
      }
      turned.push_back(stored.order[place - dims.begin()]);
      shape.push_back(graph::getDims(stored.tensor)[turned.back()]);
    }
    Value elements = compose.reshape(compose.transpose(stored.tensor, turned), shape);
    return compose.cast(elements, graph::getElementType(op->getResult(0)));
  }
};

struct ReduceDotsPass : impl::ReduceDotsPassBase<ReduceDotsPass> {
  void runOnOperation() override {
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) {
      if (!plan::gridOf(op))
        ops.push_back(op);
    });
    for (ContractOpInterface op : ops)
      if (Reducer reducer(op); reducer.takes())
        reducer.run();
  }
};

} // namespace
} // namespace hewn
