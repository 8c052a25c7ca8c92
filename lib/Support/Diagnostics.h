// SPDX-License-Identifier: Apache-2.0
//
// What the user is told. Stages report here and go on where they can, so that one run lists every problem; nobody
// prints and nobody throws.
#ifndef HEWN_LIB_SUPPORT_DIAGNOSTICS_H
#define HEWN_LIB_SUPPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace hewn {

/// One problem. Only `message` is always there; the rest says which ONNX node has it.
struct Message {
  enum class Level { Error, Warning };
  Level level = Level::Error;
  /// The node's name, or "#12 Conv" where it has none.
  std::string node;
  std::string op;
  std::string domain;
  /// The version of `domain` that the model imports; 0: none.
  int64_t opset = 0;
  std::string message;

  /// "error: conv1 (Conv, opset 13): dims do not fit"
  std::string str() const;
};

/// The list of one compile. Equal messages are kept once, and all are printable (Printable.h).
class Diagnostics {
public:
  void report(Message message);
  void error(const llvm::Twine &text) { report({Message::Level::Error, "", "", "", 0, text.str()}); }
  void warning(const llvm::Twine &text) { report({Message::Level::Warning, "", "", "", 0, text.str()}); }

  unsigned numErrors() const { return errors; }
  bool hasErrors() const { return errors != 0; }
  llvm::ArrayRef<Message> messages() const { return list; }
  /// What was reported after the first `count`, as if it never had been.
  std::vector<Message> takeBack(size_t count);
  /// One line a message.
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<Message> list;
  llvm::StringSet<> known;
  unsigned errors = 0;
};

/// While it lives, what MLIR reports in `context` (verifiers, passes) goes to `diagnostics`, with the name of the node
/// that the location tells.
class CollectDiagnostics : public mlir::ScopedDiagnosticHandler {
public:
  CollectDiagnostics(mlir::MLIRContext &context, Diagnostics &diagnostics);
};

/// The name in a location made of names, "" where there is none.
llvm::StringRef nodeName(mlir::Location location);

} // namespace hewn

#endif
