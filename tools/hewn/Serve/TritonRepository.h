// SPDX-License-Identifier: Apache-2.0
//
// `hewn compile --triton`: writes a model into a repository of Triton Inference Server, as
// DIR/NAME/config.pbtxt and DIR/NAME/1/model.so.
#ifndef HEWN_TOOLS_HEWN_SERVE_TRITONREPOSITORY_H
#define HEWN_TOOLS_HEWN_SERVE_TRITONREPOSITORY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace hewn::tool {

/// A model that is written to a repository. Existing files are only replaced once all new files are
/// complete.
class TritonRepository {
public:
  /// Creates the model's folder in `folder`, and a scratch folder in it. Returns false after
  /// printing an error.
  bool open(const std::string &folder, const std::string &name);
  TritonRepository() = default;
  TritonRepository(const TritonRepository &) = delete;
  /// Removes files of an incomplete write, and the folders that it created if they are empty.
  ~TritonRepository();

  /// Returns the path to which the compiler writes the library.
  std::string library() const;
  /// Writes the config from the library's description, and renames all files to their final paths.
  /// `written` receives these paths. `states` are pairs IN=OUT: in a sequence of requests, the
  /// input IN takes the value of the output OUT of the previous request. Returns false after
  /// printing an error.
  bool finish(llvm::ArrayRef<std::string> states, std::vector<std::string> &written);

private:
  static bool refuse(const std::string &why);

  std::string name, model, scratch;
  std::vector<std::string> made; // created folders, outer ones first; removed again if they stay empty
};

/// Returns why `name` is not a valid model name for Triton (it is used in paths and URLs), or an
/// empty string.
std::string whyNoTritonName(llvm::StringRef name);

/// Returns the text of config.pbtxt for `artifact`, a description as in docs/reference/json.md.
/// Sets `why` if Triton cannot serve the model.
std::string tritonConfig(const llvm::json::Object &artifact, llvm::StringRef name, llvm::ArrayRef<std::string> states,
                         std::string &why);

} // namespace hewn::tool

#endif
