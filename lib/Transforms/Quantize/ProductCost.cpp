// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/ProductCost.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/WinogradSchedule.h"

#include <cmath>

using namespace mlir;

namespace hewn {

namespace {

/// In instructions of a vector, of which several are done at once: what rounds an element (a product, a rounding, a zero point, two bounds,
/// narrowing), what makes a float of an integer again, and what is done with a sum that floats are not (a zero point, a conversion, a scale). Fitted
/// with kSeparateSum to the times of eighteen contractions on an AMD Zen 4, as code with and without its dots (docs/decisions/quantization.md).
constexpr double kRoundSteps = 4, kWidenSteps = 3, kScaleSteps = 2;
/// The same of an element that a run makes of a right operand: what puts it in groups for the products, what sums it where they have zero points, and what
/// writes it as 32 bits, to be read again. Fitted to where integers begin to gain, with dots of four and with pairs: at some 8 rows instead
/// of float32's products, at any number instead of i32's (docs/decisions/quantization.md).
constexpr double kPackSteps = 5, kSumSteps = 3, kWriteSteps = 5;
/// What an instruction costs that leaves the sum to another, beside one that adds to it.
constexpr double kSeparateSum = 1.35;
/// Sums of a group of neighbours that do not fill one read a padded copy.
constexpr int64_t kNeighbours = 4;

class CostModel {
public:
  CostModel(graph::ContractOpInterface op, const IntegerForm &form)
      : op(op), form(form), shape(plan::contractShape(op, form.roles)), costs(plan::costsOf(op)),
        lanes(double(plan::vectorLanes(op))) {
    for (const graph::DimExpr &extent : form.extents)
      known &= form.isComputed || extent.constant();
  }

  std::optional<ProductCosts> run(bool comesQuantized, int64_t readers) {
    if (!known)
      return std::nullopt;
    if (form.isComputed)
      return ofComputed();
    double operand = elementsOf(op->getOperand(0)), sums = elementsOf(op->getResult(0));
    ProductCosts found;
    found.floats = std::max(floatProducts(), weightBytes(sizeof(float)));
    found.integers = std::max(integerProducts(), weightBytes(1)) + sums * kScaleSteps / lanes;
    if (comesQuantized)
      found.floats += operand * kWidenSteps / lanes / double(readers);
    else
      found.integers += operand * kRoundSteps / lanes / double(readers);
    if (lengthOf(form.depth) % kNeighbours != 0)
      found.integers += operand / lanes;
    return found;
  }

private:
  /// Both operands come quantized. The right one is made floats, or integers of 32 bits where the sums are such, or packed.
  ProductCosts ofComputed() {
    double items = lengthOf(form.roles.batch), depth = lengthOf(form.roles.summed);
    double left = items * lengthOf(form.roles.rows) * depth,
           right = items * depth * double(lengthOf(form.roles.column)),
           sums = items * lengthOf(form.roles.rows) * double(lengthOf(form.roles.column));
    Type sum = IntegerType::get(op->getContext(), 32);
    bool hasBytes = llvm::any_of(plan::byteProducts(op), [&](const plan::OperandTypes &types) {
      return plan::findDot(op, types.left, types.right, sum) || plan::findMatrix(op, types.left, types.right, sum);
    });
    // Elements of vectors that hold no two groups are packed one by one.
    double pack = lanes >= 2 * double(hasBytes ? kNeighbours : kNeighbours / 2) ? kPackSteps : kPackSteps * lanes;
    bool scales = graph::getElementType(op->getResult(0)).isF32();
    ProductCosts found;
    found.floats = (left + right) * kWidenSteps / lanes;
    found.floats += scales ? floatProducts() : tiles(shape, 1) * kSeparateSum + right * kWriteSteps / lanes;
    found.integers = integerProducts() + right * pack / lanes;
    if (scales)
      found.integers += sums * kScaleSteps / lanes;
    if (hasBytes)
      found.integers += (left + right) * kSumSteps / lanes;
    return found;
  }

  double lengthOf(ArrayRef<unsigned> dims) {
    double length = 1;
    for (unsigned d : dims)
      length *= double(lengthOf(d));
    return length;
  }
  /// What only a run knows, of operands that it makes, is long.
  int64_t lengthOf(unsigned d) {
    constexpr int64_t whenRun = 512;
    return form.extents[d].constant().value_or(whenRun);
  }

  static double elementsOf(Value value) {
    return double(graph::numElements(graph::getDims(value)).constant().value_or(0));
  }

  /// Weights that come from memory, which one row waits for.
  double weightBytes(double each) {
    return fromMemory(double(lengthOf(form.roles.column)) * lengthOf(form.roles.summed) * each);
  }
  /// What constants of so many bytes take to come from memory, where a cache does not keep them.
  double fromMemory(double bytes) {
    auto l2 = double(plan::targetOf(op).getL2Bytes());
    return bytes > l2 ? bytes / double(costs.getMemoryBytesPerCycle()) * double(costs.getFmasPerCycle()) : 0;
  }

  /// Products of vectors by register tiles, `group` of them summed by one instruction.
  double tiles(plan::ContractShape of, int64_t group) {
    if (!of.rows.constant())
      of.rows = int64_t(lengthOf(form.roles.rows));
    double rows = double(*of.rows.constant()), all = lengthOf(form.roles.rows) * lengthOf(form.roles.batch);
    double depth = lengthOf(form.roles.summed) / double(lengthOf(form.depth)) *
                   std::ceil(double(lengthOf(form.depth)) / double(group));
    return plan::chooseContractTile(op, of).cyclesPerDepth * (rows > 0 ? all / rows : 0) * depth;
  }

  double floatProducts() {
    double direct = tiles(shape, 1) * (plan::targetOf(op).getHasFma() ? 1 : kSeparateSum);
    // Of a tile of results: products of the direct sum by those of the filter, with half of what is gained spent on transforms. Its weights,
    // which are more, are each used by a few tiles of rows alone, and so come beside the products.
    int64_t tile =
        plan::chooseWinogradTile(op, plan::largestWinogradTile(op, plan::largestWinogradTile(Precision::Highest)));
    if (tile == 0)
      return direct;
    double out = double(tile), size = out + graph::Winograd::window - 1;
    double gain = out * out * graph::Winograd::window * graph::Winograd::window / (size * size);
    double channels = lengthOf(form.depth), columns = lengthOf(form.roles.column);
    return direct / (1 + (gain - 1) / 2) + fromMemory(size * size * channels * columns * sizeof(float));
  }

  double integerProducts() {
    Builder b(op->getContext());
    Type sum = b.getI32Type(), half = b.getIntegerType(16);
    plan::ContractShape of = shape;
    of.grouped = true;
    of.rowBytes /= int64_t(sizeof(float));
    for (const plan::OperandTypes &types : plan::byteProducts(op)) {
      if (plan::MatrixAttr matrix = plan::findMatrix(op, types.left, types.right, sum))
        if (shape.rows.constant().value_or(matrix.getMinRows()) >= matrix.getMinRows())
          return tiles(shape, 1) / double(matrix.getRelativeRate());
      if (plan::DotAttr dot = plan::findDot(op, types.left, types.right, sum))
        return tiles(of, dot.getGroup()) * stepsOf(dot);
    }
    of.rowBytes *= 2;
    if (plan::DotAttr dot = plan::findDot(op, half, half, sum))
      return tiles(of, dot.getGroup()) * stepsOf(dot);
    return tiles(shape, 1);
  }

  static double stepsOf(plan::DotAttr dot) { return dot.getAccumulates() ? 1 : kSeparateSum; }

  graph::ContractOpInterface op;
  const IntegerForm &form;
  plan::ContractShape shape;
  plan::VectorCostsAttr costs;
  double lanes;
  bool known = true;
};

} // namespace

std::optional<ProductCosts> productCosts(graph::ContractOpInterface op, const IntegerForm &form, bool comesQuantized,
                                         int64_t readers) {
  if (!plan::targetOf(op) || plan::gridOf(op))
    return std::nullopt;
  return CostModel(op, form).run(comesQuantized, std::max<int64_t>(readers, 1));
}

} // namespace hewn
