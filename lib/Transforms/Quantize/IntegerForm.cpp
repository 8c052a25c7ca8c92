// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/IntegerForm.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn {

static constexpr int64_t kFewestColumns = 8;
/// |sum| <= k * 255 * 255 stays in i32.
static constexpr int64_t kLongestSum = 32768;

Found<IntegerForm> integerForm(graph::ContractOpInterface op) {
  Type type = graph::getElementType(op->getResult(0));
  if (!type.isF32() && !type.isSignlessInteger(32))
    return Verdict::no("the result is neither float32 nor int32");
  std::optional<graph::ContractRoles> found = graph::contractRoles(op);
  if (!found || found->columnInLeft)
    return Verdict::no("the contraction has no columns of its right operand's own");
  IntegerForm form;
  form.roles = *found;
  form.maps = op.getIndexingMaps();
  form.extents = op.getIterationDims(graph::getDims);
  for (unsigned d : form.roles.batch)
    if (!form.extents[d].is(1))
      return Verdict::no("it is a batch of products, each with a right operand of its own");
  std::optional<unsigned> depth = graph::plainSummedDim(op, form.roles);
  if (!depth)
    return Verdict::no("it sums over windows alone, or over several dims");
  form.depth = *depth;
  if (form.extents[form.roles.column].constant().value_or(0) < kFewestColumns)
    return Verdict::no("it has too few columns for a vector, or their number is known only when run");
  DimExpr summed(1);
  for (unsigned d : form.roles.summed)
    summed = summed * form.extents[d];
  std::optional<unsigned> left = graph::resultWith(form.maps[0], *depth),
                          right = graph::resultWith(form.maps[1], *depth);
  std::optional<unsigned> column = graph::resultWith(form.maps[1], form.roles.column);
  std::optional<unsigned> out = graph::resultWith(form.maps[2], form.roles.column);
  if (!left || !right || !column || !out)
    return Verdict::no("its operands are read at sums of indices");
  if (summed.constant().value_or(kLongestSum + 1) > kLongestSum)
    return Verdict::no("a sum may be longer than 32 bits hold, or its length is known only when run");
  form.depthInLeft = *left;
  form.depthInRight = *right;
  form.columnInRight = *column;
  form.columnInResult = *out;
  form.sumLength = *summed.constant();
  return form;
}

} // namespace hewn
