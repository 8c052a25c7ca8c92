// SPDX-License-Identifier: Apache-2.0
//
// The checked options of a compile.
#ifndef HEWN_LIB_COMPILER_REQUEST_H
#define HEWN_LIB_COMPILER_REQUEST_H

#include "lib/Codegen/Emit/Machine.h"
#include "lib/Compiler/Compiler.h"
#include "lib/Compiler/Partition/Partition.h"
#include "lib/Importer/ONNX/CustomOps.h"
#include "lib/Importer/ONNX/Importer.h"
#include "lib/Schedule/Tuning.h"
#include "lib/Support/Precision.h"
#include "lib/Transforms/Partition/Rows.h"
#include <memory>

namespace hewn {

/// The options of a compile, with their texts parsed. They do not change after `readRequest` (and
/// `choosePartition`, for --partition auto).
struct Request {
  explicit Request(const CompileOptions &options) : options(options) {}
  const CompileOptions &options;
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

  /// Returns true if the input is the text of a stage (.mlir).
  bool isStageText() const;
  /// Returns true if the compiler's decisions are reported instead of an artifact.
  bool isExplained() const;
  /// Returns the names by which tuning files identify the targets.
  std::vector<std::string> identities() const;
  importer::ImportOptions importOptions() const;
};

/// Values of `emit` for reports on the compiler's decisions, as text and as JSON.
inline constexpr llvm::StringLiteral kExplain = "explain", kExplainJson = "explain-json";

/// Parses and checks all options before the model is read. Returns nullopt after reporting all
/// errors. `options` must outlive the result.
std::optional<Request> readRequest(const CompileOptions &options, Diagnostics &diagnostics);

} // namespace hewn

#endif
