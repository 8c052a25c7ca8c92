// SPDX-License-Identifier: Apache-2.0
//
// hewn-import: the importer alone, for tests. Prints the module of a model.
#include "dialects/Graph/Graph.h"
#include "lib/Importer/ONNX/Importer.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/CommandLine.h"

namespace cl = llvm::cl;

static cl::opt<std::string> path(cl::Positional, cl::Required, cl::desc("model.onnx|.onnxtxt"));
static cl::list<std::string> dims("dim", cl::desc("NAME=VALUE or NAME=LOW..HIGH"));
static cl::opt<bool> quiet("quiet", cl::desc("Print errors alone"));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "prints an ONNX model as a module of the graph dialect\n");
  mlir::MLIRContext context;
  hewn::Diagnostics diagnostics;
  hewn::WeightTable weights;
  hewn::importer::ImportOptions options;
  options.path = path;
  for (const std::string &text : dims)
    if (auto binding = hewn::importer::parseDimBinding(text, diagnostics))
      options.dims.push_back(*binding);
  auto module = hewn::importer::importModel(context, options, weights, diagnostics);
  hewn::CollectDiagnostics collect(context, diagnostics);
  if (module && mlir::failed(mlir::verify(*module)))
    module = {};
  diagnostics.print(llvm::errs());
  if (!module || diagnostics.hasErrors())
    return 1;
  if (!quiet)
    module->print(llvm::outs(), mlir::OpPrintingFlags().useLocalScope());
  return 0;
}
