// SPDX-License-Identifier: Apache-2.0
//
// Entry point of the `hewn` command: dispatches to the subcommands.
#include "hewn/compiler.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Interrupt.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace hewn::tool;
namespace cl = llvm::cl;

namespace {

struct Subcommand {
  cl::SubCommand &command;
  int (*main)();
};

int usage(llvm::raw_ostream &os, int status) {
  os << "hewn " << hewn_compiler_version()
     << ": ahead-of-time compiler from ONNX models to native libraries\n\n"
        "  hewn compile model.onnx -o libmodel.so   compile to a library (.so, .a, .o), header and weights\n"
        "  hewn run MODEL --input x=x.npy           run a model or a compiled library on arrays\n"
        "  hewn bench MODEL                         time a model or a compiled library\n"
        "  hewn profile MODEL                       print the time of each kernel of a run\n"
        "  hewn explain model.onnx                  print the compiler's decisions and their reasons\n"
        "  hewn check model.onnx                    compile a model and compare its values to a reference\n"
        "  hewn reduce model.onnx                   reduce a model to the smallest one that still fails\n"
        "  hewn info FILE                           print the inputs, outputs and metadata of a file\n"
        "  hewn quantize model.onnx --calibrate DIR choose the quantization and report its accuracy\n"
        "  hewn tune model.onnx -o FILE             measure schedules, for --tuning of later compiles\n"
        "  hewn demo                                compile, run and time a small model (Python package only)\n"
        "  hewn completion bash|zsh|fish            print a completion script for a shell\n"
        "  hewn help COMMAND                        print the flags of a command\n"
        "  hewn help targets                        print the values of --target\n";
  return status;
}

/// Flushes the standard output. Reports a write error as exit status 1; LLVM's stream would abort
/// the process in its destructor.
int closeOutput(int status) {
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  if (!error)
    return status;
  llvm::outs().clear_error();
  llvm::errs() << "error: can't write to the standard output: " << error.message() << "\n";
  return 1;
}

bool asksForHelp(llvm::ArrayRef<const char *> arguments) {
  return llvm::any_of(arguments, [](llvm::StringRef a) { return a == "--help" || a == "-help" || a == "-h"; });
}

} // namespace

int hewn_main(int argc, char **argv);

int hewn_main(int argc, char **argv) {
  cleanUpWhenInterrupted();
  // A write beyond the file size limit then fails instead of ending the process by SIGXFSZ.
  hewn::FileSizeSignalBlocked blocked;
  const Subcommand all[] = {{compileCommand(), compileMain},
                            {runCommand(), runMain},
                            {benchCommand(), benchMain},
                            {profileCommand(), profileMain},
                            {explainCommand(), explainMain},
                            {checkCommand(), checkMain},
                            {reduceCommand(), reduceMain},
                            {quantizeCommand(), quantizeMain},
                            {tuneCommand(), tuneMain},
                            {infoCommand(), infoMain},
                            {completionCommand(), completionMain}};
  std::string first = argc > 1 ? argv[1] : "";
  if (first.empty() || ((first == "help" || first == "--help" || first == "-h") && argc == 2))
    return closeOutput(usage(first.empty() ? llvm::errs() : llvm::outs(), first.empty() ? 2 : 0));
  if (first == "--version" || first == "-V" || first == "version") {
    llvm::outs() << "hewn " << hewn_compiler_version() << "\n";
    return closeOutput(0);
  }
  if (first == "demo") {
    printMessage("error: the demo is a part of the Python package: python3 -m hewn demo");
    return 1;
  }
  bool help = first == "help";
  std::string name = help ? argv[2] : first;
  if (help && name == "targets") {
    llvm::outs() << hewn::target::page();
    return closeOutput(0);
  }
  llvm::SmallVector<llvm::StringRef> names = {"help", "version"};
  for (const Subcommand &one : all) {
    names.push_back(one.command.getName());
    if (name != one.command.getName())
      continue;
    if (help || asksForHelp({argv + 2, argv + argc})) {
      printHelp(one.command, llvm::outs());
      return closeOutput(0);
    }
    return readArguments(one.command, {argv, argv + argc}) ? closeOutput(one.main()) : 2;
  }
  llvm::StringRef given(name);
  if (given.starts_with("-")) {
    llvm::StringRef flag = given.ltrim('-').split('=').first;
    llvm::StringRef near = hewn::nearestName(flag, {"help", "version"});
    printMessage("error: hewn has no flag '" + name + "' before the command" +
                 (near.empty() ? "" : "; did you mean --" + near.str() + "?"));
  } else {
    llvm::StringRef near = hewn::nearestName(name, names);
    printMessage("error: there is no command '" + name + "'" +
                 (near.empty() ? "" : "; did you mean hewn " + near.str() + "?"));
  }
  llvm::errs() << "see hewn help\n";
  return 2;
}
