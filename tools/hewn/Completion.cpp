// SPDX-License-Identifier: Apache-2.0
//
// `hewn completion`: generates shell scripts that complete commands and flags, from the parser's
// table of flags.
#include "lib/Compiler/Compiler.h"
#include "lib/Support/Precision.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using llvm::StringRef;

namespace hewn::tool {

static cl::opt<std::string> shell(cl::Positional, cl::Required, cl::value_desc("bash|zsh|fish"),
                                  cl::sub(completionCommand()));

namespace {

/// Returns the named subcommands, sorted by name.
std::vector<cl::SubCommand *> commands() {
  std::vector<cl::SubCommand *> all;
  for (cl::SubCommand *command : cl::getRegisteredSubcommands())
    if (!command->getName().empty())
      all.push_back(command);
  llvm::sort(all, [](cl::SubCommand *a, cl::SubCommand *b) { return a->getName() < b->getName(); });
  return all;
}

/// Returns the values of a flag, separated by spaces, if the compiler has a list of them.
std::string choicesOf(StringRef flag) {
  if (flag == "target")
    return llvm::join(compileTargets(), " ");
  if (flag == "emit")
    return llvm::join(emitStages(), " ");
  if (flag == "float32-precision")
    return llvm::join(llvm::make_second_range(precisions()), " ");
  return flag == "quantize" ? "int8 int4" : "";
}

/// Puts `text` into single quotes; `quote` replaces single quotes inside of it.
std::string quoted(StringRef text, StringRef quote) {
  std::string made = "'";
  for (char c : text)
    made += c == '\'' ? quote.str() : std::string(1, c);
  return made + "'";
}

/// Escapes each of `characters` in the text by a backslash.
std::string escaped(StringRef text, StringRef characters) {
  std::string made;
  for (char c : text)
    made += (characters.contains(c) ? "\\" : "") + std::string(1, c);
  return made;
}

std::string namesOf(llvm::ArrayRef<cl::SubCommand *> all) {
  std::string names;
  for (cl::SubCommand *command : all)
    names += command->getName().str() + " ";
  return names;
}

void printBash(llvm::raw_ostream &os, llvm::ArrayRef<cl::SubCommand *> all) {
  os << "# hewn completion bash\n_hewn() {\n"
        "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} "
        "words=\n"
        "  [[ $current == = ]] && current=\n"
        "  [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD-2]}\n"
        "  COMPREPLY=()\n"
        "  if [[ $COMP_CWORD -eq 1 || ($COMP_CWORD -eq 2 && $command == help) ]]; then\n"
        "    COMPREPLY=($(compgen -W '"
     << namesOf(all) << "help version' -- \"$current\"))\n    return\n  fi\n  case $previous in\n";
  std::vector<StringRef> told;
  for (cl::SubCommand *command : all)
    for (cl::Option *flag : flagsOf(*command))
      if (std::string choices = choicesOf(flag->ArgStr); !choices.empty() && !llvm::is_contained(told, flag->ArgStr)) {
        told.push_back(flag->ArgStr);
        os << "  " << writtenFlag(flag->ArgStr) << ") words='" << choices << "' ;;\n";
      }
  os << "  esac\n  if [[ $current == -* ]]; then\n    case $command in\n";
  for (cl::SubCommand *command : all) {
    os << "    " << command->getName() << ") words='";
    for (cl::Option *flag : flagsOf(*command))
      os << writtenFlag(flag->ArgStr) << " ";
    os << "--help' ;;\n";
  }
  os << "    esac\n  elif [[ $command == completion ]]; then\n    words='bash zsh fish'\n  fi\n"
        "  [[ -n $words ]] && COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "}\n"
        "complete -o default -F _hewn hewn\n";
}

void printZsh(llvm::raw_ostream &os, llvm::ArrayRef<cl::SubCommand *> all) {
  auto quotedSpec = [](StringRef text) { return quoted(text, "'\\''"); };
  os << "#compdef hewn\n# hewn completion zsh\n_hewn() {\n  local -a commands\n  commands=(\n";
  for (cl::SubCommand *command : all)
    os << "    " << quotedSpec(escaped(command->getName(), ":") + ":" + command->getDescription().str()) << "\n";
  os << "    'help:print the flags of a command'\n    'version:print the version'\n  )\n"
        "  if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n    _describe command commands\n    return\n  fi\n"
        "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (cl::SubCommand *command : all) {
    os << "  " << command->getName() << ")\n    _arguments";
    for (cl::Option *flag : flagsOf(*command)) {
      bool takesValue = wantsValue(flag), isWord = flag->ArgStr.size() > 2;
      std::string spec = flag->getNumOccurrencesFlag() == cl::ZeroOrMore ? "*" : "";
      spec += writtenFlag(flag->ArgStr) + (takesValue && isWord ? "=" : "");
      spec += "[" + escaped(flag->HelpStr, "[]:\\") + "]";
      std::string choices = choicesOf(flag->ArgStr);
      if (takesValue)
        spec += ":" + escaped(flag->ValueStr, ":\\") + ":" + (choices.empty() ? "_files" : "(" + choices + ")");
      os << " \\\n      " << quotedSpec(spec);
    }
    os << " \\\n      " << (command == &completionCommand() ? "'1:shell:(bash zsh fish)'" : "'*:file:_files'")
       << " ;;\n";
  }
  // If zsh autoloads the script from $fpath, the file is the function's body and calls the
  // function; if the script is sourced, it registers the function.
  os << "  esac\n}\nif [[ $funcstack[1] == _hewn ]]; then\n  _hewn \"$@\"\nelse\n  compdef _hewn hewn\nfi\n";
}

void printFish(llvm::raw_ostream &os, llvm::ArrayRef<cl::SubCommand *> all) {
  auto quotedWord = [](StringRef text) { return quoted(escaped(text, "\\"), "\\'"); };
  os << "# hewn completion fish\n";
  for (cl::SubCommand *command : all)
    os << "complete -c hewn -n __fish_use_subcommand -f -a " << command->getName() << " -d "
       << quotedWord(command->getDescription()) << "\n";
  os << "complete -c hewn -n __fish_use_subcommand -f -a help -d 'print the flags of a command'\n"
        "complete -c hewn -n '__fish_seen_subcommand_from help' -f -a '"
     << namesOf(all) << "'\ncomplete -c hewn -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n";
  for (cl::SubCommand *command : all)
    for (cl::Option *flag : flagsOf(*command)) {
      StringRef name = flag->ArgStr;
      os << "complete -c hewn -n '__fish_seen_subcommand_from " << command->getName() << "' "
         << (name.size() == 1   ? "-s "
             : name.size() == 2 ? "-o "
                                : "-l ")
         << name;
      if (std::string choices = choicesOf(name); !choices.empty())
        os << " -x -a " << quotedWord(choices);
      else if (wantsValue(flag))
        os << " -r";
      os << " -d " << quotedWord(flag->HelpStr) << "\n";
    }
}

} // namespace

int completionMain() {
  std::vector<cl::SubCommand *> all = commands();
  StringRef name = shell;
  if (name == "bash") {
    printBash(llvm::outs(), all);
  } else if (name == "zsh") {
    printZsh(llvm::outs(), all);
  } else if (name == "fish") {
    printFish(llvm::outs(), all);
  } else {
    printMessage("error: hewn completion has no script for '" + name.str() + "'; supported shells: bash, zsh, fish");
    return 2;
  }
  return 0;
}

} // namespace hewn::tool
