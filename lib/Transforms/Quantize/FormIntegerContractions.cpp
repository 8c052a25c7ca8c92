// SPDX-License-Identifier: Apache-2.0
//
// Computes contractions of dequantized tensors on their integers (see Passes.td).
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/IntegerForm.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Quantize/ProductCost.h"

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_FORMINTEGERCONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

/// Number of neighbours along K that a dot-product instruction reduces per lane: 4 elements of 8
/// bits, or 2 of 16 bits.
constexpr int64_t kGroup = 4, kPair = 2;

class IntegerContractionFormer {
public:
  explicit IntegerContractionFormer(ContractOpInterface op)
      : op(op), b(op), c(b, op->getLoc()), weights(graph::weightsOf(op->getContext())) {}

  /// Replaces the contraction by one on integers. Returns false if it cannot be computed on
  /// integers.
  bool run() {
    if (Eligibility formed = form(); !formed) {
      if (comesQuantized(op->getOperand(0)) || comesQuantized(op->getOperand(1)))
        missed(op, "hewn-form-integer-contractions", "NotInteger", formed.why());
      return false;
    }
    return true;
  }

private:
  Eligibility form() {
    bool isDecided = bool(op->removeAttr(kDecidedAttr));
    OrReason<IntegerForm> found = integerForm(op);
    if (!found)
      return Eligibility::no(found.why());
    at = *found;
    std::optional<Border> border = at.isComputed ? std::nullopt : borderOf(op);
    std::optional<Quantized> l = quantizedOf(c, border ? border->inside() : op->getOperand(0), weights);
    std::optional<Quantized> r = l ? quantizedOf(c, op->getOperand(1), weights) : std::nullopt;
    if (!r || !l->data || !r->data)
      return Eligibility::no("an operand is not an 8-bit integer tensor with a scale and a zero point");
    left = *l;
    right = *r;
    if (at.isComputed)
      return formComputed();
    if (!isScalar(l->scale) || !isScalar(l->zero))
      return Eligibility::no("the left operand has more than one scale or zero point");
    if (!alongColumns(r->scale) || !alongColumns(r->zero))
      return Eligibility::no("the right operand's scales or zero points vary along other dims than the columns");
    if (!isDecided && graph::getElementType(op->getResult(0)).isF32()) {
      int64_t readers = llvm::count_if(op->getOperand(0).getUsers(), llvm::IsaPred<ContractOpInterface>);
      std::optional<ProductCosts> costs = productCosts(op, at, /*comesQuantized=*/true, readers);
      if (costs && costs->integersLose())
        return Eligibility::no("float is faster on this target");
    }
    plan::OperandTypes types = chooseTypes();
    shiftTo(left, types.left);
    shiftTo(right, types.right);
    padSums();
    if (border) {
      Value zero = left.zero ? c.cast(left.zero, graph::getElementType(left.data)) : Value();
      left.data = border->around(b, left.data, zero);
    }
    Value result = scaled(withZeros(product()));
    if (!result)
      return Eligibility::no("the contraction has no integer form");
    replace(result);
    return Eligibility::yes();
  }

  void replace(Value result) {
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  /// Rewrites a contraction of two computed operands. With 16-bit dot products, the zero points are
  /// subtracted from the integers before the contraction. With 8-bit dot products, the integers are
  /// multiplied as they are, and the terms that the zero points add to the accumulators are
  /// computed at run time and subtracted.
  Eligibility formComputed() {
    if (!plan::supports(op, plan::KernelFeature::ComputedIntegers))
      return Eligibility::no("the right operand is computed, and the target's kernels multiply it in float");
    for (auto [side, q] : {std::pair(0u, &left), std::pair(1u, &right)})
      if (!placedAs(op, q->scale, side, 2) || !placedAs(op, q->zero, side, 2) || !placedAs(op, sumDims(side), side, 2))
        return Eligibility::no(
            "an operand's scales or zero points vary along K, or its dims have another order than the result's");
    Type sum = b.getI32Type(), half = b.getI16Type();
    plan::OperandTypes types = chooseTypes();
    bool hasBytes =
        plan::findDot(op, types.left, types.right, sum) || plan::findMatrix(op, types.left, types.right, sum);
    if (!hasBytes && !plan::findDot(op, half, half, sum))
      return Eligibility::no("the right operand is computed, and the target has no integer dot products");
    std::optional<ProductCosts> costs = productCosts(op, at, /*comesQuantized=*/true, /*readers=*/1);
    if (costs && costs->integersLose())
      return Eligibility::no(
          "the GEMM is skinny, and packing its computed right operand at run time takes longer than it saves");
    Value columns, rows;
    if (hasBytes) {
      shiftTo(left, types.left);
      shiftTo(right, types.right);
      if (left.zero) {
        columns = sumOf(1);
        if (right.zero)
          columns = c.sub({columns, c.mul({inResult(right.zero, 1), length()})});
        columns = c.mul({columns, inResult(left.zero, 0)});
      }
      if (right.zero)
        rows = c.mul({sumOf(0), inResult(right.zero, 1)});
    } else {
      left.data = distances(left, half);
      right.data = distances(right, half);
    }
    padSums(hasBytes ? kGroup : kPair);
    Value sums = product();
    for (Value off : {columns, rows})
      if (off)
        sums = c.sub({sums, off});
    Value result = scaled(sums);
    if (!result)
      return Eligibility::no("the contraction has no integer form");
    replace(result);
    return Eligibility::yes();
  }

  /// Returns the dims of an operand after a reduction along K, which keeps K as a dim of size 1.
  Dims sumDims(unsigned side) {
    Dims dims = graph::getDims(op->getOperand(side));
    dims[side ? at.depthInRight : at.depthInLeft] = DimExpr(1);
    return dims;
  }

  /// Reshapes a scale or zero point of an operand so that it broadcasts to the contraction's
  /// result.
  Value inResult(Value value, unsigned side) { return value ? c.reshape(value, *placedAs(op, value, side, 2)) : value; }

  /// Sums an operand's integers along K, for the terms that zero points add to the accumulators.
  Value sumOf(unsigned side) {
    Value data = side ? right.data : left.data;
    return inResult(c.sum(asInt(data), int64_t(side ? at.depthInRight : at.depthInLeft), true), side);
  }

  Value length() {
    std::optional<int64_t> known = at.sumLength.constant();
    return known ? number(double(*known)) : asInt(c.number(at.sumLength));
  }

  /// Returns the operand's integers minus its zero points, as type `type`.
  Value distances(const Quantized &q, Type type) {
    return q.zero ? c.cast(c.sub({asInt(q.data), asInt(q.zero)}), type) : c.cast(q.data, type);
  }

  /// Returns true if a scale or zero point of the right operand is a scalar or varies along columns
  /// only.
  bool alongColumns(Value parameter) {
    if (isScalar(parameter))
      return true;
    for (auto [i, dim] : llvm::enumerate(graph::getDims(parameter)))
      if (i != at.columnInRight && !dim.is(1))
        return false;
    return true;
  }

  /// Reshapes a scale or zero point with one element per column so that it broadcasts to the
  /// contraction's result.
  Value alongResult(Value parameter) {
    if (isScalar(parameter))
      return parameter;
    Dims dims(graph::getRank(op->getResult(0)) - at.columnInResult, DimExpr(1));
    dims[0] = at.extents[at.roles.column];
    return c.reshape(parameter, dims);
  }

  Value asInt(Value value) { return c.cast(value, b.getI32Type()); }
  Value number(double value) { return graph::makeSplat(b, op->getLoc(), b.getI32Type(), value); }

  /// Returns the number (0, 128 or -128) to add to an operand's integers and zero points to convert
  /// them to the signedness of `type`.
  static int64_t distance(const Quantized &q, Type type) {
    bool isUnsigned = graph::isUnsigned(type);
    return graph::isUnsigned(graph::getElementType(q.data)) == isUnsigned ? 0 : isUnsigned ? 128 : -128;
  }

  /// Returns true if the operand's zero point is known to be 0 after `by` is added to it.
  bool zeroVanishes(const Quantized &q, int64_t by) { return q.zero ? isKnownInteger(q.zero, -by, weights) : by == 0; }

  /// Returns the integer types of both operands with the least cost. If the right operand has a
  /// zero point, the row sums of the left operand have to be computed, and vice versa the column
  /// sums of the right operand; those of constant weights are folded. Converting a computed operand
  /// to the other signedness costs one addition per element.
  plan::OperandTypes chooseTypes() {
    auto cost = [&](const plan::OperandTypes &types) {
      bool movesLeft = distance(left, types.left) != 0, movesRight = distance(right, types.right) != 0;
      int zeros = !zeroVanishes(right, distance(right, types.right)) +
                  (at.isComputed && !zeroVanishes(left, distance(left, types.left)));
      return 2 * zeros + movesLeft + (at.isComputed && movesRight);
    };
    SmallVector<plan::OperandTypes, 2> all = plan::byteProducts(op);
    return *llvm::min_element(all, [&](const auto &a, const auto &b) { return cost(a) < cost(b); });
  }

  /// Converts the operand's integers to `type`. Its zero point becomes an i32 tensor, or null if it
  /// is known to be 0.
  void shiftTo(Quantized &q, Type type) {
    int64_t by = distance(q, type);
    if (zeroVanishes(q, by))
      q.zero = {};
    else if (q.zero)
      q.zero = c.add({asInt(q.zero), number(double(by))});
    else
      q.zero = number(double(by));
    if (by != 0)
      q.data = c.cast(c.add({asInt(q.data), number(double(by))}), type);
  }

  /// Returns true if the left operand's row dims are those of the result, so that row sums
  /// broadcast to the result. Returns false if the rows are windows of a convolution.
  bool rowsMatch() {
    if (at.maps[0].getNumResults() != at.maps[2].getNumResults())
      return false;
    for (auto [i, expr] : llvm::enumerate(at.maps[0].getResults()))
      if (at.maps[2].getResult(i) != expr && !(i == at.depthInLeft && i == at.columnInResult))
        return false;
    return true;
  }

  /// Sums the left operand's integers over the terms of each result element, with one column. If
  /// the rows are windows, sums along K first, and then over the windows: the contraction of these
  /// sums with a filter of ones, which has one channel and one column.
  Value rowSums() {
    // Leave out the elements that pad K: the zero padding of a window has other values there.
    Value data = left.data;
    if (const DimExpr &k = at.extents[at.depth]; graph::getDims(data)[at.depthInLeft] != k)
      data = c.slice(data, int64_t(at.depthInLeft), DimExpr(0), k);
    Value sums = c.sum(asInt(data), int64_t(at.depthInLeft), true);
    if (rowsMatch())
      return sums;
    Dims filter = graph::getDims(right.data), result = graph::getDims(op->getResult(0));
    filter[at.depthInRight] = filter[at.columnInRight] = DimExpr(1);
    result[at.columnInResult] = DimExpr(1);
    if (graph::numElements(filter).is(1) && graph::getDims(sums) == result) // a 1x1 convolution
      return sums;
    Value ones = graph::makeSplat(b, op->getLoc(), b.getI32Type(), 1, graph::staticShape(filter));
    Operation *windows = b.clone(*op);
    windows->setOperand(0, sums);
    windows->setOperand(1, ones);
    windows->setAttr("to", TypeAttr::get(b.getI32Type()));
    return succeeded(graph::inferResults(windows)) ? windows->getResult(0) : Value();
  }

  /// Pads K of both operands to a multiple of `group`. The right operand is padded with zeros, so
  /// the values in the left operand's padding do not matter.
  void padSums(int64_t group = kGroup) {
    DimExpr k = at.extents[at.depth], more = k.ceilDiv(group) * DimExpr(group) - k;
    if (more.is(0))
      return;
    auto padded = [&](Value x, unsigned dim) {
      Dims low(graph::getRank(x), DimExpr(0)), high = low;
      high[dim] = more;
      return c.pad(x, low, high);
    };
    left.data = padded(left.data, at.depthInLeft);
    right.data = padded(right.data, at.depthInRight);
  }

  Value product() {
    Operation *sum = b.clone(*op);
    sum->setOperand(0, left.data);
    sum->setOperand(1, right.data);
    sum->setAttr("to", TypeAttr::get(b.getI32Type()));
    return succeeded(graph::inferResults(sum)) ? sum->getResult(0) : Value();
  }

  Value withZeros(Value sum) {
    if (left.zero) {
      SmallVector<int64_t> others;
      for (int64_t d = 0; d < graph::getRank(right.data); ++d)
        if (d != int64_t(at.columnInRight))
          others.push_back(d);
      Value columnSums = alongResult(c.sum(asInt(right.data), others, false));
      if (right.zero)
        columnSums = c.sub({columnSums, c.mul({alongResult(right.zero), length()})});
      sum = c.sub({sum, c.mul({columnSums, left.zero})});
    }
    if (right.zero)
      sum = c.sub({sum, c.mul({rowSums(), alongResult(right.zero)})});
    return sum;
  }

  Value scaled(Value sum) {
    Type type = graph::getElementType(op->getResult(0));
    if (!left.scale && !right.scale)
      return c.cast(sum, type);
    Value ofLeft = at.isComputed ? inResult(left.scale, 0) : left.scale,
          ofRight = at.isComputed ? inResult(right.scale, 1) : alongResult(right.scale);
    Value scale = !ofLeft ? ofRight : !ofRight ? ofLeft : c.mul({ofLeft, ofRight});
    return c.mul({c.cast(sum, type), scale});
  }

  ContractOpInterface op;
  OpBuilder b;
  graph::Composer c;
  const WeightStore &weights;
  IntegerForm at;
  Quantized left, right;
};

struct FormIntegerContractionsPass : impl::FormIntegerContractionsPassBase<FormIntegerContractionsPass> {
  void runOnOperation() override {
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) { ops.push_back(op); });
    for (ContractOpInterface op : ops)
      IntegerContractionFormer(op).run();
  }
};

} // namespace

} // namespace hewn
