// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/JsonReader.h"
#include "lib/Support/Files/InputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace hewn {

bool nestsDeeper(StringRef text, int most) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"';
    } else if (c == '"') {
      inString = true;
    } else if (StringRef("[{(<").contains(c)) {
      if (++depth > most)
        return true;
    } else {
      depth -= StringRef("]})>").contains(c);
    }
  }
  return false;
}

llvm::Expected<json::Value> parseJson(StringRef text) {
  constexpr int deepest = 64; // LLVM's parser is recursive
  if (nestsDeeper(text, deepest))
    return llvm::createStringError("nests deeper than " + Twine(deepest) + " levels");
  return json::parse(text);
}

std::optional<JsonText> readJson(StringRef given, StringRef what, Diagnostics &diagnostics) {
  JsonText read;
  read.isText = given.ltrim().starts_with("{");
  read.file = read.isText ? what.str() : llvm::sys::path::filename(given).str();
  read.text = given.str();
  if (!read.isText) {
    std::string why;
    std::unique_ptr<llvm::MemoryBuffer> buffer = openRegular(given, why);
    if (!buffer) {
      diagnostics.error("can't read " + given + ": " + why);
      return std::nullopt;
    }
    read.text = buffer->getBuffer().str();
  }
  llvm::Expected<json::Value> parsed = parseJson(read.text);
  if (!parsed) {
    diagnostics.error(read.file + ": " + llvm::toString(parsed.takeError()));
    return std::nullopt;
  }
  read.value = std::move(*parsed);
  return read;
}

const json::Object *JsonReader::object(const json::Value &value, const std::string &at, Keys keys) {
  const json::Object *object = value.getAsObject();
  if (!object) {
    error(at, "is not an object");
    return nullptr;
  }
  for (const auto &entry : *object)
    if (!llvm::is_contained(keys, StringRef(entry.first)))
      error(at, "has an unknown key '" + StringRef(entry.first) + "'; known keys are: " + llvm::join(keys, ", "));
  return object;
}

std::string JsonReader::string(const json::Object &object, StringRef key, const std::string &at, bool required) {
  const json::Value *value = object.get(key);
  if (std::optional<StringRef> text = value ? value->getAsString() : std::nullopt)
    return text->str();
  if (value || required)
    error(at, value ? "has a '" + key + "' that is not a string" : "lacks the key '" + key + "'");
  return "";
}

bool JsonReader::boolean(const json::Object &object, StringRef key, const std::string &at) {
  const json::Value *value = object.get(key);
  if (value && !value->getAsBoolean())
    error(at, "has a '" + key + "' that is neither true nor false");
  return value && value->getAsBoolean().value_or(false);
}

std::optional<double> JsonReader::number(const json::Object &object, StringRef key, const std::string &at, double low,
                                         double high) {
  const json::Value *value = object.get(key);
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  if (!value || (number && *number >= low && *number <= high))
    return number;
  std::string range;
  llvm::raw_string_ostream(range) << llvm::format("%g to %g", low, high);
  error(at, "has a '" + key + "' that is not a number from " + range);
  return std::nullopt;
}

std::optional<int64_t> JsonReader::integer(const json::Object &object, StringRef key, const std::string &at) {
  const json::Value *value = object.get(key);
  std::optional<int64_t> number = value ? value->getAsInteger() : std::nullopt;
  if (value && !number)
    error(at, "has a '" + key + "' that is not an integer");
  return number;
}

std::optional<size_t> JsonReader::oneOf(const json::Object &object, StringRef key, const std::string &at,
                                        llvm::ArrayRef<StringRef> names) {
  if (!object.get(key))
    return std::nullopt;
  std::optional<StringRef> text = object.getString(key);
  for (auto [i, name] : llvm::enumerate(names))
    if (text == name)
      return i;
  error(at, "has a '" + key + "' that is none of: " + llvm::join(names, ", "));
  return std::nullopt;
}

void JsonReader::each(const json::Object &object, StringRef key, const std::string &at,
                      llvm::function_ref<void(const json::Value &, const std::string &)> visit) {
  const json::Value *value = object.get(key);
  if (!value)
    return;
  const json::Array *list = value->getAsArray();
  if (!list)
    return error(at.empty() ? "the text" : at, "has a '" + key + "' that is not a list");
  for (auto [i, element] : llvm::enumerate(*list))
    visit(element, (at.empty() ? "" : at + ", ") + key.str() + "[" + std::to_string(i) + "]");
}

std::vector<std::string> JsonReader::strings(const json::Object &object, StringRef key, const std::string &at) {
  std::vector<std::string> all;
  each(object, key, at, [&](const json::Value &value, const std::string &here) {
    if (std::optional<StringRef> text = value.getAsString())
      all.push_back(text->str());
    else
      error(here, "is not a string");
  });
  return all;
}

} // namespace hewn
