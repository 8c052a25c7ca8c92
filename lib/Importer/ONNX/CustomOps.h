// SPDX-License-Identifier: Apache-2.0
//
// Files in which users give ops that hewn does not have: docs/custom-ops.md.
#ifndef HEWN_LIB_IMPORTER_ONNX_CUSTOMOPS_H
#define HEWN_LIB_IMPORTER_ONNX_CUSTOMOPS_H

#include "dialects/Graph/Custom/Definition.h"
#include "lib/Support/Diagnostics.h"

namespace hewn::importer {

/// What all files of a compile say together.
struct CustomOps {
  std::vector<graph::CustomDefinition> definitions;
  /// Objects, archives and libraries with the functions, as paths.
  std::vector<std::string> code;
  /// The files' text.
  std::vector<std::string> texts;

  /// The definition for a version of the domain; null where there is none.
  const graph::CustomDefinition *find(llvm::StringRef domain, llvm::StringRef name, int64_t opset) const;
  /// The first version that there is one for; nullopt where the op is not given at all.
  std::optional<int64_t> since(llvm::StringRef domain, llvm::StringRef name) const;
};

/// Whether a domain is ONNX's: who else defines an op of it is not asked, but where hewn lacks it.
bool isOnnxDomain(llvm::StringRef domain);

/// Adds what a file says: `given` is its path, or its text, which begins with a brace. False after errors, one for everything that is
/// wrong.
bool readCustomOps(llvm::StringRef given, CustomOps &ops, Diagnostics &diagnostics);

} // namespace hewn::importer

#endif
