// SPDX-License-Identifier: Apache-2.0
//
// `hewn tune`: the flags of lib/Tools/Tune.
#include "lib/Tools/Tune/Tune.h"
#include "lib/Tools/Models/Messages.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Interrupt.h"
#include "tools/hewn/Json.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

namespace hewn::tool {

namespace {

/// Checks that the value of --part is a part.
struct PartParser : cl::parser<std::string> {
  using parser::parser;
  bool parse(cl::Option &, llvm::StringRef name, llvm::StringRef text, std::string &value) {
    if (SearchPart::parse(text)) {
      value = text.str();
      return false;
    }
    llvm::errs() << "error: --" << name << " expects a part from 1/N to N/N, got '" << text << "'\n";
    return true;
  }
};

} // namespace

static cl::list<std::string> tuned(cl::Positional, cl::OneOrMore, cl::value_desc("model.onnx"), cl::sub(tuneCommand()));
static cl::list<std::string> tunedInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                         cl::desc("Array for an input, or an .npz file with several. May be repeated"),
                                         cl::sub(tuneCommand()));
static cl::opt<std::string> tunedOutput("o", cl::value_desc("file"),
                                        cl::desc("Write the tuning to this file, for --tuning of later compiles"),
                                        cl::sub(tuneCommand()));
static cl::opt<double, false, SecondsParser> budget("budget", cl::init(60), cl::value_desc("seconds"),
                                                    cl::desc("Duration of the search (default: 60)"),
                                                    cl::sub(tuneCommand()));
static cl::opt<std::string, false, PartParser>
    searchedPart("part", cl::init("1/1"), cl::value_desc("I/N"),
                 cl::desc("Measure only part I of the candidates, to share a search among N identical machines; "
                          "--merge combines their tunings"),
                 cl::sub(tuneCommand()));
static cl::opt<bool> merges("merge",
                            cl::desc("Merge tuning files, given instead of a model; keep the best schedule of each "
                                     "kernel"),
                            cl::sub(tuneCommand()));

/// Prints errors and returns the exit status.
static int endWith(llvm::Error errors) { return printErrors(llvm::errs(), std::move(errors)) ? 2 : 1; }
static int refuseUsage(const std::string &why) { return endWith(llvm::make_error<OptionError>(why)); }

/// Returns the names, with dashes, of the given flags that have no effect. With --merge, nothing is
/// compiled, so the flags of the compilation have none.
static std::vector<std::string> flagsWithoutUse(bool merge) {
  std::vector<std::string> useless;
  for (cl::Option *flag : flagsOf(tuneCommand()))
    if (flag->getNumOccurrences() > 0 &&
        (merge ? !llvm::is_contained({"merge", "o", "json"}, flag->ArgStr) : flag->ArgStr == "remarks"))
      useless.push_back(writtenFlag(flag->ArgStr));
  return useless;
}

static int mergeMain(const std::vector<std::string> &files, const std::string &output, bool isJson) {
  if (output.empty())
    return refuseUsage("--merge requires an output file: -o FILE");
  llvm::Expected<MergeResult> result = mergeTunings(files, output, llvm::errs());
  if (!result)
    return endWith(result.takeError());
  if (isJson)
    printRecord("tune", output, result->record());
  return 0;
}

int tuneMain() {
  const std::vector<std::string> files = tuned;
  const bool isJson = wantsJson();
  if (std::vector<std::string> useless = flagsWithoutUse(merges); !useless.empty())
    return refuseUsage((merges ? "--merge only takes files and -o: remove " : "a search writes no remarks: remove ") +
                       llvm::join(useless, ", "));
  if (merges)
    return mergeMain(files, tunedOutput, isJson);
  if (files.size() > 1)
    return refuseUsage("only one model can be tuned at a time; use --merge to merge tuning files");
  TuneOptions options;
  options.model = files.front();
  options.inputs = tunedInputs;
  options.flags = compileFlags();
  options.output = tunedOutput;
  options.seconds = budget;
  options.part = *SearchPart::parse(searchedPart);
  InterruptStopsMeasuring interrupt;
  llvm::Expected<TuneResult> result = tune(options, [&] { return interrupt.happened(); }, llvm::errs());
  if (!result)
    return endWith(result.takeError());
  if (isJson)
    printRecord("tune", options.model, result->record());
  else
    result->print(llvm::outs());
  return result->interrupted ? kInterrupted : 0;
}

} // namespace hewn::tool
