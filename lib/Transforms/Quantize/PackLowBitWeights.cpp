// SPDX-License-Identifier: Apache-2.0
//
// Keeps low-bit weights packed where contractions dequantize them in the kernel (see Passes.td).
#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Quant/QuantOps.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include <cmath>

using namespace mlir;
using hewn::graph::ContractOpInterface;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::PackedWeights;

namespace hewn {
#define GEN_PASS_DEF_PACKLOWBITWEIGHTSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

/// Returns true if a lookup table's entries are known and representable as int8
/// (graph::WeightEncoding::tableInBytes).
static bool isInBytes(Value table, const WeightStore &weights) {
  auto isByte = [](double number) {
    double units = number * double(graph::WeightEncoding::tableUnits);
    return std::nearbyint(units) == units && units >= double(graph::WeightEncoding::tableLowest) &&
           units <= double(graph::WeightEncoding::tableHighest);
  };
  std::optional<SmallVector<double>> numbers = graph::Contents(weights).floats(table);
  return numbers && llvm::all_of(*numbers, isByte);
}

/// Returns whether looking up packed weights in a lookup table is faster than loading float32
/// weights. It is faster if a permute instruction finds the table entry in a register, or if a
/// gather has many lanes. On the measured targets (docs/decisions/quantization.md), it is faster if
/// the square of the number of lanes is at least the size of the table.
static Eligibility paysToLookUp(ContractOpInterface op, graph::WeightEncoding code) {
  plan::TargetAttr target = plan::targetOf(op);
  int64_t lanes = plan::vectorLanes(op), numbers = int64_t(1) << code.bits;
  return !target || (target.getPermuteIntrinsic() && numbers <= lanes * lanes)
             ? Eligibility::yes()
             : Eligibility::no("float weights are faster: the target looks up table entries one at a time");
}

/// Returns whether a contraction is faster with packed weights. Skinny GEMMs are, because loading
/// the weights takes most of their time. GEMMs with more rows are faster only if the target has
/// integer dot products; otherwise they reuse panels of float weights, which is cheaper than
/// repeated dequantization. With a dynamic number of rows the weights stay packed, unless the
/// target has a matrix unit that this precision uses for bfloat16.
Eligibility paysToDecode(ContractOpInterface op, const PackedWeights &weights, Precision precision) {
  constexpr int64_t fewRows = 3;
  if (!plan::supports(op, plan::KernelFeature::PackedWeights))
    return Eligibility::no("the target's kernels multiply weights that are dequantized at compile time");
  bool looksUpFloats = weights.table && !(weights.code.tableInBytes && plan::int8SlicesFor(op, weights.code));
  if (Eligibility looksUp = looksUpFloats ? paysToLookUp(op, weights.code) : Eligibility::yes(); !looksUp)
    return looksUp;
  Builder b(op.getContext());
  Type bf16 = b.getBF16Type(), f32 = b.getF32Type();
  std::optional<int64_t> rows = plan::contractShape(op, *graph::contractRoles(op)).rows.constant();
  if (rows && *rows <= fewRows)
    return Eligibility::yes();
  plan::MatrixUnitAttr matrix = plan::findMatrix(op, bf16, bf16, f32);
  // At precision `highest`, a matrix unit multiplies float32 only if the number of rows is static.
  if (matrix && (rows || precision != Precision::Highest) && plan::fills(op, matrix))
    return Eligibility::no("float weights are faster: the matrix unit multiplies faster than weights are dequantized");
  plan::DotProductAttr dot = plan::findDot(op, bf16, bf16, f32);
  bool rounds = precision == Precision::Medium && dot && dot.getRelativeRate() > 1;
  bool byInt8Slices = !rounds && (!weights.table || weights.code.tableInBytes) && plan::int8SlicesFor(op, weights.code);
  if (!rows || byInt8Slices)
    return Eligibility::yes();
  return Eligibility::no(
      "float weights are faster: the GEMM has many rows, and loading panels is cheaper than dequantizing them");
}

OrReason<PackedWeights> packedWeights(ContractOpInterface op, const WeightStore &constants) {
  OrReason<PackedWeights> found = graph::packedWeights(op);
  if (!found || !found->table || found->code.bits != 4)
    return found;
  PackedWeights weights = *found;
  weights.code.tableInBytes = isInBytes(weights.table, constants);
  return weights;
}

namespace {

class PackedContractionBuilder {
public:
  PackedContractionBuilder(ContractOpInterface op, PackedWeights weights, const WeightStore &table)
      : op(op), weights(weights), table(table), b(op), c(b, op->getLoc()), f32(b.getF32Type()) {}

  void run() {
    Type type = graph::getElementType(op->getResult(0));
    ContractOpInterface made =
        rewriteOperands(op, f32, [&](unsigned operand, Value value) { return operand ? right() : left(value); });
    if (!made || type == f32)
      return;
    b.setInsertionPointAfter(made);
    Value sums = made->getResult(0), rounded = c.cast(sums, type);
    sums.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
  }

private:
  Value integers() { return weights.op->getOperand(0); }

  /// Casts the left operand to float32 and pads K with zeros to the right operand's padded K.
  Value left(Value value) {
    value = c.cast(value, f32);
    int64_t more = paddingRows();
    if (more == 0)
      return value;
    graph::ContractRoles roles = *graph::contractRoles(op);
    unsigned depth = *graph::resultWith(op.getIndexingMaps()[0], *graph::plainSummedDim(op, roles));
    Dims low(graph::getRank(value), DimExpr(0)), high = low;
    high[depth] = DimExpr(more);
    return c.pad(value, low, high);
  }

  /// Returns the number of rows of padding that the weights get along K. Returns 0 unless all of K
  /// is one block of scales.
  int64_t paddingRows() { return weights.blockDims ? 0 : weights.code.block - lengthOf(weights.depth); }

  Value right() {
    Value matrix = inOrder(integers(), graph::getDims(integers()));
    if (int64_t more = paddingRows())
      matrix = c.pad(matrix, Dims(2, DimExpr(0)), {DimExpr(more), DimExpr(0)});
    Value words = graph::make<graph::EncodeOp>(b, op->getLoc(), matrix);
    Value scale = parameter(weights.op.getQuantizedScale());
    if (weights.table)
      return graph::composeDecodeByTable(c, words, scale, weights.table, weights.code);
    return graph::composeDecode(c, words, scale, zeroPoint(), weights.code);
  }

  int64_t lengthOf(ArrayRef<int64_t> dims) {
    int64_t length = 1;
    for (int64_t d : dims)
      length *= *graph::getDims(integers())[d].constant();
    return length;
  }

  /// Transposes and reshapes a value, which has the rank of the weights' integers, to a matrix [k,
  /// n].
  Value inOrder(Value value, const Dims &dims) {
    SmallVector<int64_t> order(weights.depth);
    order.append(weights.columns);
    DimExpr rows(1), columns(1);
    for (int64_t d : weights.depth)
      rows = rows * dims[d];
    for (int64_t d : weights.columns)
      columns = columns * dims[d];
    for (int64_t d = 0; d < int64_t(dims.size()); ++d) // append the dims of size 1
      if (!llvm::is_contained(order, d))
        order.push_back(d);
    return c.reshape(c.transpose(value, order), {rows, columns});
  }

  /// Returns a scale or zero point as a matrix with one element per block and column, or per block.
  Value parameter(Value value) {
    Dims whole = graph::getDims(integers()), dims = graph::alignedDims(value, int64_t(whole.size())), wanted = dims;
    for (int64_t d : ArrayRef(weights.depth).take_front(weights.blockDims))
      wanted[d] = whole[d];
    if (llvm::any_of(weights.columns, [&](int64_t d) { return !dims[d].is(1); }))
      for (int64_t d : weights.columns)
        wanted[d] = whole[d];
    return inOrder(c.expand(c.reshape(value, dims), wanted), wanted);
  }

  /// Returns the zero points of the packed integers, which are unsigned. Returns null if all zero
  /// points are the midpoint of the integers' range.
  Value zeroPoint() {
    Value zero = weights.op.getQuantizedZero();
    bool isSigned = !graph::isUnsigned(graph::getElementType(integers()));
    int64_t middle = int64_t(1) << (weights.code.bits - 1);
    if (zero ? isKnownInteger(zero, isSigned ? 0 : middle, table) : isSigned)
      return {};
    if (!zero)
      return graph::makeSplat(b, op->getLoc(), f32, 0, {1, 1});
    zero = c.cast(parameter(zero), f32);
    return isSigned ? c.add({zero, c.scalarLike(zero, double(middle))}) : zero;
  }

  ContractOpInterface op;
  PackedWeights weights;
  const WeightStore &table;
  OpBuilder b;
  graph::Composer c;
  Type f32;
};

struct PackLowBitWeightsPass : impl::PackLowBitWeightsPassBase<PackLowBitWeightsPass> {
  using PackLowBitWeightsPassBase::PackLowBitWeightsPassBase;

  void runOnOperation() override {
    const WeightStore &table = graph::weightsOf(&getContext());
    SmallVector<std::pair<ContractOpInterface, PackedWeights>> found;
    getOperation().walk([&](ContractOpInterface op) {
      OrReason<PackedWeights> weights = packedWeights(op, table);
      bool keeps = op->hasAttr(kKeepsWeightsAttr) && plan::supports(op, plan::KernelFeature::PackedWeights);
      Eligibility pays = !weights ? Eligibility::no(weights.why())
                         : keeps  ? Eligibility::yes()
                                  : paysToDecode(op, *weights, precision);
      if (pays)
        found.push_back({op, *weights});
      else if (comesQuantized(op->getOperand(1)))
        missed(op, getArgument(), "NotDecoded", pays.why());
    });
    for (auto &[op, weights] : found)
      PackedContractionBuilder(op, weights, table).run();
  }
};

} // namespace

} // namespace hewn
