// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's nodes become moves: shape operands are resolved to expressions
// here.
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/OnnxNode.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult buildTranspose(OnnxNode &node) {
  int64_t rank = getRank(node.input(0));
  SmallVector<int64_t> order =
      node.getInts("perm").value_or(llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank))));
  return node.finish(node.make<TransposeOp>(node.input(0), node.attr("order", order)));
}

LogicalResult buildReshape(OnnxNode &node) {
  Value x = node.input(0);
  std::optional<Dims> wanted = node.contentsOrRead(node.input(1));
  if (!wanted)
    return failure();
  Dims dims = getDims(x), shape = *wanted;
  bool copyZeros = !node.getInt("allowzero", 0);
  std::optional<size_t> inferred;
  DimExpr known(1);
  for (auto [i, dim] : llvm::enumerate(shape)) {
    if (dim.is(0) && copyZeros) {
      if (i >= dims.size())
        return node.refuse("copies dim " + Twine(i) + " of an input of rank " + Twine(dims.size()));
      dim = dims[i];
    } else if (dim.is(-1)) {
      if (inferred)
        return node.refuse("shape has more than one -1");
      inferred = i;
      continue;
    } else if (dim.constant() && *dim.constant() < -1) {
      return node.refuse("shape has the dim " + dim.str());
    }
    known = known * dim;
  }
  if (inferred) {
    DimExpr total = numElements(dims);
    if (known.is(0) || (total.constant() && known.constant() && *total.constant() % *known.constant() != 0))
      return node.refuse(total.str() + " elements do not divide by " + known.str());
    shape[*inferred] = total.floorDiv(known);
  }
  if (shape == dims)
    return node.finish(x);
  return node.finish(node.make<ReshapeOp>(x, node.attr("shape", ArrayRef<DimExpr>(shape))));
}

} // namespace hewn::graph
