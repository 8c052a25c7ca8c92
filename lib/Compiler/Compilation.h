// SPDX-License-Identifier: Apache-2.0
//
// What the files of this folder share of one compile.
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
#include "lib/Support/WeightTable.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/ThreadPool.h"

namespace hewn {

/// A case of the model for a machine.
struct PlannedModule {
  const codegen::MachineSpec *machine;
  const importer::Case *of;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Which of several it is, for texts: "x86-64-v3, where n = 1"; empty where there is one.
  std::string title;
};

struct Compilation {
  Compilation(const CompileOptions &options, Diagnostics &diagnostics, CompileResult &result)
      : options(options), diagnostics(diagnostics), result(result) {}
  const CompileOptions &options;
  Diagnostics &diagnostics;
  CompileResult &result;
  /// Declared in this order: what the module names must outlive it.
  WeightTable weights;
  /// In the order in which a loader tries them.
  std::vector<codegen::MachineSpec> machines;
  Precision precision = Precision::Highest;
  std::vector<importer::DimBinding> dims;
  Limits limits;
  importer::CustomOps customOps;
  plan::Tuning tuning;
  PartitionShape partition;
  /// Of the links between ranks, where the partition is the best for a cluster.
  std::shared_ptr<const partition::RowCosts> rowCosts;
  /// As many threads as CompileOptions::jobs says; null: one.
  std::unique_ptr<llvm::ThreadPoolInterface> pool;
  std::unique_ptr<mlir::MLIRContext> context;
  Remarks remarks;
  /// The model's cases up to the stage that is the same for all machines; then all that can be compiled, for each of them in turn.
  importer::Cases cases;
  /// How many of them there are without ranks.
  size_t numSizes() const { return cases.list.size() / size_t(partition.ranks()); }
  std::vector<PlannedModule> variants;
  /// What was written and published: for the cache, whatever became of the names since.
  std::vector<OutputFile> files;
};

/// What the command line says of the import.
importer::ImportOptions importOptions(Compilation &compilation);
/// What it says of the stages up to the plan, whose constants are in `weights`. Ranks, and whether modules share weights, are the caller's to say;
/// both outlive what is returned.
PipelineOptions pipelineOptions(Compilation &compilation, WeightTable &weights);
/// Says of a module for which machine it is.
void setTarget(Compilation &compilation, mlir::ModuleOp module, const codegen::MachineSpec &machine);

/// From the plan stage to text (llvm, asm, header) or files. Returns false after an error.
bool emitArtifact(Compilation &compilation);
/// Publishes what makes up an artifact: weights, library, header, in this order. A program that finds a library of before beside
/// new weights is told so by their digest.
llvm::Error publish(Compilation &compilation, std::vector<OutputFile> files);
/// Text to the output file, or into the result.
bool deliver(Compilation &compilation, const std::string &text);

/// Whether code for `machine` is for the architecture that this process runs on.
bool isForThisMachine(const codegen::MachineSpec &machine);
/// The path of the libhewn_runtime.a for `machine`; empty where there is none.
std::string findRuntime(const codegen::MachineSpec &machine);
/// The archives of parts that stand on libraries of others, which lie beside the runtime as far as hewn was built with them.
std::vector<std::string> findParts(llvm::StringRef runtime);

} // namespace hewn

#endif
