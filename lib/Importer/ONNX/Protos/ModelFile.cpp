// SPDX-License-Identifier: Apache-2.0
#include "lib/Importer/ONNX/Protos/ModelFile.h"

#include "lib/Importer/ONNX/Guarded.h"
#include "lib/Support/Files/FileKind.h"
#include "lib/Support/Files/InputFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include <climits>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/defs/parser.h>

namespace hewn::importer {

/// Returns true if brackets in a text model are nested so deep that ONNX's text parser, which is
/// recursive, could overflow the stack.
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
      ++i; // the '>' is part of an arrow, not a bracket
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
  // A model that starts with '<' is text: as a binary protobuf message it would start with an
  // end-group tag, which is invalid.
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

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

/// Splits the bytes of a protobuf message: calls `take` with each length-delimited field, and
/// appends all fields that `take` does not accept to `rest`.
static bool splitFields(llvm::StringRef bytes, llvm::function_ref<bool(int field, llvm::StringRef payload)> take,
                        std::string &rest) {
  namespace pb = google::protobuf;
  using Wire = pb::internal::WireFormatLite;
  pb::io::CodedInputStream in(reinterpret_cast<const uint8_t *>(bytes.data()), int(bytes.size()));
  pb::io::StringOutputStream sink(&rest);
  pb::io::CodedOutputStream out(&sink);
  while (uint32_t tag = in.ReadTag()) {
    if (Wire::GetTagWireType(tag) != Wire::WIRETYPE_LENGTH_DELIMITED) {
      if (!Wire::SkipField(&in, tag, &out))
        return false;
      continue;
    }
    uint32_t size;
    if (!in.ReadVarint32(&size) || size > bytes.size() - in.CurrentPosition())
      return false;
    llvm::StringRef payload = bytes.substr(in.CurrentPosition(), size);
    in.Skip(int(size));
    if (take(Wire::GetTagFieldNumber(tag), payload))
      continue;
    out.WriteVarint32(tag);
    out.WriteVarint32(size);
    out.WriteRaw(payload.data(), int(size));
  }
  return in.ConsumedEntireMessage();
}

/// Minimum size of an initializer's raw data that stays in the mapped model file. Smaller data is
/// copied, because leaving it in the file would save less than a page.
static constexpr size_t kLargeRawBytes = 4096;

static bool parseInitializer(llvm::StringRef bytes, LoadedModel &model) {
  llvm::StringRef raw;
  std::string rest;
  bool split = splitFields(
      bytes,
      [&](int field, llvm::StringRef payload) {
        if (field != onnx::TensorProto::kRawDataFieldNumber || payload.size() < kLargeRawBytes)
          return false;
        raw = payload;
        return true;
      },
      rest);
  onnx::TensorProto &tensor = *model.proto.mutable_graph()->add_initializer();
  if (!split || !tensor.ParseFromString(rest))
    return false;
  if (!raw.empty())
    model.raw[&tensor] = llvm::ArrayRef(raw.data(), raw.size());
  return true;
}

/// Parses a binary model. The graph's initializers are parsed one by one without copying their raw
/// data; protobuf parses all other fields.
static bool parseModel(llvm::StringRef bytes, LoadedModel &model) {
  bool good = true;
  std::string rest, graphRest;
  auto inGraph = [&](int field, llvm::StringRef payload) {
    if (field != onnx::GraphProto::kInitializerFieldNumber)
      return false;
    good = good && parseInitializer(payload, model);
    return true;
  };
  auto inModel = [&](int field, llvm::StringRef payload) {
    if (field != onnx::ModelProto::kGraphFieldNumber)
      return false;
    model.proto.mutable_graph();
    good = good && splitFields(payload, inGraph, graphRest);
    return true;
  };
  return splitFields(bytes, inModel, rest) && good && model.proto.MergeFromString(rest) &&
         (!model.proto.has_graph() || model.proto.mutable_graph()->MergeFromString(graphRest));
}

static bool parseBinary(llvm::StringRef bytes, LoadedModel &model, std::string &reason) {
  if (bytes.size() > INT_MAX) {
    reason = "it exceeds 2 GB, the limit of protobuf: store its weights as external data";
    return false;
  }
  google::protobuf::LogSilencer quiet;
  bool parsed = false;
  if (!guarded(reason, [&] { parsed = parseModel(bytes, model); }))
    return false;
  if (!parsed)
    reason = "it is truncated, or not an ONNX model";
  return parsed;
}

std::shared_ptr<LoadedModel> loadModel(const ImportOptions &options, Diagnostics &diagnostics) {
  auto model = std::make_shared<LoadedModel>();
  llvm::StringRef bytes = options.bytes;
  std::string name = options.path.empty() ? "the model" : "'" + options.path + "'";
  if (!options.path.empty()) {
    std::string why;
    model->file = openRegular(options.path, why);
    if (!model->file) {
      diagnostics.error("cannot read " + name + ": " + why);
      return nullptr;
    }
    bytes = model->file->getBuffer();
  }
  std::string reason;
  bool good = isText(options, bytes) ? parseText(bytes, model->proto, reason) : parseBinary(bytes, *model, reason);
  if (good && !model->proto.has_graph()) {
    good = false;
    reason = "it has no graph";
  }
  if (!good) {
    if (llvm::StringRef kind = knownFileKind(bytes); !kind.empty())
      reason = kind;
    diagnostics.error("cannot read " + name + " as an ONNX model: " + reason);
    return nullptr;
  }
  return model;
}

} // namespace hewn::importer
