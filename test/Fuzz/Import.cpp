// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the importer: the result must be a module that passes the verifier, or errors.
#include "dialects/Graph/Graph.h"
#include "lib/Importer/ONNX/Importer.h"
#include "test/Fuzz/ModelTarget.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

using namespace hewn;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics;
  CollectDiagnostics collect(context, diagnostics);
  WeightStore weights;
  importer::ImportOptions options;
  options.bytes = llvm::StringRef(reinterpret_cast<const char *>(data), size);
  importer::Cases cases = importer::importModel(context, options, weights, diagnostics);
  fuzz::expectNoDefect(diagnostics);
  if (cases.list.empty() && !diagnostics.hasErrors())
    llvm::report_fatal_error("no module, and no reason");
  for (const importer::Case &one : cases.list) {
    if (!one.module && one.refusal.empty())
      llvm::report_fatal_error("a case that is refused without a reason");
    if (one.module && mlir::failed(mlir::verify(*one.module)))
      llvm::report_fatal_error("a module that is none");
  }
  return 0;
}
