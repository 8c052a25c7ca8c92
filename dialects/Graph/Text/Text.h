// SPDX-License-Identifier: Apache-2.0
//
// Strings, as builders of ONNX nodes make and look for them.
#ifndef HEWN_DIALECTS_GRAPH_TEXT_TEXT_H
#define HEWN_DIALECTS_GRAPH_TEXT_TEXT_H

#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Handle/Handle.h"

namespace hewn::graph {

/// Makes a constant of bytes.
using MakeBytes = llvm::function_ref<mlir::Value(mlir::RankedTensorType, std::vector<char>)>;
/// Constant strings of a shape where `b` stands; null, and why in `reason`.
mlir::Value makeText(mlir::OpBuilder &b, mlir::Location loc, MakeBytes makeBytes, llvm::ArrayRef<std::string> strings,
                     llvm::ArrayRef<int64_t> shape, std::string &reason);
/// The same of a node; null after `refuse`: strings of the runtime can't hold zero bytes.
mlir::Value makeText(OnnxNode &node, llvm::ArrayRef<std::string> strings, llvm::ArrayRef<int64_t> shape);
/// The bytes of one string and a zero behind them.
mlir::Value makeBytesOf(OnnxNode &node, llvm::StringRef text);
/// For each element of x the place of its equal in the list, the list's length where there is none; of equal entries the first.
mlir::Value lookup(OnnxNode &node, mlir::Value x, llvm::ArrayRef<std::string> keys);
mlir::Value lookup(OnnxNode &node, mlir::Value x, llvm::ArrayRef<double> keys);
mlir::Value lookup(OnnxNode &node, mlir::Value x, llvm::ArrayRef<int64_t> keys);
/// The numbers of type `to` that strings write, and numbers as strings.
mlir::Value parseText(OnnxNode &node, mlir::Value x, mlir::Type to);
mlir::Value formatText(OnnxNode &node, mlir::Value x);

} // namespace hewn::graph

#endif
