// SPDX-License-Identifier: Apache-2.0
//
// ONNX's data types as element types of ours.
#ifndef HEWN_LIB_IMPORTER_ONNX_ONNXTYPES_H
#define HEWN_LIB_IMPORTER_ONNX_ONNXTYPES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace onnx {
class TypeProto;
}

namespace hewn::importer {

/// The element type of a TensorProto.DataType; null where hewn has none (complex numbers).
mlir::Type elementType(mlir::MLIRContext *context, int64_t onnxCode);
/// A sequence, or an optional value, as the element type of the tensor that stands for it; a tensor's type as that of an optional
/// tensor. Null, and why in `reason`, where hewn has none.
mlir::Type listType(mlir::MLIRContext *context, const onnx::TypeProto &type, std::string &reason);
/// The inverse; 0 (UNDEFINED) for types that ONNX has not.
int onnxCode(mlir::Type elementType);
/// "FLOAT16", or "data type 99".
std::string dataTypeName(int64_t onnxCode);

} // namespace hewn::importer

#endif
