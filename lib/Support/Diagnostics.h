// SPDX-License-Identifier: Apache-2.0
//
// Errors and warnings for the user. Compile stages report them here and continue if they can, so
// that one run lists all problems. The compiler does not throw exceptions and prints nothing
// itself.
#ifndef HEWN_LIB_SUPPORT_DIAGNOSTICS_H
#define HEWN_LIB_SUPPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <string>
#include <vector>

namespace hewn {

/// One error or warning. Only `message` is always set; the other fields identify the ONNX node.
struct Message {
  enum class Level { Error, Warning };
  Level level = Level::Error;
  /// Name of the ONNX node, or "#12 Conv" (index and type) if the node has no name.
  std::string node;
  std::string op;
  std::string domain;
  /// Opset version of `domain` that the model imports; 0 if it imports none.
  int64_t opset = 0;
  std::string message;

  /// Returns the text of the message for the user, such as "error: conv1 (Conv, opset 13): shape
  /// mismatch".
  std::string str() const;
};

/// The errors and warnings of one compile. Equal messages are kept once; all text is printable
/// (Printable.h).
class Diagnostics {
public:
  void report(Message message);
  void error(const llvm::Twine &text) { report({Message::Level::Error, "", "", "", 0, text.str()}); }
  void warning(const llvm::Twine &text) { report({Message::Level::Warning, "", "", "", 0, text.str()}); }

  unsigned numErrors() const { return errors; }
  bool hasErrors() const { return errors != 0; }
  llvm::ArrayRef<Message> messages() const { return list; }
  /// Removes the messages after the first `count`, and returns them.
  std::vector<Message> takeBack(size_t count);
  /// Prints the errors and warnings, one line per message.
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<Message> list;
  llvm::StringSet<> known;
  unsigned errors = 0;
};

/// While an object of this class exists, MLIR's diagnostics in `context` (from verifiers and
/// passes) are added to `diagnostics`. The node name is taken from the location.
class CollectDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  CollectDiagnostics(mlir::MLIRContext &context, Diagnostics &diagnostics);
};

/// While an object of this class exists, the diagnostics that its thread emits in `context` go to
/// `handle`, and to no other handler. MLIR's handlers belong to the context: a handler without this
/// filter would take the diagnostics of other threads.
class ThreadDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  ThreadDiagnostics(mlir::MLIRContext &context, std::function<void(mlir::Diagnostic &)> handle);
};

/// Returns the name in a NameLoc of `location`, or "" if there is none.
llvm::StringRef nodeName(mlir::Location location);

} // namespace hewn

#endif
