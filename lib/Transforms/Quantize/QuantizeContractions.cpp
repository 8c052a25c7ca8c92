// SPDX-License-Identifier: Apache-2.0
//
// Inserts the quantize and dequantize ops that a quantization describes (see Passes.td).
#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/PackedWeights.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Transforms/Quantize/Candidates.h"
#include "lib/Transforms/Quantize/Numbers/Codebook.h"
#include "lib/Transforms/Quantize/Numbers/CompensateRounding.h"
#include "lib/Transforms/Quantize/Numbers/NarrowFloats.h"
#include "lib/Transforms/Quantize/Numbers/Smoothing.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Quantize/ProductCost.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn {
#define GEN_PASS_DEF_QUANTIZECONTRACTIONSPASS
#include "lib/Transforms/Quantize/Passes.h.inc"

namespace {

constexpr StringRef kQuantizeContractions = "hewn-quantize-contractions";

/// Returns the elements of a float32 constant, or an empty vector if `weights` does not have its
/// bytes.
std::vector<float> floatsOf(graph::ConstantOp constant, const WeightStore &weights) {
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
  Quantizer(func::FuncOp function, const quantize::Quantization &wanted, std::vector<QuantizedCandidate> &done,
            const QuantizeRequest &request, Precision precision)
      : function(function), context(function.getContext()), wanted(wanted), weights(graph::weightsOf(context)),
        done(done), shifts(request.shifts), trial(request.trial), evidence(request.evidence), precision(precision) {}

  /// Adds an input to the function: the shares of a QuantizeTrial, by which float and quantized
  /// results are blended. Returns false if the function cannot have another input.
  bool addShares(size_t sites) {
    if (!trial)
      return true;
    unsigned number = function.getNumArguments();
    Builder b(context);
    trial->size = unsigned(sites);
    DictionaryAttr attributes = b.getDictionaryAttr(b.getNamedAttr(graph::kNameAttr, b.getStringAttr("hewn.share")));
    auto type = RankedTensorType::get({int64_t(sites)}, b.getF32Type());
    if (mlir::failed(function.insertArgument(number, type, attributes, function.getLoc())))
      return false;
    shares = function.getArgument(number);
    return true;
  }

  /// Chooses smoothing factors of contractions. All contractions that read the same operand share
  /// them.
  void smooth(ArrayRef<ContractionCandidate> sites) {
    using Key = std::pair<void *, double>;
    llvm::MapVector<Key, SmallVector<const ContractionCandidate *>, std::map<Key, unsigned>> groups;
    for (const ContractionCandidate &site : sites) {
      const quantize::Scheme &scheme = schemeOf(site);
      if (site.form && scheme.smoothing != 0 && !scheme.keepFloat && scheme.activations.integers &&
          channelDimOf(site, site.source) && evidenceOf(site))
        groups[{site.source.getAsOpaquePointer(), scheme.smoothing}].push_back(&site);
    }
    for (auto &[key, readers] : groups) {
      const quantize::Evidence &seen = *evidenceOf(*readers.front());
      std::vector<quantize::ChannelWeights> read;
      for (const ContractionCandidate *site : readers)
        read.push_back(channelWeights(*site));
      if (llvm::any_of(
              read, [&](const auto &w) { return w.elements.empty() || w.channels() != int64_t(seen.channels.size()); }))
        continue;
      std::vector<double> factors =
          quantize::chooseFactors(seen, read, key.second, schemeOf(*readers.front()).biasCorrection);
      for (const ContractionCandidate *site : readers)
        factorsOf[site->name] = factors;
    }
  }

  void run(const ContractionCandidate &site) {
    QuantizedCandidate &report = done.emplace_back();
    report.node = site.name;
    report.kind = site.kind.str();
    auto found = wanted.sites.find(site.name);
    const quantize::Scheme &scheme = schemeOf(site);
    const quantize::Site *chosen = found == wanted.sites.end() ? nullptr : &found->second;
    report.smooth = factorsOf.lookup(site.name);
    if (site.form && scheme.activations.integers)
      compareCosts(site, report);
    graph::ContractOpInterface contraction = site.op;
    ++number;
    bool isBoth = wantsShift(site, scheme, chosen) || (shares && !scheme.keepFloat);
    Operation *floats = isBoth ? OpBuilder(contraction).clone(*contraction) : nullptr;
    Eligibility verdict = scheme.keepFloat              ? Eligibility::no("the quantization keeps it in float")
                          : scheme.activations.integers ? both(site, scheme, chosen, report)
                          : scheme.weights.areFloats()  ? narrowFloats(site, scheme, report)
                                                        : weightsAlone(site, scheme, chosen, report);
    if (verdict && shares)
      return blend(site.op, site.name, floats, addBias(site, chosen));
    if (verdict)
      return floats ? exposeShift(site, floats) : void(addBias(site, chosen));
    if (floats)
      floats->erase();
    report.why = chosen && !chosen->why.empty() ? chosen->why : verdict.why().str();
    missed(site.op, kQuantizeContractions, "NotQuantized", verdict.why());
  }

  /// Quantizes an embedding table; its rows are dequantized after the gather
  /// (GatherBeforeDequantize).
  void run(const TableCandidate &site) {
    QuantizedCandidate &report = done.emplace_back();
    report.node = site.name;
    report.kind = site.kind.str();
    ++number;
    auto found = wanted.sites.find(site.name);
    const quantize::Scheme &scheme =
        found == wanted.sites.end() ? wanted.schemeFor(site.name, site.kind) : found->second.scheme;
    Eligibility verdict = !site.isTable      ? site.isTable
                          : scheme.keepFloat ? Eligibility::no("the quantization keeps it in float")
                                             : narrowTable(site, scheme.weights, report);
    if (verdict)
      return;
    report.why = found != wanted.sites.end() && !found->second.why.empty() ? found->second.why : verdict.why().str();
    missed(site.op, kQuantizeContractions, "NotQuantized", verdict.why());
  }

private:
  using Rounded = quantize::RoundedWeights;

  Eligibility narrowTable(const TableCandidate &site, const quantize::Weights &how, QuantizedCandidate &report) {
    auto table = site.op->getOperand(0).getDefiningOp<graph::ConstantOp>();
    std::vector<float> floats = floatsOf(table, weights);
    if (floats.empty())
      return Eligibility::no("the bytes of its table are not available");
    if (how.storage == quantize::Storage::Codebook)
      return Eligibility::no("tables are quantized to integers or smaller floats, not to a codebook");
    auto type = cast<RankedTensorType>(table.getType());
    graph::IndexingOpInterface lookUp = site.op;
    int64_t dim = *lookUp.getLookedUpDim();
    quantize::ColumnLayout rows{type.getDimSize(dim), 1, 0};
    for (int64_t d = dim + 1; d < type.getRank(); ++d)
      rows.columnStride *= type.getDimSize(d);
    rows.depth = int64_t(floats.size()) / rows.columns;
    OpBuilder b(site.op);
    OrReason<Value> wide = how.areFloats() ? floatTable(b, site, floats, rows, how, report)
                                           : integerTable(b, site, floats, rows, how, report);
    if (!wide)
      return Eligibility::no(wide.why());
    Operation *whole = shares ? b.clone(*site.op) : nullptr;
    site.op->setOperand(0, *wide);
    blend(site.op, site.name, whole, site.op->getResult(0));
    return Eligibility::yes();
  }

  /// Quantizes a table to int8 with one scale per row. A scheme with fewer bits also results in
  /// int8, because no kernel gathers elements of less than a byte.
  OrReason<Value> integerTable(OpBuilder &b, const TableCandidate &site, ArrayRef<float> floats,
                               const quantize::ColumnLayout &rows, quantize::Weights how, QuantizedCandidate &report) {
    how.bits = 8;
    how.group = 0;
    how.symmetric = true;
    Rounded rounded = quantize::roundWeights(floats, rows, how, {}, context);
    if (!rounded.isFinite)
      return Eligibility::no("its table has elements that are not finite");
    tell(report, rounded, how);
    graph::Composer c(b, site.op->getLoc());
    Value integers = ofTable(b, site, b.getI8Type(), "int8", {rounded.integers.begin(), rounded.integers.end()});
    return graph::composeDequantize(c, integers, scalesOfRows(b, site, rounded.scales), {}, b.getF32Type());
  }

  OrReason<Value> floatTable(OpBuilder &b, const TableCandidate &site, ArrayRef<float> floats,
                             const quantize::ColumnLayout &rows, const quantize::Weights &how,
                             QuantizedCandidate &report) {
    quantize::NarrowedWeights narrowed = quantize::narrowWeights(floats, rows, how.storage);
    if (!narrowed.isFinite)
      return Eligibility::no("its table has elements that are not finite");
    tell(report, narrowed, how, floats.size());
    graph::Composer c(b, site.op->getLoc());
    std::vector<float> scales = narrowed.scales;
    Value wide = c.cast(ofTable(b, site, typeOf(how.storage), nameOf(how), std::move(narrowed.bytes)), b.getF32Type());
    return scales.empty() ? wide : c.mul({wide, scalesOfRows(b, site, scales)});
  }

  /// Creates a constant with the dims of the candidate's embedding table and another element type.
  Value ofTable(OpBuilder &b, const TableCandidate &site, Type element, StringRef what, std::vector<char> bytes) {
    auto table = site.op->getOperand(0).getDefiningOp<graph::ConstantOp>();
    auto type = RankedTensorType::get(cast<RankedTensorType>(table.getType()).getShape(), element);
    return constant(b, site.op->getLoc(), type, keyOf(table, site.name) + "." + what.str(), std::move(bytes));
  }

  Value scalesOfRows(OpBuilder &b, const TableCandidate &site, ArrayRef<float> scales) {
    auto table = site.op->getOperand(0).getDefiningOp<graph::ConstantOp>();
    graph::IndexingOpInterface lookUp = site.op;
    SmallVector<int64_t> dims(size_t(graph::getRank(table)), 1);
    dims[size_t(*lookUp.getLookedUpDim())] = int64_t(scales.size());
    auto *begin = reinterpret_cast<const char *>(scales.data());
    return constant(b, site.op->getLoc(), RankedTensorType::get(dims, b.getF32Type()),
                    keyOf(table, site.name) + ".scale", {begin, begin + scales.size() * sizeof(float)});
  }

  const quantize::Scheme &schemeOf(const ContractionCandidate &site) {
    auto found = wanted.sites.find(site.name);
    return found == wanted.sites.end() ? wanted.schemeFor(site.name, site.kind) : found->second.scheme;
  }

  const quantize::Evidence *evidenceOf(const ContractionCandidate &site) {
    if (!evidence)
      return nullptr;
    auto found = evidence->find(site.name);
    return found == evidence->end() ? nullptr : found->second;
  }

  quantize::ChannelWeights channelWeights(const ContractionCandidate &site) {
    quantize::ChannelWeights w;
    w.elements = floatsOf(site.weights.getDefiningOp<graph::ConstantOp>(), weights);
    auto type = cast<RankedTensorType>(site.weights.getType());
    unsigned channel = site.form->depthInRight, column = site.form->columnInRight;
    w.columnsFirst = column < channel;
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      bool isFirst = d == std::min(channel, column), isSecond = d == std::max(channel, column);
      int64_t &length = isFirst                         ? w.first
                        : isSecond                      ? w.second
                        : d < std::min(channel, column) ? w.outer
                        : d < std::max(channel, column) ? w.between
                                                        : w.inner;
      length *= size;
    }
    return w;
  }

  /// Adds the contraction's estimated costs in float and in integers to its report.
  static void compareCosts(const ContractionCandidate &site, QuantizedCandidate &report) {
    int64_t readers = llvm::count_if(site.source.getUsers(), llvm::IsaPred<graph::ContractOpInterface>);
    std::optional<ProductCosts> costs = productCosts(site.op, *site.form, /*comesQuantized=*/false, readers);
    if (!costs)
      return;
    report.floatCycles = int64_t(std::ceil(costs->floats));
    report.integerCycles = int64_t(std::ceil(costs->integers));
    if (costs->integersLose())
      report.slower =
          llvm::formatv("estimated cycles: {0} in integers, {1} in float", report.integerCycles, report.floatCycles);
  }

  /// Returns true if the program has to measure by how much quantization shifts the contraction's
  /// result: bias correction is requested, and the bias is not known yet.
  bool wantsShift(const ContractionCandidate &site, const quantize::Scheme &scheme, const quantize::Site *chosen) {
    return shifts && scheme.biasCorrection && !scheme.keepFloat && !scheme.weights.areFloats() && site.form &&
           isInProgram(site.op->getResult(0)) && (!chosen || chosen->bias.empty());
  }

  /// Adds the shift of the contraction's result by quantization to the program's results. Users of
  /// the contraction read the float result, so that each contraction's shift is measured
  /// separately.
  void exposeShift(const ContractionCandidate &site, Operation *floats) {
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
    // Append the contraction to the list of shifts only if the program variant for other dims has
    // not done so.
    else if (llvm::none_of(*shifts, [&](const ExposedShift &of) { return of.node == site.name; }))
      shifts->push_back({*result, site.name, site.kind.str()});
  }

  /// Replaces the contraction's quantized result by a blend: floats + share * (quantized - floats),
  /// where `floats` is its float result.
  void blend(Operation *op, const std::string &name, Operation *floats, Value quantized) {
    if (!floats || !quantized)
      return;
    OpBuilder b(context);
    b.setInsertionPointAfter(quantized.getDefiningOp());
    graph::Composer c(b, op->getLoc());
    Dims ones(size_t(graph::getRank(quantized)), DimExpr(1));
    Value share = c.reshape(c.slice(shares, 0, DimExpr(int64_t(number) - 1), DimExpr(1)), ones);
    Value shift = c.sub({quantized, floats->getResult(0)});
    Value blended = c.add({floats->getResult(0), c.mul({shift, share})});
    quantized.replaceAllUsesExcept(blended, shift.getDefiningOp());
    trial->sites.push_back({number - 1, name});
  }

  /// Adds the bias correction, one addend per column, to the contraction's result. Returns the
  /// corrected result, or null after an error.
  Value addBias(const ContractionCandidate &site, const quantize::Site *chosen) {
    if (!chosen || chosen->bias.empty())
      return site.op->getResult(0);
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
      return {};
    }
    SmallVector<float> numbers(chosen->bias.begin(), chosen->bias.end());
    Value bias = floatConstant(b, site, numbers, dims, "bias");
    Value corrected = c.add({result, bias});
    result.replaceAllUsesExcept(corrected, corrected.getDefiningOp());
    return corrected;
  }

  /// Quantizes both operands of the contraction to integers.
  Eligibility both(const ContractionCandidate &site, const quantize::Scheme &scheme, const quantize::Site *chosen,
                   QuantizedCandidate &report) {
    if (!site.form)
      return Eligibility::no(site.form.why());
    if (!chosen)
      return isInProgram(site.source)
                 ? Eligibility::no("the range of its left operand is not calibrated")
                 : Eligibility::no("it is inside of a branch or loop, where ranges are not calibrated");
    if (!takesFactors(site, *chosen))
      return Eligibility::no("its 'smooth' does not match its channels");
    Rounded rounded;
    if (Eligibility verdict = round(site, scheme.weights, chosen, rounded, report); !verdict)
      return verdict;
    OpBuilder b(site.op);
    Value before = site.op->getOperand(0);
    site.op->setOperand(0, leftOf(site, b, dequantized(site, *chosen)));
    site.op->setOperand(1, channelWeights(site, rounded));
    site.op->setAttr(kDecidedAttr, b.getUnitAttr());
    eraseUnused(before.getDefiningOp());
    tell(report, rounded, scheme.weights);
    report.activations = true;
    return Eligibility::yes();
  }

  /// Stores the contraction's weights in a float type with fewer bits than float32. The kernel
  /// extends them to float32 after loading.
  Eligibility narrowFloats(const ContractionCandidate &site, const quantize::Scheme &scheme,
                           QuantizedCandidate &report) {
    if (!site.form)
      return Eligibility::no(site.form.why());
    bool isMatrix = graph::getRank(site.weights) == 2 && site.form->columnInRight == 1;
    if (!isMatrix && scheme.weights.storage == quantize::Storage::Float8)
      return Eligibility::no("its weights are not a matrix with a scale per column");
    if (!plan::supports(site.op, plan::KernelFeature::PackedWeights))
      return Eligibility::no("the target's kernels multiply weights that are extended at compile time");
    std::vector<float> floats = floatsOf(site.weights.getDefiningOp<graph::ConstantOp>(), weights);
    if (floats.empty())
      return Eligibility::no("the bytes of its weights are not available");
    if (int64_t(floats.size()) <= graph::kSmallWeights)
      return Eligibility::no("its weights are small, and float weights are faster");
    auto type = cast<RankedTensorType>(site.weights.getType());
    int64_t columns = isMatrix ? type.getDimSize(1) : 1;
    quantize::NarrowedWeights narrowed =
        quantize::narrowWeights(floats, {columns, 1, int64_t(floats.size()) / columns}, scheme.weights.storage);
    if (!narrowed.isFinite)
      return Eligibility::no("its weights have elements that are not finite");
    Type element = typeOf(scheme.weights.storage);
    if (plan::targetOf(site.op))
      if (Eligibility pays = paysToWiden(site.op, element); !pays)
        report.slower = pays.why().str();
    tell(report, narrowed, scheme.weights, floats.size());
    multiplyNarrow(site, element, scheme.weights, std::move(narrowed));
    return Eligibility::yes();
  }

  Type typeOf(quantize::Storage storage) {
    Builder b(context);
    return storage == quantize::Storage::Float16    ? Type(b.getF16Type())
           : storage == quantize::Storage::BFloat16 ? Type(b.getBF16Type())
                                                    : Type(Float8E4M3FNType::get(context));
  }

  /// Rewrites the contraction to accumulate in float32, and multiplies its result by the scales of
  /// the weights, one per column.
  void multiplyNarrow(const ContractionCandidate &site, Type element, const quantize::Weights &how,
                      quantize::NarrowedWeights narrowed) {
    OpBuilder b(site.op);
    Location loc = site.op->getLoc();
    auto type = cast<RankedTensorType>(site.weights.getType());
    site.op->setOperand(1, constant(b, loc, RankedTensorType::get(type.getShape(), element), keyOf(site, nameOf(how)),
                                    std::move(narrowed.bytes)));
    site.op->setAttr("to", TypeAttr::get(b.getF32Type()));
    site.op->setAttr(kKeepsWeightsAttr, b.getUnitAttr());
    if (narrowed.scales.empty())
      return;
    b.setInsertionPointAfter(site.op);
    Value sums = site.op->getResult(0);
    SmallVector<int64_t> dims(size_t(graph::getRank(sums)), 1);
    dims[site.form->columnInResult] = type.getDimSize(1);
    Value scaled = graph::Composer(b, loc).mul({sums, floatConstant(b, site, narrowed.scales, dims, "scale")});
    sums.replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  }

  /// Quantizes only the weights of the contraction; activations stay float. The kernel dequantizes
  /// packed weights, or extends 8-bit ones.
  Eligibility weightsAlone(const ContractionCandidate &site, const quantize::Scheme &scheme,
                           const quantize::Site *chosen, QuantizedCandidate &report) {
    if (!site.form)
      return Eligibility::no(site.form.why());
    const quantize::Weights &how = scheme.weights;
    bool isMatrix = graph::getRank(site.weights) == 2 && site.form->columnInRight == 1;
    bool isPlain = how.bits == 8 && how.group == 0 && how.storage != quantize::Storage::Codebook;
    if (!isMatrix && !isPlain)
      return Eligibility::no("its weights are not a [k, n] matrix");
    if (how.group && !site.form->sumLength.mod(how.group).is(0))
      return Eligibility::no("the group size of its weights does not divide K");
    Rounded rounded;
    if (Eligibility verdict = round(site, how, chosen, rounded, report); !verdict)
      return verdict;
    Value made = isMatrix ? groupedWeights(site, how, rounded) : channelWeights(site, rounded);
    site.op->setOperand(1, made);
    OrReason<graph::PackedWeights> coded = packedWeights(site.op, weights);
    if (!coded && !graph::scaledWeights(site.op)) {
      site.op->setOperand(1, site.weights);
      eraseUnused(made.getDefiningOp());
      return Eligibility::no("its weights are small, and float weights are faster");
    }
    Eligibility decodes = !coded                ? Eligibility::no(coded.why())
                          : scheme.evenIfSlower ? Eligibility::yes()
                                                : paysToDecode(site.op, *coded, precision);
    tell(report, rounded, how);
    if (isPlain && !decodes)
      widen(site, scheme, rounded, decodes, report);
    else if (plan::targetOf(site.op) && !decodes)
      report.slower = decodes.why().str();
    if (scheme.evenIfSlower)
      site.op->setAttr(kKeepsWeightsAttr, OpBuilder(site.op).getUnitAttr());
    return Eligibility::yes();
  }

  /// Completes the report of a contraction whose 8-bit weights the kernel extends
  /// (SinkWeightScales): the reason if that is slower than float32 weights, and the bytes of
  /// weights that are stored as float16.
  void widen(const ContractionCandidate &site, const quantize::Scheme &scheme, const Rounded &rounded,
             const Eligibility &decodes, QuantizedCandidate &report) {
    Builder b(context);
    bool isByte = rounded.zeros.empty();
    Eligibility pays = paysToScaleSums(site.op, isByte ? Type(b.getI8Type()) : Type(b.getF16Type()), precision);
    if (plan::targetOf(site.op) && !pays && !scheme.evenIfSlower)
      report.slower = (graph::getRank(site.weights) == 2 ? decodes : pays).why().str();
    // 8-bit weights are stored as bytes, except the filters of Winograd convolutions, which are
    // transformed to 16-bit floats.
    int64_t largest = plan::largestWinogradTile(precision);
    bool isTransformed =
        !scheme.evenIfSlower && plan::chooseWinogradTile(site.op, plan::largestWinogradTile(site.op, largest)) != 0;
    if (!isByte || isTransformed)
      report.weightBytes = report.floatBytes / 2 + int64_t(rounded.scales.size() * sizeof(float));
  }

  /// Erases `op` and its operands recursively if they have no uses.
  static void eraseUnused(Operation *op) {
    if (!op || !op->use_empty())
      return;
    llvm::SmallSetVector<Value, 4> operands(op->operand_begin(), op->operand_end());
    op->erase();
    for (Value operand : operands)
      eraseUnused(operand.getDefiningOp());
  }

  void tell(QuantizedCandidate &report, const Rounded &rounded, const quantize::Weights &how) {
    report.weightBits = how.bits;
    report.weightType = nameOf(how).str();
    report.weightDecibels = quantize::decibels(rounded.signal, rounded.noise);
    report.weightBytes = int64_t(rounded.integers.size()) * how.storedBits() / 8 +
                         int64_t((rounded.scales.size() + rounded.zeros.size() + rounded.table.size()) *
                                 sizeof(float)); // the zero points are stored as float32
    report.floatBytes = int64_t(rounded.integers.size() * sizeof(float));
  }

  static void tell(QuantizedCandidate &report, const quantize::NarrowedWeights &narrowed, const quantize::Weights &how,
                   size_t elements) {
    report.weightBits = how.bits;
    report.weightType = nameOf(how).str();
    report.weightDecibels = quantize::decibels(narrowed.signal, narrowed.noise);
    report.weightBytes = int64_t(narrowed.bytes.size() + narrowed.scales.size() * sizeof(float));
    report.floatBytes = int64_t(elements * sizeof(float));
  }

  /// Returns true if the values chosen for the contraction have no smoothing factors, or one for
  /// each of its channels. Otherwise emits an error.
  bool takesFactors(const ContractionCandidate &site, const quantize::Site &chosen) {
    std::optional<unsigned> dim = channelDimOf(site, site.source);
    if (chosen.smooth.empty() || (dim && graph::getDims(site.source)[*dim].is(int64_t(chosen.smooth.size()))))
      return true;
    site.op->emitError() << "the quantization has a 'smooth' of " << chosen.smooth.size() << " numbers for '"
                         << site.name << "', whose left operand "
                         << (dim ? "has another number of channels" : "is read in another order than it is stored");
    failed = true;
    return false;
  }

  Eligibility round(const ContractionCandidate &site, const quantize::Weights &how, const quantize::Site *chosen,
                    Rounded &rounded, QuantizedCandidate &report) {
    std::vector<float> floats = floatsOf(site.weights.getDefiningOp<graph::ConstantOp>(), weights);
    if (floats.empty())
      return Eligibility::no("the bytes of its weights are not available");
    if (chosen && !chosen->codes.empty() && chosen->codes.size() != floats.size()) {
      site.op->emitError() << "the quantization has 'codes' of " << chosen->codes.size() << " integers for '"
                           << site.name << "', which has " << floats.size() << " weights";
      failed = true;
      return Eligibility::no("its 'codes' do not match its weights");
    }
    if (chosen && !chosen->smooth.empty())
      multiply(floats, site, chosen->smooth);
    auto type = cast<RankedTensorType>(site.weights.getType());
    quantize::ColumnLayout layout{type.getDimSize(site.form->columnInRight), 1, 0};
    for (int64_t d = site.form->columnInRight + 1; d < type.getRank(); ++d)
      layout.columnStride *= type.getDimSize(d);
    layout.depth = int64_t(floats.size()) / layout.columns;
    if (how.storage == quantize::Storage::Codebook)
      return lookUp(site, how, chosen, layout, floats, rounded, report);
    const quantize::Evidence *seen = evidenceOf(site);
    // Number of observed rows per row of weights from which error compensation (GPTQ) is used. With
    // fewer rows, the matrix of second moments is singular in many directions, and error
    // compensation would produce extreme integers there.
    constexpr int64_t rowsForEach = 4;
    bool isByData =
        how.rounding == quantize::Rounding::Gptq ||
        (how.rounding == quantize::Rounding::Choose && seen && seen->moments.rows >= rowsForEach * seen->moments.size);
    if (seen && isByData && seen->moments.size == layout.depth && sumsChannels(site))
      report.codes = quantize::compensateRounding(floats, layout, how, seen->moments,
                                                  chosen ? ArrayRef(chosen->smooth) : ArrayRef<double>(), context);
    rounded =
        quantize::roundWeights(floats, layout, how, chosen ? ArrayRef(chosen->codes) : ArrayRef<int8_t>(), context);
    return rounded.isFinite ? Eligibility::yes() : Eligibility::no("its weights have elements that are not finite");
  }

  /// Rounds the weights to a codebook. The importance of a weight is the mean square of the
  /// activations that it is multiplied by.
  Eligibility lookUp(const ContractionCandidate &site, const quantize::Weights &how, const quantize::Site *chosen,
                     const quantize::ColumnLayout &layout, ArrayRef<float> floats, Rounded &rounded,
                     QuantizedCandidate &report) {
    std::vector<double> importance;
    const quantize::Evidence *seen = evidenceOf(site);
    if (seen && int64_t(seen->channels.size()) == layout.depth && readsRows(site))
      for (const quantize::Channel &channel : seen->channels)
        importance.push_back(channel.squares);
    // Kernels multiply the entries of a small lookup table as int8, so the entries are restricted
    // to multiples of 1/32. This is precise enough: entries are about in [-1, 1], and the sixteen
    // entries of a 4-bit table are about four such steps apart.
    quantize::TableSteps steps;
    if (how.bits == 4)
      steps = {double(graph::WeightEncoding::tableUnits), double(graph::WeightEncoding::tableLowest),
               double(graph::WeightEncoding::tableHighest)};
    rounded = quantize::lookUpWeights(floats, layout, how, importance,
                                      chosen ? ArrayRef(chosen->codebook) : ArrayRef<double>(), steps, context);
    if (!importance.empty())
      report.codebook.assign(rounded.table.begin(), rounded.table.end());
    return rounded.isFinite ? Eligibility::yes() : Eligibility::no("its weights have elements that are not finite");
  }

  /// Multiplies a contraction's weights by the smoothing factors of their channels.
  static void multiply(std::vector<float> &floats, const ContractionCandidate &site, ArrayRef<double> factors) {
    auto type = cast<RankedTensorType>(site.weights.getType());
    int64_t channels = int64_t(factors.size()), inside = 1;
    for (int64_t d = site.form->depthInRight + 1; d < type.getRank(); ++d)
      inside *= type.getDimSize(d);
    for (auto [i, w] : llvm::enumerate(floats))
      w *= float(factors[size_t(int64_t(i) / inside % channels)]);
  }

  /// Returns the key in the weight store for bytes that are computed from the candidate's weights.
  std::string keyOf(const ContractionCandidate &site, StringRef what) {
    return keyOf(site.weights.getDefiningOp<graph::ConstantOp>(), site.name) + "." + what.str();
  }

  /// Returns the key of a constant's bytes in the weight store, or `name` if it has none.
  static std::string keyOf(graph::ConstantOp constant, StringRef name) {
    auto weight = dyn_cast<graph::WeightAttr>(constant.getValue());
    return (weight ? weight.getKey() : name).str();
  }

  Value constant(OpBuilder &b, Location loc, RankedTensorType type, const std::string &key, std::vector<char> bytes) {
    int64_t size = int64_t(bytes.size());
    return graph::ConstantOp::create(b, loc, type,
                                     graph::WeightAttr::get(context, weights.add(key, std::move(bytes)), 0, size));
  }

  Value scales(OpBuilder &b, const ContractionCandidate &site, const Rounded &rounded, ArrayRef<int64_t> dims) {
    return floatConstant(b, site, rounded.scales, dims, "scale");
  }

  Value floatConstant(OpBuilder &b, const ContractionCandidate &site, ArrayRef<float> numbers, ArrayRef<int64_t> dims,
                      StringRef what) {
    auto *begin = reinterpret_cast<const char *>(numbers.data());
    return constant(b, site.op->getLoc(), RankedTensorType::get(dims, b.getF32Type()), keyOf(site, what),
                    std::vector<char>(begin, begin + numbers.size() * sizeof(float)));
  }

  /// Creates the dequantized weights: constants of 8-bit integers with one scale per column.
  Value channelWeights(const ContractionCandidate &site, const Rounded &rounded) {
    OpBuilder b(site.op);
    graph::Composer c(b, site.op->getLoc());
    auto type = cast<RankedTensorType>(site.weights.getType());
    SmallVector<int64_t> dims(size_t(type.getRank()), 1);
    dims[site.form->columnInRight] = type.getDimSize(site.form->columnInRight);
    auto asBytes = [](ArrayRef<int8_t> all) { return std::vector<char>(all.begin(), all.end()); };
    Value integers = constant(b, site.op->getLoc(), RankedTensorType::get(type.getShape(), b.getI8Type()),
                              keyOf(site, "int8"), asBytes(rounded.integers));
    Value zeros;
    if (!rounded.zeros.empty())
      zeros = constant(b, site.op->getLoc(), RankedTensorType::get(dims, b.getI8Type()), keyOf(site, "zero"),
                       asBytes(rounded.zeros));
    return graph::composeDequantize(c, integers, scales(b, site, rounded, dims), zeros, b.getF32Type());
  }

  /// Creates the dequantized weights [k, n] from integers [k / group, group, n]. If each column has
  /// one scale, all of K is one group.
  Value groupedWeights(const ContractionCandidate &site, const quantize::Weights &how, const Rounded &rounded) {
    OpBuilder b(site.op);
    graph::Composer c(b, site.op->getLoc());
    auto type = cast<RankedTensorType>(site.weights.getType());
    int64_t k = type.getDimSize(0), n = type.getDimSize(1), group = how.group ? how.group : k;
    bool looksUp = how.storage == quantize::Storage::Codebook;
    std::string what = nameOf(how).str();
    Type element = looksUp ? b.getIntegerType(unsigned(how.bits), /*isSigned=*/false)
                           : b.getIntegerType(unsigned(how.storedBits()));
    auto asBytes = [](ArrayRef<int8_t> all) { return std::vector<char>(all.begin(), all.end()); };
    Value integers = constant(b, site.op->getLoc(), RankedTensorType::get({k / group, group, n}, element),
                              keyOf(site, what), asBytes(rounded.integers));
    Value zeros;
    if (!rounded.zeros.empty())
      zeros = constant(b, site.op->getLoc(), RankedTensorType::get({k / group, 1, n}, element), keyOf(site, "zero"),
                       asBytes(rounded.zeros));
    Value scale = scales(b, site, rounded, {k / group, 1, n});
    Value floats = looksUp ? graph::composeLookUp(
                                 c, integers,
                                 floatConstant(b, site, rounded.table, {int64_t(rounded.table.size())}, "table"), scale)
                           : graph::composeDequantize(c, integers, scale, zeros, b.getF32Type());
    return c.reshape(floats, graph::getDims(site.weights));
  }

  /// Quantizes and dequantizes the contraction's source. Contractions that read the same source
  /// with the same scale, zero point, smoothing factors and channel dim share these ops.
  Value dequantized(const ContractionCandidate &from, const quantize::Site &site) {
    Value source = from.source;
    int64_t channels = site.smooth.empty() ? -1 : int64_t(*channelDimOf(from, source));
    Value &made = throughIntegers[{source.getAsOpaquePointer(), site.scale, site.zero, channels, site.smooth}];
    if (made)
      return made;
    OpBuilder b(context);
    b.setInsertionPointAfterValue(source);
    Location loc = source.getLoc();
    graph::Composer c(b, loc);
    Type ui8 = b.getIntegerType(8, /*isSigned=*/false);
    Value scale = graph::makeSplat(b, loc, b.getF32Type(), site.scale),
          zero = graph::makeSplat(b, loc, ui8, double(site.zero));
    Value divisor = scale;
    if (!site.smooth.empty()) {
      SmallVector<int64_t> dims(size_t(graph::getRank(source)), 1);
      dims[size_t(channels)] = int64_t(site.smooth.size());
      SmallVector<float> divisors;
      for (double factor : site.smooth)
        divisors.push_back(float(site.scale) * float(factor));
      divisor = floatConstant(b, from, divisors, dims, "divisor");
    }
    Value integers = graph::composeQuantize(c, source, divisor, zero, ui8);
    return made = graph::composeDequantize(c, integers, scale, zero, b.getF32Type());
  }

public:
  /// True after the pass has emitted an error.
  bool failed = false;

private:
  func::FuncOp function;
  MLIRContext *context;
  const quantize::Quantization &wanted;
  WeightStore &weights;
  std::vector<QuantizedCandidate> &done;
  std::vector<ExposedShift> *shifts;
  QuantizeTrial *trial;
  Value shares;
  /// Number of quantization candidates that were processed so far.
  unsigned number = 0;
  const quantize::EvidenceOf *evidence;
  Precision precision;
  llvm::StringMap<std::vector<double>> factorsOf;
  std::map<std::tuple<void *, double, int64_t, int64_t, std::vector<double>>, Value> throughIntegers;
};

struct QuantizeContractionsPass : impl::QuantizeContractionsPassBase<QuantizeContractionsPass> {
  using QuantizeContractionsPassBase::QuantizeContractionsPassBase;
  QuantizeContractionsPass(const QuantizeContractionsPassOptions &options, const QuantizeRequest &request)
      : QuantizeContractionsPassBase(options), request(request) {}
  QuantizeRequest request;

  void runOnOperation() override {
    std::optional<quantize::Quantization> read;
    if (!request.quantization) {
      Diagnostics diagnostics;
      read = quantize::readQuantization(text, diagnostics);
      for (const Message &message : diagnostics.messages())
        getOperation().emitError() << message.message;
      if (!read)
        return signalPassFailure();
    }
    std::vector<QuantizedCandidate> ownDone;
    Quantizer quantizer(getOperation(), read ? *read : *request.quantization, request.done ? *request.done : ownDone,
                        request, precision);
    std::vector<ContractionCandidate> sites = findContractionCandidates(getOperation());
    std::vector<TableCandidate> tableSites;
    if (tables)
      tableSites = findTableCandidates(getOperation(), sites);
    quantizer.failed = !quantizer.addShares(sites.size() + tableSites.size());
    quantizer.smooth(sites);
    for (ContractionCandidate &site : sites) {
      // Find the contraction's source again: if an earlier contraction produces it, bias correction
      // may have replaced it by the corrected result.
      site.source = sourceOf(site.op);
      quantizer.run(site);
    }
    for (const TableCandidate &site : tableSites)
      quantizer.run(site);
    if (quantizer.failed)
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createQuantizeContractionsPass(const QuantizeContractionsPassOptions &options,
                                                     const QuantizeRequest &request) {
  return std::make_unique<QuantizeContractionsPass>(options, request);
}

} // namespace hewn
