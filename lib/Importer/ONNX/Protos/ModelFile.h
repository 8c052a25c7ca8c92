// SPDX-License-Identifier: Apache-2.0
//
// From a file or bytes to a parsed model.
#ifndef HEWN_LIB_IMPORTER_ONNX_MODELFILE_H
#define HEWN_LIB_IMPORTER_ONNX_MODELFILE_H

#include "lib/Importer/ONNX/Importer.h"
#include "lib/Importer/ONNX/Tensors.h"
#include <memory>
#include <onnx/onnx_pb.h>

namespace hewn::importer {

/// A parsed model, kept as long as weights point into it.
struct LoadedModel {
  onnx::ModelProto proto;
  /// The mapped file, which holds what `raw` names.
  std::shared_ptr<const llvm::MemoryBuffer> file;
  /// Raw bytes of large initializers. They are left in the file: protobuf would copy them.
  RawBytes raw;
};

/// Reads a model, binary or text; null after an error.
std::shared_ptr<LoadedModel> loadModel(const ImportOptions &options, Diagnostics &diagnostics);

} // namespace hewn::importer

#endif
