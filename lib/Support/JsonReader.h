// SPDX-License-Identifier: Apache-2.0
//
// JSON that users write: read as LLVM's parser has it, with every mistake told by where it stands.
#ifndef HEWN_LIB_SUPPORT_JSONREADER_H
#define HEWN_LIB_SUPPORT_JSONREADER_H

#include "lib/Support/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace hewn {

/// A text and what it says.
struct JsonText {
  /// As messages name it: a file's last name, or what it is.
  std::string file;
  std::string text;
  llvm::json::Value value = nullptr;
  /// It was given as text and not as a file.
  bool isText = false;
};

/// Reads the text `given`, which begins with a brace, or the file of that name. `what` it is ("custom ops") stands for the name of a text.
/// nullopt after an error.
std::optional<JsonText> readJson(llvm::StringRef given, llvm::StringRef what, Diagnostics &diagnostics);

/// JSON of a text; an error where there is none, or where lists and objects nest so deep that a parser, which recurses, has no stack for them.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

/// Whether what is between brackets and braces of a text, outside of its strings, nests deeper than so many of them; of `<` and `>`, and of
/// parentheses, too.
bool nestsDeeper(llvm::StringRef text, int most);

/// Reads values, and says where one is not what it must be: `at` is "op 'com.example.Blur', inputs[1]".
class JsonReader {
public:
  using Keys = std::initializer_list<llvm::StringRef>;

  JsonReader(llvm::StringRef file, Diagnostics &diagnostics) : file(file), diagnostics(diagnostics) {}

  /// `at` may be empty: the whole.
  void error(const llvm::Twine &at, const llvm::Twine &why) {
    std::string where = at.str();
    diagnostics.error(file + ": " + where + (where.empty() ? "" : " ") + why);
  }

  /// Null after an error. Keys other than these are errors too.
  const llvm::json::Object *object(const llvm::json::Value &value, const std::string &at, Keys keys);
  /// Empty where there is none.
  std::string string(const llvm::json::Object &object, llvm::StringRef key, const std::string &at,
                     bool required = false);
  /// False where there is none.
  bool boolean(const llvm::json::Object &object, llvm::StringRef key, const std::string &at);
  /// nullopt where there is none, or after an error.
  std::optional<double> number(const llvm::json::Object &object, llvm::StringRef key, const std::string &at, double low,
                               double high);
  std::optional<int64_t> integer(const llvm::json::Object &object, llvm::StringRef key, const std::string &at);
  /// Which of `names` it is; nullopt where there is none, or after an error.
  std::optional<size_t> oneOf(const llvm::json::Object &object, llvm::StringRef key, const std::string &at,
                              llvm::ArrayRef<llvm::StringRef> names);
  /// The elements of a list, each with where it stands.
  void each(const llvm::json::Object &object, llvm::StringRef key, const std::string &at,
            llvm::function_ref<void(const llvm::json::Value &, const std::string &)> visit);
  std::vector<std::string> strings(const llvm::json::Object &object, llvm::StringRef key, const std::string &at);

private:
  std::string file;
  Diagnostics &diagnostics;
};

} // namespace hewn

#endif
