// SPDX-License-Identifier: Apache-2.0
//
// ONNX models as modules of the graph dialect. The only header of this room that others include; no protobuf shows.
#ifndef HEWN_LIB_IMPORTER_ONNX_IMPORTER_H
#define HEWN_LIB_IMPORTER_ONNX_IMPORTER_H

#include "dialects/Graph/Analysis/Bounds/Facts.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Limits.h"
#include "lib/Support/WeightTable.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hewn::importer {

struct CustomOps; // CustomOps.h

/// What the user says of one named dim: its value, or the values that it may take, and which of them have cases of their own.
struct DimBinding {
  std::string name;
  int64_t low = 0;
  int64_t high = 0; // equal to `low` for a fixed value
  std::vector<int64_t> cases = {};
  bool fixed() const { return low == high; }
};

/// The name in such a text as parseDimBinding reads: all before the last "=", which a name, by the model's author, may hold too.
inline llvm::StringRef dimNameOf(llvm::StringRef binding) { return binding.rsplit('=').first.trim(); }

/// Reads "batch=1", "seq=1..512" or "seq=1,128,1..512". nullopt, after an error, where the text is none of
/// these.
std::optional<DimBinding> parseDimBinding(llvm::StringRef text, Diagnostics &diagnostics);

/// A dim's name as a symbol: DimExpr's text has no other characters in names, and a name is no number. Where several of a model's names come to
/// the same, all but the first have a number behind it.
std::string symbolText(llvm::StringRef dim);

struct ImportOptions {
  /// The model file: binary, or ONNX's text form (.onnxtxt, .txt).
  std::string path;
  /// The model itself, in place of a file; used where `path` is empty.
  llvm::StringRef bytes;
  /// Where external data of `bytes` lies; empty: there is none. With `path`, it is the model file's folder.
  std::string folder;
  std::vector<DimBinding> dims;
  Limits limits;
  /// Ops that the user gives; null: none.
  const CustomOps *customOps = nullptr;
  /// Whether the bytes of long constants are not wanted, and need not be there: what is made of the model is never run.
  bool namesOnly = false;
  /// Told of each node that is imported, by the name that its ops' locations have, and of its outputs' names.
  std::function<void(llvm::StringRef node, llvm::ArrayRef<llvm::StringRef> outputs)> seeNode = nullptr;
};

/// The model as it is where the facts hold. `module` is null where it can't be compiled there: `refusal` says why.
struct Case {
  std::vector<graph::Fact> facts;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string refusal;

  /// "n = 1, m != 1"; empty where there is one case.
  std::string condition() const { return graph::textOf(facts); }
};

/// A model's cases, in the order of the tree's leaves.
struct Cases {
  graph::CaseTree tree;
  std::vector<Case> list;
};

/// Imports a model as modules with the function `main`, one a case; most models have one. Arguments carry `graph.name` and
/// `graph.dims`, and `graph.declared_dims` where the case knows more than the model says; results `graph.name`; ranges of dims are the
/// function's `graph.dim_ranges`, the case its `graph.case`, the model's metadata the module's `graph.metadata`. Large constants go to
/// `weights`. No case, after at least one error, where the model cannot be compiled; every unsupported node is reported, not only the first.
Cases importModel(mlir::MLIRContext &context, const ImportOptions &options, WeightTable &weights,
                  Diagnostics &diagnostics);

} // namespace hewn::importer

#endif
