// SPDX-License-Identifier: Apache-2.0
//
// Leaves weights in few bits where a model is quantized in its weights alone.
//
//     %w = graph.dequantize %q, %s : (tensor<4096x64xi4>, tensor<1x64xf32>)  →  %c = graph.encode %q : ... -> tensor<512x64xui32>
//     %y = graph.matmul %x, %w                                                 %w = graph.decode %c, %s {bits = 4, block = 4096}
//                                                                              %y = graph.matmul %x, %w
//
// Contractions decode such weights in registers, or a panel at a time: a row, which waits for memory, takes the time of reading
// integers, and the file of weights has these alone. Codes that are looked up in a table (graph.look_up) become graph.decode_by_table.
// What makes words, scales and offsets of constants is folded. Scales may differ by
// blocks along the sum; a depth of no whole words is padded on both sides. Narrow floats are multiplied as float32, and the sums are
// rounded.
//
// Left alone, and folded to floats: small weights, contractions of other than a matrix [k, n] (so convolutions), machines that run a grid
// of threads, many rows where the machine has no instruction for integers. Weights whose other factor is quantized too have become
// products of integers before.
#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Quant/QuantOps.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include <cmath>

using namespace mlir;
using hewn::graph::CodedWeights;
using hewn::graph::ContractOpInterface;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_FORMCODESPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

/// Whether a table's numbers are known, and such that bytes stand for them (graph::Code::tableInBytes).
static bool isInBytes(Value table, const WeightTable &weights) {
  auto isByte = [](double number) {
    double units = number * double(graph::Code::tableUnits);
    return std::nearbyint(units) == units && units >= double(graph::Code::tableLowest) &&
           units <= double(graph::Code::tableHighest);
  };
  std::optional<SmallVector<double>> numbers = graph::Contents(weights).floats(table);
  return numbers && llvm::all_of(*numbers, isByte);
}

/// Numbers are looked up sooner than float32s come from memory where registers hold the table and an instruction finds them, or where a gather
/// has many lanes: of machines that were measured (docs/decisions/quantization.md) those whose lanes' square is no less than the table.
static Verdict paysToLookUp(ContractOpInterface op, graph::Code code) {
  plan::TargetAttr target = plan::targetOf(op);
  int64_t lanes = plan::vectorLanes(op), numbers = int64_t(1) << code.bits;
  return !target || (target.getPermuteIntrinsic() && numbers <= lanes * lanes)
             ? Verdict::yes()
             : Verdict::no("the machine looks its numbers up one by one, and floats are there sooner");
}

/// A few rows wait for weights. More of them gain where the machine multiplies integers; without that, panels of floats are read again and again,
/// and are there sooner than they are made. What may be few when run stays a code, but not where the machine has a matrix unit that is
/// to be used for products of bfloat16 at this precision.
Verdict paysToDecode(ContractOpInterface op, const CodedWeights &weights, Precision precision) {
  constexpr int64_t fewRows = 3;
  if (plan::gridOf(op))
    return Verdict::no("a grid of threads multiplies floats that were decoded before");
  bool looksUpFloats = weights.table && !(weights.code.tableInBytes && plan::limbsFor(op, weights.code));
  if (Verdict looksUp = looksUpFloats ? paysToLookUp(op, weights.code) : Verdict::yes(); !looksUp)
    return looksUp;
  Builder b(op.getContext());
  Type bf16 = b.getBF16Type(), f32 = b.getF32Type();
  std::optional<int64_t> rows = plan::contractShape(op, *graph::contractRoles(op)).rows.constant();
  if (rows && *rows <= fewRows)
    return Verdict::yes();
  plan::MatrixAttr matrix = plan::findMatrix(op, bf16, bf16, f32);
  // The products that lose no digits are taken for known rows alone.
  if (matrix && (rows || precision != Precision::Highest) && plan::fills(op, matrix))
    return Verdict::no("the machine's matrix unit multiplies floats sooner than they are decoded");
  bool rounds = precision == Precision::Medium && plan::findDot(op, bf16, bf16, f32);
  bool byLimbs = !rounds && (!weights.table || weights.code.tableInBytes) && plan::limbsFor(op, weights.code);
  if (!rows || byLimbs)
    return Verdict::yes();
  return Verdict::no("its rows are many, and panels of floats are there sooner than they are decoded");
}

Found<CodedWeights> codedWeights(ContractOpInterface op, const WeightTable &constants) {
  Found<CodedWeights> found = graph::codedWeights(op);
  if (!found || !found->table || found->code.bits != 4)
    return found;
  CodedWeights weights = *found;
  weights.code.tableInBytes = isInBytes(weights.table, constants);
  return weights;
}

namespace {

class CodedContractionFormer {
public:
  CodedContractionFormer(ContractOpInterface op, CodedWeights weights, const WeightTable &table)
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

  /// The left operand in float32, with zeros for the rows behind the last ones of the right one.
  Value left(Value value) {
    value = c.cast(value, f32);
    int64_t more = rowsBehind();
    if (more == 0)
      return value;
    graph::ContractRoles roles = *graph::contractRoles(op);
    unsigned depth = *graph::resultWith(op.getIndexingMaps()[0], *graph::plainSummedDim(op, roles));
    Dims low(graph::getRank(value), DimExpr(0)), high = low;
    high[depth] = DimExpr(more);
    return c.pad(value, low, high);
  }

  /// How many rows the one block of a column has behind the last ones of the weights.
  int64_t rowsBehind() { return weights.blockDims ? 0 : weights.code.block - lengthOf(weights.depth); }

  Value right() {
    Value matrix = inOrder(integers(), graph::getDims(integers()));
    if (int64_t more = rowsBehind())
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

  /// A value of the integers' rank as a matrix [k, n].
  Value inOrder(Value value, const Dims &dims) {
    SmallVector<int64_t> order(weights.depth);
    order.append(weights.columns);
    DimExpr rows(1), columns(1);
    for (int64_t d : weights.depth)
      rows = rows * dims[d];
    for (int64_t d : weights.columns)
      columns = columns * dims[d];
    for (int64_t d = 0; d < int64_t(dims.size()); ++d) // of length 1
      if (!llvm::is_contained(order, d))
        order.push_back(d);
    return c.reshape(c.transpose(value, order), {rows, columns});
  }

  /// A scale or zero point as a matrix of one a block and column, or of one a block.
  Value parameter(Value value) {
    Dims whole = graph::getDims(integers()), dims = graph::alignedDims(value, int64_t(whole.size())), wanted = dims;
    for (int64_t d : ArrayRef(weights.depth).take_front(weights.blockDims))
      wanted[d] = whole[d];
    if (llvm::any_of(weights.columns, [&](int64_t d) { return !dims[d].is(1); }))
      for (int64_t d : weights.columns)
        wanted[d] = whole[d];
    return inOrder(c.expand(c.reshape(value, dims), wanted), wanted);
  }

  /// What the zero points are of codes, which are unsigned; null: the middle one.
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
  CodedWeights weights;
  const WeightTable &table;
  OpBuilder b;
  graph::Composer c;
  Type f32;
};

struct FormCodesPass : impl::FormCodesPassBase<FormCodesPass> {
  FormCodesPass() = default;
  explicit FormCodesPass(const FormCodesPassOptions &options, const WeightTable *table = nullptr)
      : FormCodesPassBase(options), table(table) {}
  const WeightTable *table = nullptr;

  void runOnOperation() override {
    static const WeightTable none;
    SmallVector<std::pair<ContractOpInterface, CodedWeights>> found;
    getOperation().walk([&](ContractOpInterface op) {
      Found<CodedWeights> weights = codedWeights(op, table ? *table : none);
      bool keeps = op->hasAttr(kKeepsWeightsAttr) && !plan::gridOf(op);
      Verdict pays = !weights ? Verdict::no(weights.why())
                     : keeps  ? Verdict::yes()
                              : paysToDecode(op, *weights, precision);
      if (pays)
        found.push_back({op, *weights});
      else if (comesQuantized(op->getOperand(1)))
        missed(op, getArgument(), "NotDecoded", pays.why());
    });
    for (auto &[op, weights] : found)
      CodedContractionFormer(op, weights, table ? *table : none).run();
  }
};

} // namespace

std::unique_ptr<Pass> createFormCodesPass(const FormCodesPassOptions &options, const WeightTable *weights) {
  return std::make_unique<FormCodesPass>(options, weights);
}

} // namespace hewn
