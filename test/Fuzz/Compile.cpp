// SPDX-License-Identifier: Apache-2.0
//
// All of a compile, to the code of each kernel and of the program, in memory: code or errors.
#include "lib/Compiler/Compiler.h"
#include "test/Fuzz/ModelTarget.h"

#include "llvm/Support/ErrorHandling.h"

using namespace hewn;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Diagnostics diagnostics;
  CompileOptions options;
  options.modelBytes = llvm::StringRef(reinterpret_cast<const char *>(data), size);
  options.emit = "asm";
  options.target = "x86-64-v3";
  options.jobs = 1;
  // The last byte of a message is most often one of a name: half of all inputs go each way.
  options.optimize = size == 0 || data[size - 1] % 4 != 0;
  CompileResult result = compile(options, diagnostics);
  fuzz::expectNoDefect(diagnostics);
  if (result.ok != !diagnostics.hasErrors() || (result.ok && result.text.empty()))
    llvm::report_fatal_error("neither code nor a reason");
  return 0;
}
