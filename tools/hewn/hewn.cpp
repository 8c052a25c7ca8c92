// SPDX-License-Identifier: Apache-2.0
//
// hewn: the command line.
#include "hewn/compiler.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace hewn::tool;
namespace cl = llvm::cl;

namespace {

struct Subcommand {
  cl::SubCommand &command;
  int (*main)();
};

int usage(llvm::raw_ostream &os, int status) {
  os << "hewn " << hewn_compiler_version()
     << ": compiles ONNX models ahead of time into libraries that need no framework\n\n"
        "  hewn compile model.onnx -o libmodel.so   make a library (.so, .a or .o), a C header and a weights file\n"
        "  hewn run MODEL --input x=x.npy           run a model or a compiled library on arrays\n"
        "  hewn bench MODEL                         time a model or a compiled library\n"
        "  hewn explain model.onnx                  say what the compiler decides, and why\n"
        "  hewn check model.onnx                    say whether the model compiles, and what stands in the way\n"
        "  hewn help COMMAND                        the flags of a command\n";
  return status;
}

} // namespace

int main(int argc, char **argv) {
  const Subcommand all[] = {{compileCommand, compileMain},
                            {runCommand, runMain},
                            {benchCommand, benchMain},
                            {explainCommand, explainMain},
                            {checkCommand, checkMain}};
  std::string first = argc > 1 ? argv[1] : "";
  if (first.empty() || ((first == "help" || first == "--help" || first == "-h") && argc == 2))
    return usage(first.empty() ? llvm::errs() : llvm::outs(), first.empty() ? 2 : 0);
  if (first == "--version" || first == "version") {
    llvm::outs() << "hewn " << hewn_compiler_version() << "\n";
    return 0;
  }
  // `hewn help compile` is `hewn compile --help`.
  std::vector<const char *> arguments(argv, argv + argc);
  if (first == "help") {
    arguments = {argv[0], argv[2], "--help"};
    first = argv[2];
  }
  bool known = false;
  for (const Subcommand &one : all)
    known |= one.command.getName() == first;
  if (!known) {
    llvm::errs() << "hewn: there is no command '" << first << "'; see hewn help\n";
    return 2;
  }
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (!cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(), "", &stream)) {
    llvm::errs() << problems;
    return 2;
  }
  for (const Subcommand &one : all)
    if (one.command)
      return one.main();
  return usage(llvm::errs(), 2);
}
