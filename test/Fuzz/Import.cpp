// SPDX-License-Identifier: Apache-2.0
//
// The importer: a module that the verifier takes, or errors.
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
  WeightTable weights;
  importer::ImportOptions options;
  options.bytes = llvm::StringRef(reinterpret_cast<const char *>(data), size);
  auto module = importer::importModel(context, options, weights, diagnostics);
  fuzz::expectNoDefect(diagnostics);
  if (!module && !diagnostics.hasErrors())
    llvm::report_fatal_error("no module, and no reason");
  if (module && mlir::failed(mlir::verify(*module)))
    llvm::report_fatal_error("a module that is none");
  return 0;
}
