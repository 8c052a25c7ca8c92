// SPDX-License-Identifier: Apache-2.0
//
// Arguments into flags. The flags themselves are LLVM's cl::opt, one beside the code that reads it; what is wrong with a
// command line is said here, all of it at once and with the name of the flag.
#ifndef HEWN_TOOLS_HEWN_COMMANDLINE_H
#define HEWN_TOOLS_HEWN_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include <string>

namespace hewn::tool {

/// A flag's value that must be a whole number from 1 on.
struct CountParser : llvm::cl::parser<int> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, int &value);
};

/// A flag's value that must be a number of seconds from 0 on.
struct SecondsParser : llvm::cl::parser<double> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, double &value);
};

/// A flag's value that must be a number of decibels above 0.
struct DecibelsParser : llvm::cl::parser<double> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, double &value);
};

/// A flag's value that must be a number above 0.
struct ErrorParser : llvm::cl::parser<double> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, double &value);
};

/// The flags that `command` has, by name; LLVM's own are not told.
llvm::SmallVector<llvm::cl::Option *> flagsOf(llvm::cl::SubCommand &command);
/// How a flag is written: letters (and -O0) have one dash, words two.
std::string writtenFlag(llvm::StringRef name);
bool wantsValue(llvm::cl::Option *flag);

/// Reads `arguments` (the program and the subcommand before them) into the flags of `command`. False after errors were
/// printed.
bool readArguments(llvm::cl::SubCommand &command, llvm::ArrayRef<const char *> arguments);

/// Prints a message that begins with "error: ", "warning: " or "note: " on the standard error: in colours on a terminal, unless NO_COLOR is set.
void printMessage(llvm::StringRef text);

/// Prints what `command` does and its flags.
void printHelp(llvm::cl::SubCommand &command, llvm::raw_ostream &os);

} // namespace hewn::tool

#endif
