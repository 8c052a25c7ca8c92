// SPDX-License-Identifier: Apache-2.0
//
// Rewrites matrix-vector products whose matrix is contiguous along K as multiply and reduce (see
// Passes.td).
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Transforms/Fuse/Passes.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_MATVECTOREDUCTIONPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

/// An operand of the contraction, before a transpose that may produce it. `tensor` is the
/// transpose's operand, or the contraction's operand itself. `order[i]` is the dim of `tensor` that
/// the contraction reads as its dim i.
struct StoredOperand {
  Value tensor;
  SmallVector<int64_t> order;
};

StoredOperand lookThroughTranspose(Value operand) {
  auto move = operand.getDefiningOp<graph::IndexingOpInterface>();
  if (move && move.getViewKind() == graph::ViewKind::Transpose)
    return {move->getOperand(0), move.getViewOrder()};
  return {operand, llvm::to_vector(llvm::seq<int64_t>(graph::getRank(operand)))};
}

bool isProjectedPermutation(AffineMap map) { return map.isProjectedPermutation(); }

/// Returns the dim of the contraction's iteration space for each dim of the operand with this
/// indexing map.
SmallVector<unsigned> iterationDims(AffineMap map) {
  return llvm::map_to_vector(map.getResults(), [](AffineExpr e) { return cast<AffineDimExpr>(e).getPosition(); });
}

class MatvecRewriter {
public:
  MatvecRewriter(ContractOpInterface op) : op(op), product(graph::productDims(op)) {}

  bool isProfitable() {
    constexpr int64_t kMinReductionSize = 32; // below this K, the tiled kernel is as fast
    bool hasSingleReductionDim = graph::termsOf(op) == 1 && product.summed.size() == 1 &&
                                 llvm::all_of(product.maps, isProjectedPermutation) &&
                                 product.extents[product.summed[0]].constant().value_or(0) >= kMinReductionSize;
    Type type = graph::getElementType(op->getResult(0));
    auto hasResultType = [&](Value value) { return graph::getElementType(value) == type; };
    bool hasSupportedTypes =
        (type.isF32() || type.isF64()) && (llvm::all_of(op->getOperands(), hasResultType) || extendsComputedRhs());
    bool oneRow = product.count(product.rows).is(1), oneColumn = product.count(product.columns).is(1);
    return hasSingleReductionDim && hasSupportedTypes &&
           ((oneColumn && isContiguousAlongK(0)) || (oneRow && isContiguousAlongK(1)));
  }

  void rewrite() {
    OpBuilder b(op);
    graph::Composer compose(b, op.getLoc());
    SmallVector<unsigned> order = iterationDims(product.maps[2]);
    int64_t rank = order.size();
    order.push_back(product.summed[0]);
    Value sums =
        compose.sum(compose.mul({transposeTo(compose, 0, order), transposeTo(compose, 1, order)}), {rank}, false);
    op->getResult(0).replaceAllUsesWith(sums);
    op->erase();
  }

private:
  ContractOpInterface op;
  graph::ProductDims product;

  /// Returns true if the contraction extends the elements of its right operand to the result type,
  /// and the operand is not a constant.
  bool extendsComputedRhs() { return graph::widensRight(op) && !op->getOperand(1).getDefiningOp<graph::ConstantOp>(); }

  /// Returns true if the operand's innermost dim in memory is K and the operand is not a constant.
  bool isContiguousAlongK(unsigned side) {
    StoredOperand stored = lookThroughTranspose(op->getOperand(side));
    SmallVector<unsigned> dims = iterationDims(product.maps[side]);
    auto own = llvm::to_vector(llvm::seq<int64_t>(graph::getRank(stored.tensor)));
    llvm::erase_if(own, [&](int64_t d) { return graph::getDims(stored.tensor)[d].is(1); });
    return !own.empty() && !stored.tensor.getDefiningOp<graph::ConstantOp>() &&
           dims[llvm::find(stored.order, own.back()) - stored.order.begin()] == product.summed[0];
  }

  /// Transposes an operand of the contraction to the order `order` of iteration dims, with dims of
  /// size 1 for iteration dims that the operand lacks.
  Value transposeTo(graph::Composer &compose, unsigned side, ArrayRef<unsigned> order) {
    StoredOperand stored = lookThroughTranspose(op->getOperand(side));
    SmallVector<unsigned> dims = iterationDims(product.maps[side]);
    SmallVector<int64_t> permutation;
    Dims shape;
    for (unsigned d : order) {
      auto *it = llvm::find(dims, d);
      if (it == dims.end()) {
        shape.push_back(DimExpr(1));
        continue;
      }
      permutation.push_back(stored.order[it - dims.begin()]);
      shape.push_back(graph::getDims(stored.tensor)[permutation.back()]);
    }
    Value elements = compose.reshape(compose.transpose(stored.tensor, permutation), shape);
    return compose.cast(elements, graph::getElementType(op->getResult(0)));
  }
};

struct MatvecToReductionPass : impl::MatvecToReductionPassBase<MatvecToReductionPass> {
  void runOnOperation() override {
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) {
      if (plan::supports(op, plan::KernelFeature::MatvecReductions))
        ops.push_back(op);
    });
    for (ContractOpInterface op : ops)
      if (MatvecRewriter rewriter(op); rewriter.isProfitable())
        rewriter.rewrite();
  }
};

} // namespace
} // namespace hewn
