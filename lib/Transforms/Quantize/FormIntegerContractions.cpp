// SPDX-License-Identifier: Apache-2.0
//
// Computes contractions of quantized tensors on their integers.
//
//     %a = graph.dequantize %x, %sx, %zx                  %s = graph.matmul %x, %w {to = i32} : (..xui8, ..xi8) -> ..xi32
//     %b = graph.dequantize %w, %sw              →        %c = graph.reduce_sum %w in i32, over k
//     %y = graph.matmul %a, %b : tensor<..xf32>           %y = cast(%s - %zx * %c) * (%sx * %sw)
//
// In general, with zx and zw the zero points: Σ (x - zx)(w - zw) = Σ x w - zx (Σ w - k zw) - zw Σ x. What depends on weights
// alone is folded; the rest is elementwise on the sums and becomes the kernel's epilogue. Operands are brought to the signs that an
// instruction of the machine has (`dots` and `matrices` of #plan.target) by moving zero points by 128; of several the one is taken that
// leaves weights without a zero point, then data as they are. Sums of groups that do not divide k are padded. A border of zeros becomes one of zero points. (Jacob et al., "Quantization and Training of Neural Networks for
// Efficient Integer-Arithmetic-Only Inference", 2018.)
//
// Left alone, since the machine's model expects floats to take less time (ProductCost.h): what has minimal filtering as floats, and integers that
// are multiplied at no more than twice their rate. Else: scales and zero points along k, those of the left operand along rows, zero points of weights under
// windows, depthwise windows and groups, few columns, sums of floats that could leave i32.
//
// Right operands that are computed (attention's keys and values) are multiplied so, too, in batches of products with one each; a later pass has them packed when run.
// Both zero points take sums then that are made when run, unless the machine has products of pairs of 16 bits alone: those are of integers less
// their zero points. Scales and zero points may be any that broadcast to the result. Sums of MatMulInteger wrap either way, so these may be as long as they like, or of a
// length that only a run tells; others of such a length where the user gave it a range. Left alone are those that few rows read, and windows; and all on a grid of threads.
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Schedule/Schedule.h"
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

/// Elements that instructions sum in a lane.
constexpr int64_t kGroup = 4, kPair = 2;

class IntegerContractionFormer {
public:
  IntegerContractionFormer(ContractOpInterface op, const WeightTable &weights)
      : op(op), b(op), c(b, op->getLoc()), weights(weights) {}

  /// Whether the contraction is one of these and was replaced.
  bool run() {
    if (Verdict formed = form(); !formed) {
      if (comesQuantized(op->getOperand(0)) || comesQuantized(op->getOperand(1)))
        missed(op, "hewn-form-integer-contractions", "NotInteger", formed.why());
      return false;
    }
    return true;
  }

private:
  Verdict form() {
    bool isDecided = bool(op->removeAttr(kDecidedAttr));
    Found<IntegerForm> found = integerForm(op);
    if (!found)
      return Verdict::no(found.why());
    at = *found;
    std::optional<Border> border = at.isComputed ? std::nullopt : borderOf(op);
    std::optional<Quantized> l = quantizedOf(c, border ? border->inside() : op->getOperand(0), weights);
    std::optional<Quantized> r = l ? quantizedOf(c, op->getOperand(1), weights) : std::nullopt;
    if (!r || !l->data || !r->data)
      return Verdict::no("an operand is no 8-bit integers with a scale and a zero point");
    left = *l;
    right = *r;
    if (at.isComputed)
      return formComputed();
    if (!isScalar(l->scale) || !isScalar(l->zero))
      return Verdict::no("the left operand has more than one scale or zero point");
    if (!alongColumns(r->scale) || !alongColumns(r->zero))
      return Verdict::no("the right operand's scales or zero points are not one a column");
    if (!isDecided && graph::getElementType(op->getResult(0)).isF32()) {
      int64_t readers = llvm::count_if(op->getOperand(0).getUsers(), llvm::IsaPred<ContractOpInterface>);
      std::optional<ProductCosts> costs = productCosts(op, at, /*comesQuantized=*/true, readers);
      if (costs && costs->integersLose())
        return Verdict::no("floats take less time on this machine");
    }
    plan::OperandTypes types = chooseTypes();
    shiftTo(left, types.left);
    shiftTo(right, types.right);
    if (right.zero && !rowsMatch())
      return Verdict::no("the right operand has zero points, and the left one's rows are windows");
    padSums();
    if (border) {
      Value zero = left.zero ? c.cast(left.zero, graph::getElementType(left.data)) : Value();
      left.data = border->around(b, left.data, zero);
    }
    Value result = scaled(withZeros(product()));
    if (!result)
      return Verdict::no("the product has no form of integers");
    replace(result);
    return Verdict::yes();
  }

  void replace(Value result) {
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }

  /// Of operands that a run makes both. Pairs of 16 bits are the integers less their zero points; bytes stay as they are, and a run sums what zero points
  /// add.
  Verdict formComputed() {
    if (plan::gridOf(op))
      return Verdict::no("the right operand is computed, and a grid of threads multiplies such as they are");
    for (auto [side, q] : {std::pair(0u, &left), std::pair(1u, &right)})
      if (!placedAs(op, q->scale, side, 2) || !placedAs(op, q->zero, side, 2) || !placedAs(op, sumDims(side), side, 2))
        return Verdict::no("an operand's scales or zero points differ along the sum, or its dims lie in another order "
                           "than the result's");
    Type sum = b.getI32Type(), half = b.getI16Type();
    plan::OperandTypes types = chooseTypes();
    bool hasBytes =
        plan::findDot(op, types.left, types.right, sum) || plan::findMatrix(op, types.left, types.right, sum);
    if (!hasBytes && !plan::findDot(op, half, half, sum))
      return Verdict::no("the right operand is computed, and the machine has no products of integers to pack it for");
    std::optional<ProductCosts> costs = productCosts(op, at, /*comesQuantized=*/true, /*readers=*/1);
    if (costs && costs->integersLose())
      return Verdict::no("so few rows read the right operand, which is computed, that to pack it when run takes longer "
                         "than is gained");
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
      return Verdict::no("the product has no form of integers");
    replace(result);
    return Verdict::yes();
  }

  /// The dims of an operand's sums along the depth.
  Dims sumDims(unsigned side) {
    Dims dims = graph::getDims(op->getOperand(side));
    dims[side ? at.depthInRight : at.depthInLeft] = DimExpr(1);
    return dims;
  }

  /// What belongs to an operand, as it broadcasts to the result.
  Value inResult(Value value, unsigned side) { return value ? c.reshape(value, *placedAs(op, value, side, 2)) : value; }

  /// The sums of an operand's integers along the depth.
  Value sumOf(unsigned side) {
    Value data = side ? right.data : left.data;
    return inResult(c.sum(asInt(data), int64_t(side ? at.depthInRight : at.depthInLeft), true), side);
  }

  Value length() {
    std::optional<int64_t> known = at.sumLength.constant();
    return known ? number(double(*known)) : asInt(c.number(at.sumLength));
  }

  /// The integers less their zero points.
  Value distances(const Quantized &q, Type type) {
    return q.zero ? c.cast(c.sub({asInt(q.data), asInt(q.zero)}), type) : c.cast(q.data, type);
  }

  /// Whether a parameter of the right operand is one, or one a column.
  bool alongColumns(Value parameter) {
    if (isScalar(parameter))
      return true;
    for (auto [i, dim] : llvm::enumerate(graph::getDims(parameter)))
      if (i != at.columnInRight && !dim.is(1))
        return false;
    return true;
  }

  /// A parameter of the right operand, or a row of one element a column, as it broadcasts to the result.
  Value alongResult(Value parameter) {
    if (isScalar(parameter))
      return parameter;
    Dims dims(graph::getRank(op->getResult(0)) - at.columnInResult, DimExpr(1));
    dims[0] = at.extents[at.roles.column];
    return c.reshape(parameter, dims);
  }

  Value asInt(Value value) { return c.cast(value, b.getI32Type()); }
  Value number(double value) { return graph::makeSplat(b, op->getLoc(), b.getI32Type(), value); }

  /// By how much the integers, and their zero points, move to be of a type.
  static int64_t distance(const Quantized &q, Type type) {
    bool isUnsigned = graph::isUnsigned(type);
    return graph::isUnsigned(graph::getElementType(q.data)) == isUnsigned ? 0 : isUnsigned ? 128 : -128;
  }

  /// Whether the zero point is known to be 0 when moved.
  bool losesZero(const Quantized &q, int64_t by) { return q.zero ? isKnownInteger(q.zero, -by, weights) : by == 0; }

  /// The operands' types that cost least: a zero point of weights takes the sums of rows, one of data those of columns, which only of weights cost nothing,
  /// a move one addition for each of what a run makes.
  plan::OperandTypes chooseTypes() {
    auto cost = [&](const plan::OperandTypes &types) {
      bool movesLeft = distance(left, types.left) != 0, movesRight = distance(right, types.right) != 0;
      int zeros = !losesZero(right, distance(right, types.right)) +
                  (at.isComputed && !losesZero(left, distance(left, types.left)));
      return 2 * zeros + movesLeft + (at.isComputed && movesRight);
    };
    SmallVector<plan::OperandTypes, 2> all = plan::byteProducts(op);
    return *llvm::min_element(all, [&](const auto &a, const auto &b) { return cost(a) < cost(b); });
  }

  /// Brings the integers to a type; zero becomes i32, null where it is known to be 0.
  void shiftTo(Quantized &q, Type type) {
    int64_t by = distance(q, type);
    if (losesZero(q, by))
      q.zero = {};
    else if (q.zero)
      q.zero = c.add({asInt(q.zero), number(double(by))});
    else
      q.zero = number(double(by));
    if (by != 0)
      q.data = c.cast(c.add({asInt(q.data), number(double(by))}), type);
  }

  /// Whether the left operand's rows are the result's, so that their sums broadcast to it; not where they are windows.
  bool rowsMatch() {
    if (at.maps[0].getNumResults() != at.maps[2].getNumResults())
      return false;
    for (auto [i, expr] : llvm::enumerate(at.maps[0].getResults()))
      if (at.maps[2].getResult(i) != expr && !(i == at.depthInLeft && i == at.columnInResult))
        return false;
    return true;
  }

  /// Makes the summed dim a multiple of what instructions take: zeros of the right operand make any left one count nothing.
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
    if (right.zero) {
      Value rowSums = c.sum(asInt(left.data), int64_t(at.depthInLeft), true);
      sum = c.sub({sum, c.mul({rowSums, alongResult(right.zero)})});
    }
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
  const WeightTable &weights;
  IntegerForm at;
  Quantized left, right;
};

struct FormIntegerContractionsPass : impl::FormIntegerContractionsPassBase<FormIntegerContractionsPass> {
  FormIntegerContractionsPass() = default;
  explicit FormIntegerContractionsPass(const WeightTable *weights) : weights(weights) {}
  const WeightTable *weights = nullptr;

  void runOnOperation() override {
    static const WeightTable none;
    SmallVector<ContractOpInterface> ops;
    getOperation().walk([&](ContractOpInterface op) { ops.push_back(op); });
    for (ContractOpInterface op : ops)
      IntegerContractionFormer(op, weights ? *weights : none).run();
  }
};

} // namespace

std::unique_ptr<Pass> createFormIntegerContractionsPass(const WeightTable *weights) {
  return std::make_unique<FormIntegerContractionsPass>(weights);
}

} // namespace hewn
