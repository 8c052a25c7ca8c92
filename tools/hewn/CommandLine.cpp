// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/CommandLine.h"
#include "lib/Support/Printable.h"
#include "lib/Tools/Models/Messages.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

namespace cl = llvm::cl;
using llvm::StringRef;

namespace hewn::tool {

cl::SubCommand &compileCommand() {
  static cl::SubCommand command("compile", "compile a model to a library, or print the output of a stage");
  return command;
}
cl::SubCommand &checkCommand() {
  static cl::SubCommand command(
      "check", "compile a model and compare its values to a reference, or list everything unsupported");
  return command;
}
cl::SubCommand &quantizeCommand() {
  static cl::SubCommand command("quantize", "choose the quantization of a model, and report its accuracy and size");
  return command;
}
cl::SubCommand &reduceCommand() {
  static cl::SubCommand command(
      "reduce", "reduce a model to the smallest one that still fails (wrong result, crash, hang, error, or slow)");
  return command;
}
cl::SubCommand &tuneCommand() {
  static cl::SubCommand command("tune", "measure schedules on this machine and keep those that beat the default");
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
  static cl::SubCommand command("profile", "print the time of each kernel of a run");
  return command;
}
cl::SubCommand &explainCommand() {
  static cl::SubCommand command("explain", "print the compiler's decisions about a model and their reasons");
  return command;
}

cl::SubCommand &completionCommand() {
  static cl::SubCommand command("completion", "print a script that completes commands and flags in a shell");
  return command;
}
cl::SubCommand &infoCommand() {
  static cl::SubCommand command("info",
                                "print the inputs, outputs and metadata of a model or artifact, without running it");
  return command;
}

cl::OptionCategory &outputFlags() {
  static cl::OptionCategory category("Output");
  return category;
}
cl::OptionCategory &targetFlags() {
  static cl::OptionCategory category("Target");
  return category;
}
cl::OptionCategory &shapeFlags() {
  static cl::OptionCategory category("Model and shapes");
  return category;
}
cl::OptionCategory &precisionFlags() {
  static cl::OptionCategory category("Precision");
  return category;
}
cl::OptionCategory &quantizationFlags() {
  static cl::OptionCategory category("Quantization");
  return category;
}
cl::OptionCategory &partitioningFlags() {
  static cl::OptionCategory category("Partitioning");
  return category;
}
cl::OptionCategory &diagnosticsFlags() {
  static cl::OptionCategory category("Diagnostics");
  return category;
}

void printMessage(StringRef text) { printMessage(llvm::errs(), text); }

bool printError(const std::string &why) {
  printMessage("error: " + why);
  return false;
}

bool CountParser::parse(cl::Option &, StringRef name, StringRef text, int &value) {
  if (!text.getAsInteger(10, value) && value >= 1)
    return false;
  llvm::errs() << "error: --" << name << " expects a positive integer, got '" << text << "'\n";
  return true;
}

bool SecondsParser::parse(cl::Option &, StringRef name, StringRef text, double &value) {
  if (StringRef number = text.ends_with("s") ? text.drop_back() : text;
      !number.getAsDouble(value) && value >= 0 && value < 1e9)
    return false;
  llvm::errs() << "error: --" << name << " expects a number of seconds, got '" << text << "'\n";
  return true;
}

bool DecibelsParser::parse(cl::Option &, StringRef name, StringRef text, double &value) {
  if (!text.getAsDouble(value) && value > 0 && value <= 200)
    return false;
  llvm::errs() << "error: --" << name << " expects decibels above 0 and up to 200, got '" << text << "'\n";
  return true;
}

bool ErrorParser::parse(cl::Option &, StringRef name, StringRef text, double &value) {
  if (!text.getAsDouble(value) && value > 0)
    return false;
  llvm::errs() << "error: --" << name << " expects a number above 0, got '" << text << "'\n";
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

  /// Reports all unknown flags, missing values and excess files. Returns true if there are none, so
  /// that LLVM's parser can parse the arguments; that parser stops at the first error.
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
        // The argument after an unknown flag is either the value of this flag or the model file.
        if (!argument.contains('=') && mayHaveValue) {
          mayHaveFile = true;
          ++i;
        }
      } else if (wantsValue(flag) && !argument.contains('=') && ++i == arguments.size()) {
        refuse(writtenFlag(name) + " requires a value: <" + flag->ValueStr.str() + ">");
      }
    }
    cl::Option *wanted = command.PositionalOpts.empty() ? nullptr : command.PositionalOpts.front();
    if (wanted && positionals.empty() && !mayHaveFile)
      refuse("hewn " + command.getName() + " requires " +
             (command.getName() == "completion" ? "a shell: " : "a file: ") + wanted->ValueStr);
    bool takesMore = wanted && wanted->getNumOccurrencesFlag() == cl::OneOrMore;
    size_t taken = takesMore ? positionals.size() : std::min<size_t>(positionals.size(), 1);
    for (StringRef one : llvm::ArrayRef(positionals).drop_front(taken))
      refuse("hewn " + command.getName() + " takes one file; unexpected argument '" + one + "'");
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
    // Users of other tools know some flags by other names.
    StringRef other = llvm::StringSwitch<StringRef>(name)
                          .Cases({"output", "out"}, "o")
                          .Case("precision", "float32-precision")
                          .Cases({"arch", "march", "mcpu", "device"}, "target")
                          .Cases({"shape", "input-shape", "input_shape"}, "dim")
                          .Cases({"num-threads", "num_threads"}, "threads")
                          .Default("");
    if (llvm::is_contained(names, other))
      near = other;
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

/// Prints `text`, wrapped at spaces to 100 columns. The first line starts at column `indent`; the
/// following lines are indented by `indent`.
static void printWrapped(StringRef text, unsigned indent, llvm::raw_ostream &os) {
  constexpr size_t kColumns = 100;
  size_t column = indent;
  for (StringRef word : llvm::split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > kColumns) {
      os << "\n";
      os.indent(indent);
      column = indent;
    }
    if (column > indent) {
      os << " ";
      ++column;
    }
    os << word;
    column += word.size();
  }
  os << "\n";
}

static void printFlags(StringRef title, llvm::ArrayRef<cl::Option *> flags, llvm::raw_ostream &os) {
  constexpr unsigned kHelpColumn = 32; // longer flags have their help text on the next line
  if (flags.empty())
    return;
  os << "\n" << title << ":\n";
  for (cl::Option *flag : flags) {
    std::string left = "  " + writtenFlag(flag->ArgStr);
    if (wantsValue(flag))
      left += " <" + flag->ValueStr.str() + ">";
    os << left;
    if (left.size() + 2 > kHelpColumn) {
      os << "\n";
      os.indent(kHelpColumn);
    } else {
      os.indent(unsigned(kHelpColumn - left.size()));
    }
    printWrapped(flag->HelpStr, kHelpColumn, os);
  }
}

void printHelp(cl::SubCommand &command, llvm::raw_ostream &os) {
  std::string usage = ("hewn " + command.getName()).str();
  for (cl::Option *file : command.PositionalOpts)
    usage += " " + file->ValueStr.str();
  printWrapped(usage + " [flags]: " + command.getDescription().str(), /*indent=*/0, os);
  llvm::SmallVector<cl::Option *> flags = flagsOf(command);
  auto inCategory = [&](cl::OptionCategory &category) {
    llvm::SmallVector<cl::Option *> found;
    llvm::copy_if(flags, std::back_inserter(found),
                  [&](cl::Option *flag) { return llvm::is_contained(flag->Categories, &category); });
    return found;
  };
  printFlags("Flags", inCategory(cl::getGeneralCategory()), os);
  for (cl::OptionCategory *category : {&outputFlags(), &targetFlags(), &shapeFlags(), &precisionFlags(),
                                       &quantizationFlags(), &partitioningFlags(), &diagnosticsFlags()})
    printFlags(category->getName(), inCategory(*category), os);
  if (&command == &compileCommand())
    os << "\nExamples:\n"
          "  hewn compile model.onnx -o libmodel.so\n"
          "  hewn compile model.onnx -o libmodel.so --target=x86-64-v3,x86-64-v4 --dim batch=1..16\n"
          "  hewn compile model.onnx -o libmodel.so --quantize=int8 --calibrate=samples --max-error=0.01\n";
}

} // namespace hewn::tool
