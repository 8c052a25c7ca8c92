// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Record.h"
#include "hewn/compiler.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
namespace json = llvm::json;

namespace hewn::tool {

static cl::opt<bool> jsonFlag("json", cl::desc("Print JSON and nothing else, for programs: docs/json.md"),
                              cl::sub(runCommand()), cl::sub(benchCommand()), cl::sub(profileCommand()),
                              cl::sub(explainCommand()), cl::sub(checkCommand()), cl::sub(infoCommand()),
                              cl::sub(reduceCommand()));

bool wantsJson() { return jsonFlag; }

void printRecord(llvm::StringRef command, llvm::StringRef file, json::Object record) {
  record["hewn"] = hewn_compiler_version();
  record["command"] = command;
  record["file"] = jsonText(file);
  llvm::outs() << jsonDocument(std::move(record));
}

json::Object recordOf(llvm::StringRef name, const Array &array) {
  return json::Object{{"name", jsonText(name)}, {"type", dataTypeText(array.type)}, {"shape", array.shape}};
}

} // namespace hewn::tool
