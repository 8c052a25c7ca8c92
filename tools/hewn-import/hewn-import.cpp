// SPDX-License-Identifier: Apache-2.0
//
// `hewn-import`: runs only the importer, for tests. Prints the modules of a model, one for each
// case.
#include "dialects/Graph/Graph.h"
#include "lib/Importer/ONNX/Importer.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/CommandLine.h"

namespace cl = llvm::cl;

static cl::opt<std::string> path(cl::Positional, cl::Required, cl::desc("model.onnx|.onnxtxt"));
static cl::list<std::string> dims("dim", cl::desc("NAME=VALUE, NAME=LOW..HIGH or NAME=VALUE,...,LOW..HIGH"));
static cl::opt<bool> lenient("lenient", cl::desc("Give dims of one name that may differ symbols of their own"));
static cl::opt<bool> quiet("quiet", cl::desc("Print only errors"));

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "prints an ONNX model as a module of the graph dialect\n");
  mlir::MLIRContext context;
  hewn::Diagnostics diagnostics;
  hewn::WeightStore weights;
  hewn::importer::ImportOptions options;
  options.path = path;
  if (lenient)
    options.dimNaming = hewn::importer::DimNaming::Lenient;
  for (const std::string &text : dims)
    if (auto binding = hewn::importer::parseDimBinding(text, diagnostics))
      options.dims.push_back(*binding);
  hewn::importer::Cases cases = hewn::importer::importModel(context, options, weights, diagnostics);
  hewn::CollectDiagnostics collect(context, diagnostics);
  bool good = !cases.list.empty();
  for (hewn::importer::Case &one : cases.list)
    good &= !one.module || mlir::succeeded(mlir::verify(*one.module));
  diagnostics.print(llvm::errs());
  if (!good || diagnostics.hasErrors())
    return 1;
  for (hewn::importer::Case &one : cases.list) {
    if (quiet)
      break;
    if (&one != &cases.list.front())
      llvm::outs() << "\n// -----\n";
    if (one.module)
      one.module->print(llvm::outs(), mlir::OpPrintingFlags().useLocalScope());
    else
      llvm::outs() << "// " << one.refusal << "\n";
  }
  return 0;
}
