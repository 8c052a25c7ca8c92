// SPDX-License-Identifier: Apache-2.0
//
// Raises elementwise ops that convert constant low-bit integers to float to graph.dequantize (see
// Passes.td).
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "dialects/Graph/Quant/Quant.h"
#include "lib/Support/Remarks.h"
#include "lib/Transforms/Quantize/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include <cstring>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_RAISEDEQUANTIZEPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr StringRef kRaiseDequantize = "hewn-raise-dequantize";
/// Limits of how many floats the pass evaluates to find scales and zero points: for one weight
/// tensor, and for a batch of weight tensors.
constexpr int64_t kMostValues = 64 << 20, kBatchValues = 16 << 20;

/// A candidate for graph.dequantize: a float tensor that elementwise ops compute from one low-bit
/// integer tensor and from constants that broadcast to it.
struct Candidate {
  Value floats, integers;
  /// The elementwise ops that compute the float tensor, in program order.
  llvm::SetVector<Operation *> ops;
  /// The dims to which all operands of the ops except the integers broadcast, with the integers'
  /// rank.
  Dims parameters;
  unsigned bits = 0;
  int64_t values() const { return (int64_t(1) << bits) * *graph::numElements(parameters).constant(); }
};

/// Adds the ops that compute `value` to the candidate for graph.dequantize. Returns false if the
/// ops do not form a candidate.
bool collect(Value value, Candidate &c) {
  Dims whole = graph::getDims(c.floats), dims = graph::getDims(value);
  auto type = dyn_cast<IntegerType>(graph::getElementType(value));
  if (dims == whole && type && type.getWidth() > 1 && type.getWidth() <= 8) {
    bool isFirst = !c.integers;
    c.integers = isFirst ? value : c.integers;
    c.bits = type.getWidth();
    return c.integers == value && graph::isMadeOfConstants(value);
  }
  if (dims != whole) {
    c.parameters =
        graph::broadcastDims({c.parameters, graph::alignedDims(value, int64_t(whole.size()))}).value_or(whole);
    return graph::isMadeOfConstants(value);
  }
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<graph::ElementwiseOpInterface>(op) || isa<graph::QuantizedOpInterface>(op) ||
      op->getNumResults() != 1 || op->getNumRegions())
    return false;
  if (!c.ops.contains(op) && !llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand, c); }))
    return false;
  c.ops.insert(op);
  return true;
}

std::optional<Candidate> candidateOf(graph::ContractOpInterface contraction) {
  Candidate c;
  c.floats = contraction->getOperand(1);
  for (Operation *view = c.floats.getDefiningOp(); view && graph::isViewKind(view); view = c.floats.getDefiningOp())
    c.floats = view->getOperand(0);
  std::optional<int64_t> elements = graph::numElements(graph::getDims(c.floats)).constant();
  if (!graph::getElementType(c.floats).isF32() || elements.value_or(0) <= graph::kSmallWeights)
    return std::nullopt;
  c.parameters.assign(size_t(graph::getRank(c.floats)), DimExpr(1));
  bool isOne = collect(c.floats, c) && c.integers && c.ops.size() > 0;
  return isOne && graph::numElements(c.parameters).constant() ? std::optional(std::move(c)) : std::nullopt;
}

/// Returns all values of an integer type in ascending order.
SmallVector<APInt> allOf(Type type) {
  unsigned bits = type.getIntOrFloatBitWidth();
  int64_t low = graph::isUnsigned(type) ? 0 : -(int64_t(1) << (bits - 1));
  SmallVector<APInt> all;
  for (int64_t i = 0; i < int64_t(1) << bits; ++i)
    all.push_back(APInt(bits, uint64_t(low + i), /*isSigned=*/low < 0, /*implicitTrunc=*/true));
  return all;
}

/// The scales and zero points of a weight tensor, one for each element of the parameter dims.
struct Fit {
  std::vector<float> scales;
  std::vector<int64_t> zeros;
};

/// Finds scales and zero points such that (q - zero) * scale equals `values` [integers,
/// parameters], where the integers q count up from `low`. Returns nothing if no scales and zero
/// points do.
std::optional<Fit> fit(ArrayRef<float> values, int64_t low, int64_t integers) {
  Fit found;
  auto count = int64_t(values.size()) / integers;
  auto at = [&](int64_t i, int64_t p) { return values[size_t(i * count + p)]; };
  for (int64_t p = 0; p < count; ++p) {
    int64_t zero = 0;
    while (zero < integers && at(zero, p) != 0)
      ++zero;
    if (zero == integers)
      return std::nullopt;
    // If the fitted scale is 0, all values are 0, and any zero point represents them.
    if (at(0, p) == 0 && at(integers - 1, p) == 0)
      zero = std::clamp<int64_t>(-low, 0, integers - 1);
    float scale = zero + 1 < integers ? at(zero + 1, p) : -at(zero - 1, p);
    for (int64_t i = 0; i < integers; ++i)
      if (at(i, p) != float(i - zero) * scale)
        return std::nullopt;
    found.scales.push_back(scale);
    found.zeros.push_back(low + zero);
  }
  return found;
}

class DequantizeRaiser {
public:
  DequantizeRaiser(func::FuncOp function, const graph::ConstantEvaluator &evaluate)
      : function(function), weights(graph::weightsOf(function.getContext())), evaluate(evaluate) {}

  void run() {
    llvm::DenseSet<Value> seen;
    SmallVector<Candidate> batch;
    int64_t values = 0;
    function.walk([&](graph::ContractOpInterface op) {
      std::optional<Candidate> c = candidateOf(op);
      if (!c || !seen.insert(c->floats).second)
        return;
      if (c->values() > kMostValues)
        return void(missed(op, kRaiseDequantize, "NotCodes",
                           "it has too many scales to evaluate every integer with each of them"));
      values += c->values();
      batch.push_back(std::move(*c));
    });
    for (size_t begin = 0; begin < batch.size();) {
      size_t end = begin;
      for (values = 0; end < batch.size() && (end == begin || values < kBatchValues); ++end)
        values += batch[end].values();
      replace(ArrayRef(batch).slice(begin, end - begin));
      begin = end;
    }
  }

private:
  void replace(ArrayRef<Candidate> batch) {
    FailureOr<std::vector<std::vector<char>>> results = evaluate(tabulate(batch));
    if (failed(results) || results->size() != batch.size()) {
      for (const Candidate &c : batch)
        missed(c.floats.getDefiningOp(), kRaiseDequantize, "NotCodes",
               "the constant evaluator does not support the ops that convert its integers to float");
      return;
    }
    for (auto [c, bytes] : llvm::zip(batch, *results)) {
      std::vector<float> values(bytes.size() / sizeof(float));
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
      SmallVector<APInt> integers = allOf(graph::getElementType(c.integers));
      bool isUnsigned = graph::isUnsigned(graph::getElementType(c.integers));
      int64_t low = isUnsigned ? int64_t(integers[0].getZExtValue()) : integers[0].getSExtValue();
      std::optional<Fit> found =
          int64_t(values.size()) == c.values() ? fit(values, low, int64_t(integers.size())) : std::nullopt;
      if (found)
        write(c, *found);
      else
        missed(c.floats.getDefiningOp(), kRaiseDequantize, "NotCodes",
               "its ops do not compute (q - zero_point) * scale");
    }
  }

  /// Builds a program that evaluates each candidate for all integers and returns the floats as a
  /// tensor [integers, parameters].
  OwningOpRef<ModuleOp> tabulate(ArrayRef<Candidate> batch) {
    OwningOpRef<ModuleOp> module = ModuleOp::create(function.getLoc());
    OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
    auto main = func::FuncOp::create(b, function.getLoc(), "main", b.getFunctionType({}, {}));
    b.setInsertionPointToEnd(main.addEntryBlock());
    SmallVector<Value> results;
    for (const Candidate &c : batch) {
      IRMapping mapping;
      Type type = graph::getElementType(c.integers);
      SmallVector<int64_t> dims(size_t(graph::getRank(c.integers)) + 1, 1);
      dims[0] = int64_t(1) << c.bits;
      auto table = RankedTensorType::get(dims, type);
      mapping.map(c.integers, graph::ConstantOp::create(b, c.floats.getLoc(), table,
                                                        DenseElementsAttr::get(table, ArrayRef(allOf(type))))
                                  .getResult());
      for (Operation *op : c.ops) {
        for (Value operand : op->getOperands())
          cloneMakers(b, operand, mapping);
        Operation *made = b.clone(*op, mapping);
        if (failed(graph::inferResults(made)))
          return module;
      }
      results.push_back(mapping.lookup(c.floats));
    }
    func::ReturnOp::create(b, function.getLoc(), results);
    main.setFunctionType(b.getFunctionType({}, ValueRange(results).getTypes()));
    return module;
  }

  /// Clones the ops that compute `value`, an operand other than the integers: constants, indexing
  /// and elementwise ops.
  static void cloneMakers(OpBuilder &b, Value value, IRMapping &mapping) {
    if (mapping.contains(value))
      return;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      cloneMakers(b, operand, mapping);
    b.clone(*op, mapping);
  }

  void write(const Candidate &c, const Fit &found) {
    Operation *last = c.floats.getDefiningOp();
    OpBuilder b(last);
    Location loc = last->getLoc();
    graph::Composer composer(b, loc);
    SmallVector<int64_t> dims;
    for (const DimExpr &dim : c.parameters)
      dims.push_back(*dim.constant());
    std::vector<char> bytes(found.scales.size() * sizeof(float));
    std::memcpy(bytes.data(), found.scales.data(), bytes.size());
    Value scale = constant(b, loc, RankedTensorType::get(dims, b.getF32Type()), std::move(bytes)), zero;
    if (!llvm::all_of(found.zeros, [](int64_t z) { return z == 0; }))
      zero = constant(b, loc, RankedTensorType::get(dims, graph::getElementType(c.integers)),
                      std::vector<char>(found.zeros.begin(), found.zeros.end()));
    if (Value made = graph::composeDequantize(composer, c.integers, scale, zero, b.getF32Type()))
      last->getResult(0).replaceAllUsesWith(made);
  }

  Value constant(OpBuilder &b, Location loc, RankedTensorType type, std::vector<char> bytes) {
    int64_t size = int64_t(bytes.size());
    return graph::ConstantOp::create(
        b, loc, type, graph::WeightAttr::get(b.getContext(), weights.add("codes", std::move(bytes)), 0, size));
  }

  func::FuncOp function;
  WeightStore &weights;
  const graph::ConstantEvaluator &evaluate;
};

struct RaiseDequantizePass : impl::RaiseDequantizePassBase<RaiseDequantizePass> {
  void runOnOperation() override {
    if (const graph::ConstantEvaluator &evaluate = graph::evaluatorOf(&getContext()))
      DequantizeRaiser(getOperation(), evaluate).run();
  }
};

} // namespace

} // namespace hewn
