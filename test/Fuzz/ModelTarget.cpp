// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer's custom mutators for targets whose input is a model. They use the protobuf classes of
// the onnx library.
#include "test/Fuzz/ModelTarget.h"
#include "test/Fuzz/ModelMutator.h"

#include <algorithm>
#include <cstring>
#include <google/protobuf/stubs/logging.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace hewn::fuzz {

void expectNoDefect(const Diagnostics &diagnostics) {
  for (const Message &message : diagnostics.messages())
    if (message.str().find("internal error") != std::string::npos) {
      fprintf(stderr, "%s\n", message.str().c_str());
      abort();
    }
}

/// Returns the names of all ops and of their attributes, and some domains and dim names.
static const std::vector<std::string> &knownNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"", "com.microsoft", "ai.onnx.ml", "N", "batch"};
    for (const onnx::OpSchema &schema : onnx::OpSchemaRegistry::get_all_schemas()) {
      all.push_back(schema.Name());
      for (const auto &attribute : schema.attributes())
        all.push_back(attribute.first);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }();
  return names;
}

static size_t store(const onnx::ModelProto &model, uint8_t *data, size_t size, size_t most) {
  std::string bytes;
  if (!model.SerializeToString(&bytes) || bytes.size() > most)
    return size;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

} // namespace hewn::fuzz

using namespace hewn::fuzz;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  google::protobuf::LogSilencer quiet;
  onnx::ModelProto model;
  // One of 16 mutations changes bytes, to test that the parser rejects invalid data.
  if (seed % 16 == 0 || !model.ParseFromArray(data, int(size)))
    return LLVMFuzzerMutate(data, size, most);
  ModelMutator(seed, knownNames()).mutate(model);
  return store(model, data, size, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize, const uint8_t *second,
                                            size_t secondSize, uint8_t *out, size_t most, unsigned seed) {
  google::protobuf::LogSilencer quiet;
  onnx::ModelProto model, other;
  if (!model.ParseFromArray(first, int(firstSize)) || !other.ParseFromArray(second, int(secondSize)))
    return 0;
  ModelMutator(seed, knownNames()).cross(model, other);
  return store(model, out, 0, most);
}
