// SPDX-License-Identifier: Apache-2.0
//
// Writes a quantization into a graph.
//
//     %y = graph.matmul %x, %w          →   %q = graph.quantize %x, 0.02, 114 {to = ui8}
//                                           %a = graph.dequantize %q, 0.02, 114
//                                           %b = graph.dequantize %wi, %sw                 // constants
//                                           %y = graph.matmul %a, %b
//
// What becomes integers by that is FormIntegerContractions' affair, and FormCodes' where weights alone are quantized. Of a value that
// several contractions read there is one tensor of integers; others read the floats.
//
// Left alone, and said why: contractions of computed operands or without a form of integers, and those whose operand no run has shown.
#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Quant/Quant.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Quantize/RoundWeights.h"
#include "lib/Transforms/Quantize/Sites.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_QUANTIZECONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr StringRef kQuantizeContractions = "hewn-quantize-contractions";

/// The elements of a constant of float32; empty where the table lacks them.
std::vector<float> floatsOf(graph::ConstantOp constant, const WeightTable &weights) {
  auto type = cast<RankedTensorType>(constant.getType());
  std::vector<float> floats;
  if (auto elements = dyn_cast<DenseElementsAttr>(constant.getValue())) {
    floats.reserve(size_t(type.getNumElements()));
    for (const APFloat &value : elements.getValues<APFloat>())
      floats.push_back(value.convertToFloat());
  } else if (auto weight = dyn_cast<graph::WeightAttr>(constant.getValue())) {
    ArrayRef<char> bytes = weights.bytes(weight);
    floats.resize(bytes.size() / sizeof(float));
    std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  }
  return int64_t(floats.size()) == type.getNumElements() ? floats : std::vector<float>();
}

class Quantizer {
public:
  Quantizer(func::FuncOp function, const quantize::Quantization &wanted, WeightTable &weights,
            std::vector<QuantizedSite> &done, std::vector<ExposedShift> *shifts)
      : function(function), context(function.getContext()), wanted(wanted), weights(weights), done(done),
        shifts(shifts) {}

  void run(const ContractionSite &site) {
    QuantizedSite &told = done.emplace_back();
    told.node = site.name;
    told.kind = site.kind.str();
    auto found = wanted.sites.find(site.name);
    const quantize::Scheme &scheme =
        found == wanted.sites.end() ? wanted.schemeFor(site.name, site.kind) : found->second.scheme;
    const quantize::Site *chosen = found == wanted.sites.end() ? nullptr : &found->second;
    graph::ContractOpInterface contraction = site.op;
    Operation *floats = wantsShift(site, scheme, chosen) ? OpBuilder(contraction).clone(*contraction) : nullptr;
    Verdict verdict = scheme.keepFloat              ? Verdict::no("that was asked for")
                      : scheme.activations.integers ? both(site, scheme, chosen, told)
                                                    : weightsAlone(site, scheme, told);
    if (verdict)
      return floats ? exposeShift(site, floats) : addBias(site, chosen);
    if (floats)
      floats->erase();
    told.why = chosen && !chosen->why.empty() ? chosen->why : verdict.why().str();
    missed(site.op, kQuantizeContractions, "NotQuantized", verdict.why());
  }

private:
  using Rounded = quantize::RoundedWeights;

  /// Whether what quantizing shifts is to be seen: it is wanted, and not known.
  bool wantsShift(const ContractionSite &site, const quantize::Scheme &scheme, const quantize::Site *chosen) {
    return shifts && scheme.biasCorrection && !scheme.keepFloat && site.form && isInProgram(site.op->getResult(0)) &&
           (!chosen || chosen->bias.empty());
  }

  /// The program goes on with the floats, so that each contraction tells what its own rounding does.
  void exposeShift(const ContractionSite &site, Operation *floats) {
    OpBuilder b(context);
    b.setInsertionPointAfter(site.op);
    graph::Composer c(b, site.op->getLoc());
    Value quantized = site.op->getResult(0);
    quantized.replaceAllUsesWith(floats->getResult(0));
    Dims dims = graph::getDims(quantized);
    SmallVector<int64_t> others;
    DimExpr rows(1);
    for (auto [d, extent] : llvm::enumerate(dims))
      if (d != site.form->columnInResult) {
        others.push_back(int64_t(d));
        rows = rows * extent;
      }
    Value shift = c.sub({quantized, floats->getResult(0)});
    std::optional<unsigned> result = addResult(function, others.empty() ? shift : c.sum(shift, others, false));
    if (!result || !addResult(function, c.number(rows)))
      failed = true;
    else if (llvm::none_of(*shifts, [&](const ExposedShift &of) { return of.node == site.name; })) // of another case
      shifts->push_back({*result, site.name, site.kind.str()});
  }

  /// The numbers of the site, which are as many as there are columns.
  void addBias(const ContractionSite &site, const quantize::Site *chosen) {
    if (!chosen || chosen->bias.empty())
      return;
    OpBuilder b(context);
    b.setInsertionPointAfter(site.op);
    graph::Composer c(b, site.op->getLoc());
    Value result = site.op->getResult(0);
    SmallVector<int64_t> dims(size_t(graph::getRank(result)), 1);
    int64_t columns = int64_t(chosen->bias.size());
    dims[site.form->columnInResult] = columns;
    if (!graph::getDims(result)[site.form->columnInResult].is(columns)) {
      site.op->emitError() << "the quantization has a 'bias' of " << columns << " numbers for '" << site.name
                           << "', whose results have another number of columns";
      failed = true;
      return;
    }
    SmallVector<float> numbers(chosen->bias.begin(), chosen->bias.end());
    auto *begin = reinterpret_cast<const char *>(numbers.data());
    Value bias = constant(b, site.op->getLoc(), RankedTensorType::get(dims, b.getF32Type()), keyOf(site, "bias"),
                          std::vector<char>(begin, begin + numbers.size() * sizeof(float)));
    Value corrected = c.add({result, bias});
    result.replaceAllUsesExcept(corrected, corrected.getDefiningOp());
  }

  /// Integers on both sides.
  Verdict both(const ContractionSite &site, const quantize::Scheme &scheme, const quantize::Site *chosen,
               QuantizedSite &told) {
    if (!site.form)
      return Verdict::no(site.form.why());
    if (!chosen)
      return isInProgram(site.source) ? Verdict::no("no run has shown the range of its left operand")
                                      : Verdict::no("it stands in a branch or a loop, where no run shows ranges");
    Rounded rounded;
    if (Verdict verdict = round(site, scheme.weights, rounded); !verdict)
      return verdict;
    OpBuilder b(site.op);
    Value before = site.op->getOperand(0);
    site.op->setOperand(0, leftOf(site, b, dequantized(site.source, *chosen)));
    site.op->setOperand(1, channelWeights(site, rounded));
    eraseUnused(before.getDefiningOp());
    tell(told, rounded, scheme);
    told.activations = true;
    return Verdict::yes();
  }

  /// Weights of few bits, which the contraction decodes.
  Verdict weightsAlone(const ContractionSite &site, const quantize::Scheme &scheme, QuantizedSite &told) {
    if (!site.form)
      return Verdict::no(site.form.why());
    if (graph::getRank(site.weights) != 2 || site.form->columnInRight != 1)
      return Verdict::no("its weights are no matrix that is decoded in the product");
    if (scheme.weights.group && site.form->sumLength % scheme.weights.group != 0)
      return Verdict::no("the groups of its weights do not divide the sum");
    Rounded rounded;
    if (Verdict verdict = round(site, scheme.weights, rounded); !verdict)
      return verdict;
    Value coded = groupedWeights(site, scheme.weights, rounded);
    site.op->setOperand(1, coded);
    if (!graph::codedWeights(site.op)) {
      site.op->setOperand(1, site.weights);
      eraseUnused(coded.getDefiningOp());
      return Verdict::no("its weights are small, and sooner there as floats");
    }
    tell(told, rounded, scheme);
    return Verdict::yes();
  }

  /// What nobody reads, and what nothing else reads of it.
  static void eraseUnused(Operation *op) {
    if (!op || !op->use_empty())
      return;
    llvm::SmallSetVector<Value, 4> operands(op->operand_begin(), op->operand_end());
    op->erase();
    for (Value operand : operands)
      eraseUnused(operand.getDefiningOp());
  }

  void tell(QuantizedSite &told, const Rounded &rounded, const quantize::Scheme &scheme) {
    told.weightBits = scheme.weights.bits;
    told.weightDecibels = quantize::decibels(rounded.signal, rounded.noise);
    told.weightBytes =
        int64_t(rounded.integers.size()) * scheme.weights.bits / 8 + int64_t(rounded.scales.size() * sizeof(float));
    told.floatBytes = int64_t(rounded.integers.size() * sizeof(float));
  }

  Verdict round(const ContractionSite &site, const quantize::Weights &how, Rounded &rounded) {
    std::vector<float> floats = floatsOf(site.weights.getDefiningOp<graph::ConstantOp>(), weights);
    if (floats.empty())
      return Verdict::no("the bytes of its weights are not there");
    auto type = cast<RankedTensorType>(site.weights.getType());
    quantize::ColumnLayout layout{type.getDimSize(site.form->columnInRight), 1, 0};
    for (int64_t d = site.form->columnInRight + 1; d < type.getRank(); ++d)
      layout.columnStride *= type.getDimSize(d);
    layout.depth = int64_t(floats.size()) / layout.columns;
    rounded = quantize::roundWeights(floats, layout, how, context);
    return rounded.isFinite ? Verdict::yes() : Verdict::no("its weights are not all finite");
  }

  /// A name for bytes that are made of the site's weights.
  std::string keyOf(const ContractionSite &site, StringRef what) {
    auto constant = site.weights.getDefiningOp<graph::ConstantOp>();
    auto weight = dyn_cast<graph::WeightAttr>(constant.getValue());
    return ((weight ? weight.getKey() : StringRef(site.name)) + "." + what).str();
  }

  Value constant(OpBuilder &b, Location loc, RankedTensorType type, const std::string &key, std::vector<char> bytes) {
    int64_t size = int64_t(bytes.size());
    return graph::ConstantOp::create(b, loc, type,
                                     graph::WeightAttr::get(context, weights.add(key, std::move(bytes)), 0, size));
  }

  Value scales(OpBuilder &b, const ContractionSite &site, const Rounded &rounded, ArrayRef<int64_t> dims) {
    std::vector<char> bytes(rounded.scales.size() * sizeof(float));
    std::memcpy(bytes.data(), rounded.scales.data(), bytes.size());
    return constant(b, site.op->getLoc(), RankedTensorType::get(dims, b.getF32Type()), keyOf(site, "scale"),
                    std::move(bytes));
  }

  /// Integers of 8 bits with a scale a column.
  Value channelWeights(const ContractionSite &site, const Rounded &rounded) {
    OpBuilder b(site.op);
    graph::Composer c(b, site.op->getLoc());
    auto type = cast<RankedTensorType>(site.weights.getType());
    SmallVector<int64_t> dims(size_t(type.getRank()), 1);
    dims[site.form->columnInRight] = type.getDimSize(site.form->columnInRight);
    Value integers = constant(b, site.op->getLoc(), RankedTensorType::get(type.getShape(), b.getI8Type()),
                              keyOf(site, "int8"), std::vector<char>(rounded.integers.begin(), rounded.integers.end()));
    return graph::composeDequantize(c, integers, scales(b, site, rounded, dims), {}, b.getF32Type());
  }

  /// A matrix [k, n] as [k / group, group, n], or as it is where a column has one scale.
  Value groupedWeights(const ContractionSite &site, const quantize::Weights &how, const Rounded &rounded) {
    OpBuilder b(site.op);
    graph::Composer c(b, site.op->getLoc());
    auto type = cast<RankedTensorType>(site.weights.getType());
    int64_t k = type.getDimSize(0), n = type.getDimSize(1), group = how.group ? how.group : k;
    std::string what = ("int" + Twine(how.bits)).str();
    Value integers = constant(b, site.op->getLoc(),
                              RankedTensorType::get({k / group, group, n}, b.getIntegerType(unsigned(how.bits))),
                              keyOf(site, what), std::vector<char>(rounded.integers.begin(), rounded.integers.end()));
    Value floats =
        graph::composeDequantize(c, integers, scales(b, site, rounded, {k / group, 1, n}), {}, b.getF32Type());
    return c.reshape(floats, graph::getDims(site.weights));
  }

  /// The value through integers without a sign, made once for each scale and zero point.
  Value dequantized(Value source, const quantize::Site &site) {
    Value &made = throughIntegers[{source.getAsOpaquePointer(), site.scale, site.zero}];
    if (made)
      return made;
    OpBuilder b(context);
    b.setInsertionPointAfterValue(source);
    Location loc = source.getLoc();
    graph::Composer c(b, loc);
    Type ui8 = b.getIntegerType(8, /*isSigned=*/false);
    Value scale = graph::makeSplat(b, loc, b.getF32Type(), site.scale),
          zero = graph::makeSplat(b, loc, ui8, double(site.zero));
    Value integers = graph::composeQuantize(c, source, scale, zero, ui8);
    return made = graph::composeDequantize(c, integers, scale, zero, b.getF32Type());
  }

public:
  /// After an error.
  bool failed = false;

private:
  func::FuncOp function;
  MLIRContext *context;
  const quantize::Quantization &wanted;
  WeightTable &weights;
  std::vector<QuantizedSite> &done;
  std::vector<ExposedShift> *shifts;
  std::map<std::tuple<void *, double, int64_t>, Value> throughIntegers;
};

struct QuantizeContractionsPass : impl::QuantizeContractionsPassBase<QuantizeContractionsPass> {
  using QuantizeContractionsPassBase::QuantizeContractionsPassBase;
  QuantizeContractionsPass(const quantize::Quantization *quantization, WeightTable *weights,
                           std::vector<QuantizedSite> *done, std::vector<ExposedShift> *shifts)
      : quantization(quantization), weights(weights), done(done), shifts(shifts) {}
  const quantize::Quantization *quantization = nullptr;
  WeightTable *weights = nullptr;
  std::vector<QuantizedSite> *done = nullptr;
  std::vector<ExposedShift> *shifts = nullptr;

  void runOnOperation() override {
    std::optional<quantize::Quantization> read;
    if (!quantization) {
      Diagnostics diagnostics;
      read = quantize::readQuantization(text, diagnostics);
      for (const Message &message : diagnostics.messages())
        getOperation().emitError() << message.message;
      if (!read)
        return signalPassFailure();
    }
    WeightTable ownWeights;
    std::vector<QuantizedSite> ownDone;
    Quantizer quantizer(getOperation(), read ? *read : *quantization, weights ? *weights : ownWeights,
                        done ? *done : ownDone, shifts);
    for (ContractionSite &site : findContractionSites(getOperation())) {
      site.source = sourceOf(site.op); // which may be a result that was corrected
      quantizer.run(site);
    }
    if (quantizer.failed)
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createQuantizeContractionsPass(const quantize::Quantization *quantization, WeightTable *weights,
                                                     std::vector<QuantizedSite> *done,
                                                     std::vector<ExposedShift> *shifts) {
  return std::make_unique<QuantizeContractionsPass>(quantization, weights, done, shifts);
}

} // namespace hewn
