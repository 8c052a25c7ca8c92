// SPDX-License-Identifier: Apache-2.0
//
// Reads JSON files that users write. Each error names the position in the document.
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

/// A JSON document: its text and its value.
struct JsonText {
  /// Name of the document in messages: the file name without its folder, or a description such as
  /// "custom ops" for a document that was given as text.
  std::string file;
  std::string text;
  llvm::json::Value value = nullptr;
  /// True if the document was given as text instead of a file.
  bool isText = false;
};

/// Reads a JSON document. `given` is the document's text if it starts with a brace, otherwise a
/// file name. In messages, `what` names a document that is given as text, such as "custom ops".
/// Returns nullopt after an error.
std::optional<JsonText> readJson(llvm::StringRef given, llvm::StringRef what, Diagnostics &diagnostics);

/// Parses JSON. Returns an error if the text is invalid, or nested so deep that the recursive
/// parser could overflow the stack.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

/// Returns true if brackets, braces, angle brackets and parentheses are nested more than `most`
/// levels deep in `text`. Those in string literals are not counted.
bool nestsDeeper(llvm::StringRef text, int most);

/// Reads values of a JSON document and reports invalid ones. The parameter `at` of its functions is
/// the position of the value in the document, such as "op 'com.example.Blur', inputs[1]".
class JsonReader {
public:
  using Keys = std::initializer_list<llvm::StringRef>;

  JsonReader(llvm::StringRef file, Diagnostics &diagnostics) : file(file), diagnostics(diagnostics) {}

  /// Reports an error at position `at`. An empty `at` means that the error concerns the whole
  /// document.
  void error(const llvm::Twine &at, const llvm::Twine &why) {
    std::string where = at.str();
    diagnostics.error(file + ": " + where + (where.empty() ? "" : " ") + why);
  }

  /// Returns `value` as an object, and reports keys of it that are not in `keys`. If `value` is not
  /// an object, reports an error and returns null.
  const llvm::json::Object *object(const llvm::json::Value &value, const std::string &at, Keys keys);
  /// Returns a string of the JSON document, or "" if the key is missing or after an error.
  std::string string(const llvm::json::Object &object, llvm::StringRef key, const std::string &at,
                     bool required = false);
  /// Returns a boolean of the JSON document, or false if the key is missing or after an error.
  bool boolean(const llvm::json::Object &object, llvm::StringRef key, const std::string &at);
  /// Return a number of the JSON document (from `low` to `high`) or an integer, or nullopt if the
  /// key is missing or after an error.
  std::optional<double> number(const llvm::json::Object &object, llvm::StringRef key, const std::string &at, double low,
                               double high);
  std::optional<int64_t> integer(const llvm::json::Object &object, llvm::StringRef key, const std::string &at);
  /// Returns the index in `names` of a string of the JSON document, or nullopt if the key is
  /// missing or after an error.
  std::optional<size_t> oneOf(const llvm::json::Object &object, llvm::StringRef key, const std::string &at,
                              llvm::ArrayRef<llvm::StringRef> names);
  /// Calls `visit` for each element of a JSON list, with the element's position in the document.
  void each(const llvm::json::Object &object, llvm::StringRef key, const std::string &at,
            llvm::function_ref<void(const llvm::json::Value &, const std::string &)> visit);
  std::vector<std::string> strings(const llvm::json::Object &object, llvm::StringRef key, const std::string &at);

private:
  std::string file;
  Diagnostics &diagnostics;
};

} // namespace hewn

#endif
