// SPDX-License-Identifier: Apache-2.0
//
// The artifact of a compile: one MLIR module that the stages transform.
//
//     module attributes {graph.cases = [#graph.case<...>, ...], graph.questions = [...]} {
//       module @case0 attributes {graph.case_number = 0} { func.func @main ... }
//       module @case1 attributes {graph.case_number = 1} { func.func @main ... }
//     }
//
// A nested module is the program for one case of the model. If the model is partitioned, each rank
// has its own cases: those of rank 0 come first. `addVariants` replaces each nested module by one
// for each target, called a variant, with the attributes of its target (dialects/Plan/Plan.h). A
// case that cannot run has no module.
#ifndef HEWN_LIB_COMPILER_ARTIFACT_H
#define HEWN_LIB_COMPILER_ARTIFACT_H

#include "lib/Codegen/Emit/Machine.h"
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Support/Precision.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace hewn {

/// A case of the model: the facts that hold in it, and the reason why it cannot run, or "".
struct ModelCase {
  std::vector<graph::Fact> facts = {};
  std::string refusal = "";
  /// Returns the facts as text, such as "n = 1, m != 1", or "" if the model has only one case.
  std::string condition() const { return graph::textOf(facts); }
};

class Artifact {
public:
  /// Builds the artifact of an imported model. The number of cases is divisible by `ranks`: the
  /// cases of the first rank come first.
  static Artifact ofCases(mlir::MLIRContext &context, importer::Cases cases, int64_t ranks);
  /// Takes a module that was read from text: an artifact, or a single program.
  static Artifact ofText(mlir::OwningOpRef<mlir::ModuleOp> module);

  /// Returns the artifact that `module` is. The caller owns the module.
  static Artifact of(mlir::ModuleOp module) { return Artifact(module, {}); }

  mlir::ModuleOp module() { return outer; }
  /// Returns the nested modules in the order of the text: grouped by target, in the order in which
  /// a loader tries them, then by case.
  llvm::SmallVector<mlir::ModuleOp> programs();
  /// Returns the entries of `graph.cases`: the cases of each rank, rank by rank. An artifact
  /// without this attribute has one case.
  std::vector<ModelCase> cases();
  graph::CaseTree tree();

  /// Returns why the attributes of an artifact that was read from text are invalid, or "".
  std::string problem();

  /// Replaces each nested module by one for each target, because passes after the graph stage add
  /// attributes that depend on the target. `precision` is part of the description of GPUs.
  void addVariants(llvm::ArrayRef<codegen::TargetSpec> machines, Precision precision);
  /// Returns the names of the targets of the nested modules, each once.
  llvm::SmallVector<llvm::StringRef> targetNames();

  /// Returns the text of the artifact. If it has one program and one case, returns the text of this
  /// module, which `ofText` accepts, too. `withLocations`: the text contains the locations of ops,
  /// which name their ONNX nodes. Without them, code that is compiled from the text has the same
  /// kernels, but names no nodes in messages and profiles.
  std::string text(bool withLocations);

private:
  explicit Artifact(mlir::OwningOpRef<mlir::ModuleOp> module) : outer(*module), owned(std::move(module)) {}
  Artifact(mlir::ModuleOp module, mlir::OwningOpRef<mlir::ModuleOp> owned) : outer(module), owned(std::move(owned)) {}
  mlir::ModuleOp outer;
  /// Owns `outer`, or is null if the caller owns it.
  mlir::OwningOpRef<mlir::ModuleOp> owned;
};

/// Returns the numbers of the case and of the rank, the name of the target, and the title of a
/// nested module. The texts are empty if it has none.
size_t caseOf(mlir::ModuleOp program);
int64_t rankOf(mlir::ModuleOp program);
llvm::StringRef targetNameOf(mlir::ModuleOp variant);
llvm::StringRef titleOf(mlir::ModuleOp variant);

/// Sets the target attributes of a module.
void setTarget(mlir::ModuleOp module, const codegen::TargetSpec &machine, Precision precision);

} // namespace hewn

#endif
