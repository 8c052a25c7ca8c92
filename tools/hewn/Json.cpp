// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Json.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

namespace hewn::tool {

static cl::opt<bool> jsonFlag("json", cl::desc("Print only JSON, for programs (docs/reference/json.md)"),
                              cl::sub(runCommand()), cl::sub(benchCommand()), cl::sub(profileCommand()),
                              cl::sub(explainCommand()), cl::sub(checkCommand()), cl::sub(infoCommand()),
                              cl::sub(reduceCommand()), cl::sub(tuneCommand()));

bool wantsJson() { return jsonFlag; }

void printRecord(llvm::StringRef command, llvm::StringRef file, llvm::json::Object record) {
  llvm::outs() << documentOf(command, file, std::move(record));
}

} // namespace hewn::tool
