// SPDX-License-Identifier: Apache-2.0
//
// From a file or bytes to a parsed model.
#ifndef HEWN_LIB_IMPORTER_ONNX_MODELFILE_H
#define HEWN_LIB_IMPORTER_ONNX_MODELFILE_H

#include "lib/Importer/ONNX/Importer.h"
#include <memory>
#include <onnx/onnx_pb.h>

namespace hewn::importer {

/// Reads a model, binary or text; null after an error. Weights point into it, so it is shared.
std::shared_ptr<const onnx::ModelProto> loadModel(const ImportOptions &options, Diagnostics &diagnostics);

} // namespace hewn::importer

#endif
