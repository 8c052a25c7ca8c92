// SPDX-License-Identifier: Apache-2.0
// Parses a model from a file or from bytes.
#ifndef HEWN_LIB_IMPORTER_ONNX_MODELFILE_H
#define HEWN_LIB_IMPORTER_ONNX_MODELFILE_H

#include "lib/Importer/ONNX/Importer.h"
#include "lib/Importer/ONNX/Tensors.h"
#include <memory>
#include <onnx/onnx_pb.h>

namespace hewn::importer {

/// A parsed model. It must be kept alive as long as weights refer to its bytes.
struct LoadedModel {
  onnx::ModelProto proto;
  /// The mapped model file, which contains the bytes that `raw` refers to.
  std::shared_ptr<const llvm::MemoryBuffer> file;
  /// Raw data of large initializers. It stays in the mapped model file, because protobuf would copy
  /// it.
  RawBytes raw;
};

/// Reads a model in binary or text format. Returns null after reporting an error.
std::shared_ptr<LoadedModel> loadModel(const ImportOptions &options, Diagnostics &diagnostics);

} // namespace hewn::importer

#endif
