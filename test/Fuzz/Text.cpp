// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes compilation from the text of a stage (`.mlir`): the result must be code or errors. The
// mutator replaces words of the text by words of the same or of another text.
#include "lib/Compiler/Compiler.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstring>
#include <fcntl.h>
#include <random>
#include <unistd.h>

using namespace hewn;
using llvm::StringRef;

/// Splits a text into words, numbers and single characters. Whitespace belongs to the word after
/// it.
static std::vector<StringRef> wordsOf(StringRef text) {
  std::vector<StringRef> words;
  auto isWord = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.' || c == '%' || c == '@' || c == '#' || c == '!';
  };
  while (!text.empty()) {
    size_t end = text.find_first_not_of(" \n");
    end = end == StringRef::npos ? text.size() : end + 1;
    if (isWord(text[end - 1]))
      while (end < text.size() && isWord(text[end]))
        ++end;
    words.push_back(text.take_front(end));
    text = text.drop_front(end);
  }
  return words;
}

static size_t mix(StringRef first, StringRef second, uint8_t *out, size_t most, unsigned seed) {
  static const char *const borders[] = {"0",
                                        "1",
                                        "-1",
                                        "2",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "4294967296",
                                        "?",
                                        "[]",
                                        "\"\"",
                                        "x",
                                        "f32",
                                        "i64",
                                        "i1",
                                        "index",
                                        "tensor<0xf32>",
                                        "{}",
                                        "()",
                                        "dense<1>"};
  std::mt19937 random(seed);
  auto below = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  std::vector<StringRef> words = wordsOf(first), others = wordsOf(second);
  if (words.empty() || others.empty())
    return 0;
  std::vector<std::string> changed(words.begin(), words.end());
  for (size_t changes = 1 + below(4); changes > 0; --changes) {
    size_t at = below(changed.size()), from = below(others.size());
    switch (below(5)) {
    case 0:
      changed[at] = std::string(" ") + borders[below(std::size(borders))];
      break;
    case 1:
      changed[at].clear();
      break;
    case 2: // replace up to 12 adjacent words
      for (size_t i = 0, count = 1 + below(12); i < count && at + i < changed.size() && from + i < others.size(); ++i)
        changed[at + i] = others[from + i].str();
      break;
    case 3:
      changed[at] += others[from].str();
      break;
    default:
      changed[at] = others[from].str();
    }
  }
  std::string text = llvm::join(changed, "");
  size_t size = std::min(text.size(), most);
  std::memcpy(out, text.data(), size);
  return size;
}

static StringRef textOf(const uint8_t *data, size_t size) { return {reinterpret_cast<const char *>(data), size}; }

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  std::string text = textOf(data, size).str();
  return mix(text, text, data, most, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize, const uint8_t *second,
                                            size_t secondSize, uint8_t *out, size_t most, unsigned seed) {
  return mix(textOf(first, firstSize), textOf(second, secondSize), out, most, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const std::string path = [] {
    char name[] = "/tmp/hewn-fuzz-XXXXXX.mlir";
    int file = mkstemps(name, 5);
    if (file < 0)
      llvm::report_fatal_error("no temporary file");
    close(file);
    static std::string made = name;
    atexit([] { unlink(made.c_str()); });
    return made;
  }();
  int file = open(path.c_str(), O_WRONLY | O_TRUNC);
  if (file < 0 || write(file, data, size) != ssize_t(size))
    llvm::report_fatal_error("the temporary file can't be written");
  close(file);
  Diagnostics diagnostics;
  CompileOptions options;
  options.modelPath = path;
  options.emit = "asm";
  options.target = "x86-64-v3";
  options.jobs = 1;
  CompileResult result = compile(options, diagnostics);
  // A mutated text can be IR that no stage produces. A pass that detects this reports "internal
  // error in stage", which is not a finding.
  for (const Message &message : diagnostics.messages())
    if (message.str().find("in the code generator: it crashed") != std::string::npos)
      llvm::report_fatal_error("the code generator crashed");
  if (result.ok == diagnostics.hasErrors())
    llvm::report_fatal_error("neither code nor a reason");
  return 0;
}
