// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/Record.h"
#include "hewn/compiler.h"

namespace json = llvm::json;

namespace hewn::tool {

std::string documentOf(llvm::StringRef command, llvm::StringRef file, json::Object record) {
  record["hewn"] = hewn_compiler_version();
  record["command"] = command;
  record["file"] = jsonText(file);
  return jsonDocument(std::move(record));
}

std::string bytesText(double count) {
  return count < 1e6 ? llvm::formatv("{0:f1} kB", count / 1e3).str() : llvm::formatv("{0:f1} MB", count / 1e6).str();
}

void eachObject(const json::Object &of, llvm::StringRef key, llvm::function_ref<void(const json::Object &)> visit) {
  if (const json::Array *list = of.getArray(key))
    for (const json::Value &value : *list)
      if (const json::Object *object = value.getAsObject())
        visit(*object);
}

llvm::StringRef textOf(const json::Object &of, llvm::StringRef key) { return of.getString(key).value_or(""); }
double numberOf(const json::Object &of, llvm::StringRef key) { return of.getNumber(key).value_or(0); }

json::Object recordOf(llvm::StringRef name, const Array &array) {
  return json::Object{{"name", jsonText(name)}, {"type", dataTypeText(array.type)}, {"shape", array.shape}};
}

} // namespace hewn::tool
