// SPDX-License-Identifier: Apache-2.0
//
// Parsing of the command line and the help texts. The flags are LLVM's cl::opt, each declared next
// to the code that reads it. All errors of a command line are reported together, each with the
// name of its flag.
#ifndef HEWN_TOOLS_HEWN_COMMANDLINE_H
#define HEWN_TOOLS_HEWN_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include <string>

namespace hewn::tool {

/// Parses a positive integer.
struct CountParser : llvm::cl::parser<int> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, int &value);
};

/// Parses a number of seconds, at least 0.
struct SecondsParser : llvm::cl::parser<double> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, double &value);
};

/// Parses a number of decibels, above 0 and at most 200.
struct DecibelsParser : llvm::cl::parser<double> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, double &value);
};

/// Parses a number above 0.
struct ErrorParser : llvm::cl::parser<double> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, double &value);
};

/// Return the groups of flags in the help text of a command. These are functions, because the
/// initializer of a flag may run before a global of another file is initialized.
llvm::cl::OptionCategory &outputFlags();
llvm::cl::OptionCategory &targetFlags();
llvm::cl::OptionCategory &shapeFlags();
llvm::cl::OptionCategory &precisionFlags();
llvm::cl::OptionCategory &quantizationFlags();
llvm::cl::OptionCategory &partitioningFlags();
llvm::cl::OptionCategory &diagnosticsFlags();

/// Returns the flags of `command`, sorted by name, without LLVM's own flags.
llvm::SmallVector<llvm::cl::Option *> flagsOf(llvm::cl::SubCommand &command);
/// Returns the flag's name with its dashes: one dash for a single letter and for -O0, else two.
std::string writtenFlag(llvm::StringRef name);
bool wantsValue(llvm::cl::Option *flag);

/// Parses `arguments`, which start with the program and the subcommand, into the flags of
/// `command`. Returns false after printing errors.
bool readArguments(llvm::cl::SubCommand &command, llvm::ArrayRef<const char *> arguments);

/// Prints a message to the standard error, as the function of lib/Tools/Models/Messages.h does.
void printMessage(llvm::StringRef text);
/// Prints an error to the standard error. Returns false.
bool printError(const std::string &why);

/// Prints the description of `command` and its flags, grouped, in at most 100 columns.
void printHelp(llvm::cl::SubCommand &command, llvm::raw_ostream &os);

} // namespace hewn::tool

#endif
