// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/ModelFile.h"

#include "lib/Importer/ONNX/Guarded.h"
#include "llvm/Support/MemoryBuffer.h"
#include <climits>
#include <google/protobuf/stubs/logging.h>
#include <onnx/defs/parser.h>

namespace hewn::importer {

/// Whether brackets nest deeper than a stack holds: ONNX's text parser recurses.
static bool nestsTooDeep(llvm::StringRef text) {
  constexpr int most = 256;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        i += text[i] == '\\';
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if ((c == '=' || c == '-') && text.substr(i + 1).starts_with(">")) {
      ++i; // an arrow closes nothing
    } else if (llvm::StringRef("({[<").contains(c)) {
      if (++depth > most)
        return true;
    } else if (llvm::StringRef(")}]>").contains(c) && depth > 0) {
      --depth;
    }
  }
  return false;
}

static bool isText(const ImportOptions &options, llvm::StringRef bytes) {
  llvm::StringRef path = options.path;
  // No binary model starts with '<': it would be the end of a group.
  return path.ends_with(".onnxtxt") || path.ends_with(".txt") || bytes.starts_with("<");
}

static bool parseText(llvm::StringRef bytes, onnx::ModelProto &model, std::string &reason) {
  if (nestsTooDeep(bytes)) {
    reason = "brackets nest too deep";
    return false;
  }
  std::string failure;
  bool ran = guarded(reason, [&] {
    onnx::Common::Status status = onnx::OnnxParser::Parse(model, std::string_view(bytes.data(), bytes.size()));
    if (!status.IsOK())
      failure = status.ErrorMessage();
  });
  if (ran)
    reason = failure;
  return ran && failure.empty();
}

static bool parseBinary(llvm::StringRef bytes, onnx::ModelProto &model, std::string &reason) {
  if (bytes.size() > INT_MAX) {
    reason = "it has more than 2 GB, which is all that protobuf allows: keep its weights as external data";
    return false;
  }
  google::protobuf::LogSilencer quiet;
  bool parsed = false;
  if (!guarded(reason, [&] { parsed = model.ParsePartialFromArray(bytes.data(), int(bytes.size())); }))
    return false;
  if (!parsed)
    reason = "it is truncated, or no ONNX model";
  return parsed;
}

std::shared_ptr<const onnx::ModelProto> loadModel(const ImportOptions &options, Diagnostics &diagnostics) {
  std::unique_ptr<llvm::MemoryBuffer> file;
  llvm::StringRef bytes = options.bytes;
  std::string name = options.path.empty() ? "the model" : "'" + options.path + "'";
  if (!options.path.empty()) {
    auto buffer = llvm::MemoryBuffer::getFile(options.path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer) {
      diagnostics.error("cannot read " + name + ": " + buffer.getError().message());
      return nullptr;
    }
    file = std::move(*buffer);
    bytes = file->getBuffer();
  }
  auto model = std::make_shared<onnx::ModelProto>();
  std::string reason;
  bool good = isText(options, bytes) ? parseText(bytes, *model, reason) : parseBinary(bytes, *model, reason);
  if (good && !model->has_graph()) {
    good = false;
    reason = "it has no graph";
  }
  if (!good) {
    diagnostics.error("cannot read " + name + " as an ONNX model: " + reason);
    return nullptr;
  }
  return model;
}

} // namespace hewn::importer
