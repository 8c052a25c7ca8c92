// SPDX-License-Identifier: Apache-2.0
//
// Recognizes files that users pass by mistake where a model is expected.
#ifndef HEWN_LIB_SUPPORT_FILES_FILEKIND_H
#define HEWN_LIB_SUPPORT_FILES_FILEKIND_H

#include "llvm/ADT/StringRef.h"

namespace hewn {

/// Returns a clause about a file that is no ONNX model and what to do about it, such as "it is a
/// GGUF file: ...", judged by its first bytes. Returns "" if the kind of the file is unknown.
llvm::StringRef knownFileKind(llvm::StringRef bytes);

} // namespace hewn

#endif
