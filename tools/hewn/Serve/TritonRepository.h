// SPDX-License-Identifier: Apache-2.0
//
// hewn compile --triton: a model as Triton Inference Server's repositories have them: DIR/NAME/config.pbtxt and DIR/NAME/1/model.so.
#ifndef HEWN_TOOLS_HEWN_SERVE_TRITONREPOSITORY_H
#define HEWN_TOOLS_HEWN_SERVE_TRITONREPOSITORY_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace hewn::tool {

/// One model that is being made. Nothing of what is there changes until all of the new one is.
class TritonRepository {
public:
  /// Makes the model's folder in `folder` and one in it to compile into. False after an error was printed.
  bool open(const std::string &folder, const std::string &name);
  TritonRepository() = default;
  TritonRepository(const TritonRepository &) = delete;
  /// Removes what was not finished.
  ~TritonRepository();

  /// Where the compiler writes the library.
  std::string library() const;
  /// Writes the config, from what the library says of itself, and gives all files their places. `states` are IN=OUT: inputs that in a
  /// sequence of requests are what an output was. False after an error was printed; else `written` has the files.
  bool finish(llvm::ArrayRef<std::string> states, std::vector<std::string> &written);

private:
  static bool refuse(const std::string &why);

  std::string name, model, scratch;
  std::vector<std::string> made; // folders, outer ones first, which go where nothing was put into them
};

/// What is wrong with a name for Triton, which has it in paths and addresses; empty where nothing is.
std::string whyNoTritonName(llvm::StringRef name);

/// The text of config.pbtxt for `artifact`, as docs/reference/json.md describes one; `why` where Triton can't serve it.
std::string tritonConfig(const llvm::json::Object &artifact, llvm::StringRef name, llvm::ArrayRef<std::string> states,
                         std::string &why);

} // namespace hewn::tool

#endif
