// SPDX-License-Identifier: Apache-2.0
//
// The state of one compile, which the files of this folder share.
#ifndef HEWN_LIB_COMPILER_COMPILATION_H
#define HEWN_LIB_COMPILER_COMPILATION_H

#include "lib/Codegen/Emit/Machine.h"
#include "lib/Compiler/Compiler.h"
#include "lib/Compiler/Partition/Partition.h"
#include "lib/Importer/ONNX/CustomOps.h"
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Schedule/Tuning.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Precision.h"
#include "lib/Support/Remarks.h"
#include "lib/Support/WeightStore.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"

namespace hewn {

/// A variant of the artifact: one case of the model, compiled for one target up to the plan stage.
struct PlannedModule {
  const codegen::TargetSpec *machine;
  const importer::Case *of;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Identifies the variant in reports, such as "x86-64-v3, where n = 1". Empty if there is only
  /// one variant.
  std::string title;
};

struct Compilation {
  Compilation(const CompileOptions &options, Diagnostics &diagnostics, CompileResult &result)
      : options(options), diagnostics(diagnostics), result(result) {}
  const CompileOptions &options;
  Diagnostics &diagnostics;
  CompileResult &result;
  /// Bytes of the model's constants. This member must precede the members with modules, which refer
  /// to the bytes: members are destroyed in reverse order.
  WeightStore weights;
  /// Targets of the artifact, in the order in which a loader tries them.
  std::vector<codegen::TargetSpec> machines;
  Precision precision = Precision::Highest;
  std::vector<importer::DimBinding> dims;
  importer::DimNaming dimNaming = importer::DimNaming::Lenient;
  Limits limits;
  importer::CustomOps customOps;
  plan::Tuning tuning;
  PartitionShape partition;
  /// Costs of the links between tensor-parallel ranks if the partition is chosen for a cluster,
  /// otherwise null.
  std::shared_ptr<const partition::RowCosts> rowCosts;
  /// Thread pool with CompileOptions::jobs threads, or null for one thread.
  std::unique_ptr<llvm::ThreadPoolInterface> pool;
  std::unique_ptr<mlir::MLIRContext> context;
  Remarks remarks;
  /// The cases of the model. They own their modules up to the stage that all targets share. Later,
  /// `variants` owns one module per target and case.
  importer::Cases cases;
  /// Returns the number of cases of the model itself, without the repetition of each case for each
  /// rank.
  size_t numSizes() const { return cases.list.size() / size_t(partition.ranks()); }
  std::vector<PlannedModule> variants;
  /// The files that the compile has written. The artifact cache reads their content through the
  /// open file descriptors, because the files may have been renamed or deleted since.
  std::vector<OutputFile> files;
};

/// Returns the import options that the compile options describe.
importer::ImportOptions importOptions(Compilation &compilation);
/// Returns the options of the stages up to the plan, with constants in `weights`. The caller sets
/// the ranks and `sharesWeights`. Both arguments must outlive the result.
PipelineOptions pipelineOptions(Compilation &compilation, WeightStore &weights);
/// Sets the target attribute of a module.
void setTarget(Compilation &compilation, mlir::ModuleOp module, const codegen::TargetSpec &machine);

/// Compiles planned modules to files, or to the text of the stage llvm, asm or header. Returns
/// false after an error.
bool emitArtifact(Compilation &compilation);
/// Publishes the files of an artifact in this order: weights, library, header. If a program loads
/// the old library with the new weights in between, it gets an error, because their digests differ.
llvm::Error publish(Compilation &compilation, std::vector<OutputFile> files);
/// Writes the text of a stage to the output file, or to the compile's result if no output file was
/// given.
bool deliver(Compilation &compilation, const std::string &text);

/// Returns true if code for `machine` has the architecture of this process.
bool isForThisMachine(const codegen::TargetSpec &machine);
/// Returns the path of libhewn_runtime.a for `machine`, or an empty string if there is none.
std::string findRuntime(const codegen::TargetSpec &machine);
/// Returns the paths of the archives with runtime functions that need third-party libraries. If
/// hewn was built with these libraries, the archives are in the folder of the runtime archive
/// `runtime`.
std::vector<std::string> findParts(llvm::StringRef runtime);

} // namespace hewn

#endif
