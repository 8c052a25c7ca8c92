// SPDX-License-Identifier: Apache-2.0
// Checks nodes against ONNX's definition of their op, so that builders may assume that inputs exist
// and have compatible types.
#ifndef HEWN_LIB_IMPORTER_ONNX_SCHEMACHECK_H
#define HEWN_LIB_IMPORTER_ONNX_SCHEMACHECK_H

#include "mlir/IR/Value.h"
#include <onnx/onnx_pb.h>

namespace hewn::importer {

/// Returns the ONNX types of the values. The type of an omitted optional input (a null value) is
/// empty.
std::vector<onnx::TypeProto> onnxTypes(llvm::ArrayRef<mlir::Value> values);

/// Checks a node against ONNX's definition of its op for version `opset` of its domain: the number
/// and types of its inputs, and required attributes. Returns the error, or "" if there is none or
/// ONNX does not define the op.
std::string schemaObjection(const onnx::NodeProto &node, llvm::StringRef domain, int64_t opset,
                            llvm::ArrayRef<mlir::Value> inputs);

/// Returns the ONNX type of a sequence, optional value, map or sequence of maps as text, for
/// messages: "seq(map(int64,tensor(float)))".
std::string listTypeText(mlir::Value value);

/// Checks the inputs of a node whose op ONNX does not define: all must be tensors. Returns the
/// error, or "" if there is none.
std::string listObjection(llvm::ArrayRef<mlir::Value> inputs);

} // namespace hewn::importer

#endif
