// SPDX-License-Identifier: Apache-2.0
// Imports ONNX models as modules of the graph dialect. This is the only header of this folder that
// other libraries include; it exposes no protobuf types.
#ifndef HEWN_LIB_IMPORTER_ONNX_IMPORTER_H
#define HEWN_LIB_IMPORTER_ONNX_IMPORTER_H

#include "dialects/Graph/Analysis/Bounds/Facts.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Limits.h"
#include "lib/Support/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hewn::importer {

struct CustomOps; // CustomOps.h

/// The user's binding of a named dim to a value or to a range of values, with the sizes in the
/// range that should get specialized code.
struct DimBinding {
  std::string name;
  int64_t low = 0;
  int64_t high = 0; // last value of the range; equals `low` for a fixed value
  std::vector<int64_t> cases = {};
  bool fixed() const { return low == high; }
};

/// Returns the name of the dim in a binding such as "batch=1": everything before the last "=",
/// because names may contain "=".
inline llvm::StringRef dimNameOf(llvm::StringRef binding) { return binding.rsplit('=').first.trim(); }

/// Parses a user's binding of a dim, such as "batch=1", "seq=1..512" or "seq=1,128,1..512". Returns
/// nullopt after reporting an error.
std::optional<DimBinding> parseDimBinding(llvm::StringRef text, Diagnostics &diagnostics);

/// Returns the symbol name for a dim of the model. Characters that the text format of DimExpr does
/// not allow in names are replaced. If several dim names map to the same symbol name, the importer
/// adds a numeric suffix to all but the first.
std::string symbolText(llvm::StringRef dim);

/// Returns true if the text identifies a dim. The name "?" does not: some exporters write it for
/// every unknown dim.
bool isDimName(llvm::StringRef text);

/// How dims of inputs for which the model declares the same name are related. `Strict`: they are
/// equal. `Lenient`: they are equal if an op of the model requires it. Otherwise each gets a symbol
/// of its own, after a warning.
enum class DimNaming { Strict, Lenient };

struct ImportOptions {
  /// Path of the model file: binary, or ONNX's text format (.onnxtxt, .txt).
  std::string path;
  /// The model's bytes; used if `path` is empty.
  llvm::StringRef bytes;
  /// Folder of the external data of a model that is given as `bytes`. If it is empty, external data
  /// is not allowed. For a model that is given by `path`, the folder of the model file is used
  /// instead.
  std::string folder;
  std::vector<DimBinding> dims;
  DimNaming dimNaming = DimNaming::Strict;
  Limits limits;
  /// Definitions of custom ops, or null.
  const CustomOps *customOps = nullptr;
  /// True if the imported model will never be run. The data of long constants is then not read and
  /// need not exist.
  bool namesOnly = false;
  /// Called for each imported node, with the name that the locations of its ops contain, its op,
  /// and the names of its inputs and outputs. The name of an omitted input or output is empty.
  std::function<void(llvm::StringRef node, llvm::StringRef op, llvm::ArrayRef<llvm::StringRef> inputs,
                     llvm::ArrayRef<llvm::StringRef> outputs)>
      seeNode = nullptr;
};

/// The model, imported under the assumption that `facts` about its dims hold. If it cannot be
/// compiled in this case, `module` is null and `refusal` is the reason.
struct Case {
  std::vector<graph::Fact> facts;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string refusal;

  /// Returns the facts as text, such as "n = 1, m != 1", or "" if the model has only one case.
  std::string condition() const { return graph::textOf(facts); }
};

/// The cases of a model. `list` is in the order of the leaves of the decision tree `tree`.
struct Cases {
  graph::CaseTree tree;
  std::vector<Case> list;
};

/// Imports a model as one module per case, each with the function `main`. Most models have one
/// case.
///
/// The arguments of `main` have the attributes `graph.name` and `graph.dims`, and
/// `graph.declared_dims` if the case determines dims that the model leaves open. Its results have
/// `graph.name`. The function has `graph.dim_ranges` for ranges of dims and `graph.case` for the
/// case. The module has `graph.metadata` for the model's metadata. Large constants are added to
/// `weights`.
///
/// If the model cannot be compiled, returns no cases after reporting at least one error. All
/// unsupported nodes are reported, not only the first.
Cases importModel(mlir::MLIRContext &context, const ImportOptions &options, WeightStore &weights,
                  Diagnostics &diagnostics);

} // namespace hewn::importer

#endif
