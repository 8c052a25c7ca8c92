// SPDX-License-Identifier: Apache-2.0
//
// What custom ops say of themselves: shapes, what they trust, and the words that runtime/parts/custom.c reads.
#include "dialects/Graph/Custom/Custom.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"

#include "dialects/Graph/Analysis/Shapes.h"
#include "dialects/Graph/Custom/Patterns.h"
#include "dialects/Handle/Handle.h"
#include "hewn/custom.h"
#include "hewn/services.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

#include "dialects/Graph/Custom/Foreign.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/Graph/Custom/Custom.cpp.inc"

namespace hewn::graph {

namespace {

/// What both ops have.
template <typename Op> class Definition {
public:
  explicit Definition(Op op) : op(op) {
    Operation::operand_range given = op.getGiven();
    size_t next = 0;
    for (int32_t size : op.getOperandSegmentSizes())
      slots.push_back(size == 1 && next < given.size() ? given[next++] : Value());
    isWhole = next == given.size();
  }

  /// Whether the attributes fit each other; after an error where they don't.
  LogicalResult check(size_t numResults) {
    size_t tensors = size_t(op.getNumTensors());
    bool fits = isWhole && slots.size() == tensors + op.getInputDims().size() &&
                op.getText().size() == slots.size() + numResults && isFunctionName(op.getFunction());
    for (size_t i = 0; fits && i < tensors; ++i)
      fits = bool(slots[i]);
    for (Attribute value : op.getValues()) {
      auto number = dyn_cast<IntegerAttr>(value);
      bool isTensor = number && number.getType().isIndex();
      bool isKnown = isTensor ? number.getInt() >= 0 && size_t(number.getInt()) < tensors
                              : isa<UnitAttr, StringAttr, DenseI64ArrayAttr, DenseF32ArrayAttr>(value) ||
                                    (number && number.getType().isSignlessInteger(64)) || isDouble(value) ||
                                    isStrings(value);
      fits &= isKnown;
    }
    return fits ? success() : op.emitOpError("is not well-formed: its attributes don't fit its operands and results");
  }

  /// The names of dims; nullopt after an error.
  std::optional<DimNames> match(DimsOf dimsOf) {
    DimNames names;
    size_t tensors = size_t(op.getNumTensors());
    for (auto [i, attribute] : llvm::enumerate(op.getInputDims())) {
      Value input = slots[tensors + i];
      if (!input || isa<UnitAttr>(attribute))
        continue;
      std::optional<CustomDefinition::DimList> pattern = parsePattern(attribute);
      if (pattern && names.match(*pattern, dimsOf(input)))
        continue;
      op.emitOpError("input ") << i << " has dims " << textOf({false, dimsOf(input)}) << ", and its definition says "
                               << (pattern ? textOf(*pattern) : "nothing that can be read");
      return std::nullopt;
    }
    auto pairs = names.pairs();
    if (!pairs) {
      op.emitOpError("has a dim by the name '") << names.unknown << "', which is none of its inputs' and attributes'";
      return std::nullopt;
    }
    for (const auto &[wanted, dim] : *pairs)
      if (wanted.constant() && dim.constant() && wanted != dim) {
        op.emitOpError("has an input with a dim of ") << dim.str() << " where its definition says " << wanted.str();
        return std::nullopt;
      }
    return names;
  }

  void require(Requirements &requirements) {
    std::optional<DimNames> names = match(getDims);
    auto pairs = names ? names->pairs() : std::nullopt;
    if (pairs)
      for (const auto &[wanted, dim] : *pairs)
        requirements.equal(wanted, dim);
  }

  /// Their order is in hewn/services.h. `places`: for each dim of each result the size that it is.
  SmallVector<int64_t> params(int64_t form, ArrayRef<int64_t> places) {
    SmallVector<int64_t> words = {int64_t(op.getValues().size()), int64_t(op.getSizeNames().size()),
                                  int64_t(op.getNumTensors()), form};
    llvm::append_range(words, op.getText());
    llvm::append_range(words, places);
    for (Attribute value : op.getValues())
      encode(value, words);
    return words;
  }

private:
  /// A C name, and none of the program's own.
  static bool isFunctionName(StringRef name) {
    return !name.empty() && name != "main" && !name.starts_with("hewn_") && !llvm::isDigit(name.front()) &&
           llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  }
  static bool isDouble(Attribute value) {
    auto number = dyn_cast<FloatAttr>(value);
    return number && number.getType().isF64();
  }
  static bool isStrings(Attribute value) {
    auto list = dyn_cast<ArrayAttr>(value);
    return list && llvm::all_of(list, llvm::IsaPred<StringAttr>);
  }

  /// Bytes as words, with zeros behind them.
  static void append(SmallVectorImpl<int64_t> &words, const void *bytes, size_t count, size_t numWords) {
    size_t before = words.size();
    words.resize(before + numWords, 0);
    if (count)
      std::memcpy(words.data() + before, bytes, count);
  }

  static void encode(Attribute value, SmallVectorImpl<int64_t> &words) {
    auto begin = [&](int64_t kind, size_t count) {
      words.push_back(kind);
      words.push_back(int64_t(count));
    };
    if (auto number = dyn_cast<IntegerAttr>(value)) {
      begin(number.getType().isIndex() ? HEWN_CUSTOM_TENSOR : HEWN_CUSTOM_INT, 0);
      words.push_back(number.getInt());
    } else if (auto number = dyn_cast<FloatAttr>(value)) {
      begin(HEWN_CUSTOM_FLOAT, 0);
      words.push_back(number.getValue().bitcastToAPInt().getSExtValue());
    } else if (auto text = dyn_cast<StringAttr>(value)) {
      begin(HEWN_CUSTOM_STRING, text.size());
      append(words, text.data(), text.size(), text.size() / 8 + 1);
    } else if (auto list = dyn_cast<DenseI64ArrayAttr>(value)) {
      begin(HEWN_CUSTOM_INTS, list.size());
      llvm::append_range(words, list.asArrayRef());
    } else if (auto list = dyn_cast<DenseF32ArrayAttr>(value)) {
      begin(HEWN_CUSTOM_FLOATS, list.size());
      append(words, list.asArrayRef().data(), list.size() * sizeof(float), (list.size() + 1) / 2);
    } else if (auto list = dyn_cast<ArrayAttr>(value)) {
      begin(HEWN_CUSTOM_STRINGS, list.size());
      std::string all;
      for (auto text : list.getAsRange<StringAttr>())
        all += text.getValue().str() + '\0';
      words.push_back(int64_t(all.size() + 7) / 8);
      append(words, all.data(), all.size(), (all.size() + 7) / 8);
    } else {
      begin(HEWN_CUSTOM_ABSENT, 0);
    }
  }

  Op op;
  SmallVector<Value> slots; // null: not there
  bool isWhole;
};

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// An op that is not pure is called as often as it stands in the model; one that tells symbols is called for these, too.
void addEffects(bool pure, bool tellsSymbols, Effects &effects) {
  if (!pure)
    effects.emplace_back(MemoryEffects::Write::get());
  if (tellsSymbols)
    effects.emplace_back(MemoryEffects::Write::get(), SymbolResource::get());
}

} // namespace

//===------------------------------------------------------------------------------------------------------------------===//
// Sizes
//===------------------------------------------------------------------------------------------------------------------===//

LogicalResult CustomSizesOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Definition<CustomSizesOp> definition(*this);
  if (failed(definition.check(0)) || !definition.match(dimsOf))
    return failure();
  results.push_back({{DimExpr(int64_t(getSizeNames().size()))}, IntegerType::get(getContext(), 64)});
  return success();
}

void CustomSizesOp::requireDims(Requirements &requirements) { Definition(*this).require(requirements); }
StringRef CustomSizesOp::getPartName() { return "custom"; }
SmallVector<StringRef> CustomSizesOp::getFunctions() { return {getFunction()}; }
SmallVector<int64_t> CustomSizesOp::getPartParams() { return Definition(*this).params(HEWN_CUSTOM_TELLS, {}); }
void CustomSizesOp::getEffects(Effects &effects) { addEffects(getPure(), /*tellsSymbols=*/false, effects); }

//===------------------------------------------------------------------------------------------------------------------===//
// The op
//===------------------------------------------------------------------------------------------------------------------===//

static DimExpr symbolNamed(Attribute attribute) { return DimExpr::symbol(cast<StringAttr>(attribute).getValue()); }

/// The dims of each result where sizes are what `sizeOf` says; nullopt after an error.
static std::optional<SmallVector<Dims>> outputDims(CustomOp op, DimsOf dimsOf,
                                                   llvm::function_ref<DimExpr(DimNames &, size_t)> sizeOf) {
  std::optional<DimNames> names = Definition<CustomOp>(op).match(dimsOf);
  if (!names)
    return std::nullopt;
  for (auto [i, name] : llvm::enumerate(op.getSizeNames()))
    names->define(cast<StringAttr>(name).getValue(), sizeOf(*names, i));
  SmallVector<Dims> all;
  for (auto [i, attribute] : llvm::enumerate(op.getOutputDims())) {
    std::optional<CustomDefinition::DimList> pattern = parsePattern(attribute);
    std::optional<Dims> dims = pattern ? names->evaluate(*pattern) : std::nullopt;
    if (!dims) {
      op.emitOpError("output ") << i << " has a dim '" << names->unknown
                                << "' that is not known: what it is named after is absent";
      return std::nullopt;
    }
    all.push_back(*dims);
  }
  return all;
}

/// The most that a size can be; null where nobody says.
static std::optional<DimExpr> boundOf(CustomOp op, DimNames &names, size_t i) {
  std::optional<DimExpr> bound = DimExpr::fromAttr(op.getBounds()[i]);
  return bound ? names.evaluate(*bound) : std::nullopt;
}

/// Whether lists are as long as each other, and sizes that the function tells are dims by themselves, each with a bound.
static bool isWellFormed(CustomOp op) {
  size_t results = op->getNumResults(), sizes = op.getSizeNames().size();
  if (op.getOutputDims().size() != results || op.getOutputTypes().size() != results || op.getSizes().size() != sizes ||
      op.getBounds().size() != sizes || !llvm::all_of(op.getOutputDims(), parsePattern))
    return false;
  if (!op.getCounts())
    return true;
  llvm::StringSet<> names;
  for (Attribute name : op.getSizeNames())
    names.insert(cast<StringAttr>(name).getValue());
  for (Attribute attribute : op.getOutputDims()) {
    auto pattern = parsePattern(attribute);
    for (const DimExpr &dim : pattern->dims) {
      bool isSize = plainName(dim).has_value(), fits = true;
      dim.walkSymbols([&](StringRef name) { fits &= isSize || !names.contains(name); });
      if (!fits)
        return false;
    }
  }
  return llvm::none_of(op.getBounds(), llvm::IsaPred<UnitAttr>);
}

LogicalResult CustomOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (failed(Definition<CustomOp>(*this).check((*this)->getNumResults())))
    return failure();
  if (!isWellFormed(*this))
    return emitOpError("is not well-formed: its sizes and results don't fit its definition");
  std::optional<SmallVector<Dims>> dims =
      outputDims(*this, dimsOf, [&](DimNames &, size_t i) { return symbolNamed(getSizes()[i]); });
  if (!dims)
    return failure();
  if (getCounts())
    for (auto [i, most] : llvm::enumerate(getBoundDims(dimsOf))) {
      DimExpr bytes(8);
      for (const DimExpr &dim : most)
        bytes = bytes * dim;
      if (overflows(bytes))
        return emitOpError("has a result ") << i << " that may be larger than any memory";
    }
  for (auto [shape, type] : llvm::zip(*dims, getOutputTypes().getAsRange<TypeAttr>()))
    results.push_back({shape, type.getValue()});
  return success();
}

void CustomOp::requireDims(Requirements &requirements) {
  Definition<CustomOp> definition(*this);
  definition.require(requirements);
  std::optional<DimNames> names = getCounts() ? std::nullopt : definition.match(getDims);
  for (size_t i = 0; names && i < getSizes().size(); ++i)
    if (std::optional<DimExpr> bound = boundOf(*this, *names, i))
      requirements.atMost(symbolNamed(getSizes()[i]), *bound);
}

SmallVector<Dims> CustomOp::getBoundDims(DimsOf dimsOf) {
  auto bounds = outputDims(*this, dimsOf, [&](DimNames &names, size_t i) {
    std::optional<DimExpr> bound = getCounts() ? boundOf(*this, names, i) : std::nullopt;
    return bound.value_or(symbolNamed(getSizes()[i]));
  });
  return bounds.value_or(SmallVector<Dims>());
}

SmallVector<StringRef> CustomOp::getDefinedSymbols() {
  if (!getCounts())
    return {};
  return llvm::map_to_vector(getSizes(), [](Attribute name) { return cast<StringAttr>(name).getValue(); });
}

SmallVector<int64_t> CustomOp::getPartParams() {
  SmallVector<int64_t> places;
  for (auto [attribute, result] : llvm::zip(getOutputDims(), (*this)->getResults())) {
    CustomDefinition::DimList pattern = *parsePattern(attribute);
    places.resize(places.size() + size_t(getRank(result)) - pattern.dims.size(), -1);
    for (const DimExpr &dim : pattern.dims) {
      std::optional<StringRef> name = getCounts() ? plainName(dim) : std::nullopt;
      const auto *size =
          llvm::find_if(getSizeNames(), [&](Attribute a) { return cast<StringAttr>(a).getValue() == name; });
      places.push_back(size == getSizeNames().end() ? -1 : size - getSizeNames().begin());
    }
  }
  int64_t form = getCounts() || getSizes().empty() ? HEWN_CUSTOM_COUNTS : HEWN_CUSTOM_IS_TOLD;
  return Definition<CustomOp>(*this).params(form, places);
}

StringRef CustomOp::getPartName() { return "custom"; }
SmallVector<StringRef> CustomOp::getFunctions() { return {getFunction()}; }
void CustomOp::getEffects(Effects &effects) { addEffects(getPure(), getCounts(), effects); }

} // namespace hewn::graph
