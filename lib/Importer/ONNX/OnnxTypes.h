// SPDX-License-Identifier: Apache-2.0
// Conversion between ONNX data types and element types.
#ifndef HEWN_LIB_IMPORTER_ONNX_ONNXTYPES_H
#define HEWN_LIB_IMPORTER_ONNX_ONNXTYPES_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace onnx {
class TypeProto;
}

namespace hewn::importer {

/// Returns the element type for a TensorProto.DataType, or null if hewn does not support the type
/// (complex numbers).
mlir::Type elementType(mlir::MLIRContext *context, int64_t onnxCode);
/// Returns the type of the handle that represents a sequence or optional value. It is the element
/// type of the tensor that holds the handle. For a tensor type, returns the handle type of an
/// optional tensor. If hewn does not support the type, returns null and sets `reason`.
mlir::Type listType(mlir::MLIRContext *context, const onnx::TypeProto &type, std::string &reason);
/// Element types of the keys and the values of a map.
struct MapTypes {
  mlir::Type key, value;
};
/// Returns the types of a map, or of the maps in a sequence of maps. For other types, and if hewn
/// does not support the map, returns nullopt and sets `reason`.
std::optional<MapTypes> mapTypes(mlir::MLIRContext *context, const onnx::TypeProto &type, std::string &reason);
/// Returns true if the type is a map or a sequence of maps.
bool hasMap(const onnx::TypeProto &type);
/// Returns the TensorProto.DataType of an element type, or 0 (UNDEFINED) if ONNX has none.
int onnxCode(mlir::Type elementType);
/// Returns the name of a data type, such as "FLOAT16", or "data type 99" if the number is unknown.
std::string dataTypeName(int64_t onnxCode);

} // namespace hewn::importer

#endif
