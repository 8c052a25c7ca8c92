// SPDX-License-Identifier: Apache-2.0
//
// Nodes against ONNX's own definition of their op: builders may then take for granted that inputs are there and of
// types that go together.
#ifndef HEWN_LIB_IMPORTER_ONNX_SCHEMACHECK_H
#define HEWN_LIB_IMPORTER_ONNX_SCHEMACHECK_H

#include "mlir/IR/Value.h"
#include <onnx/onnx_pb.h>

namespace hewn::importer {

/// The types of values as ONNX writes them; an absent value has an empty one.
std::vector<onnx::TypeProto> onnxTypes(llvm::ArrayRef<mlir::Value> values);

/// What is wrong with a node by the definition of its op at that version: number and types of inputs, required
/// attributes.
/// "" where nothing is, or where ONNX does not define the op.
std::string schemaObjection(const onnx::NodeProto &node, llvm::StringRef domain, int64_t opset,
                            llvm::ArrayRef<mlir::Value> inputs);

/// The same of an op that ONNX does not define: all of its inputs are tensors.
std::string listObjection(llvm::ArrayRef<mlir::Value> inputs);

} // namespace hewn::importer

#endif
