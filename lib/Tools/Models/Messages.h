// SPDX-License-Identifier: Apache-2.0
//
// Messages, progress and errors of the tools. A tool writes its messages to a stream of its caller.
#ifndef HEWN_LIB_TOOLS_MODELS_MESSAGES_H
#define HEWN_LIB_TOOLS_MODELS_MESSAGES_H

#include "llvm/Support/Error.h"
#include <string>

namespace hewn::tool {

/// Writes a message as one line. A prefix "error:", "warning:" or "note:" is colored if the stream
/// is a terminal with colors and NO_COLOR is not set.
void printMessage(llvm::raw_ostream &os, llvm::StringRef text);

/// Replaces the line that shows the current step, if the stream is a terminal. An empty text
/// erases the line.
void showProgress(llvm::raw_ostream &os, const llvm::Twine &step);

/// An error in the options of a tool, as opposed to a failure. The command line has an exit status
/// for it.
class OptionError : public llvm::ErrorInfo<OptionError> {
public:
  static char ID;
  explicit OptionError(std::string why) : why(std::move(why)) {}
  void log(llvm::raw_ostream &os) const override { os << why; }
  std::error_code convertToErrorCode() const override;

private:
  std::string why;
};

/// Returns a failure with this text. The text may have several lines, of which some already start
/// with "error: ", as the messages of a compilation do.
llvm::Error failure(const llvm::Twine &why);

/// Writes each of the errors as a message. Returns true if one of them is an `OptionError`.
bool printErrors(llvm::raw_ostream &os, llvm::Error errors);

/// Checks that a file that a tool writes at its end is writable, and that it is none of `others`,
/// the other files of the tool. An empty path passes the check.
llvm::Error expectWritable(const std::string &path, llvm::ArrayRef<std::string> others);

} // namespace hewn::tool

#endif
