// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Record.h"
#include "hewn/compiler.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
namespace json = llvm::json;

namespace hewn::tool {

static cl::opt<bool> jsonFlag("json", cl::desc("Print only JSON, for programs (docs/reference/json.md)"),
                              cl::sub(runCommand()), cl::sub(benchCommand()), cl::sub(profileCommand()),
                              cl::sub(explainCommand()), cl::sub(checkCommand()), cl::sub(infoCommand()),
                              cl::sub(reduceCommand()), cl::sub(tuneCommand()));

bool wantsJson() { return jsonFlag; }

void printRecord(llvm::StringRef command, llvm::StringRef file, json::Object record) {
  record["hewn"] = hewn_compiler_version();
  record["command"] = command;
  record["file"] = jsonText(file);
  llvm::outs() << jsonDocument(std::move(record));
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
