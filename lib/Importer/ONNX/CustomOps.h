// SPDX-License-Identifier: Apache-2.0
// Reads files that define custom ops (docs/custom-ops.md).
#ifndef HEWN_LIB_IMPORTER_ONNX_CUSTOMOPS_H
#define HEWN_LIB_IMPORTER_ONNX_CUSTOMOPS_H

#include "dialects/Graph/Custom/Definition.h"
#include "lib/Support/Diagnostics.h"

namespace hewn::importer {

/// The contents of all definition files of a compilation.
struct CustomOps {
  std::vector<graph::CustomDefinition> definitions;
  /// Paths of object files, archives and libraries that contain the functions of the custom ops.
  std::vector<std::string> code;
  /// Texts of the files that define custom ops.
  std::vector<std::string> texts;

  /// Returns the definition of an op for version `opset` of its domain, or null if there is none.
  const graph::CustomDefinition *find(llvm::StringRef domain, llvm::StringRef name, int64_t opset) const;
  /// Returns the first version of the domain for which the op is defined, or nullopt if there is no
  /// definition.
  std::optional<int64_t> since(llvm::StringRef domain, llvm::StringRef name) const;
};

/// Returns true if the domain is one of ONNX's own. Custom definitions of ops in such a domain are
/// used only for ops that hewn does not support itself.
bool isOnnxDomain(llvm::StringRef domain);

/// Adds the custom ops that a file defines. `given` is the text of the file if it starts with a
/// brace, otherwise its path. Returns false after reporting all errors.
bool readCustomOps(llvm::StringRef given, CustomOps &ops, Diagnostics &diagnostics);

} // namespace hewn::importer

#endif
