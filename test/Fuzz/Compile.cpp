// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the compiler. Compiles a model to code for all kernels and for the program, in memory. The
// compiler must return code or errors.
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
  // The last byte of the input selects whether to optimize: three of four values do. In a
  // serialized message it mostly belongs to a name, so both cases are common.
  options.optimize = size == 0 || data[size - 1] % 4 != 0;
  CompileResult result = compile(options, diagnostics);
  fuzz::expectNoDefect(diagnostics);
  if (result.ok != !diagnostics.hasErrors() || (result.ok && result.text.empty()))
    llvm::report_fatal_error("neither code nor a reason");
  return 0;
}
