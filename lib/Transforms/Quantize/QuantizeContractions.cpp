// SPDX-License-Identifier: Apache-2.0
//
// Writes a quantization into a graph.
//
//     %y = graph.matmul %x, %w          →   %q = graph.quantize %x, 0.02, 114 {to = ui8}
//                                           %a = graph.dequantize %q, 0.02, 114
//                                           %b = graph.dequantize %wi, %sw                 // constants
//                                           %y = graph.matmul %a, %b
//
// Channels that are smoothed have scales of their own in graph.quantize alone: %a stands for x divided by the factors, the weights are
// multiplied by them. So smoothing costs nothing more, whatever makes x.
//
//     %y = graph.matmul %x, %w          →   %w = graph.look_up %codes, %table, %scale         // weights alone: a codebook
//                                           %y = graph.matmul %x, %w
//                                       →   %p = graph.matmul %x, %w8 {to = f32}            // narrower floats; of 8 bits with scales
//                                           %y = graph.mul %p, %scale
//
// What becomes integers by that is FormIntegerContractions' affair, and FormCodes' where weights alone are quantized. Of a value that
// several contractions read there is one tensor of integers; others read the floats.
//
// Left alone, and said why: contractions of computed operands or without a form of integers, and those whose operand no run has shown.
#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/CodedWeights.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Plan/Target.h"
#include "lib/Schedule/WinogradSchedule.h"
#include "lib/Transforms/Quantize/Numbers/Codebook.h"
#include "lib/Transforms/Quantize/Numbers/CompensateRounding.h"
#include "lib/Transforms/Quantize/Numbers/NarrowFloats.h"
#include "lib/Transforms/Quantize/Numbers/Smoothing.h"
#include "lib/Transforms/Quantize/Operands.h"
#include "lib/Transforms/Quantize/Passes.h"
#include "lib/Transforms/Quantize/ProductCost.h"
#include "lib/Transforms/Quantize/Sites.h"
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
            std::vector<QuantizedSite> &done, const QuantizeRequest &request)
      : function(function), context(function.getContext()), wanted(wanted), weights(weights), done(done),
        shifts(request.shifts), trial(request.trial), evidence(request.evidence), precision(request.precision) {}

  /// The input of a program that computes contractions both ways. False where there can't be one.
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

  /// The factors of channels, which all contractions share that read an operand.
  void smooth(ArrayRef<ContractionSite> sites) {
    using Key = std::pair<void *, double>;
    llvm::MapVector<Key, SmallVector<const ContractionSite *>, std::map<Key, unsigned>> groups;
    for (const ContractionSite &site : sites) {
      const quantize::Scheme &scheme = schemeOf(site);
      if (site.form && scheme.smoothing != 0 && !scheme.keepFloat && scheme.activations.integers &&
          channelDimOf(site, site.source) && evidenceOf(site))
        groups[{site.source.getAsOpaquePointer(), scheme.smoothing}].push_back(&site);
    }
    for (auto &[key, readers] : groups) {
      const quantize::Evidence &seen = *evidenceOf(*readers.front());
      std::vector<quantize::ChannelWeights> read;
      for (const ContractionSite *site : readers)
        read.push_back(channelWeights(*site));
      if (llvm::any_of(
              read, [&](const auto &w) { return w.elements.empty() || w.channels() != int64_t(seen.channels.size()); }))
        continue;
      std::vector<double> factors =
          quantize::chooseFactors(seen, read, key.second, schemeOf(*readers.front()).biasCorrection);
      for (const ContractionSite *site : readers)
        factorsOf[site->name] = factors;
    }
  }

  void run(const ContractionSite &site) {
    QuantizedSite &told = done.emplace_back();
    told.node = site.name;
    told.kind = site.kind.str();
    auto found = wanted.sites.find(site.name);
    const quantize::Scheme &scheme = schemeOf(site);
    const quantize::Site *chosen = found == wanted.sites.end() ? nullptr : &found->second;
    told.smooth = factorsOf.lookup(site.name);
    if (site.form && scheme.activations.integers)
      compareCosts(site, told);
    graph::ContractOpInterface contraction = site.op;
    ++number;
    bool isBoth = wantsShift(site, scheme, chosen) || (shares && !scheme.keepFloat);
    Operation *floats = isBoth ? OpBuilder(contraction).clone(*contraction) : nullptr;
    Verdict verdict = scheme.keepFloat              ? Verdict::no("that was asked for")
                      : scheme.activations.integers ? both(site, scheme, chosen, told)
                      : scheme.weights.areFloats()  ? narrowFloats(site, scheme, told)
                                                    : weightsAlone(site, scheme, chosen, told);
    if (verdict && shares)
      return blend(site.op, site.name, floats, addBias(site, chosen));
    if (verdict)
      return floats ? exposeShift(site, floats) : void(addBias(site, chosen));
    if (floats)
      floats->erase();
    told.why = chosen && !chosen->why.empty() ? chosen->why : verdict.why().str();
    missed(site.op, kQuantizeContractions, "NotQuantized", verdict.why());
  }

  /// A look-up in a table whose rows are narrower, which is made wide behind it (LookUpNarrow).
  void run(const TableSite &site) {
    QuantizedSite &told = done.emplace_back();
    told.node = site.name;
    told.kind = site.kind.str();
    ++number;
    auto found = wanted.sites.find(site.name);
    const quantize::Scheme &scheme =
        found == wanted.sites.end() ? wanted.schemeFor(site.name, site.kind) : found->second.scheme;
    Verdict verdict = !site.isTable      ? site.isTable
                      : scheme.keepFloat ? Verdict::no("that was asked for")
                                         : narrowTable(site, scheme.weights, told);
    if (verdict)
      return;
    told.why = found != wanted.sites.end() && !found->second.why.empty() ? found->second.why : verdict.why().str();
    missed(site.op, kQuantizeContractions, "NotQuantized", verdict.why());
  }

private:
  using Rounded = quantize::RoundedWeights;

  Verdict narrowTable(const TableSite &site, const quantize::Weights &how, QuantizedSite &told) {
    auto table = site.op->getOperand(0).getDefiningOp<graph::ConstantOp>();
    std::vector<float> floats = floatsOf(table, weights);
    if (floats.empty())
      return Verdict::no("the bytes of its table are not there");
    if (how.storage == quantize::Storage::Codebook)
      return Verdict::no("tables are kept in integers or narrower floats");
    auto type = cast<RankedTensorType>(table.getType());
    graph::MoveOpInterface lookUp = site.op;
    int64_t dim = *lookUp.getLookedUpDim();
    quantize::ColumnLayout rows{type.getDimSize(dim), 1, 0};
    for (int64_t d = dim + 1; d < type.getRank(); ++d)
      rows.columnStride *= type.getDimSize(d);
    rows.depth = int64_t(floats.size()) / rows.columns;
    OpBuilder b(site.op);
    Found<Value> wide =
        how.areFloats() ? floatTable(b, site, floats, rows, how, told) : integerTable(b, site, floats, rows, how, told);
    if (!wide)
      return Verdict::no(wide.why());
    Operation *whole = shares ? b.clone(*site.op) : nullptr;
    site.op->setOperand(0, *wide);
    blend(site.op, site.name, whole, site.op->getResult(0));
    return Verdict::yes();
  }

  /// Of 8 bits with a scale a row, whatever fewer bits the scheme has for weights: no kernel looks up a part of a byte.
  Found<Value> integerTable(OpBuilder &b, const TableSite &site, ArrayRef<float> floats,
                            const quantize::ColumnLayout &rows, quantize::Weights how, QuantizedSite &told) {
    how.bits = 8;
    how.group = 0;
    how.symmetric = true;
    Rounded rounded = quantize::roundWeights(floats, rows, how, {}, context);
    if (!rounded.isFinite)
      return Verdict::no("its table is not all finite");
    tell(told, rounded, how);
    graph::Composer c(b, site.op->getLoc());
    Value integers = ofTable(b, site, b.getI8Type(), "int8", {rounded.integers.begin(), rounded.integers.end()});
    return graph::composeDequantize(c, integers, scalesOfRows(b, site, rounded.scales), {}, b.getF32Type());
  }

  Found<Value> floatTable(OpBuilder &b, const TableSite &site, ArrayRef<float> floats,
                          const quantize::ColumnLayout &rows, const quantize::Weights &how, QuantizedSite &told) {
    quantize::NarrowedWeights narrowed = quantize::narrowWeights(floats, rows, how.storage);
    if (!narrowed.isFinite)
      return Verdict::no("its table is not all finite");
    tell(told, narrowed, how, floats.size());
    graph::Composer c(b, site.op->getLoc());
    std::vector<float> scales = narrowed.scales;
    Value wide = c.cast(ofTable(b, site, typeOf(how.storage), nameOf(how), std::move(narrowed.bytes)), b.getF32Type());
    return scales.empty() ? wide : c.mul({wide, scalesOfRows(b, site, scales)});
  }

  /// A constant as the site's table, of other elements.
  Value ofTable(OpBuilder &b, const TableSite &site, Type element, StringRef what, std::vector<char> bytes) {
    auto table = site.op->getOperand(0).getDefiningOp<graph::ConstantOp>();
    auto type = RankedTensorType::get(cast<RankedTensorType>(table.getType()).getShape(), element);
    return constant(b, site.op->getLoc(), type, keyOf(table, site.name) + "." + what.str(), std::move(bytes));
  }

  Value scalesOfRows(OpBuilder &b, const TableSite &site, ArrayRef<float> scales) {
    auto table = site.op->getOperand(0).getDefiningOp<graph::ConstantOp>();
    graph::MoveOpInterface lookUp = site.op;
    SmallVector<int64_t> dims(size_t(graph::getRank(table)), 1);
    dims[size_t(*lookUp.getLookedUpDim())] = int64_t(scales.size());
    auto *begin = reinterpret_cast<const char *>(scales.data());
    return constant(b, site.op->getLoc(), RankedTensorType::get(dims, b.getF32Type()),
                    keyOf(table, site.name) + ".scale", {begin, begin + scales.size() * sizeof(float)});
  }

  const quantize::Scheme &schemeOf(const ContractionSite &site) {
    auto found = wanted.sites.find(site.name);
    return found == wanted.sites.end() ? wanted.schemeFor(site.name, site.kind) : found->second.scheme;
  }

  const quantize::Evidence *evidenceOf(const ContractionSite &site) {
    if (!evidence)
      return nullptr;
    auto found = evidence->find(site.name);
    return found == evidence->end() ? nullptr : found->second;
  }

  quantize::ChannelWeights channelWeights(const ContractionSite &site) {
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

  /// What the machine's model expects of floats and of integers.
  static void compareCosts(const ContractionSite &site, QuantizedSite &told) {
    int64_t readers = llvm::count_if(site.source.getUsers(), llvm::IsaPred<graph::ContractOpInterface>);
    std::optional<ProductCosts> costs = productCosts(site.op, *site.form, /*comesQuantized=*/false, readers);
    if (!costs)
      return;
    told.floatCycles = int64_t(std::ceil(costs->floats));
    told.integerCycles = int64_t(std::ceil(costs->integers));
    if (costs->integersLose())
      told.slower = llvm::formatv("by the machine's model integers take {0} cycles, and floats {1}", told.integerCycles,
                                  told.floatCycles);
  }

  /// Whether what quantizing shifts is to be seen: it is wanted, and not known.
  bool wantsShift(const ContractionSite &site, const quantize::Scheme &scheme, const quantize::Site *chosen) {
    return shifts && scheme.biasCorrection && !scheme.keepFloat && !scheme.weights.areFloats() && site.form &&
           isInProgram(site.op->getResult(0)) && (!chosen || chosen->bias.empty());
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

  /// The program goes on with floats + share * (quantized - floats).
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

  /// The numbers of the site, which are as many as there are columns. What is corrected; null after an error.
  Value addBias(const ContractionSite &site, const quantize::Site *chosen) {
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

  /// Integers on both sides.
  Verdict both(const ContractionSite &site, const quantize::Scheme &scheme, const quantize::Site *chosen,
               QuantizedSite &told) {
    if (!site.form)
      return Verdict::no(site.form.why());
    if (!chosen)
      return isInProgram(site.source) ? Verdict::no("no run has shown the range of its left operand")
                                      : Verdict::no("it stands in a branch or a loop, where no run shows ranges");
    if (!takesFactors(site, *chosen))
      return Verdict::no("its 'smooth' is not for its channels");
    Rounded rounded;
    if (Verdict verdict = round(site, scheme.weights, chosen, rounded, told); !verdict)
      return verdict;
    OpBuilder b(site.op);
    Value before = site.op->getOperand(0);
    site.op->setOperand(0, leftOf(site, b, dequantized(site, *chosen)));
    site.op->setOperand(1, channelWeights(site, rounded));
    site.op->setAttr(kDecidedAttr, b.getUnitAttr());
    eraseUnused(before.getDefiningOp());
    tell(told, rounded, scheme.weights);
    told.activations = true;
    return Verdict::yes();
  }

  /// Floats narrower than float32, which the contraction widens when it has read them.
  Verdict narrowFloats(const ContractionSite &site, const quantize::Scheme &scheme, QuantizedSite &told) {
    if (!site.form)
      return Verdict::no(site.form.why());
    bool isMatrix = graph::getRank(site.weights) == 2 && site.form->columnInRight == 1;
    if (!isMatrix && scheme.weights.storage == quantize::Storage::Float8)
      return Verdict::no("its weights are no matrix, whose columns have scales");
    if (plan::gridOf(site.op))
      return Verdict::no("a grid of threads multiplies floats that were widened before");
    std::vector<float> floats = floatsOf(site.weights.getDefiningOp<graph::ConstantOp>(), weights);
    if (floats.empty())
      return Verdict::no("the bytes of its weights are not there");
    if (int64_t(floats.size()) <= graph::kSmallWeights)
      return Verdict::no("its weights are small, and sooner there as floats");
    auto type = cast<RankedTensorType>(site.weights.getType());
    int64_t columns = isMatrix ? type.getDimSize(1) : 1;
    quantize::NarrowedWeights narrowed =
        quantize::narrowWeights(floats, {columns, 1, int64_t(floats.size()) / columns}, scheme.weights.storage);
    if (!narrowed.isFinite)
      return Verdict::no("its weights are not all finite");
    Type element = typeOf(scheme.weights.storage);
    if (plan::targetOf(site.op))
      if (Verdict pays = paysToWiden(site.op, element); !pays)
        told.slower = pays.why().str();
    tell(told, narrowed, scheme.weights, floats.size());
    multiplyNarrow(site, element, scheme.weights, std::move(narrowed));
    return Verdict::yes();
  }

  Type typeOf(quantize::Storage storage) {
    Builder b(context);
    return storage == quantize::Storage::Float16    ? Type(b.getF16Type())
           : storage == quantize::Storage::BFloat16 ? Type(b.getBF16Type())
                                                    : Type(Float8E4M3FNType::get(context));
  }

  /// Sums are float32's; scales, one a column, are taken behind them.
  void multiplyNarrow(const ContractionSite &site, Type element, const quantize::Weights &how,
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

  /// Weights of few bits, which the contraction decodes, or of 8, which it widens.
  Verdict weightsAlone(const ContractionSite &site, const quantize::Scheme &scheme, const quantize::Site *chosen,
                       QuantizedSite &told) {
    if (!site.form)
      return Verdict::no(site.form.why());
    const quantize::Weights &how = scheme.weights;
    bool isMatrix = graph::getRank(site.weights) == 2 && site.form->columnInRight == 1;
    bool isPlain = how.bits == 8 && how.group == 0 && how.storage != quantize::Storage::Codebook;
    if (!isMatrix && !isPlain)
      return Verdict::no("its weights are no matrix that is decoded in the product");
    if (how.group && !site.form->sumLength.mod(how.group).is(0))
      return Verdict::no("the groups of its weights do not divide the sum");
    Rounded rounded;
    if (Verdict verdict = round(site, how, chosen, rounded, told); !verdict)
      return verdict;
    Value made = isMatrix ? groupedWeights(site, how, rounded) : channelWeights(site, rounded);
    site.op->setOperand(1, made);
    Found<graph::CodedWeights> coded = codedWeights(site.op, weights);
    if (!coded && !graph::scaledWeights(site.op)) {
      site.op->setOperand(1, site.weights);
      eraseUnused(made.getDefiningOp());
      return Verdict::no("its weights are small, and sooner there as floats");
    }
    Verdict decodes = !coded                ? Verdict::no(coded.why())
                      : scheme.evenIfSlower ? Verdict::yes()
                                            : paysToDecode(site.op, *coded, precision);
    tell(told, rounded, how);
    if (isPlain && !decodes)
      widen(site, scheme, rounded, decodes, told);
    else if (plan::targetOf(site.op) && !decodes)
      told.slower = decodes.why().str();
    if (scheme.evenIfSlower)
      site.op->setAttr(kKeepsWeightsAttr, OpBuilder(site.op).getUnitAttr());
    return Verdict::yes();
  }

  /// Tells of integers of 8 bits that the contraction does not decode but widen (ScaleBehindSums).
  void widen(const ContractionSite &site, const quantize::Scheme &scheme, const Rounded &rounded,
             const Verdict &decodes, QuantizedSite &told) {
    Builder b(context);
    bool isByte = rounded.zeros.empty();
    Verdict pays = paysToScaleSums(site.op, isByte ? Type(b.getI8Type()) : Type(b.getF16Type()), precision);
    if (plan::targetOf(site.op) && !pays && !scheme.evenIfSlower)
      told.slower = (graph::getRank(site.weights) == 2 ? decodes : pays).why().str();
    // Bytes as of windows that are not transformed.
    int64_t largest = plan::largestWinogradTile(precision);
    bool isTransformed =
        !scheme.evenIfSlower && plan::chooseWinogradTile(site.op, plan::largestWinogradTile(site.op, largest)) != 0;
    if (!isByte || isTransformed)
      told.weightBytes = told.floatBytes / 2 + int64_t(rounded.scales.size() * sizeof(float));
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

  void tell(QuantizedSite &told, const Rounded &rounded, const quantize::Weights &how) {
    told.weightBits = how.bits;
    told.weightType = nameOf(how).str();
    told.weightDecibels = quantize::decibels(rounded.signal, rounded.noise);
    told.weightBytes = int64_t(rounded.integers.size()) * how.storedBits() / 8 +
                       int64_t((rounded.scales.size() + rounded.zeros.size() + rounded.table.size()) *
                               sizeof(float)); // zero points are read as floats
    told.floatBytes = int64_t(rounded.integers.size() * sizeof(float));
  }

  static void tell(QuantizedSite &told, const quantize::NarrowedWeights &narrowed, const quantize::Weights &how,
                   size_t elements) {
    told.weightBits = how.bits;
    told.weightType = nameOf(how).str();
    told.weightDecibels = quantize::decibels(narrowed.signal, narrowed.noise);
    told.weightBytes = int64_t(narrowed.bytes.size() + narrowed.scales.size() * sizeof(float));
    told.floatBytes = int64_t(elements * sizeof(float));
  }

  /// Whether a site has as many factors as there are channels; else that is an error.
  bool takesFactors(const ContractionSite &site, const quantize::Site &chosen) {
    std::optional<unsigned> dim = channelDimOf(site, site.source);
    if (chosen.smooth.empty() || (dim && graph::getDims(site.source)[*dim].is(int64_t(chosen.smooth.size()))))
      return true;
    site.op->emitError() << "the quantization has a 'smooth' of " << chosen.smooth.size() << " numbers for '"
                         << site.name << "', whose left operand "
                         << (dim ? "has another number of channels" : "is read in another order than it lies");
    failed = true;
    return false;
  }

  Verdict round(const ContractionSite &site, const quantize::Weights &how, const quantize::Site *chosen,
                Rounded &rounded, QuantizedSite &told) {
    std::vector<float> floats = floatsOf(site.weights.getDefiningOp<graph::ConstantOp>(), weights);
    if (floats.empty())
      return Verdict::no("the bytes of its weights are not there");
    if (chosen && !chosen->codes.empty() && chosen->codes.size() != floats.size()) {
      site.op->emitError() << "the quantization has 'codes' of " << chosen->codes.size() << " integers for '"
                           << site.name << "', which has " << floats.size() << " weights";
      failed = true;
      return Verdict::no("its 'codes' are not as many as its weights");
    }
    if (chosen && !chosen->smooth.empty())
      multiply(floats, site, chosen->smooth);
    auto type = cast<RankedTensorType>(site.weights.getType());
    quantize::ColumnLayout layout{type.getDimSize(site.form->columnInRight), 1, 0};
    for (int64_t d = site.form->columnInRight + 1; d < type.getRank(); ++d)
      layout.columnStride *= type.getDimSize(d);
    layout.depth = int64_t(floats.size()) / layout.columns;
    if (how.storage == quantize::Storage::Codebook)
      return lookUp(site, how, chosen, layout, floats, rounded, told);
    const quantize::Evidence *seen = evidenceOf(site);
    // What few rows say of directions that none of them has is nothing, and integers would run wild there.
    constexpr int64_t rowsForEach = 4;
    bool isByData =
        how.rounding == quantize::Rounding::Gptq ||
        (how.rounding == quantize::Rounding::Choose && seen && seen->moments.rows >= rowsForEach * seen->moments.size);
    if (seen && isByData && seen->moments.size == layout.depth && sumsChannels(site))
      told.codes = quantize::compensateRounding(floats, layout, how, seen->moments,
                                                chosen ? ArrayRef(chosen->smooth) : ArrayRef<double>(), context);
    rounded =
        quantize::roundWeights(floats, layout, how, chosen ? ArrayRef(chosen->codes) : ArrayRef<int8_t>(), context);
    return rounded.isFinite ? Verdict::yes() : Verdict::no("its weights are not all finite");
  }

  /// The same by a codebook, in which a weight counts as the squares that runs showed it is multiplied with.
  Verdict lookUp(const ContractionSite &site, const quantize::Weights &how, const quantize::Site *chosen,
                 const quantize::ColumnLayout &layout, ArrayRef<float> floats, Rounded &rounded, QuantizedSite &told) {
    std::vector<double> importance;
    const quantize::Evidence *seen = evidenceOf(site);
    if (seen && int64_t(seen->channels.size()) == layout.depth && readsRows(site))
      for (const quantize::Channel &channel : seen->channels)
        importance.push_back(channel.squares);
    // Kernels multiply a small table's numbers as bytes. They are near [-1, 1], and 1/32 is a fourth of what is between two of sixteen.
    quantize::TableSteps steps;
    if (how.bits == 4)
      steps = {double(graph::Code::tableUnits), double(graph::Code::tableLowest), double(graph::Code::tableHighest)};
    rounded = quantize::lookUpWeights(floats, layout, how, importance,
                                      chosen ? ArrayRef(chosen->codebook) : ArrayRef<double>(), steps, context);
    if (!importance.empty())
      told.codebook.assign(rounded.table.begin(), rounded.table.end());
    return rounded.isFinite ? Verdict::yes() : Verdict::no("its weights are not all finite");
  }

  /// Weights by the factors of their channels.
  static void multiply(std::vector<float> &floats, const ContractionSite &site, ArrayRef<double> factors) {
    auto type = cast<RankedTensorType>(site.weights.getType());
    int64_t channels = int64_t(factors.size()), inside = 1;
    for (int64_t d = site.form->depthInRight + 1; d < type.getRank(); ++d)
      inside *= type.getDimSize(d);
    for (auto [i, w] : llvm::enumerate(floats))
      w *= float(factors[size_t(int64_t(i) / inside % channels)]);
  }

  /// A name for bytes that are made of the site's weights.
  std::string keyOf(const ContractionSite &site, StringRef what) {
    return keyOf(site.weights.getDefiningOp<graph::ConstantOp>(), site.name) + "." + what.str();
  }

  /// The key of a constant's bytes, or where they have none the name.
  static std::string keyOf(graph::ConstantOp constant, StringRef name) {
    auto weight = dyn_cast<graph::WeightAttr>(constant.getValue());
    return (weight ? weight.getKey() : name).str();
  }

  Value constant(OpBuilder &b, Location loc, RankedTensorType type, const std::string &key, std::vector<char> bytes) {
    int64_t size = int64_t(bytes.size());
    return graph::ConstantOp::create(b, loc, type,
                                     graph::WeightAttr::get(context, weights.add(key, std::move(bytes)), 0, size));
  }

  Value scales(OpBuilder &b, const ContractionSite &site, const Rounded &rounded, ArrayRef<int64_t> dims) {
    return floatConstant(b, site, rounded.scales, dims, "scale");
  }

  Value floatConstant(OpBuilder &b, const ContractionSite &site, ArrayRef<float> numbers, ArrayRef<int64_t> dims,
                      StringRef what) {
    auto *begin = reinterpret_cast<const char *>(numbers.data());
    return constant(b, site.op->getLoc(), RankedTensorType::get(dims, b.getF32Type()), keyOf(site, what),
                    std::vector<char>(begin, begin + numbers.size() * sizeof(float)));
  }

  /// Integers of 8 bits with a scale a column.
  Value channelWeights(const ContractionSite &site, const Rounded &rounded) {
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

  /// A matrix [k, n] as [k / group, group, n], or as it is where a column has one scale.
  Value groupedWeights(const ContractionSite &site, const quantize::Weights &how, const Rounded &rounded) {
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

  /// What the contraction reads through integers without a sign, made once for each scale, zero point, and factors along a dim of channels.
  Value dequantized(const ContractionSite &from, const quantize::Site &site) {
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
  /// After an error.
  bool failed = false;

private:
  func::FuncOp function;
  MLIRContext *context;
  const quantize::Quantization &wanted;
  WeightTable &weights;
  std::vector<QuantizedSite> &done;
  std::vector<ExposedShift> *shifts;
  QuantizeTrial *trial;
  Value shares;
  /// Of contractions that were looked at.
  unsigned number = 0;
  const quantize::EvidenceOf *evidence;
  Precision precision;
  llvm::StringMap<std::vector<double>> factorsOf;
  std::map<std::tuple<void *, double, int64_t, int64_t, std::vector<double>>, Value> throughIntegers;
};

struct QuantizeContractionsPass : impl::QuantizeContractionsPassBase<QuantizeContractionsPass> {
  using QuantizeContractionsPassBase::QuantizeContractionsPassBase;
  explicit QuantizeContractionsPass(const QuantizeRequest &request) : request(request) {}
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
    WeightTable ownWeights;
    std::vector<QuantizedSite> ownDone;
    Quantizer quantizer(getOperation(), read ? *read : *request.quantization,
                        request.weights ? *request.weights : ownWeights, request.done ? *request.done : ownDone,
                        request);
    std::vector<ContractionSite> sites = findContractionSites(getOperation());
    std::vector<TableSite> tables;
    if (request.tables)
      tables = findTableSites(getOperation(), sites);
    quantizer.failed = !quantizer.addShares(sites.size() + tables.size());
    quantizer.smooth(sites);
    for (ContractionSite &site : sites) {
      site.source = sourceOf(site.op); // which may be a result that was corrected
      quantizer.run(site);
    }
    for (const TableSite &site : tables)
      quantizer.run(site);
    if (quantizer.failed)
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> createQuantizeContractionsPass(const QuantizeRequest &request) {
  return std::make_unique<QuantizeContractionsPass>(request);
}

} // namespace hewn
