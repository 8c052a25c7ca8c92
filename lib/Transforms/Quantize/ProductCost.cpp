// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Quantize/ProductCost.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Schedule/WinogradSchedule.h"

#include <cmath>

using namespace mlir;

namespace hewn {

namespace {

/// Vector instructions per element; several of them issue per cycle. Round: quantize an element
/// (multiply, round, add the zero point, two bounds, truncate). Extend: convert an integer to
/// float. Scale: the extra work per accumulator (subtract the zero point's term, convert, scale).
/// Fitted, together with kSeparateSum, to the times of eighteen contractions on an AMD Zen 4, with
/// and without its dot-product instructions (docs/decisions/quantization.md).
constexpr double kRoundSteps = 4, kExtendSteps = 3, kScaleSteps = 2;
/// Vector instructions per element of a right operand that is computed at run time. Pack:
/// interleave groups for dot products. Sum: sum along K for zero points. Write: write the element
/// as a 32-bit integer and reload it. Fitted to the number of rows from which integers are faster,
/// with 4-way and 2-way dot products: about 8 rows compared with float32, any number compared with
/// i32 (docs/decisions/quantization.md).
constexpr double kPackSteps = 5, kSumSteps = 3, kWriteSteps = 5;
/// Time of a multiply or dot-product instruction followed by a separate addition, relative to an
/// instruction that accumulates its result itself.
constexpr double kSeparateSum = 1.35;
/// Number of neighbours along K that a dot-product instruction reduces. If K is not a multiple of
/// it, the kernel reads a padded copy of the operand.
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
      found.floats += operand * kExtendSteps / lanes / double(readers);
    else
      found.integers += operand * kRoundSteps / lanes / double(readers);
    if (lengthOf(form.depth) % kNeighbours != 0)
      found.integers += operand / lanes;
    return found;
  }

private:
  /// Returns the costs of a contraction of two dequantized operands. To compute it without dot
  /// products, the right operand is converted to float, or to i32 if the accumulators are i32. To
  /// compute it on 8-bit integers, the right operand is packed.
  ProductCosts ofComputed() {
    double items = lengthOf(form.roles.batch), depth = lengthOf(form.roles.summed);
    double left = items * lengthOf(form.roles.rows) * depth,
           right = items * depth * double(lengthOf(form.roles.column)),
           sums = items * lengthOf(form.roles.rows) * double(lengthOf(form.roles.column));
    Type sum = IntegerType::get(op->getContext(), 32);
    bool hasBytes = llvm::any_of(plan::byteProducts(op), [&](const plan::OperandTypes &types) {
      return plan::findDot(op, types.left, types.right, sum) || plan::findMatrix(op, types.left, types.right, sum);
    });
    // If a vector is shorter than two groups of neighbours along K, the right operand is packed
    // element by element.
    double pack = lanes >= 2 * double(hasBytes ? kNeighbours : kNeighbours / 2) ? kPackSteps : kPackSteps * lanes;
    bool scales = graph::getElementType(op->getResult(0)).isF32();
    ProductCosts found;
    found.floats = (left + right) * kExtendSteps / lanes;
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
  /// Returns the size of the iteration dim `d`. A dynamic dim of a computed operand is assumed to
  /// be large.
  int64_t lengthOf(unsigned d) {
    constexpr int64_t whenRun = 512;
    return form.extents[d].constant().value_or(whenRun);
  }

  static double elementsOf(Value value) {
    return double(graph::numElements(graph::getDims(value)).constant().value_or(0));
  }

  /// Returns the time of loading the weights from memory, with `each` bytes per weight. It is a
  /// lower bound for a GEMV.
  double weightBytes(double each) {
    return fromMemory(double(lengthOf(form.roles.column)) * lengthOf(form.roles.summed) * each);
  }
  /// Returns the time of loading `bytes` bytes of weights, or 0 if they fit the L2 cache and stay
  /// there.
  double fromMemory(double bytes) {
    auto l2 = double(plan::targetOf(op).getL2Bytes());
    return bytes > l2 ? bytes / double(costs.getMemoryBytesPerCycle()) * double(costs.getFmasPerCycle()) : 0;
  }

  /// Returns the time that the contraction's register tiles take in total, with instructions that
  /// reduce `group` neighbours along K.
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
    // A Winograd convolution needs fewer multiplications per output tile than a direct one; half of
    // that gain is assumed to be spent on the transforms. The transformed filter is larger and is
    // reused by few tiles of rows, so the time of loading it is added to the time of the FMAs.
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
      if (plan::MatrixUnitAttr matrix = plan::findMatrix(op, types.left, types.right, sum))
        if (shape.rows.constant().value_or(matrix.getMinRows()) >= matrix.getMinRows())
          return tiles(shape, 1) / double(matrix.getRelativeRate());
      if (plan::DotProductAttr dot = plan::findDot(op, types.left, types.right, sum))
        return tiles(of, dot.getGroup()) * stepsOf(dot);
    }
    of.rowBytes *= 2;
    if (plan::DotProductAttr dot = plan::findDot(op, half, half, sum))
      return tiles(of, dot.getGroup()) * stepsOf(dot);
    return tiles(shape, 1);
  }

  static double stepsOf(plan::DotProductAttr dot) {
    return (dot.getAccumulates() ? 1 : kSeparateSum) * dot.getIssueTime();
  }

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
  if (!plan::targetOf(op) || !plan::supports(op, plan::KernelFeature::IntegerCosts))
    return std::nullopt;
  return CostModel(op, form).run(comesQuantized, std::max<int64_t>(readers, 1));
}

} // namespace hewn
