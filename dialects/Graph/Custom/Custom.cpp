// SPDX-License-Identifier: Apache-2.0
//
// Custom ops: shape inference, requirements, and the list of integer parameters that
// runtime/ops/custom.c reads.
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

/// Attribute accessors and checks that graph.custom and graph.custom_sizes have in common.
template <typename Op> class Definition {
public:
  explicit Definition(Op op) : op(op) {
    Operation::operand_range given = op.getGiven();
    size_t next = 0;
    for (int32_t size : op.getOperandSegmentSizes())
      slots.push_back(size == 1 && next < given.size() ? given[next++] : Value());
    isWhole = next == given.size();
  }

  /// Checks that the attributes of a custom op are consistent. Emits an op error if not.
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
    return fits ? success()
                : op.emitOpError("is not well-formed: its attributes do not match its operands and results");
  }

  /// Matches the operand dims of a custom op with its definition and returns the values of the dim
  /// names. Returns nullopt after an error.
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
      op.emitOpError("input ") << i << " has dims " << textOf({false, dimsOf(input)})
                               << ", but its definition requires " << (pattern ? textOf(*pattern) : "malformed dims");
      return std::nullopt;
    }
    auto pairs = names.pairs();
    if (!pairs) {
      op.emitOpError("has a dim by the name '") << names.unknown << "', which is not a dim of an input or an attribute";
      return std::nullopt;
    }
    for (const auto &[wanted, dim] : *pairs)
      if (wanted.constant() && dim.constant() && wanted != dim) {
        op.emitOpError("has an input with a dim of ") << dim.str() << " where its definition requires " << wanted.str();
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

  /// Returns the parameters of a custom op's runtime call, in the order given in hewn/services.h.
  /// `places` has, for each dim of each result, the number of the size to which the dim is set.
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
  /// Returns true if `name` is a C identifier and not the name of a function of hewn.
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

  /// Appends bytes to the parameters of the runtime call, eight to a 64-bit word, and pads the last
  /// word with zeros.
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
  // for each input of the custom op: its operand, or null if the input is absent
  SmallVector<Value> slots;
  bool isWhole;
};

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Adds the side effects of a custom op. An op that is not pure must be called as often as it is in
/// the model. An op that defines symbols must be called even if its results are not used, because
/// the symbols may be.
void addEffects(bool pure, bool tellsSymbols, Effects &effects) {
  if (!pure)
    effects.emplace_back(MemoryEffects::Write::get());
  if (tellsSymbols)
    effects.emplace_back(MemoryEffects::Write::get(), SymbolResource::get());
}

} // namespace

//===------------------------------------------------------------------------------------------===//
// Sizes
//===------------------------------------------------------------------------------------------===//

LogicalResult CustomSizesOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Definition<CustomSizesOp> definition(*this);
  if (failed(definition.check(0)) || !definition.match(dimsOf))
    return failure();
  results.push_back({{DimExpr(int64_t(getSizeNames().size()))}, IntegerType::get(getContext(), 64)});
  return success();
}

void CustomSizesOp::requireDims(Requirements &requirements) { Definition(*this).require(requirements); }
StringRef CustomSizesOp::getRuntimeFunction() { return "custom"; }
SmallVector<StringRef> CustomSizesOp::getFunctions() { return {getFunction()}; }
SmallVector<int64_t> CustomSizesOp::getCallParams() { return Definition(*this).params(HEWN_CUSTOM_TELLS, {}); }
void CustomSizesOp::getEffects(Effects &effects) { addEffects(getPure(), /*tellsSymbols=*/false, effects); }

//===------------------------------------------------------------------------------------------===//
// graph.custom
//===------------------------------------------------------------------------------------------===//

static DimExpr symbolNamed(Attribute attribute) { return DimExpr::symbol(cast<StringAttr>(attribute).getValue()); }

/// Returns the dims of each result of a custom op, where `sizeOf` returns the value of a size that
/// the op's C function defines. Returns nullopt after an error.
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
                                << "' that is not known, because its input or attribute is absent";
      return std::nullopt;
    }
    all.push_back(*dims);
  }
  return all;
}

/// Returns the upper bound of size number `i` of a custom op, or nullopt if the op's definition
/// gives none.
static std::optional<DimExpr> boundOf(CustomOp op, DimNames &names, size_t i) {
  std::optional<DimExpr> bound = DimExpr::fromAttr(op.getBounds()[i]);
  return bound ? names.evaluate(*bound) : std::nullopt;
}

/// Checks that the lists in a custom op's definition have matching lengths. Checks that each size
/// that the op's C function defines has an upper bound, and that it is a result dim by itself, not
/// part of an expression.
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
    return emitOpError("is not well-formed: its sizes and results do not match its definition");
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
        return emitOpError("has a result ") << i << " whose size in bytes may overflow";
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

SmallVector<int64_t> CustomOp::getCallParams() {
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

StringRef CustomOp::getRuntimeFunction() { return "custom"; }
SmallVector<StringRef> CustomOp::getFunctions() { return {getFunction()}; }
void CustomOp::getEffects(Effects &effects) { addEffects(getPure(), getCounts(), effects); }

} // namespace hewn::graph
