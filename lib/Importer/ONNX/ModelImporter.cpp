// SPDX-License-Identifier: Apache-2.0
// Imports a model's opsets, inputs and their dims, initializers, and outputs.
#include "lib/Importer/ONNX/ModelImporter.h"

#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/List/List.h"
#include "dialects/Graph/Text/Text.h"
#include "lib/Importer/ONNX/OnnxTypes.h"
#include "lib/Importer/ONNX/Protos/NodeOrder.h"
#include "lib/Importer/ONNX/Schemas/SchemaCheck.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <onnx/defs/schema.h>

using namespace mlir;

namespace hewn::importer {

llvm::StringRef domainOf(StringRef written) { return written == "ai.onnx" ? "" : written; }

const Binding *Frame::find(StringRef name) const {
  for (const Frame *frame = this; frame; frame = frame->outer)
    if (auto found = frame->names.find(name); found != frame->names.end())
      return &found->second;
  return nullptr;
}

ModelImporter::ModelImporter(MLIRContext &context, std::shared_ptr<const LoadedModel> loaded,
                             const ImportOptions &options, std::string folder, WeightStore &weights,
                             Diagnostics &diagnostics)
    : builder(&context), tensors(&context, weights, std::move(folder), loaded->raw, options.limits, options.namesOnly),
      contents(weights), diagnostics(diagnostics), loaded(std::move(loaded)), model(&this->loaded->proto),
      options(options), bytesLeft(options.limits.bytes) {}

void ModelImporter::refuse(const NodeInfo &info, const Twine &reason) {
  diagnostics.report({Message::Level::Error, info.name, info.op, info.domain, info.opset, reason.str()});
}

void ModelImporter::refuseOutright(const NodeInfo &info, const Twine &reason) {
  refuse(info, reason);
  lastOutright = diagnostics.messages().size();
}

Value ModelImporter::makeConstant(const Constant &constant, StringRef name) {
  return graph::ConstantOp::create(builder, NameLoc::get(builder.getStringAttr(name)), constant.type, constant.value);
}

Value ModelImporter::makeText(const onnx::TensorProto &tensor, StringRef name, std::string &reason) {
  SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> bytes = tensorBytes(dims, handle::StringType::get(builder.getContext()), reason);
  if (!bytes)
    return {};
  if (*bytes / 8 != tensor.string_data_size()) {
    reason = "does not contain the " + std::to_string(*bytes / 8) + " strings of its dims";
    return {};
  }
  auto makeBytes = [&](RankedTensorType type, std::vector<char> data) {
    return makeConstant(tensors.make(type, std::move(data), name), name);
  };
  SmallVector<std::string> strings(tensor.string_data().begin(), tensor.string_data().end());
  return graph::makeText(builder, NameLoc::get(builder.getStringAttr(name)), makeBytes, strings, dims, reason);
}

//===----------------------------------------------------------------------===//
// Opsets, initializers
//===----------------------------------------------------------------------===//

bool ModelImporter::importOpsets() {
  const auto &known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const onnx::OperatorSetIdProto &entry : model->opset_import()) {
    StringRef domain = domainOf(entry.domain());
    opsets[domain] = entry.version();
    auto range = known.find(domain.str());
    if (range == known.end() || (entry.version() >= 1 && entry.version() <= range->second.second))
      continue;
    diagnostics.error("the model imports version " + Twine(entry.version()) + " of " +
                      (domain.empty() ? "ONNX's opset" : "opset '" + domain + "'") + ", but hewn supports 1 to " +
                      Twine(range->second.second));
    return false;
  }
  return true;
}

void ModelImporter::importInitializers(const onnx::GraphProto &graph, Frame &frame) {
  // The invalid initializers by reason: a missing file has one message, not one for each of the
  // hundreds of initializers that it stores.
  llvm::MapVector<StringRef, SmallVector<StringRef>> refused;
  auto enter = [&](StringRef name, std::optional<Constant> constant, StringRef reason) {
    if (!constant)
      refused[builder.getStringAttr(reason).getValue()].push_back(name);
    frame.names[name] =
        constant ? Binding{Binding::Kind::Value, makeConstant(*constant, name)} : Binding{Binding::Kind::Failed, {}};
  };
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    std::string reason;
    if (tensor.data_type() == onnx::TensorProto::STRING) {
      Value text = makeText(tensor, tensor.name(), reason);
      if (!text)
        refused[builder.getStringAttr(reason).getValue()].push_back(tensor.name());
      frame.names[tensor.name()] = {text ? Binding::Kind::Value : Binding::Kind::Failed, text};
      continue;
    }
    enter(tensor.name(), tensors.read(tensor, tensor.name(), frame.owner, reason), reason);
  }
  for (const onnx::SparseTensorProto &tensor : graph.sparse_initializer()) {
    std::string reason;
    const std::string &name = tensor.values().name();
    enter(name, tensors.read(tensor, name, reason), reason);
  }
  for (const auto &[reason, names] : refused) {
    size_t more = names.size() - 1;
    std::string others = more == 0 ? "" : "; the same is true of " + std::to_string(more) + " more";
    diagnostics.error("initializer '" + names.front() + "' " + reason + others);
  }
}

static SmallVector<StringRef> outputNames(const onnx::GraphProto &graph) {
  return llvm::map_to_vector(graph.output(),
                             [](const onnx::ValueInfoProto &output) { return StringRef(output.name()); });
}

std::optional<SmallVector<Value>> ModelImporter::importGraph(const onnx::GraphProto &graph, Frame &frame,
                                                             ValueRange arguments) {
  if (graph.input_size() != int(arguments.size())) {
    refuse(*current,
           "has a subgraph with " + Twine(graph.input_size()) + " inputs, expected " + Twine(arguments.size()));
    return std::nullopt;
  }
  frame.graph = &graph;
  importInitializers(graph, frame);
  for (auto [input, argument] : llvm::zip(graph.input(), arguments))
    frame.names[input.name()] = {argument ? Binding::Kind::Value : Binding::Kind::Failed, argument};
  bool good = succeeded(importNodes(graph.node(), frame, outputNames(graph)));
  SmallVector<Value> outputs;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    const Binding *binding = frame.find(output.name());
    if (!binding)
      refuse(*current, "has a subgraph that does not define its output '" + output.name() + "'");
    metFailed |= binding && binding->kind == Binding::Kind::Failed;
    good &= binding && binding->kind == Binding::Kind::Value;
    outputs.push_back(good ? binding->value : Value());
  }
  if (!good)
    return std::nullopt;
  return outputs;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

std::string symbolText(StringRef dim) {
  std::string symbol;
  for (char c : dim)
    symbol += llvm::isAlnum(c) || c == '_' || c == '.' || c == '/' ? c : '_';
  return symbol.empty() || llvm::isDigit(symbol.front()) ? "d_" + symbol : symbol;
}

bool isDimName(StringRef text) { return llvm::any_of(text, llvm::isAlnum); }

std::string ModelImporter::symbolFor(StringRef name) {
  auto found = symbols.find(name);
  if (found != symbols.end())
    return found->second;
  std::string symbol = symbolText(name);
  for (std::string base = symbol; !takenSymbols.insert(symbol).second;)
    symbol = base + "_" + std::to_string(takenSymbols.size());
  return symbols[name] = symbol;
}

std::string ModelImporter::nextDimSymbol(StringRef name) {
  unsigned i = dimSymbols.size();
  std::string symbol = symbolFor(name);
  if (i < dimGroups.size() && dimGroups[i] < i) {
    symbol = dimSymbols[dimGroups[i]];
  } else if (i < dimGroups.size() && llvm::is_contained(dimSymbols, symbol)) {
    unsigned number = 2;
    std::string base = symbol + "_";
    do
      symbol = base + std::to_string(number++);
    while (!takenSymbols.insert(symbol).second);
  }
  dimSymbols.push_back(symbol);
  return symbol;
}

std::string ModelImporter::freshSymbol(StringRef prefix, unsigned &counter) {
  std::string symbol;
  do
    symbol = (prefix + Twine(counter++)).str();
  while (!takenSymbols.insert(symbol).second);
  return symbol;
}

graph::DimExpr ModelImporter::readSymbol(Value tensor, int64_t i) {
  std::string &symbol = reads[{tensor, i}];
  if (symbol.empty()) {
    symbol = freshSymbol("u", freshReads);
    // Reads the tensor's element directly after the op that defines the tensor, so that the symbol
    // for the element is available wherever the tensor is.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(tensor);
    graph::ReadSymbolOp::create(builder, tensor.getLoc(), tensor, i, symbol);
    contents.set(tensor, i, graph::DimExpr::symbol(symbol));
  }
  return graph::DimExpr::symbol(symbol);
}

void ModelImporter::forgetErased() {
  contents.clear();
  reads.clear();
  main->walk([&](graph::ReadSymbolOp read) {
    int64_t i = read.getIndex();
    reads[{read.getTensor(), i}] = read.getSymbol().str();
    contents.set(read.getTensor(), i, graph::DimExpr::symbol(read.getSymbol()));
  });
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

std::optional<graph::DimExpr> ModelImporter::inputDim(const onnx::TensorShapeProto::Dimension &dim, StringRef input) {
  // A size of -1 means an unknown dim, as older exporters write it.
  if (dim.has_dim_value() && dim.dim_value() != -1) {
    if (dim.dim_value() >= 0)
      return graph::DimExpr(dim.dim_value());
    diagnostics.error("input '" + input + "' has the negative dim " + Twine(dim.dim_value()));
    return std::nullopt;
  }
  bool named = isDimName(dim.dim_param());
  std::string symbol = named ? nextDimSymbol(dim.dim_param()) : freshSymbol("d", freshDims);
  // The user refers to a dim by the name in the model, or by its symbol, which artifacts show: d0
  // for a dim without a name, n_2 for another dim of the name n. A name in the model has
  // precedence.
  bool isDeclared = named && symbol == symbols.lookup(dim.dim_param());
  std::string name = isDeclared ? dim.dim_param() : symbol;
  auto bound = bindings.find(name);
  if (bound == bindings.end() && !symbols.contains(symbol))
    bound = bindings.find(symbol);
  dimNames.insert(name);
  if (bound != bindings.end())
    boundSymbols[bound->first()] = symbol;
  if (bound != bindings.end() && bound->second.fixed())
    return graph::DimExpr(bound->second.low);
  inputSymbols.insert(symbol);
  if (bound != bindings.end())
    contents.facts().setRange(symbol, bound->second.low, bound->second.high);
  return graph::DimExpr::symbol(symbol);
}

std::optional<graph::TensorShape> ModelImporter::inputShape(const onnx::ValueInfoProto &input) {
  const std::string &name = input.name();
  if (!input.type().has_tensor_type()) {
    std::string reason;
    Type list = listType(builder.getContext(), input.type(), reason);
    if (list)
      return graph::TensorShape{{}, list};
    diagnostics.error("input '" + name + "' " + reason);
    return std::nullopt;
  }
  const onnx::TypeProto::Tensor &type = input.type().tensor_type();
  Type element = elementType(builder.getContext(), type.elem_type());
  if (!element) {
    diagnostics.error("input '" + name + "' has elements of type " + dataTypeName(type.elem_type()) +
                      ", which hewn does not support");
    return std::nullopt;
  }
  if (!type.has_shape()) {
    diagnostics.error("input '" + name + "' has no shape; hewn needs at least its rank");
    return std::nullopt;
  }
  graph::TensorShape shape{{}, element};
  SmallVector<int64_t> known;
  for (const onnx::TensorShapeProto::Dimension &dim : type.shape().dim()) {
    std::optional<graph::DimExpr> expr = inputDim(dim, name);
    if (!expr)
      return std::nullopt;
    if (expr->constant())
      known.push_back(*expr->constant());
    shape.dims.push_back(*expr);
  }
  std::string reason;
  if (tensorBytes(known, element, reason))
    return shape;
  diagnostics.error("input '" + name + "' " + reason);
  return std::nullopt;
}

Value ModelImporter::addArgument(const Twine &name, const graph::TensorShape &shape, StringRef role,
                                 SmallVectorImpl<DictionaryAttr> &attributes) {
  graph::Dims dims = llvm::map_to_vector<4>(shape.dims, [&](const graph::DimExpr &dim) {
    return dim.substitute([&](StringRef symbol) { return contents.facts().valueOf(symbol); });
  });
  SmallVector<NamedAttribute> told = {
      builder.getNamedAttr(graph::kNameAttr, builder.getStringAttr(name)),
      builder.getNamedAttr(graph::kDimsAttr, graph::dimsAttr(builder.getContext(), dims))};
  if (dims != shape.dims)
    told.push_back(builder.getNamedAttr(graph::kDeclaredDimsAttr, graph::dimsAttr(builder.getContext(), shape.dims)));
  if (!role.empty())
    told.push_back(builder.getNamedAttr(graph::kRoleAttr, builder.getStringAttr(role)));
  attributes.push_back(builder.getDictionaryAttr(told));
  return main.front().addArgument(graph::tensorType(dims, shape.elementType),
                                  NameLoc::get(builder.getStringAttr(name)));
}

bool ModelImporter::expectFreeNames(const onnx::ValueInfoProto &info, StringRef what) {
  const onnx::GraphProto &graph = model->graph();
  for (StringRef suffix : {"_keys", "_values"}) {
    std::string name = info.name() + suffix.str();
    auto isTaken = [&](const onnx::ValueInfoProto &other) { return other.name() == name; };
    if (llvm::none_of(graph.input(), isTaken) && llvm::none_of(graph.output(), isTaken))
      continue;
    diagnostics.error(what + " '" + info.name() + "' is a map and needs the name '" + name +
                      "' for a tensor, but the model has another input or output of this name");
    return false;
  }
  return true;
}

bool ModelImporter::addMapInput(const onnx::ValueInfoProto &input, Frame &frame,
                                SmallVectorImpl<DictionaryAttr> &attributes) {
  std::string reason;
  std::optional<MapTypes> types = mapTypes(builder.getContext(), input.type(), reason);
  if (types && input.type().has_sequence_type())
    reason = "is a sequence of maps, which no op takes";
  if (!reason.empty()) {
    diagnostics.error("input '" + input.name() + "' " + reason);
    return false;
  }
  std::optional<graph::DimExpr> count = inputDim({}, input.name());
  if (!count || !expectFreeNames(input, "input"))
    return false;
  Value keys = addArgument(input.name() + "_keys", {{*count}, types->key}, graph::kKeysRole, attributes);
  Value values = addArgument(input.name() + "_values", {{*count}, types->value}, graph::kValuesRole, attributes);
  builder.setInsertionPointToEnd(&main.front());
  auto type = TupleType::get(builder.getContext(), {keys.getType(), values.getType()});
  frame.names[input.name()] = {Binding::Kind::Value, graph::MapOp::create(builder, keys.getLoc(), type, keys, values)};
  return true;
}

bool ModelImporter::importInputs(Frame &frame) {
  const onnx::GraphProto &graph = model->graph();
  llvm::StringSet<> initialized = initializedNames(graph);
  // Assigns symbols to named dims first, so that the generated symbol of an anonymous dim is not
  // the name of a dim of a later input.
  for (const onnx::ValueInfoProto &input : graph.input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty())
        symbolFor(dim.dim_param());
  bool good = true;
  std::vector<std::string> defaults;
  SmallVector<DictionaryAttr> attributes;
  main.addEntryBlock();
  for (const onnx::ValueInfoProto &input : graph.input()) {
    // ONNX allows a caller to override an input that has an initializer. hewn imports it as a
    // constant.
    if (initialized.contains(input.name())) {
      defaults.push_back("'" + input.name() + "'");
      continue;
    }
    if (frame.names.contains(input.name())) {
      diagnostics.error("there are two inputs '" + input.name() + "'");
      good = false;
      continue;
    }
    frame.names[input.name()] = {Binding::Kind::Failed, {}};
    if (hasMap(input.type())) {
      good &= addMapInput(input, frame, attributes);
      continue;
    }
    std::optional<graph::TensorShape> shape = inputShape(input);
    good &= shape.has_value();
    if (shape)
      frame.names[input.name()] = {Binding::Kind::Value, addArgument(input.name(), *shape, "", attributes)};
  }
  // Warns about inputs that have an initializer, except before IR version 4: there, ONNX required
  // every initializer to be an input as well.
  if (constexpr size_t told = 3; !defaults.empty() && model->ir_version() >= 4) {
    std::string more = defaults.size() > told ? " and " + std::to_string(defaults.size() - told) + " more" : "";
    diagnostics.warning(
        "inputs with an initializer are constants: " + llvm::join(ArrayRef(defaults).take_front(told), ", ") + more +
        "; remove the initializer from the model to make it an input");
  }
  main.setType(builder.getFunctionType(main.front().getArgumentTypes(), {}));
  main.setAllArgAttrs(attributes);
  return good;
}

/// Checks a result of the model that is a sequence or an optional value against the declared type
/// of the output. A tensor is accepted where the declared type is optional.
bool ModelImporter::addListOutput(const onnx::ValueInfoProto &output, Value value) {
  std::string reason;
  std::optional<handle::List> made = graph::listOf(value);
  bool isDeclared = output.type().has_sequence_type() || output.type().has_optional_type();
  std::optional<handle::List> declared =
      isDeclared ? handle::asList(listType(builder.getContext(), output.type(), reason)) : std::nullopt;
  if (!declared || (declared->element == made->element &&
                    (declared->kind == handle::List::Kind::Optional) == (made->kind == handle::List::Kind::Optional)))
    return true;
  diagnostics.error("output '" + output.name() + "' is declared with another sequence or optional type than it has");
  return false;
}

/// Checks an output of the model that is a map, or a sequence of maps, against its declared type.
bool ModelImporter::expectDeclaredMap(const onnx::ValueInfoProto &output, graph::MapOp map) {
  std::string reason;
  bool isSequence = graph::getRank(map.getValues()) == 2;
  std::optional<MapTypes> declared =
      hasMap(output.type()) ? mapTypes(builder.getContext(), output.type(), reason) : std::nullopt;
  bool isDeclared = output.type().value_case() != onnx::TypeProto::VALUE_NOT_SET;
  if (!isDeclared ||
      (declared && declared->key == graph::getElementType(map.getKeys()) &&
       declared->value == graph::getElementType(map.getValues()) && output.type().has_sequence_type() == isSequence))
    return expectFreeNames(output, "output");
  diagnostics.error("output '" + output.name() + "' is declared with another type than it has, a " +
                    listTypeText(map.getResult()));
  return false;
}

bool ModelImporter::importOutputs(Frame &frame) {
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  auto add = [&](Value value, const Twine &name, StringRef role) {
    SmallVector<NamedAttribute> told = {builder.getNamedAttr(graph::kNameAttr, builder.getStringAttr(name))};
    if (!role.empty())
      told.push_back(builder.getNamedAttr(graph::kRoleAttr, builder.getStringAttr(role)));
    values.push_back(value);
    attributes.push_back(builder.getDictionaryAttr(told));
  };
  bool good = true;
  if (model->graph().output().empty()) {
    diagnostics.error("the model has no outputs");
    return false;
  }
  for (const onnx::ValueInfoProto &output : model->graph().output()) {
    const Binding *binding = frame.find(output.name());
    if (!binding)
      diagnostics.error("output '" + output.name() + "' is not defined by a node, input or initializer");
    if (!binding || binding->kind != Binding::Kind::Value) {
      good = false;
      continue;
    }
    if (auto map = binding->value.getDefiningOp<graph::MapOp>()) {
      good &= expectDeclaredMap(output, map);
      add(map.getKeys(), output.name() + "_keys", graph::kKeysRole);
      add(map.getValues(), output.name() + "_values", graph::kValuesRole);
      continue;
    }
    askRank(binding->value);
    Value value = graph::asHandle(builder, main.getLoc(), binding->value);
    if (!value) {
      diagnostics.error("output '" + output.name() +
                        "' is a sequence with tensors of different types, or an absent value without a type");
      good = false;
      continue;
    }
    if (graph::listOf(value)) {
      good &= addListOutput(output, value);
      add(value, output.name(), "");
      continue;
    }
    Type declared = elementType(builder.getContext(), output.type().tensor_type().elem_type());
    Type made = graph::getElementType(binding->value);
    if (declared && declared != made) {
      diagnostics.error("output '" + output.name() + "' is declared as " +
                        dataTypeName(output.type().tensor_type().elem_type()) + " and computed as " +
                        dataTypeName(onnxCode(made)));
      good = false;
    }
    add(binding->value, output.name(), "");
  }
  if (!good)
    return false;
  func::ReturnOp::create(builder, main.getLoc(), values);
  main.setType(builder.getFunctionType(main.getArgumentTypes(), TypeRange(ValueRange(values))));
  main.setAllResultAttrs(attributes);
  return true;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

bool ModelImporter::checkBindings() {
  for (const DimBinding &binding : options.dims)
    if (!bindings.try_emplace(binding.name, binding).second) {
      diagnostics.error("dim '" + binding.name + "' is given twice");
      return false;
    }
  return true;
}

/// Adds dim ranges and metadata to the module. Reports bindings of dims that no input has, because
/// a misspelled name would otherwise have no effect.
void ModelImporter::attachMetadata(ModuleOp module) {
  SmallVector<NamedAttribute> ranges, entries;
  for (const DimBinding &binding : options.dims) {
    auto symbol = boundSymbols.find(binding.name);
    if (symbol == boundSymbols.end())
      diagnostics.error("no input has a dim '" + binding.name + "'" +
                        (dimNames.empty() ? "" : "; there are: " + llvm::join(dimNames, ", ")));
    else if (!binding.fixed())
      ranges.push_back(builder.getNamedAttr(symbol->second, builder.getDenseI64ArrayAttr({binding.low, binding.high})));
  }
  if (!ranges.empty())
    main->setAttr(graph::kDimRangesAttr, builder.getDictionaryAttr(ranges));
  llvm::StringSet<> seen;
  auto add = [&](StringRef key, StringRef value) {
    if (!key.empty() && seen.insert(key).second)
      entries.push_back(builder.getNamedAttr(key, builder.getStringAttr(value)));
  };
  for (const onnx::StringStringEntryProto &entry : model->metadata_props())
    add(entry.key(), entry.value());
  const onnx::GraphProto &graph = model->graph();
  const std::pair<StringRef, std::string> fields[] = {
      {"onnx.producer_name", model->producer_name()},
      {"onnx.producer_version", model->producer_version()},
      {"onnx.domain", model->domain()},
      {"onnx.model_version", model->model_version() ? std::to_string(model->model_version()) : ""},
      {"onnx.doc_string", model->doc_string()},
      {"onnx.graph_name", graph.name()},
      {"onnx.graph_doc_string", graph.doc_string()}};
  for (const auto &[key, value] : fields)
    if (!value.empty())
      add(key, value);
  if (!entries.empty())
    module->setAttr(graph::kMetadataAttr, builder.getDictionaryAttr(entries));
}

/// For each size for which the user requests specialized code, sets `question` to the condition
/// that the dim has this size, so that the model gets a case for the size.
void ModelImporter::askForHotSizes() {
  for (const DimBinding &binding : options.dims) {
    std::string symbol = boundSymbols.lookup(binding.name);
    for (int64_t value : binding.cases)
      if (inputSymbols.contains(symbol) && !question)
        (void)decide(graph::Condition::equal(contents.facts().valueOf(symbol), value));
  }
}

graph::Decision ModelImporter::decide(const graph::Condition &condition) {
  if (std::optional<bool> known = contents.facts().holds(condition))
    return *known ? graph::Decision::Yes : graph::Decision::No;
  bool atTheDoor = true;
  condition.difference.walkSymbols([&](StringRef symbol) { atTheDoor &= inputSymbols.contains(symbol); });
  if (!atTheDoor)
    return graph::Decision::AtRuntime;
  if (!question)
    question = {condition, current ? current->name : ""};
  return graph::Decision::PerCase;
}

void ModelImporter::askRank(Value value) { rankWasAsked |= value && graph::isRankOpen(value); }

std::optional<std::string> ModelImporter::dropDiagnosticsAfter(size_t told) {
  if (!narrowed || question || rankWasAsked || lastOutright > told)
    return std::nullopt;
  std::vector<Message> dropped = diagnostics.takeBack(told);
  std::string reason;
  for (const Message &message : dropped)
    if (reason.empty() && message.level == Message::Level::Error)
      reason = StringRef(message.str()).split(": ").second.str(); // without the prefix "error: "
  llvm::append_range(excused, std::move(dropped));
  return reason;
}

OwningOpRef<ModuleOp> ModelImporter::run(ArrayRef<graph::Fact> facts) {
  narrowed = !facts.empty() || llvm::any_of(options.dims, [](const DimBinding &dim) { return dim.fixed(); });
  ScopedDiagnosticHandler handler(builder.getContext(), [&](Diagnostic &d) {
    if (d.getSeverity() != DiagnosticSeverity::Error)
      return success();
    if (current)
      refuse(*current, d.str());
    else
      diagnostics.error(d.str());
    return success();
  });
  for (const graph::Fact &fact : facts)
    contents.facts().add(fact);
  if (!importOpsets() || !checkBindings())
    return {};
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(module->getBody());
  main = func::FuncOp::create(builder, builder.getUnknownLoc(), "main", builder.getFunctionType({}, {}));
  if (!facts.empty())
    main->setAttr(graph::kCaseAttr, builder.getStringAttr(graph::textOf(facts)));
  Frame frame{nullptr, &opsets, loaded, "", {}, &model->graph()};
  bool good = importInputs(frame);
  if (good)
    attachMetadata(*module);
  askForHotSizes();
  if (question)
    return {};
  builder.setInsertionPointToEnd(&main.front());
  importInitializers(model->graph(), frame);
  good &= succeeded(importNodes(model->graph().node(), frame, outputNames(model->graph())));
  good = good && !question && !rankWasAsked && !diagnostics.hasErrors() && importOutputs(frame) && !rankWasAsked;
  main.walk([](Operation *op) { op->removeAttr(graph::kOpenRankAttr); });
  return good ? std::move(module) : OwningOpRef<ModuleOp>();
}

std::optional<DimBinding> parseDimBinding(StringRef text, Diagnostics &diagnostics) {
  SmallVector<StringRef> list;
  text.rsplit('=').second.split(list, ',');
  auto [low, high] = list.back().split("..");
  DimBinding binding{dimNameOf(text).str(), 0, 0, {}};
  bool bad = binding.name.empty() || low.getAsInteger(10, binding.low) || binding.low < 0;
  if (high.empty())
    binding.high = binding.low;
  else
    bad |= high.getAsInteger(10, binding.high) || binding.high < binding.low;
  bad |= list.back().contains("..") && high.empty();
  // In a binding such as "seq=1,128,1..512", the list of sizes for specialized code must end with
  // the range that contains them.
  bad |= list.size() > 1 && high.empty();
  for (StringRef written : ArrayRef(list).drop_back()) {
    int64_t size = 0;
    bad |= written.getAsInteger(10, size) || size < binding.low || size > binding.high ||
           llvm::is_contained(binding.cases, size);
    binding.cases.push_back(size);
  }
  if (!bad)
    return binding;
  diagnostics.error("'" + text +
                    "' is not a valid --dim: expected NAME=VALUE or NAME=LOW..HIGH, as in batch=1 or seq=1..512; sizes "
                    "before the range get specialized code, as in seq=1,128,1..512");
  return std::nullopt;
}

} // namespace hewn::importer
