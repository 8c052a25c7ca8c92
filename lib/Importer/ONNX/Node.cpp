// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Node.h"

#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Control/Control.h"
#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Importer/ONNX/OnnxTypes.h"
#include "llvm/ADT/StringSet.h"
#include <onnx/defs/schema.h>

using namespace mlir;

namespace hewn::importer {

using onnx::AttributeProto;

Node::Node(ModelImporter &importer, Frame &frame, const onnx::NodeProto &proto, const NodeInfo &info,
           ArrayRef<Value> inputs)
    : OnnxNode(importer.builder, NameLoc::get(StringAttr::get(importer.builder.getContext(), info.name))),
      importer(importer), frame(frame), proto(proto), info(info), inputs(inputs.begin(), inputs.end()),
      results(proto.output_size()), errorsBefore(importer.diagnostics.numErrors()) {
  for (const AttributeProto &attribute : proto.attribute())
    attributes[attribute.name()] = &attribute;
}

Value Node::input(unsigned i) const {
  if (i >= inputs.size())
    return {};
  importer.askRank(inputs[i]);
  return inputs[i];
}

Type Node::inputElementType(unsigned i) const {
  return i < inputs.size() && inputs[i] ? graph::getElementType(inputs[i]) : Type();
}

bool Node::wantsOutput(unsigned i) const { return i < numOutputs() && !proto.output(i).empty(); }

LogicalResult Node::refuse(const Twine &reason) {
  // If this node has already reported an error in an attribute, an op or a body, that error is the
  // cause, and no further one is reported.
  if (importer.diagnostics.numErrors() != errorsBefore)
    return failure();
  importer.refuse(info, reason);
  errorsBefore = importer.diagnostics.numErrors();
  return failure();
}

void Node::discard(Operation *op) {
  op->remove();
  op->dropAllReferences();
  importer.discarded.emplace_back(op);
}

void Node::setOutput(unsigned i, Value value) {
  value = shortenDims(value);
  if (i < results.size())
    results[i] = value;
}

/// Returns how deep divisions, minima and maxima are nested in a dim expression.
static size_t depthOf(const graph::DimExpr &dim) {
  size_t deepest = 0;
  for (const graph::DimExpr::Term &term : dim.terms())
    for (const graph::DimExpr::AtomRef &factor : term.factors)
      if (factor->name.empty())
        deepest = std::max(deepest, 1 + std::max(depthOf(factor->lhs), depthOf(factor->rhs)));
  return deepest;
}

/// Replaces long dim expressions of `value` by symbols that are computed before the op. Without
/// that, the text of all expressions could become quadratic in the number of nodes: in a chain of
/// nodes, the dims of each are expressions of the dims of the previous one.
Value Node::shortenDims(Value value) {
  // Limits beyond which an expression counts as long. Usual models are below: feature pyramids nest
  // seven divisions, and few models have more than three dynamic dims.
  constexpr size_t kLongest = 1000, kMostSymbols = 8, kDeepest = 12;
  auto isLong = [](const graph::DimExpr &dim) {
    if (dim.str().size() <= 2 * kDeepest)
      return false;
    llvm::StringSet<> symbols;
    dim.walkSymbols([&](StringRef symbol) { symbols.insert(symbol); });
    return dim.str().size() > kLongest || symbols.size() > kMostSymbols || depthOf(dim) > kDeepest;
  };
  Operation *op = value ? value.getDefiningOp() : nullptr;
  // Dims that a runtime function or a body computes are not available before the op that calls it,
  // so these dims are left as they are.
  if (!op || op->getNumResults() != 1 || isa<graph::RuntimeCallOpInterface, graph::ControlOpInterface>(op) ||
      !isa<graph::ShapeOpInterface>(op))
    return value;
  graph::Dims dims = graph::getDims(value);
  if (llvm::none_of(dims, isLong))
    return value;
  OpBuilder::InsertionGuard guard(b);
  // The dims of reductions and prefix scans must not be replaced by symbols, because these ops are
  // indexed by the dims of their operand. A reshape after the op gives the new dims to its users.
  bool byOperand = isa<graph::ReduceOpInterface, graph::PrefixScanOpInterface>(op);
  byOperand ? b.setInsertionPointAfter(op) : b.setInsertionPoint(op);
  for (graph::DimExpr &dim : dims)
    if (isLong(dim))
      dim = named(dim, /*isSize=*/graph::isKnownNonNegative(dim));
  if (byOperand)
    return graph::Composer(b, loc).reshape(value, dims);
  graph::setResultDims(op, dims);
  return value;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *Node::given(StringRef name) const {
  asked.insert(name);
  return attributes.lookup(name);
}

const AttributeProto *Node::find(StringRef name, Kind kind) const {
  const AttributeProto *attribute = given(name);
  if (!attribute)
    return nullptr;
  if (attribute->type() == kind)
    return attribute;
  badAttribute = true;
  importer.refuse(info, "attribute '" + name + "' is of type " + AttributeProto::AttributeType_Name(attribute->type()) +
                            " and must be of type " + AttributeProto::AttributeType_Name(kind));
  return nullptr;
}

bool Node::isInRange(StringRef name, ArrayRef<int64_t> values, Range range) const {
  constexpr int64_t most = int64_t(1) << 31;
  const auto *outside = llvm::find_if(values, [](int64_t value) { return value < -most || value > most; });
  if (range == Range::Any || outside == values.end())
    return true;
  badAttribute = true;
  importer.refuse(info, "attribute '" + name + "' is " + Twine(*outside) + ", which is outside " + Twine(-most) + ".." +
                            Twine(most));
  return false;
}

int64_t Node::getInt(StringRef name, int64_t otherwise, Range range) const {
  const AttributeProto *attribute = find(name, AttributeProto::INT);
  return attribute && isInRange(name, attribute->i(), range) ? attribute->i() : otherwise;
}

double Node::getFloat(StringRef name, double otherwise) const {
  const AttributeProto *attribute = find(name, AttributeProto::FLOAT);
  // Rounds the default of an attribute to float32, the type that the attribute has in the model
  // file.
  return attribute ? attribute->f() : float(otherwise);
}

std::string Node::getString(StringRef name, StringRef otherwise) const {
  const AttributeProto *attribute = find(name, AttributeProto::STRING);
  return attribute ? attribute->s() : otherwise.str();
}

std::optional<SmallVector<int64_t>> Node::getInts(StringRef name, Range range) const {
  if (const AttributeProto *attribute = given(name); attribute && attribute->type() == AttributeProto::TENSOR) {
    std::string reason;
    std::optional<SmallVector<int64_t>> values = importer.tensors.integers(attribute->t(), reason);
    if (!values) {
      badAttribute = true;
      importer.refuse(info, "attribute '" + name + "' " + reason);
    }
    return values && isInRange(name, *values, range) ? values : std::nullopt;
  }
  const AttributeProto *attribute = find(name, AttributeProto::INTS);
  if (!attribute)
    return std::nullopt;
  SmallVector<int64_t> values(attribute->ints().begin(), attribute->ints().end());
  return isInRange(name, values, range) ? std::optional(values) : std::nullopt;
}

std::optional<SmallVector<float>> Node::getFloats(StringRef name) const {
  const AttributeProto *attribute = find(name, AttributeProto::FLOATS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<float>(attribute->floats().begin(), attribute->floats().end());
}

std::optional<SmallVector<std::string>> Node::getStrings(StringRef name) const {
  if (const AttributeProto *attribute = given(name); attribute && attribute->type() == AttributeProto::TENSOR &&
                                                     attribute->t().data_type() == onnx::TensorProto::STRING)
    return SmallVector<std::string>(attribute->t().string_data().begin(), attribute->t().string_data().end());
  const AttributeProto *attribute = find(name, AttributeProto::STRINGS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

/// Converts a scalar or list attribute to a tensor; Constant nodes may have these attributes
/// instead of a tensor. Returns false for other attribute types.
static bool asTensor(const AttributeProto &attribute, onnx::TensorProto &tensor) {
  switch (attribute.type()) {
  case AttributeProto::INT:
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_int64_data(attribute.i());
    return true;
  case AttributeProto::FLOAT:
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(attribute.f());
    return true;
  case AttributeProto::INTS:
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(attribute.ints_size());
    *tensor.mutable_int64_data() = attribute.ints();
    return true;
  case AttributeProto::FLOATS:
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(attribute.floats_size());
    *tensor.mutable_float_data() = attribute.floats();
    return true;
  case AttributeProto::STRING:
    tensor.set_data_type(onnx::TensorProto::STRING);
    tensor.add_string_data(attribute.s());
    return true;
  case AttributeProto::STRINGS:
    tensor.set_data_type(onnx::TensorProto::STRING);
    tensor.add_dims(attribute.strings_size());
    *tensor.mutable_string_data() = attribute.strings();
    return true;
  default:
    return false;
  }
}

Value Node::getTensor(StringRef name) {
  const AttributeProto *attribute = given(name);
  if (!attribute)
    return {};
  std::string reason, key = proto.output_size() ? proto.output(0) : info.name;
  std::optional<Constant> constant;
  onnx::TensorProto written;
  bool isTensor = attribute->type() == AttributeProto::TENSOR;
  const onnx::TensorProto *text = isTensor ? &attribute->t() : asTensor(*attribute, written) ? &written : nullptr;
  if (text && text->data_type() == onnx::TensorProto::STRING) {
    if (Value strings = importer.makeText(*text, key, reason))
      return strings;
  } else if (isTensor)
    constant = importer.tensors.read(attribute->t(), key, frame.owner, reason);
  else if (attribute->type() == AttributeProto::SPARSE_TENSOR)
    constant = importer.tensors.read(attribute->sparse_tensor(), key, reason);
  else if (text)
    constant = importer.tensors.read(written, key, nullptr, reason);
  else
    reason = "is of type " + AttributeProto::AttributeType_Name(attribute->type()) + ", which hewn does not support";
  if (!constant) {
    badAttribute = true;
    importer.refuse(info, "attribute '" + name + "' " + reason);
    return {};
  }
  return importer.makeConstant(*constant, info.name);
}

std::optional<SmallVector<double>> Node::getNumbers(StringRef name) {
  const AttributeProto *attribute = given(name);
  if (!attribute)
    return std::nullopt;
  std::string reason = "does not contain numbers";
  std::optional<SmallVector<double>> numbers;
  onnx::TensorProto written;
  if (attribute->type() == AttributeProto::TENSOR)
    numbers = importer.tensors.numbers(attribute->t(), reason);
  else if (asTensor(*attribute, written))
    numbers = importer.tensors.numbers(written, reason);
  if (!numbers) {
    badAttribute = true;
    importer.refuse(info, "attribute '" + name + "' " + reason);
  }
  return numbers;
}

Type Node::tensorElementType(StringRef name) const {
  const AttributeProto *attribute = find(name, AttributeProto::TENSOR);
  return attribute ? elementType(b.getContext(), attribute->t().data_type()) : Type();
}

Type Node::getType(StringRef name) {
  const AttributeProto *attribute = find(name, AttributeProto::TYPE_PROTO);
  if (!attribute)
    return {};
  std::string reason;
  Type type = listType(b.getContext(), attribute->tp(), reason);
  if (!type)
    importer.refuse(info, "attribute '" + name + "' " + reason);
  return type;
}

Value Node::makeBytes(RankedTensorType type, std::vector<char> bytes) {
  std::string key = proto.output_size() ? proto.output(0) : info.name;
  return importer.makeConstant(importer.tensors.make(type, std::move(bytes), key), info.name);
}

Type Node::elementTypeOf(int64_t onnxCode) const { return elementType(b.getContext(), onnxCode); }

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

std::optional<graph::Dims> Node::contents(Value value) { return importer.contents.integers(value); }

graph::Decision Node::decide(Value condition) {
  if (std::optional<graph::DimExpr> known = importer.contents.integer(condition, 0); known && known->constant())
    return known->is(0) ? graph::Decision::No : graph::Decision::Yes;
  std::optional<graph::Condition> question = importer.contents.question(condition, 0);
  if (question && importer.decide(*question) == graph::Decision::PerCase)
    return graph::Decision::PerCase;
  return graph::Decision::AtRuntime;
}

std::optional<SmallVector<double>> Node::floatContents(Value value) { return importer.contents.floats(value); }

std::optional<int64_t> Node::declaredRank(unsigned i) const {
  if (!frame.graph || !wantsOutput(i))
    return std::nullopt;
  for (const auto *list : {&frame.graph->output(), &frame.graph->value_info()})
    for (const onnx::ValueInfoProto &declared : *list)
      if (declared.name() == proto.output(i) && declared.type().tensor_type().has_shape())
        return declared.type().tensor_type().shape().dim_size();
  return std::nullopt;
}

std::optional<graph::Dims> Node::contentsOrRead(Value value, std::optional<int64_t> length) {
  if (!value) {
    importer.refuse(info, "lacks an input");
    return std::nullopt;
  }
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() > 1 || !isa<IntegerType>(type.getElementType())) {
    importer.refuse(info, "takes dims from a tensor that is not a list of integers");
    return std::nullopt;
  }
  if (!type.hasStaticShape() && length) {
    // the reshape requires that the list has `length` elements
    value = graph::Composer(b, loc).reshape(value, {graph::DimExpr(*length)});
    if (!value)
      return std::nullopt;
    type = cast<RankedTensorType>(value.getType());
  }
  if (!type.hasStaticShape()) {
    importer.refuse(info, "takes dims from a list of dynamic length");
    return std::nullopt;
  }
  // A shape operand with more elements than this is rejected: no tensor has so many dims.
  if (type.getNumElements() > 1024) {
    importer.refuse(info, "takes dims from a list of " + Twine(type.getNumElements()) + " elements, which is too long");
    return std::nullopt;
  }
  graph::Dims dims;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    std::optional<graph::DimExpr> known = importer.contents.integer(value, i);
    dims.push_back(known ? *known : importer.readSymbol(value, i));
  }
  return dims;
}

graph::DimExpr Node::shortened(const graph::DimExpr &number, bool isSize) {
  constexpr size_t kBearable = 200;
  return number.str().size() <= kBearable ? number : named(number, isSize);
}

graph::DimExpr Node::named(const graph::DimExpr &number, bool isSize) {
  if (number.constant())
    return number;
  Value held = graph::makeNamed(b, loc, graph::DimValueOp::getOperationName(), {}, attr("values", ArrayRef(number)));
  if (!isSize)
    return importer.readSymbol(held, 0);
  graph::DimExpr symbol = freshDim();
  graph::ReadSymbolOp::create(b, loc, held, 0, symbol.str());
  return symbol;
}

//===----------------------------------------------------------------------===//
// Subgraphs
//===----------------------------------------------------------------------===//

const onnx::GraphProto *Node::subgraph(StringRef name) {
  const AttributeProto *attribute = find(name, AttributeProto::GRAPH);
  if (!attribute && !badAttribute)
    importer.refuse(info, "lacks the subgraph '" + name + "'");
  return attribute ? &attribute->g() : nullptr;
}

LogicalResult Node::importSubgraph(StringRef name, Region &region, ArrayRef<graph::TensorShape> arguments) {
  const onnx::GraphProto *body = subgraph(name);
  if (!body)
    return failure();
  // Clears the data that is cached for values: an earlier body may have been imported and erased,
  // so its values no longer exist.
  importer.forgetErased();
  OpBuilder::InsertionGuard guard(b);
  if (region.empty())
    b.createBlock(&region);
  Block &block = region.front();
  // Sets the dims of the body's block arguments, which are attributes of the enclosing op, before
  // any op in the body reads them.
  SmallVector<Attribute> lists;
  for (const graph::TensorShape &shape : arguments) {
    block.addArgument(graph::tensorType(shape.dims, shape.elementType), loc);
    lists.push_back(graph::dimsAttr(b.getContext(), shape.dims));
  }
  if (Operation *owner = region.getParentOp()) {
    SmallVector<Attribute> regions(owner->getNumRegions(), b.getArrayAttr({}));
    if (auto before = owner->getAttrOfType<ArrayAttr>(graph::kRegionDimsAttr))
      llvm::copy(before, regions.begin());
    regions[region.getRegionNumber()] = b.getArrayAttr(lists);
    owner->setAttr(graph::kRegionDimsAttr, b.getArrayAttr(regions));
  }
  b.setInsertionPointToEnd(&block);
  Frame inner{&frame, frame.opsets, frame.owner, frame.prefix, {}};
  std::optional<SmallVector<Value>> outputs = importer.importGraph(*body, inner, block.getArguments());
  if (!outputs)
    return failure();
  if (!llvm::all_of(*outputs, [](Value v) { return isa<RankedTensorType>(v.getType()); }))
    return refuse("has a subgraph that returns sequences, which this op does not support");
  // Replaces the terminator that the body's region may already have.
  if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
    block.back().erase();
  b.setInsertionPointToEnd(&block);
  OperationState yield(loc, graph::YieldOp::getOperationName());
  yield.addOperands(*outputs);
  b.create(yield);
  return success();
}

std::optional<SmallVector<Value>> Node::inlineSubgraph(StringRef name, ValueRange arguments) {
  const onnx::GraphProto *body = subgraph(name);
  if (!body)
    return std::nullopt;
  Frame inner{&frame, frame.opsets, frame.owner, frame.prefix, {}};
  std::optional<SmallVector<Value>> outputs = importer.importGraph(*body, inner, arguments);
  if (outputs)
    llvm::for_each(*outputs, [&](Value output) { importer.askRank(output); });
  return importer.rankWasAsked ? std::nullopt : outputs;
}

std::optional<SmallVector<Value>> Node::inlineBranch(StringRef name) {
  const onnx::GraphProto *body = subgraph(name);
  if (!body)
    return std::nullopt;
  Frame inner{&frame, frame.opsets, frame.owner, frame.prefix, {}};
  return importer.importGraph(*body, inner, {});
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

LogicalResult Node::checkUnasked() {
  // Checks only ops that ONNX does not define. Attributes of ONNX's ops were checked against the
  // schema, and their builders may ignore some of them.
  std::string ignored;
  bool isOnnx = false;
  guarded(ignored, [&] { isOnnx = onnx::OpSchemaRegistry::Schema(info.op, info.domain) != nullptr; });
  for (const AttributeProto &attribute : proto.attribute())
    if (!isOnnx && !asked.contains(attribute.name()) &&
        // attribute names with two leading underscores are annotations of exporters
        !StringRef(attribute.name()).starts_with("__"))
      return refuse("has the attribute '" + attribute.name() + "', which hewn's " + info.op + " does not have");
  return success();
}

LogicalResult Node::build(const OnnxRecord &record) {
  ofRecord = record.graphOp;
  LogicalResult built = record.build ? record.build(*this) : buildDirect(record);
  if (llvm::any_of(proto.attribute(), [](const AttributeProto &a) { return a.has_g(); }))
    importer.forgetErased();
  if (succeeded(built) && failed(checkUnasked()))
    built = failure();
  return failure(failed(built) || badAttribute);
}

LogicalResult Node::build(const graph::CustomDefinition &op) {
  for (const AttributeProto &attribute : proto.attribute())
    if (llvm::none_of(op.attributes, [&](const auto &known) { return known.name == attribute.name(); }) &&
        // attribute names with two leading underscores are annotations of exporters
        !StringRef(attribute.name()).starts_with("__"))
      return refuse("has the attribute '" + attribute.name() + "', which its definition in " + op.file + " lacks");
  LogicalResult built = graph::buildCustom(*this, op);
  return failure(failed(built) || badAttribute);
}

Attribute Node::directAttribute(const DirectAttr &attr) {
  switch (attr.form) {
  case AttrForm::Integer:
    return b.getI64IntegerAttr(getInt(attr.name, 0));
  case AttrForm::Float:
    return b.getF32FloatAttr(getFloat(attr.name, 0));
  case AttrForm::Double:
    return b.getF64FloatAttr(getFloat(attr.name, 0));
  case AttrForm::String:
    return b.getStringAttr(getString(attr.name, ""));
  case AttrForm::Bool:
    return b.getBoolAttr(getInt(attr.name, 0) != 0);
  case AttrForm::Integers:
    return b.getDenseI64ArrayAttr(getInts(attr.name).value_or(SmallVector<int64_t>()));
  case AttrForm::Floats:
    return b.getDenseF32ArrayAttr(getFloats(attr.name).value_or(SmallVector<float>()));
  case AttrForm::Bools:
    return b.getDenseBoolArrayAttr(
        llvm::map_to_vector(getInts(attr.name).value_or(SmallVector<int64_t>()), [](int64_t v) { return v != 0; }));
  case AttrForm::ElementType:
    if (Type type = elementTypeOf(getInt(attr.name, 0)))
      return TypeAttr::get(type);
    importer.refuse(info, "attribute '" + attr.name + "' is " + dataTypeName(getInt(attr.name, 0)) +
                              ", which hewn does not support");
    return {};
  }
  return {};
}

/// Checks that those attributes of the ONNX node that the graph op cannot represent have their
/// default values. Attributes that ONNX does not define are annotations of exporters and are
/// ignored.
LogicalResult Node::checkAttributes(const OnnxRecord &record) {
  std::string ignored;
  const onnx::OpSchema *schema = nullptr;
  guarded(ignored, [&] { schema = onnx::OpSchemaRegistry::Schema(info.op, int(info.opset), info.domain); });
  if (!schema)
    return success();
  for (const AttributeProto &attribute : proto.attribute()) {
    if (llvm::any_of(record.attrs, [&](const DirectAttr &known) { return known.name == attribute.name(); }))
      continue;
    auto known = schema->attributes().find(attribute.name());
    if (known == schema->attributes().end())
      continue;
    const AttributeProto &otherwise = known->second.default_value;
    if (attribute.i() != otherwise.i() || attribute.f() != otherwise.f() || attribute.s() != otherwise.s() ||
        attribute.ints_size() || attribute.floats_size() || attribute.strings_size() || attribute.has_t())
      return refuse("attribute '" + attribute.name() + "' is not supported");
  }
  return success();
}

bool Node::isIndifferentToRank(const OnnxRecord &record, unsigned i) const {
  if (i >= inputs.size() || !inputs[i] || !graph::isRankOpen(inputs[i]))
    return false;
  std::optional<RegisteredOperationName> op = RegisteredOperationName::lookup(record.graphOp, b.getContext());
  bool isElementwise = op && op->hasInterface<graph::ElementwiseOpInterface>();
  return isElementwise && llvm::any_of(inputs, [&](Value other) {
           return other && !graph::isRankOpen(other) && graph::getRank(other) >= graph::getRank(inputs[i]);
         });
}

LogicalResult Node::buildDirect(const OnnxRecord &record) {
  OperationState state(loc, record.graphOp);
  SmallVector<int32_t> segments;
  unsigned next = 0;
  for (OperandForm form : record.operands) {
    int32_t taken = 0;
    unsigned end = form == OperandForm::Variadic ? numInputs() : next + 1;
    for (; next < end; ++next, ++taken) {
      if (Value given = isIndifferentToRank(record, next) ? inputs[next] : input(next))
        state.addOperands(given);
      else if (form == OperandForm::Optional)
        --taken;
      else
        return refuse("lacks input " + Twine(next));
    }
    segments.push_back(taken);
  }
  if (next < numInputs())
    return refuse("has " + Twine(numInputs()) + " inputs, expected at most " + Twine(next));
  if (failed(checkAttributes(record)))
    return failure();
  for (const DirectAttr &attr : record.attrs) {
    if (!hasAttr(attr.name)) {
      if (attr.required)
        return refuse("lacks the attribute '" + attr.name + "'");
      continue;
    }
    Attribute value = directAttribute(attr);
    if (!value || badAttribute)
      return failure();
    state.addAttribute(attr.name, value);
  }
  if (record.segmentSizes)
    state.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr(segments));
  for (unsigned i = record.numResults; i < numOutputs(); ++i)
    if (wantsOutput(i))
      return refuse("output " + Twine(i) + " is not supported");
  // These result types are placeholders: type inference sets the op's result types after it is
  // created.
  state.types.assign(record.numResults, RankedTensorType::get({}, b.getF32Type()));
  Operation *op = b.create(state);
  if (failed(graph::inferResults(op))) {
    op->erase();
    return failure();
  }
  for (OpResult result : op->getResults())
    setOutput(result.getResultNumber(), result);
  return success();
}

} // namespace hewn::importer
