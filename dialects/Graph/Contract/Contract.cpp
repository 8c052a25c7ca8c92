// SPDX-License-Identifier: Apache-2.0
//
// Shape inference, verification and indexing maps of the contractions.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Contract/ContractRoles.h"

#include "mlir/IR/AffineMap.h"

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------===//
// MatMul: iteration (batch.., m, n, k)
//===------------------------------------------------------------------------------------------===//

LogicalResult MatMulOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims a = dimsOf(getA()), b = dimsOf(getB());
  if (a.size() < 2 || b.size() < 2)
    return emitOpError("operands must have rank 2 or more");
  if (a.back().constant() && b[b.size() - 2].constant() && a.back() != b[b.size() - 2])
    return emitOpError() << "K dimension is " << a.back().str() << " on the left and " << b[b.size() - 2].str()
                         << " on the right";
  std::optional<Dims> batch = broadcastDims({Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2)});
  if (!batch)
    return emitOpError("leading dims do not broadcast");
  if (failed(verifyTerms(*this, dimsOf)))
    return failure();
  batch->push_back(a[a.size() - 2]);
  batch->push_back(b.back());
  results.push_back({*batch, getTo().value_or(getElementType(getA()))});
  return success();
}

SmallVector<bool> MatMulOp::getReductionDims() {
  SmallVector<bool> reduced(getRank(getResult()) + 1, false);
  reduced.back() = true;
  return reduced;
}

Dims MatMulOp::getIterationDims(DimsOf dimsOf) {
  Dims dims = dimsOf(getResult());
  dims.push_back(dimsOf(getA()).back());
  return dims;
}

SmallVector<AffineMap> MatMulOp::getIndexingMaps() {
  MLIRContext *context = getContext();
  unsigned rank = getRank(getResult()), n = rank + 1;
  auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  // An operand dim of 1 that a matmul broadcasts is read at index 0.
  auto operandMap = [&](Value operand, AffineExpr row, AffineExpr column) {
    Dims dims = graph::getDims(operand), result = graph::getDims(getResult());
    SmallVector<AffineExpr> exprs;
    for (unsigned i = 0; i + 2 < dims.size(); ++i) {
      unsigned outer = rank - dims.size() + i;
      exprs.push_back(dims[i].is(1) && !result[outer].is(1) ? getAffineConstantExpr(0, context) : dim(outer));
    }
    exprs.push_back(row);
    exprs.push_back(column);
    return AffineMap::get(n, 0, exprs, context);
  };
  return {operandMap(getA(), dim(rank - 2), dim(rank)), operandMap(getB(), dim(rank), dim(rank - 1)),
          AffineMap::getMultiDimIdentityMap(n, context).getMajorSubMap(rank)};
}

//===------------------------------------------------------------------------------------------===//
// Conv: iteration (n, g, m, o.., c, k..)
//===------------------------------------------------------------------------------------------===//

LogicalResult ConvOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims x = dimsOf(getX()), w = dimsOf(getW());
  if (x.size() < 3 || w.size() != x.size())
    return emitOpError("operand and weights must have the same rank, 3 or more");
  size_t n = x.size() - 2;
  if (getStrides().size() != n || getDilations().size() != n)
    return emitOpError() << "strides and dilations must have " << n << " entries";
  if (llvm::any_of(getStrides(), [](int64_t s) { return s < 1; }) ||
      llvm::any_of(getDilations(), [](int64_t d) { return d < 1; }))
    return emitOpError("strides and dilations must be positive");
  int64_t groups = getGroups();
  if (groups < 1 || (w[0].constant() && *w[0].constant() % groups != 0))
    return emitOpError() << w[0].str() << " output channels are not divisible by " << groups << " groups";
  if (groups != 1 && !(w[0].constant() && w[1].constant()))
    return emitOpError() << "has " << groups << " groups of " << w[1].str() << " input channels for " << w[0].str()
                         << " output channels, which must be static";
  if (x[1].constant() && w[1].constant() && *x[1].constant() != *w[1].constant() * groups)
    return emitOpError() << "has " << x[1].str() << " input channels, its weights require "
                         << *w[1].constant() * groups;
  Dims out = {x[0], w[0]};
  for (size_t i = 0; i < n; ++i) {
    DimExpr reach = (w[2 + i] - DimExpr(1)) * DimExpr(getDilations()[i]) + DimExpr(1);
    if (x[2 + i].constant() && reach.constant() && *x[2 + i].constant() < *reach.constant())
      return emitOpError() << "kernel extent " << reach.str() << " is larger than the operand's extent "
                           << x[2 + i].str();
    out.push_back((x[2 + i] - reach).floorDiv(DimExpr(getStrides()[i])) + DimExpr(1));
  }
  if (failed(verifyTerms(*this, dimsOf)))
    return failure();
  results.push_back({out, getTo().value_or(getElementType(getX()))});
  return success();
}

void ConvOp::requireDims(Requirements &requirements) {
  DimExpr groups{int64_t(getGroups())}, features = graph::getDims(getW())[0];
  requirements.equal(graph::getDims(getX())[1], graph::getDims(getW())[1] * groups);
  requirements.equal(features.floorDiv(groups) * groups, features);
}

SmallVector<bool> ConvOp::getReductionDims() {
  unsigned spatial = getStrides().size();
  SmallVector<bool> reduced(3 + spatial, false);
  reduced.append(1 + spatial, true);
  return reduced;
}

Dims ConvOp::getIterationDims(DimsOf dimsOf) {
  Dims out = dimsOf(getResult()), w = dimsOf(getW());
  Dims dims = {out[0], DimExpr(getGroups()), w[0].floorDiv(DimExpr(getGroups()))};
  dims.append(out.begin() + 2, out.end());
  dims.push_back(w[1]);
  dims.append(w.begin() + 2, w.end());
  return dims;
}

SmallVector<AffineMap> ConvOp::getIndexingMaps() {
  MLIRContext *context = getContext();
  unsigned spatial = getStrides().size(), n = 4 + 2 * spatial, c = 3 + spatial;
  auto dim = [&](unsigned i) { return getAffineDimExpr(i, context); };
  Dims w = graph::getDims(getW());
  int64_t groups = getGroups(); // a convolution with several groups has static channel counts
  AffineExpr channel = groups == 1 ? dim(c) : dim(1) * *w[1].constant() + dim(c);
  AffineExpr feature = groups == 1 ? dim(2) : dim(1) * (*w[0].constant() / groups) + dim(2);
  SmallVector<AffineExpr> a = {dim(0), channel}, b = {feature, dim(c)}, out = {dim(0), feature};
  for (unsigned i = 0; i < spatial; ++i) {
    a.push_back(dim(3 + i) * getStrides()[i] + dim(c + 1 + i) * getDilations()[i]);
    b.push_back(dim(c + 1 + i));
    out.push_back(dim(3 + i));
  }
  return {AffineMap::get(n, 0, a, context), AffineMap::get(n, 0, b, context), AffineMap::get(n, 0, out, context)};
}

} // namespace hewn::graph
