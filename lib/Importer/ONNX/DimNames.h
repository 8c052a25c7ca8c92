// SPDX-License-Identifier: Apache-2.0
//
// Names that a model declares for several dims of its inputs. Some converters write one name, such
// as unk__1, for every unknown dim. DimNames finds out which dims of a name the model requires to
// be equal (docs/decisions/cases.md).
#ifndef HEWN_LIB_IMPORTER_ONNX_DIMNAMES_H
#define HEWN_LIB_IMPORTER_ONNX_DIMNAMES_H

#include "dialects/Graph/Analysis/Bounds/Facts.h"
#include "lib/Importer/ONNX/Importer.h"
#include "llvm/ADT/IntEqClasses.h"
#include <onnx/onnx_pb.h>

namespace hewn::importer {

class DimNames {
public:
  /// Lists the named dims of the graph's inputs, in order. Dims of a name that `bindings` contains
  /// are equal from the start, because the user refers to all of them by one name.
  DimNames(const onnx::GraphProto &graph, llvm::ArrayRef<DimBinding> bindings);

  /// Returns true if at least two dims have the same name and are not known to be equal.
  bool mayDiffer() const;
  /// Returns, for each named dim, the number of the first dim that is equal to it.
  std::vector<unsigned> groups() const;
  /// Makes dims equal that an op of the module requires to be equal, or broadcasts to each other.
  /// The module was imported with a symbol for each group: `symbols` has the symbol of each named
  /// dim. Decomposes the module's composite ops. An op whose requirements are not known yet makes
  /// all dims of a name equal that occur in its operands and results.
  void joinRequired(mlir::ModuleOp module, llvm::ArrayRef<std::string> symbols);
  /// Makes dims of one name equal if the condition compares them. Returns false if it does not.
  bool joinCompared(const graph::Condition &condition, llvm::ArrayRef<std::string> symbols);
  /// Returns, for each name whose dims may differ, a warning that lists the groups of its dims.
  std::vector<std::string> warnings() const;

private:
  struct NamedDim {
    std::string name, text; // text: "x[0]", dim 0 of input x
  };
  using Origins = llvm::StringMap<llvm::SmallVector<unsigned>>;
  bool join(llvm::ArrayRef<unsigned> left, llvm::ArrayRef<unsigned> right);
  bool joinAll(llvm::ArrayRef<unsigned> dims);

  std::vector<NamedDim> list;
  llvm::IntEqClasses classes;
};

} // namespace hewn::importer

#endif
