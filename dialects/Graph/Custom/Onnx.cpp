// SPDX-License-Identifier: Apache-2.0
//
// Import of nodes with a user's definition, as calls of the user's C function.
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Custom/Custom.h"
#include "dialects/Graph/Custom/Patterns.h"
#include "dialects/Graph/List/List.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace hewn::graph {

namespace {

/// An element type of custom ops: its name in NumPy or ml_dtypes, and its number in ONNX
/// (TensorProto.DataType).
struct ElementName {
  StringLiteral name;
  int64_t code;
};
constexpr ElementName elementNames[] = {
    {"float32", 1},      {"uint8", 2},           {"int8", 3},           {"uint16", 4},
    {"int16", 5},        {"int32", 6},           {"int64", 7},          {"string", 8},
    {"bool", 9},         {"float16", 10},        {"float64", 11},       {"uint32", 12},
    {"uint64", 13},      {"bfloat16", 16},       {"float8_e4m3fn", 17}, {"float8_e4m3fnuz", 18},
    {"float8_e5m2", 19}, {"float8_e5m2fnuz", 20}};

class CustomBuilder {
public:
  CustomBuilder(OnnxNode &node, const CustomDefinition &op) : node(node), op(op), b(node.b) {}

  LogicalResult build() {
    if (failed(readAttributes()) || failed(readInputs()) || failed(resolveOutputs()))
      return failure();
    SmallVector<std::string> symbols;
    bool counts = !op.sizes.empty() && op.shapeFunction.empty();
    if (!op.shapeFunction.empty() && failed(tellSizes(symbols)))
      return failure();
    for (size_t i = symbols.size(); i < op.sizes.size(); ++i)
      symbols.push_back(node.freshDim().str().str());
    SmallVector<NamedAttribute> attributes = shared(op.function, op.outputs.size());
    attributes.push_back(node.attr("outputDims", b.getArrayAttr(outputDims)));
    attributes.push_back(node.attr("outputTypes", b.getTypeArrayAttr(outputTypes)));
    attributes.push_back(node.attr("sizes", strings(symbols)));
    attributes.push_back(node.attr("bounds", b.getArrayAttr(bounds)));
    if (counts)
      attributes.push_back(node.attr("counts", b.getUnitAttr()));
    Operation *made = makePart(node, CustomOp::getOperationName(), operands(), attributes, unsigned(op.outputs.size()));
    if (!made)
      return failure();
    for (unsigned i = 0; i < node.numOutputs(); ++i)
      node.setOutput(i, made->getResult(i));
    return success();
  }

private:
  LogicalResult refuse(const Twine &what) { return node.refuse(what); }
  /// Returns ", and its definition in FILE ", the middle part of error messages.
  std::string byDefinition() const { return ", and its definition in " + op.file + " "; }
  ArrayAttr strings(ArrayRef<std::string> list) {
    return b.getArrayAttr(
        llvm::map_to_vector(list, [&](const std::string &s) -> Attribute { return b.getStringAttr(s); }));
  }

  //===-- Attributes -------------------------------------------------------------------------===//

  LogicalResult readAttributes() {
    for (const CustomDefinition::Attribute &attribute : op.attributes) {
      if (attribute.required && !node.hasAttr(attribute.name))
        return refuse("lacks the attribute '" + attribute.name + "'");
      Attribute value = node.hasAttr(attribute.name) ? given(attribute) : otherwise(attribute);
      if (!value)
        return failure();
      if (auto number = dyn_cast<IntegerAttr>(value); number && attribute.kind == Kind::Int)
        numbers.try_emplace(attribute.name, DimExpr(number.getInt()));
      values.push_back(value);
    }
    return success();
  }

  /// Returns the value of an attribute of the custom op's node, or null after an error. If the
  /// node's getter of the attribute fails, the getter returns a default, and the import rejects the
  /// node later.
  Attribute given(const CustomDefinition::Attribute &attribute) {
    constexpr auto any = OnnxNode::Range::Any;
    StringRef name = attribute.name;
    switch (attribute.kind) {
    case Kind::Int:
      return b.getI64IntegerAttr(node.getInt(name, 0, any));
    case Kind::Float:
      return b.getF64FloatAttr(node.getFloat(name, 0));
    case Kind::String:
      return b.getStringAttr(node.getString(name, ""));
    case Kind::Ints:
      return b.getDenseI64ArrayAttr(node.getInts(name, any).value_or(SmallVector<int64_t>()));
    case Kind::Floats:
      return b.getDenseF32ArrayAttr(node.getFloats(name).value_or(SmallVector<float>()));
    case Kind::Strings:
      return stringList(name, node.getStrings(name).value_or(SmallVector<std::string>()));
    case Kind::Tensor:
      Value tensor = node.getTensor(name);
      if (!tensor)
        return {};
      addTensor(tensor);
      return b.getIndexAttr(int64_t(tensors.size()) - 1);
    }
    return {};
  }

  Attribute otherwise(const CustomDefinition::Attribute &attribute) {
    const CustomDefinition::Value &value = attribute.otherwise;
    if (auto *i = std::get_if<int64_t>(&value))
      return b.getI64IntegerAttr(*i);
    if (auto *f = std::get_if<double>(&value))
      return b.getF64FloatAttr(*f);
    if (auto *s = std::get_if<std::string>(&value))
      return b.getStringAttr(*s);
    if (auto *ints = std::get_if<std::vector<int64_t>>(&value))
      return b.getDenseI64ArrayAttr(*ints);
    if (auto *floats = std::get_if<std::vector<float>>(&value))
      return b.getDenseF32ArrayAttr(*floats);
    if (auto *list = std::get_if<std::vector<std::string>>(&value))
      return stringList(attribute.name, *list);
    return b.getUnitAttr();
  }

  Attribute stringList(StringRef name, ArrayRef<std::string> list) {
    if (llvm::none_of(list, [](StringRef s) { return s.contains('\0'); }))
      return strings(list);
    (void)refuse("attribute '" + name + "' has a string with a zero byte in it");
    return {};
  }

  void addTensor(Value tensor) {
    tensors.push_back(tensor);
    tensorText.push_back(handle::isString(getElementType(tensor)));
  }

  //===-- Inputs -----------------------------------------------------------------------------===//

  LogicalResult readInputs() {
    bool isVariadic = !op.inputs.empty() && op.inputs.back().variadic;
    unsigned most = unsigned(op.inputs.size()), count = std::max(node.numInputs(), most);
    if (node.numInputs() > most && !isVariadic)
      return refuse("has " + Twine(node.numInputs()) + " inputs" + byDefinition() + "takes " + Twine(most) +
                    " at most");
    for (unsigned i = 0; i < count; ++i) {
      const CustomDefinition::Input &formal = op.inputs[std::min(i, most - 1)];
      if (failed(readInput(i, formal)))
        return failure();
    }
    return success();
  }

  LogicalResult readInput(unsigned i, const CustomDefinition::Input &formal) {
    Value value = node.input(i);
    std::string what = ("input " + Twine(i) + (formal.name.empty() ? "" : " '" + formal.name + "'")).str();
    if (!value && !formal.optional)
      return refuse("lacks " + what);
    inputs.push_back(value);
    text.push_back(false);
    std::optional<Attribute> dims =
        formal.dims ? resolve(*formal.dims, what) : std::optional<Attribute>(b.getUnitAttr());
    if (!dims)
      return failure();
    inputDims.push_back(*dims);
    if (!value)
      return success();
    if (!isa<RankedTensorType>(value.getType()) || listOf(value))
      return refuse(what + " is a sequence or an optional value, which custom ops do not support");
    std::string element = elementName(getElementType(value));
    text.back() = element == "string";
    bool isNamed = formal.elements.size() == 1 && op.types.count(formal.elements[0]);
    ArrayRef<std::string> allowed = isNamed ? op.types.find(formal.elements[0])->second : formal.elements;
    if (!llvm::is_contained(allowed, element))
      return refuse(what + " is " + element + byDefinition() + "takes " + llvm::join(allowed, ", "));
    if (!isNamed)
      return success();
    std::string &chosen = bound[formal.elements[0]];
    if (!chosen.empty() && chosen != element)
      return refuse(what + " is " + element + ", and an input of the same type before it " + chosen);
    chosen = element;
    return success();
  }

  std::string elementName(Type type) {
    for (const ElementName &element : elementNames)
      if (node.elementTypeOf(element.code) == type)
        return element.name.str();
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  //===-- Dims -------------------------------------------------------------------------------===//

  DimExpr resolve(const DimExpr &dim) {
    return dim.substitute([&](StringRef name) {
      auto number = numbers.find(name);
      return number == numbers.end() ? DimExpr::symbol(name) : number->second;
    });
  }

  /// Replaces the names of the node's integer attributes in a list of dims by the attribute values.
  /// Returns nullopt after an error.
  std::optional<Attribute> resolve(const CustomDefinition::DimList &list, const Twine &what) {
    CustomDefinition::DimList resolved = list;
    for (DimExpr &dim : resolved.dims) {
      dim = resolve(dim);
      if (dividesByZero(dim)) {
        (void)refuse("divides by 0 in the dims of " + what + ": " + dim.str());
        return std::nullopt;
      }
    }
    return patternAttr(b.getContext(), resolved);
  }

  LogicalResult resolveOutputs() {
    if (node.numOutputs() > op.outputs.size())
      return refuse("has " + Twine(node.numOutputs()) + " outputs" + byDefinition() + "makes " +
                    Twine(op.outputs.size()));
    for (auto [i, output] : llvm::enumerate(op.outputs)) {
      std::optional<Attribute> dims = resolve(output.dims, "output " + Twine(i));
      if (!dims)
        return failure();
      outputDims.push_back(*dims);
      std::string element = op.types.count(output.element) ? bound[output.element] : output.element;
      if (element.empty())
        return refuse("has an output of the type '" + output.element + "' of an input that is absent");
      outputTypes.push_back(node.elementTypeOf(*elementCodeOf(element)));
      outputText.push_back(element == "string");
    }
    for (const CustomDefinition::Size &size : op.sizes) {
      std::optional<DimExpr> bound = size.bound ? std::optional(resolve(*size.bound)) : std::nullopt;
      if (bound && dividesByZero(*bound))
        return refuse("divides by 0 in the bound of the size '" + size.name + "': " + bound->str());
      bounds.push_back(bound ? Attribute(bound->toAttr(b.getContext())) : b.getUnitAttr());
    }
    return success();
  }

  /// Emits the call of a custom op's shape function, and reads the sizes that the function returns
  /// as symbols.
  LogicalResult tellSizes(SmallVectorImpl<std::string> &symbols) {
    Operation *made = makePart(node, CustomSizesOp::getOperationName(), operands(), shared(op.shapeFunction, 0), 1);
    if (!made)
      return failure();
    Value told = made->getResult(0);
    std::optional<Dims> sizes = node.contentsOrRead(told);
    if (!sizes)
      return failure();
    for (const DimExpr &size : *sizes)
      symbols.push_back(size.str().str());
    addTensor(told);
    return success();
  }

  //===-- The op -----------------------------------------------------------------------------===//

  SmallVector<Value> operands() {
    SmallVector<Value> all(tensors);
    llvm::copy_if(inputs, std::back_inserter(all), [](Value v) { return bool(v); });
    return all;
  }

  SmallVector<NamedAttribute> shared(StringRef function, size_t numResults) {
    SmallVector<int32_t> segments(tensors.size(), 1);
    for (Value input : inputs)
      segments.push_back(input ? 1 : 0);
    SmallVector<bool> allText(tensorText);
    llvm::append_range(allText, text);
    llvm::append_range(allText, ArrayRef(outputText).take_front(numResults));
    SmallVector<std::string> names = llvm::map_to_vector(op.sizes, [](const auto &size) { return size.name; });
    SmallVector<NamedAttribute> attributes = {node.attr("function", b.getStringAttr(function)),
                                              node.attr("values", b.getArrayAttr(values)),
                                              node.attr("numTensors", int64_t(tensors.size())),
                                              node.attr("operandSegmentSizes", b.getDenseI32ArrayAttr(segments)),
                                              node.attr("inputDims", b.getArrayAttr(inputDims)),
                                              node.attr("text", b.getDenseBoolArrayAttr(allText)),
                                              node.attr("sizeNames", strings(names))};
    if (op.pure)
      attributes.push_back(node.attr("pure", b.getUnitAttr()));
    return attributes;
  }

  using Kind = CustomDefinition::Kind;
  OnnxNode &node;
  const CustomDefinition &op;
  OpBuilder &b;
  SmallVector<Attribute> values, inputDims, outputDims, bounds;
  SmallVector<Value> tensors, inputs; // operands of the custom op; absent inputs are null
  SmallVector<bool> tensorText, text, outputText;
  SmallVector<Type> outputTypes;
  /// The integer attributes of the node by name, and, by name of an element type variable, the
  /// element type bound to it.
  llvm::StringMap<DimExpr> numbers;
  llvm::StringMap<std::string> bound;
};

} // namespace

std::optional<int64_t> elementCodeOf(StringRef name) {
  for (const ElementName &element : elementNames)
    if (element.name == name)
      return element.code;
  return std::nullopt;
}

LogicalResult buildCustom(OnnxNode &node, const CustomDefinition &op) { return CustomBuilder(node, op).build(); }

} // namespace hewn::graph
