// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/CommandLine.h"
#include "lib/Support/Printable.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace cl = llvm::cl;
using llvm::StringRef;

namespace hewn::tool {

cl::SubCommand &compileCommand() {
  static cl::SubCommand command("compile", "compile a model to a library, or to the text of a stage");
  return command;
}
cl::SubCommand &checkCommand() {
  static cl::SubCommand command(
      "check", "say whether a model compiles, or all that stands in the way, and whether its values are right");
  return command;
}
cl::SubCommand &quantizeCommand() {
  static cl::SubCommand command("quantize", "choose how a model is quantized, and report what that costs and brings");
  return command;
}
cl::SubCommand &reduceCommand() {
  static cl::SubCommand command(
      "reduce", "find the smallest model that still is wrong, crashes, hangs, is refused or slow as this one");
  return command;
}
cl::SubCommand &tuneCommand() {
  static cl::SubCommand command("tune", "find schedules that are faster on this machine than the compiler's choice");
  return command;
}
cl::SubCommand &runCommand() {
  static cl::SubCommand command("run", "run a model or a compiled library on .npy and .npz files");
  return command;
}
cl::SubCommand &benchCommand() {
  static cl::SubCommand command("bench", "time a model or a compiled library");
  return command;
}
cl::SubCommand &profileCommand() {
  static cl::SubCommand command("profile", "say where a run's time goes, kernel by kernel");
  return command;
}
cl::SubCommand &explainCommand() {
  static cl::SubCommand command("explain", "say what the compiler decides about a model, and why");
  return command;
}

cl::SubCommand &completionCommand() {
  static cl::SubCommand command("completion", "print a script that completes commands and flags in a shell");
  return command;
}
cl::SubCommand &infoCommand() {
  static cl::SubCommand command("info",
                                "say what a model or a compiled artifact takes and gives; nothing of it is run");
  return command;
}

void printMessage(StringRef text) {
  static const char *noColor = std::getenv("NO_COLOR"); // https://no-color.org: set, and not empty
  static const bool colors = llvm::errs().has_colors() && !(noColor && *noColor);
  auto [kind, rest] = text.split(':');
  bool isMessage = llvm::is_contained({"error", "warning", "note"}, kind);
  if (colors && isMessage) {
    auto color = kind == "error"     ? llvm::raw_ostream::RED
                 : kind == "warning" ? llvm::raw_ostream::MAGENTA
                                     : llvm::raw_ostream::CYAN;
    llvm::errs().changeColor(color, /*Bold=*/true) << kind << ":";
    llvm::errs().resetColor() << rest << "\n";
  } else {
    llvm::errs() << text << "\n";
  }
}

bool CountParser::parse(cl::Option &, StringRef name, StringRef text, int &value) {
  if (!text.getAsInteger(10, value) && value >= 1)
    return false;
  llvm::errs() << "error: --" << name << " wants a whole number from 1 on, not '" << text << "'\n";
  return true;
}

bool SecondsParser::parse(cl::Option &, StringRef name, StringRef text, double &value) {
  if (StringRef number = text.ends_with("s") ? text.drop_back() : text;
      !number.getAsDouble(value) && value >= 0 && value < 1e9)
    return false;
  llvm::errs() << "error: --" << name << " wants a number of seconds, not '" << text << "'\n";
  return true;
}

bool DecibelsParser::parse(cl::Option &, StringRef name, StringRef text, double &value) {
  if (!text.getAsDouble(value) && value > 0 && value <= 200)
    return false;
  llvm::errs() << "error: --" << name << " wants a number of decibels above 0 and up to 200, not '" << text << "'\n";
  return true;
}

bool ErrorParser::parse(cl::Option &, StringRef name, StringRef text, double &value) {
  if (!text.getAsDouble(value) && value > 0)
    return false;
  llvm::errs() << "error: --" << name << " wants a number above 0, not '" << text << "'\n";
  return true;
}

std::string writtenFlag(StringRef name) {
  bool isLetter = name.size() == 1 || (name.size() == 2 && llvm::isDigit(name[1])); // -o, -O0
  return (isLetter ? "-" : "--") + name.str();
}

llvm::SmallVector<cl::Option *> flagsOf(cl::SubCommand &command) {
  llvm::SmallVector<cl::Option *> flags;
  for (auto &[name, option] : cl::getRegisteredOptions(command))
    if (!llvm::is_contained(option->Subs, &cl::SubCommand::getAll()))
      flags.push_back(option);
  llvm::sort(flags, [](cl::Option *a, cl::Option *b) { return a->ArgStr < b->ArgStr; });
  return flags;
}

bool wantsValue(cl::Option *flag) { return flag->getValueExpectedFlag() == cl::ValueRequired; }

namespace {

class ArgumentCheck {
public:
  explicit ArgumentCheck(cl::SubCommand &command) : command(command) {
    for (cl::Option *flag : flagsOf(command))
      names.push_back(flag->ArgStr);
  }

  /// Whether LLVM's parser may have the arguments; it stops at the first problem, and names none of ours.
  bool passes(llvm::ArrayRef<const char *> arguments) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      StringRef argument = arguments[i];
      if (argument.size() < 2 || argument[0] != '-') {
        positionals.push_back(argument);
        continue;
      }
      bool mayHaveValue = i + 1 < arguments.size() && !StringRef(arguments[i + 1]).starts_with("-");
      auto [name, value] = argument.ltrim('-').split('=');
      cl::Option *flag = cl::getRegisteredOptions(command).lookup(name);
      if (!flag) {
        refuseFlag(argument.split('=').first, name);
        if (!argument.contains('=') && mayHaveValue) { // its value, or the file: nobody can tell
          mayHaveFile = true;
          ++i;
        }
      } else if (wantsValue(flag) && !argument.contains('=') && ++i == arguments.size()) {
        refuse(writtenFlag(name) + " wants a value: <" + flag->ValueStr.str() + ">");
      }
    }
    cl::Option *wanted = command.PositionalOpts.empty() ? nullptr : command.PositionalOpts.front();
    if (wanted && positionals.empty() && !mayHaveFile)
      refuse("hewn " + command.getName() + " wants " + (command.getName() == "completion" ? "a shell: " : "a file: ") +
             wanted->ValueStr);
    bool takesMore = wanted && wanted->getNumOccurrencesFlag() == cl::OneOrMore;
    size_t taken = takesMore ? positionals.size() : std::min<size_t>(positionals.size(), 1);
    for (StringRef one : llvm::ArrayRef(positionals).drop_front(taken))
      refuse("hewn " + command.getName() + " takes one file; '" + one + "' is one too many");
    if (refused)
      llvm::errs() << "see hewn help " << command.getName() << "\n";
    return !refused;
  }

private:
  void refuse(const llvm::Twine &why) {
    printMessage(("error: " + why).str());
    refused = true;
  }
  void refuseFlag(StringRef given, StringRef name) {
    StringRef near = nearestName(name, names);
    // -o is what others call --output.
    if ((name == "output" || name == "out") && llvm::is_contained(names, "o"))
      near = "o";
    refuse("hewn " + command.getName() + " has no flag '" + given + "'" +
           (near.empty() ? "" : "; did you mean " + writtenFlag(near) + "?"));
  }

  cl::SubCommand &command;
  llvm::SmallVector<StringRef> names, positionals;
  bool mayHaveFile = false, refused = false;
};

} // namespace

bool readArguments(cl::SubCommand &command, llvm::ArrayRef<const char *> arguments) {
  if (!ArgumentCheck(command).passes(arguments.drop_front(2)))
    return false;
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(), "", &stream))
    return true;
  llvm::errs() << problems;
  return false;
}

void printHelp(cl::SubCommand &command, llvm::raw_ostream &os) {
  os << "hewn " << command.getName();
  for (cl::Option *file : command.PositionalOpts)
    os << " " << file->ValueStr;
  os << " [flags]: " << command.getDescription() << "\n\n";
  llvm::SmallVector<std::pair<std::string, StringRef>> rows;
  size_t width = 0;
  for (cl::Option *flag : flagsOf(command)) {
    std::string left = writtenFlag(flag->ArgStr);
    if (wantsValue(flag))
      left += " <" + flag->ValueStr.str() + ">";
    width = std::max(width, left.size());
    rows.push_back({left, flag->HelpStr});
  }
  for (auto &[left, help] : rows) {
    os.indent(2) << left;
    os.indent(unsigned(width - left.size()) + 2) << help << "\n";
  }
}

} // namespace hewn::tool
