// SPDX-License-Identifier: Apache-2.0
//
// Creates the files of an artifact, or the text of a late stage, from planned programs.
#ifndef HEWN_LIB_COMPILER_EMIT_EMIT_H
#define HEWN_LIB_COMPILER_EMIT_EMIT_H

#include "lib/Compiler/Artifact.h"
#include "lib/Compiler/Request.h"
#include "lib/Compiler/Session.h"
#include "lib/Support/Files/OutputFile.h"

namespace hewn {

/// Compiles planned programs, links and publishes the files; or delivers the text of the stage
/// llvm, asm, ptx or header. Returns the published files, which are still open, because they may be
/// renamed or deleted by the time the artifact cache reads them. Returns nullopt after an error.
std::optional<std::vector<OutputFile>> emitArtifact(Session &session, const Request &request, Artifact &artifact,
                                                    CompileResult &result);

/// Publishes the files of an artifact in this order: weights, library, header. If a program loads
/// the old library with the new weights in between, it gets an error, because their digests differ.
llvm::Error publish(const CompileOptions &options, std::vector<OutputFile> &files, CompileResult &result);

/// Writes the text of a stage to the output file, or to the compile's result if no output file was
/// given. Returns false after an error.
bool deliver(const CompileOptions &options, const std::string &text, Diagnostics &diagnostics, CompileResult &result);

} // namespace hewn

#endif
