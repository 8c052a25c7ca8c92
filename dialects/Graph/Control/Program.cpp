// SPDX-License-Identifier: Apache-2.0
//
// Constants, symbols and control flow.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

LogicalResult DimValueOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!parseDims(getValues()))
    return emitOpError("values are no list of integers and expressions");
  results.push_back({Dims{DimExpr(int64_t(getValues().size()))}, IntegerType::get(getContext(), 64)});
  return success();
}

LogicalResult ScratchOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> dims = parseDims(getShape());
  if (!dims)
    return emitOpError("shape is no list of integers and expressions");
  results.push_back({*dims, getOf()});
  return success();
}

Value ScratchOp::emitAt(ElementBuilder &e, ArrayRef<Index>) { return e.constantElement(getOf(), 0); }

Value DimValueOp::emitAt(ElementBuilder &e, ArrayRef<Index> at) {
  Dims values = *parseDims(getValues());
  if (values.empty())
    return e.constantElement(e.b.getI64Type(), 0);
  Index chosen = e.expression(values.back());
  for (unsigned i = values.size() - 1; i-- > 0;)
    chosen = e.select(e.compare(arith::CmpIPredicate::eq, at[0], e.constant(i)), e.expression(values[i]), chosen);
  return e.toElement(chosen, e.b.getI64Type());
}

} // namespace hewn::graph
