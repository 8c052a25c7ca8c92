// SPDX-License-Identifier: Apache-2.0
//
// ONNX's data types as element types of ours.
#ifndef HEWN_LIB_IMPORTER_ONNX_ONNXTYPES_H
#define HEWN_LIB_IMPORTER_ONNX_ONNXTYPES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace hewn::importer {

/// The element type of a TensorProto.DataType; null where hewn has none (strings, complex numbers).
mlir::Type elementType(mlir::MLIRContext *context, int64_t onnxCode);
/// The inverse; 0 (UNDEFINED) for types that ONNX has not.
int onnxCode(mlir::Type elementType);
/// "FLOAT16", or "data type 99".
std::string dataTypeName(int64_t onnxCode);

} // namespace hewn::importer

#endif
