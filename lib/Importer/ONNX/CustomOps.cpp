// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/CustomOps.h"

#include "dialects/Graph/Custom/Patterns.h"
#include "lib/Importer/ONNX/Schemas/OnnxTable.h"
#include "lib/Support/JsonReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace hewn::importer {

using graph::CustomDefinition;
using graph::DimExpr;

const CustomDefinition *CustomOps::find(StringRef domain, StringRef name, int64_t opset) const {
  const CustomDefinition *best = nullptr;
  for (const CustomDefinition &one : definitions)
    if (one.domain == domain && one.name == name && one.since <= opset && (!best || one.since > best->since))
      best = &one;
  return best;
}

std::optional<int64_t> CustomOps::since(StringRef domain, StringRef name) const {
  std::optional<int64_t> first;
  for (const CustomDefinition &one : definitions)
    if (one.domain == domain && one.name == name)
      first = std::min(first.value_or(one.since), one.since);
  return first;
}

namespace {

bool isName(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// A reader for the JSON files that define custom ops, which can also read element types and dims.
class Reader : public JsonReader {
public:
  using JsonReader::JsonReader;

  /// Reads a nonempty list of element types.
  std::vector<std::string> types(const json::Object &object, StringRef key, const std::string &at) {
    if (const json::Value *value = object.get(key); value->getAsArray() && value->getAsArray()->empty())
      error(at, "has an empty list as '" + key + "': no element type fits it");
    return strings(object, key, at);
  }

  std::optional<DimExpr> dim(const json::Value &value, const std::string &at) {
    if (std::optional<int64_t> number = value.getAsInteger()) {
      if (*number >= 0)
        return DimExpr(*number);
      error(at, "is the negative dim " + Twine(*number));
      return std::nullopt;
    }
    std::optional<DimExpr> parsed = value.getAsString() ? DimExpr::parse(*value.getAsString()) : std::nullopt;
    std::string wrong;
    if (parsed)
      parsed->walkSymbols([&](StringRef name) { wrong = isName(name) ? wrong : name.str(); });
    if (parsed && wrong.empty())
      return parsed;
    error(at, "is not a valid dim: " +
                  (wrong.empty() ? "expected a number, a name, or an expression with +, -, *, floordiv(a, b), "
                                   "mod(a, b), min(a, b), max(a, b)"
                                 : "'" + wrong + "' is not a name" +
                                       (StringRef(wrong).contains('/') ? "; use floordiv(a, b) to divide" : "")));
    return std::nullopt;
  }

  std::optional<CustomDefinition::DimList> dims(const json::Object &object, const std::string &at) {
    if (!object.get("dims"))
      return std::nullopt;
    CustomDefinition::DimList list;
    bool first = true;
    each(object, "dims", at, [&](const json::Value &value, const std::string &here) {
      if (std::exchange(first, false) && value.getAsString() == graph::kAnyDims)
        list.anyBefore = true;
      else if (std::optional<DimExpr> one = dim(value, here))
        list.dims.push_back(*one);
    });
    return list;
  }
};

/// Reads the definition of one custom op and checks that its parts are consistent.
class OpReader {
public:
  OpReader(Reader &reader, const json::Value &value, std::string at) : r(reader), value(value), at(std::move(at)) {}

  std::optional<CustomDefinition> read() {
    const json::Object *object = r.object(value, at,
                                          {"domain", "name", "since_version", "function", "shape_function", "types",
                                           "inputs", "attributes", "outputs", "sizes", "pure"});
    if (!object)
      return std::nullopt;
    op.name = r.string(*object, "name", at, /*required=*/true);
    op.domain = r.string(*object, "domain", at);
    if (op.domain == "ai.onnx")
      op.domain.clear();
    if (!op.name.empty())
      at = "op '" + op.title() + "'";
    if (const json::Value *since = object->get("since_version"))
      op.since = since->getAsInteger().value_or(0);
    if (op.since < 1)
      r.error(at, "has a 'since_version' that is not an integer of at least 1");
    op.function = symbol(*object, "function", /*required=*/true);
    op.shapeFunction = symbol(*object, "shape_function", /*required=*/false);
    op.pure = r.boolean(*object, "pure", at);
    readTypes(*object);
    r.each(*object, "attributes", at, [&](const json::Value &v, const std::string &here) { readAttribute(v, here); });
    r.each(*object, "inputs", at, [&](const json::Value &v, const std::string &here) { readInput(v, here); });
    r.each(*object, "sizes", at, [&](const json::Value &v, const std::string &here) { readSize(v, here); });
    r.each(*object, "outputs", at, [&](const json::Value &v, const std::string &here) { readOutput(v, here); });
    check();
    return std::move(op);
  }

private:
  std::string symbol(const json::Object &object, StringRef key, bool required) {
    std::string name = r.string(object, key, at, required);
    if (!name.empty() && (!isName(name) || StringRef(name).starts_with("hewn_") || name == "main"))
      r.error(at, "has a '" + key + "' that is not a valid C name, or is reserved: '" + name + "'");
    return name;
  }

  bool isElement(StringRef name, const std::string &here, bool orNamed) {
    if (graph::elementCodeOf(name) || (orNamed && op.types.count(name)))
      return true;
    r.error(here, "has the element type '" + name + "', which hewn does not support" +
                      (orNamed ? ", and 'types' do not name" : ""));
    return false;
  }

  void readTypes(const json::Object &object) {
    const json::Value *types = object.get("types");
    if (!types)
      return;
    const json::Object *all = types->getAsObject();
    if (!all)
      return r.error(at, "has 'types' that are not an object");
    for (const auto &entry : *all) {
      StringRef name = entry.first;
      std::string here = at + ", types";
      std::vector<std::string> list = r.types(*all, name, here);
      if (graph::elementCodeOf(name))
        r.error(here, "names '" + name + "', which is an element type");
      llvm::erase_if(list, [&](const std::string &element) { return !isElement(element, here, false); });
      op.types[name] = std::move(list);
    }
  }

  void readInput(const json::Value &value, const std::string &here) {
    const json::Object *object = r.object(value, here, {"name", "type", "dims", "optional", "variadic"});
    if (!object)
      return;
    CustomDefinition::Input input;
    input.name = r.string(*object, "name", here);
    const json::Value *type = object->get("type");
    if (type && type->getAsArray())
      input.elements = r.types(*object, "type", here);
    else if (std::string one = r.string(*object, "type", here, /*required=*/true); !one.empty())
      input.elements.push_back(one);
    for (const std::string &element : input.elements)
      if (isElement(element, here, /*orNamed=*/input.elements.size() == 1) && op.types.count(element))
        usedTypes.insert(element);
    input.dims = r.dims(*object, here);
    input.optional = r.boolean(*object, "optional", here);
    input.variadic = r.boolean(*object, "variadic", here);
    op.inputs.push_back(std::move(input));
  }

  void readAttribute(const json::Value &value, const std::string &here) {
    using Kind = CustomDefinition::Kind;
    static const std::pair<StringRef, Kind> kinds[] = {
        {"int", Kind::Int},       {"float", Kind::Float},     {"string", Kind::String}, {"ints", Kind::Ints},
        {"floats", Kind::Floats}, {"strings", Kind::Strings}, {"tensor", Kind::Tensor}};
    const json::Object *object = r.object(value, here, {"name", "type", "default", "required"});
    if (!object)
      return;
    CustomDefinition::Attribute attribute;
    attribute.name = r.string(*object, "name", here, /*required=*/true);
    attribute.required = r.boolean(*object, "required", here);
    std::string type = r.string(*object, "type", here, /*required=*/true);
    const auto *kind = llvm::find_if(kinds, [&](const auto &k) { return k.first == type; });
    if (kind == std::end(kinds))
      return r.error(here, "has the type '" + type + "'; there are: int, float, string, ints, floats, strings, tensor");
    attribute.kind = kind->second;
    if (const json::Value *otherwise = object->get("default"); otherwise && !readDefault(*otherwise, attribute))
      r.error(here, "has a default that is not of type " + type);
    if (!names.insert(attribute.name).second)
      r.error(here, "is a duplicate attribute '" + attribute.name + "'");
    if (attribute.kind == Kind::Int)
      known.insert(attribute.name);
    op.attributes.push_back(std::move(attribute));
  }

  template <typename T, typename Get>
  static bool readList(const json::Value &value, CustomDefinition::Attribute &attribute, Get get) {
    const json::Array *list = value.getAsArray();
    std::vector<T> all;
    for (const json::Value &element : list ? *list : json::Array()) {
      auto one = get(element);
      if (!one)
        return false;
      all.push_back(T(*one));
    }
    attribute.otherwise = std::move(all);
    return list != nullptr;
  }

  static bool readDefault(const json::Value &value, CustomDefinition::Attribute &attribute) {
    using Kind = CustomDefinition::Kind;
    auto integer = [](const json::Value &v) { return v.getAsInteger(); };
    auto number = [](const json::Value &v) { return v.getAsNumber(); };
    auto text = [](const json::Value &v) { return v.getAsString(); };
    auto take = [&](auto one) {
      if (one)
        attribute.otherwise = std::move(*one);
      return one.has_value();
    };
    switch (attribute.kind) {
    case Kind::Int:
      return take(integer(value));
    case Kind::Float:
      return take(number(value));
    case Kind::String:
      return take(value.getAsString() ? std::optional<std::string>(value.getAsString()->str()) : std::nullopt);
    case Kind::Ints:
      return readList<int64_t>(value, attribute, integer);
    case Kind::Floats:
      return readList<float>(value, attribute, number);
    case Kind::Strings:
      return readList<std::string>(value, attribute, text);
    case Kind::Tensor:
      return false;
    }
    return false;
  }

  void readSize(const json::Value &value, const std::string &here) {
    const json::Object *object = r.object(value, here, {"name", "at_most"});
    if (!object)
      return;
    CustomDefinition::Size size{r.string(*object, "name", here, /*required=*/true), std::nullopt};
    if (!size.name.empty() && !isName(size.name))
      r.error(here, "names '" + size.name + "', which is not a valid name");
    if (const json::Value *most = object->get("at_most"))
      size.bound = r.dim(*most, here);
    op.sizes.push_back(std::move(size));
  }

  void readOutput(const json::Value &value, const std::string &here) {
    const json::Object *object = r.object(value, here, {"name", "type", "dims"});
    if (!object)
      return;
    CustomDefinition::Output output;
    output.name = r.string(*object, "name", here);
    output.element = r.string(*object, "type", here, /*required=*/true);
    if (!output.element.empty() && isElement(output.element, here, /*orNamed=*/true) &&
        op.types.count(output.element) && !usedTypes.contains(output.element))
      r.error(here, "has the type '" + output.element + "', which no input has");
    if (std::optional<CustomDefinition::DimList> dims = r.dims(*object, here))
      output.dims = *dims;
    else
      r.error(here, "lacks the key 'dims'");
    op.outputs.push_back(std::move(output));
  }

  //===-- Consistency checks -----------------------------------------------===//

  void checkNames(const DimExpr &dim, const Twine &here, const llvm::StringSet<> &also) {
    dim.walkSymbols([&](StringRef name) {
      if (!known.contains(name) && !also.contains(name))
        r.error(here, "has a dim of '" + name + "', which is not a dim of an input, an int attribute or a size");
    });
  }

  void check() {
    bool anyBefore = false;
    for (const CustomDefinition::Input &input : op.inputs) {
      if (!input.dims)
        continue;
      anyBefore |= input.dims->anyBefore;
      for (const DimExpr &dim : input.dims->dims)
        if (std::optional<StringRef> name = graph::plainName(dim))
          known.insert(*name);
    }
    llvm::StringSet<> sizes, used;
    for (auto [i, input] : llvm::enumerate(op.inputs)) {
      std::string here = at + ", inputs[" + std::to_string(i) + "]";
      if (input.variadic && i + 1 < op.inputs.size())
        r.error(here, "is variadic but not the last input");
      if (input.dims)
        for (const DimExpr &dim : input.dims->dims)
          checkNames(dim, here, {});
    }
    for (const CustomDefinition::Size &size : op.sizes) {
      std::string here = at + ", size '" + size.name + "'";
      if (known.contains(size.name) || !sizes.insert(size.name).second)
        r.error(here, "has the name of another size, a dim or an attribute");
      if (size.bound)
        checkNames(*size.bound, here, {});
      else if (op.shapeFunction.empty())
        r.error(here, "lacks 'at_most': without a 'shape_function', outputs are allocated before the size is known");
    }
    if (op.outputs.empty())
      r.error(at, "has no outputs");
    if (!op.shapeFunction.empty() && op.sizes.empty())
      r.error(at, "has a 'shape_function' but no 'sizes'");
    for (auto [i, output] : llvm::enumerate(op.outputs))
      checkOutput(output.dims, at + ", outputs[" + std::to_string(i) + "]", sizes, used, anyBefore);
    for (const auto &size : sizes)
      if (!used.contains(size.getKey()))
        r.error(at + ", size '" + size.getKey().str() + "'", "is not a dim of an output");
  }

  void checkOutput(const CustomDefinition::DimList &dims, const std::string &here, const llvm::StringSet<> &sizes,
                   llvm::StringSet<> &used, bool anyBefore) {
    if (dims.anyBefore && !anyBefore)
      r.error(here, "has '...', but no input has it");
    for (const DimExpr &dim : dims.dims) {
      checkNames(dim, here, sizes);
      dim.walkSymbols([&](StringRef name) {
        if (!sizes.contains(name))
          return;
        used.insert(name);
        if (op.shapeFunction.empty() && !graph::plainName(dim))
          r.error(here, "uses the size '" + name + "' in an expression, which requires a 'shape_function'");
      });
    }
  }

  Reader &r;
  const json::Value &value;
  std::string at;
  CustomDefinition op;
  llvm::StringSet<> names, usedTypes;
  /// Names that the dims of the op's outputs may refer to.
  llvm::StringSet<> known;
};

} // namespace

bool isOnnxDomain(StringRef domain) { return domain.empty() || domain.starts_with("ai.onnx."); }

bool readCustomOps(StringRef given, CustomOps &ops, Diagnostics &diagnostics) {
  std::optional<JsonText> read = readJson(given, "custom ops", diagnostics);
  if (!read)
    return false;
  const std::string &file = read->file;
  unsigned before = diagnostics.numErrors();
  Reader reader(file, diagnostics);
  const json::Object *object = reader.object(read->value, "the file", {"ops", "link"});
  if (object && !object->get("ops"))
    reader.error("the file", "lacks the key 'ops'");
  if (object)
    reader.each(*object, "ops", "", [&](const json::Value &value, const std::string &at) {
      std::optional<CustomDefinition> op = OpReader(reader, value, at).read();
      if (!op)
        return;
      op->file = file;
      std::string here = "op '" + op->title() + "'";
      if (isOnnxDomain(op->domain) && !recordedVersions(op->domain, op->name).empty())
        reader.error(here, "is an ONNX op that hewn supports");
      for (const CustomDefinition &other : ops.definitions)
        if (other.domain == op->domain && other.name == op->name && other.since == op->since)
          reader.error(here, "is given twice for version " + Twine(op->since) +
                                 (other.file == file ? Twine("") : ", by " + other.file + " too"));
      ops.definitions.push_back(std::move(*op));
    });
  if (object)
    for (const std::string &path : reader.strings(*object, "link", "")) {
      llvm::SmallString<128> whole(path);
      if (!read->isText && llvm::sys::path::is_relative(path)) {
        whole = llvm::sys::path::parent_path(given);
        llvm::sys::path::append(whole, path);
      }
      ops.code.push_back(whole.str().str());
    }
  ops.texts.push_back(std::move(read->text));
  return diagnostics.numErrors() == before;
}

} // namespace hewn::importer
