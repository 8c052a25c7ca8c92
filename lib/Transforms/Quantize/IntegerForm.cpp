// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/IntegerForm.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn {

static constexpr int64_t kFewestColumns = 8;
/// Largest K for which the int32 accumulator of an 8-bit contraction, at most k * 255 * 255, cannot
/// overflow.
static constexpr int64_t kLongestSum = 32768;

/// Returns true if the integers of the contraction's right operand are computed at run time, that
/// is, depend on more than constants. Looks through views and broadcasts. If no op dequantizes the
/// operand, the operand itself decides.
static bool isComputed(Value right) {
  auto passes = [](Operation *maker) {
    auto move = dyn_cast_or_null<graph::IndexingOpInterface>(maker);
    return move && (graph::isViewKind(maker) || move.getIsBroadcast());
  };
  Value value = right;
  for (Operation *maker = value.getDefiningOp(); passes(maker); maker = value.getDefiningOp())
    value = maker->getOperand(0);
  Operation *maker = value.getDefiningOp();
  return !graph::isMadeOfConstants(isa_and_nonnull<graph::QuantizedOpInterface>(maker) ? maker->getOperand(0) : value);
}

/// Returns the largest value of the dim `length` within the ranges that the user gave for dims, or
/// nothing if no bound is known.
static std::optional<int64_t> mostProducts(Operation *op, const DimExpr &length) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto ranges = function ? function->getAttrOfType<DictionaryAttr>(graph::kDimRangesAttr) : DictionaryAttr();
  if (!ranges || length.constant())
    return length.constant();
  // If no coefficient of the expression is negative, its largest value is that for the largest
  // value of each symbol. Limits of the factors and sizes keep this value within 64 bits.
  constexpr size_t fewFactors = 2;
  bool grows = llvm::all_of(length.terms(), [&](const DimExpr::Term &term) {
    return term.coefficient >= 0 && term.coefficient <= kLongestSum && term.factors.size() <= fewFactors &&
           llvm::none_of(term.factors, [](const DimExpr::AtomRef &atom) { return atom->name.empty(); });
  });
  DimExpr most = length.substitute([&](StringRef name) {
    auto range = dyn_cast_or_null<DenseI64ArrayAttr>(ranges.get(name));
    bool isShort = range && range.size() == 2 && range[1] <= kLongestSum;
    return grows && isShort ? DimExpr(range[1]) : DimExpr::symbol(name);
  });
  return most.constant();
}

OrReason<IntegerForm> integerForm(graph::ContractOpInterface op) {
  Type type = graph::getElementType(op->getResult(0));
  if (!type.isF32() && !type.isSignlessInteger(32))
    return Eligibility::no("the result is neither float32 nor int32");
  std::optional<graph::ContractRoles> found = graph::contractRoles(op);
  if (!found || found->columnInLeft)
    return Eligibility::no("the right operand has no column dim of its own");
  IntegerForm form;
  form.roles = *found;
  form.maps = op.getIndexingMaps();
  form.extents = op.getIterationDims(graph::getDims);
  form.isComputed = isComputed(op->getOperand(1));
  if (form.isComputed && graph::hasWindows(op))
    return Eligibility::no("the right operand is computed, and the rows of the left operand are windows");
  for (unsigned d : form.roles.batch)
    if (!form.isComputed && !form.extents[d].is(1))
      return Eligibility::no("it is a batched GEMM with several right operands");
  std::optional<unsigned> depth = graph::plainSummedDim(op, form.roles);
  if (!depth)
    return Eligibility::no("it reduces window dims only, or several dims");
  form.depth = *depth;
  if (form.extents[form.roles.column].constant().value_or(form.isComputed ? kFewestColumns : 0) < kFewestColumns)
    return Eligibility::no("it has fewer than 8 columns, or a dynamic number of them");
  form.sumLength = DimExpr(1);
  for (unsigned d : form.roles.summed)
    form.sumLength = form.sumLength * form.extents[d];
  std::optional<unsigned> left = graph::resultWith(form.maps[0], *depth),
                          right = graph::resultWith(form.maps[1], *depth);
  std::optional<unsigned> column = graph::resultWith(form.maps[1], form.roles.column);
  std::optional<unsigned> out = graph::resultWith(form.maps[2], form.roles.column);
  if (!left || !right || !column || !out)
    return Eligibility::no("its operands are indexed by sums of iteration dims");
  // An int32 result of a contraction wraps by definition, so its accumulators may overflow.
  bool wraps = form.isComputed && !type.isF32();
  std::optional<int64_t> most = form.isComputed ? mostProducts(op, form.sumLength) : form.sumLength.constant();
  if (most.value_or(kLongestSum + 1) > kLongestSum && !wraps)
    return Eligibility::no("K is dynamic or larger than 32768, so that an int32 accumulator could overflow");
  form.depthInLeft = *left;
  form.depthInRight = *right;
  form.columnInRight = *column;
  form.columnInResult = *out;
  return form;
}

} // namespace hewn
