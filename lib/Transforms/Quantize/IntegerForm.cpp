// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/IntegerForm.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn {

static constexpr int64_t kFewestColumns = 8;
/// |sum| <= k * 255 * 255 stays in i32.
static constexpr int64_t kLongestSum = 32768;

/// Whether a run makes the integers that a right operand stands for, or the operand where it stands for none.
static bool isComputed(Value right) {
  auto passes = [](Operation *maker) {
    auto move = dyn_cast_or_null<graph::MoveOpInterface>(maker);
    return move && (graph::isViewKind(maker) || move.getIsBroadcast());
  };
  Value value = right;
  for (Operation *maker = value.getDefiningOp(); passes(maker); maker = value.getDefiningOp())
    value = maker->getOperand(0);
  Operation *maker = value.getDefiningOp();
  return !graph::isMadeOfConstants(isa_and_nonnull<graph::QuantizedOpInterface>(maker) ? maker->getOperand(0) : value);
}

/// The most products that a sum may have: as many as are known, or as ranges of dims allow that the user gave; nullopt: any number.
static std::optional<int64_t> mostProducts(Operation *op, const DimExpr &length) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto ranges = function ? function->getAttrOfType<DictionaryAttr>(graph::kDimRangesAttr) : DictionaryAttr();
  if (!ranges || length.constant())
    return length.constant();
  // A sum of products of symbols grows with each of them; of few and small ones it stays in 64 bits.
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
  form.isComputed = isComputed(op->getOperand(1));
  if (form.isComputed && graph::hasWindows(op))
    return Verdict::no("the right operand is computed, and the left one's rows are windows");
  for (unsigned d : form.roles.batch)
    if (!form.isComputed && !form.extents[d].is(1))
      return Verdict::no("it is a batch of products, each with a right operand of its own");
  std::optional<unsigned> depth = graph::plainSummedDim(op, form.roles);
  if (!depth)
    return Verdict::no("it sums over windows alone, or over several dims");
  form.depth = *depth;
  if (form.extents[form.roles.column].constant().value_or(form.isComputed ? kFewestColumns : 0) < kFewestColumns)
    return Verdict::no("it has too few columns for a vector, or their number is known only when run");
  form.sumLength = DimExpr(1);
  for (unsigned d : form.roles.summed)
    form.sumLength = form.sumLength * form.extents[d];
  std::optional<unsigned> left = graph::resultWith(form.maps[0], *depth),
                          right = graph::resultWith(form.maps[1], *depth);
  std::optional<unsigned> column = graph::resultWith(form.maps[1], form.roles.column);
  std::optional<unsigned> out = graph::resultWith(form.maps[2], form.roles.column);
  if (!left || !right || !column || !out)
    return Verdict::no("its operands are read at sums of indices");
  bool wraps = form.isComputed && !type.isF32(); // as the sums of 32 bits do that it has otherwise
  std::optional<int64_t> most = form.isComputed ? mostProducts(op, form.sumLength) : form.sumLength.constant();
  if (most.value_or(kLongestSum + 1) > kLongestSum && !wraps)
    return Verdict::no("a sum may be longer than 32 bits hold, or its length is known only when run");
  form.depthInLeft = *left;
  form.depthInRight = *right;
  form.columnInRight = *column;
  form.columnInResult = *out;
  return form;
}

} // namespace hewn
