// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Diagnostics.h"

#include "lib/Support/Printable.h"

#include <thread>

using namespace mlir;

namespace hewn {

std::string Message::str() const {
  std::string text = level == Level::Error ? "error: " : "warning: ";
  if (!node.empty()) {
    text += node;
    if (!op.empty()) {
      text += " (" + (domain.empty() ? op : domain + "." + op);
      if (opset)
        text += ", opset " + std::to_string(opset);
      text += ")";
    }
    text += ": ";
  }
  return text + message;
}

void Diagnostics::report(Message message) {
  for (std::string *text : {&message.node, &message.op, &message.domain, &message.message})
    *text = printable(*text);
  if (!known.insert(message.str()).second)
    return;
  errors += message.level == Message::Level::Error;
  list.push_back(std::move(message));
}

std::vector<Message> Diagnostics::takeBack(size_t count) {
  std::vector<Message> taken(std::make_move_iterator(list.begin() + count), std::make_move_iterator(list.end()));
  list.resize(count);
  for (const Message &message : taken) {
    known.erase(message.str());
    errors -= message.level == Message::Level::Error;
  }
  return taken;
}

void Diagnostics::print(llvm::raw_ostream &os) const {
  for (const Message &message : list)
    os << message.str() << "\n";
}

llvm::StringRef nodeName(Location location) {
  auto name = location->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : llvm::StringRef();
}

ThreadDiagnostics::ThreadDiagnostics(MLIRContext &context, std::function<void(Diagnostic &)> handle)
    : ScopedDiagnosticHandler(&context) {
  setHandler([handle = std::move(handle), thread = std::this_thread::get_id()](Diagnostic &diagnostic) {
    if (std::this_thread::get_id() != thread)
      return failure(); // passes the diagnostic to the next handler
    handle(diagnostic);
    return success();
  });
}

CollectDiagnostics::CollectDiagnostics(MLIRContext &context, Diagnostics &diagnostics)
    : ScopedDiagnosticHandler(&context) {
  // Disables MLIR's note with the op of an error, which has megabytes if the op is a module.
  context.printOpOnDiagnostic(false);
  setHandler([&diagnostics](Diagnostic &d) {
    if (d.getSeverity() != DiagnosticSeverity::Error && d.getSeverity() != DiagnosticSeverity::Warning)
      return success();
    Message message;
    message.level = d.getSeverity() == DiagnosticSeverity::Error ? Message::Level::Error : Message::Level::Warning;
    message.node = nodeName(d.getLocation()).str();
    message.message = d.str();
    diagnostics.report(std::move(message));
    return success();
  });
}

} // namespace hewn
