// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/Messages.h"
#include "lib/Support/Files/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace hewn::tool {

void printMessage(llvm::raw_ostream &os, llvm::StringRef text) {
  static const char *noColor = std::getenv("NO_COLOR"); // https://no-color.org: set and not empty
  auto [kind, rest] = text.split(':');
  bool isMessage = llvm::is_contained({"error", "warning", "note"}, kind);
  if (isMessage && os.has_colors() && !(noColor && *noColor)) {
    auto color = kind == "error"     ? llvm::raw_ostream::RED
                 : kind == "warning" ? llvm::raw_ostream::MAGENTA
                                     : llvm::raw_ostream::CYAN;
    os.changeColor(color, /*Bold=*/true) << kind << ":";
    os.resetColor() << rest << "\n";
  } else {
    os << text << "\n";
  }
}

void showProgress(llvm::raw_ostream &os, const llvm::Twine &step) {
  if (os.is_displayed())
    os << "\r\033[K" << step;
}

char OptionError::ID = 0;

std::error_code OptionError::convertToErrorCode() const { return std::make_error_code(std::errc::invalid_argument); }

llvm::Error failure(const llvm::Twine &why) { return llvm::createStringError(llvm::inconvertibleErrorCode(), why); }

bool printErrors(llvm::raw_ostream &os, llvm::Error errors) {
  bool isWrong = false;
  llvm::handleAllErrors(std::move(errors), [&](const llvm::ErrorInfoBase &error) {
    isWrong |= error.isA<OptionError>();
    std::string text = error.message();
    bool isComplete = llvm::StringRef(text).starts_with("error: ") || llvm::StringRef(text).contains("\nerror: ");
    printMessage(os, isComplete ? text : "error: " + text);
  });
  return isWrong;
}

llvm::Error expectWritable(const std::string &path, llvm::ArrayRef<std::string> others) {
  if (path.empty())
    return llvm::Error::success();
  for (const std::string &other : others)
    if (path == other || (!other.empty() && llvm::sys::fs::equivalent(path, other)))
      return failure("'" + path + "' is also the model or another file of this command");
  std::string why = whyNotWritable(path);
  return why.empty() ? llvm::Error::success() : failure("can't write '" + path + "': " + why);
}

} // namespace hewn::tool
