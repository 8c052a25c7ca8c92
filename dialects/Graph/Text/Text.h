// SPDX-License-Identifier: Apache-2.0
//
// Strings: constants, lookups and conversions for the builders of ONNX nodes.
#ifndef HEWN_DIALECTS_GRAPH_TEXT_TEXT_H
#define HEWN_DIALECTS_GRAPH_TEXT_TEXT_H

#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Handle/Handle.h"

namespace hewn::graph {

/// Creates a ui8 constant from bytes.
using MakeBytes = llvm::function_ref<mlir::Value(mlir::RankedTensorType, std::vector<char>)>;
/// Emits constant strings as a tensor of the given shape. On failure, sets `reason` and returns
/// null.
mlir::Value makeText(mlir::OpBuilder &b, mlir::Location loc, MakeBytes makeBytes, llvm::ArrayRef<std::string> strings,
                     llvm::ArrayRef<int64_t> shape, std::string &reason);
/// Emits constant strings as a tensor, at the location of a node. Calls `refuse` and returns null
/// if a string contains a zero byte.
mlir::Value makeText(OnnxNode &node, llvm::ArrayRef<std::string> strings, llvm::ArrayRef<int64_t> shape);
/// Emits the bytes of one string as a ui8 constant, with a terminating zero.
mlir::Value makeBytesOf(OnnxNode &node, llvm::StringRef text);
/// Returns a hash table (hewn/hash.h) of `count` entries. Of entries that are the same, it
/// has the first.
llvm::SmallVector<int32_t> hashTable(size_t count, llvm::function_ref<uint64_t(size_t)> hashOf,
                                     llvm::function_ref<bool(size_t, size_t)> isSame);
/// Emits a hash table as an i32 constant.
mlir::Value hashTableOf(OnnxNode &node, llvm::ArrayRef<int32_t> slots);
/// Emits, for each element of x, the index of the first key that is equal to it, or the number of
/// keys if there is none.
mlir::Value lookup(OnnxNode &node, mlir::Value x, llvm::ArrayRef<std::string> keys);
mlir::Value lookup(OnnxNode &node, mlir::Value x, llvm::ArrayRef<double> keys);
mlir::Value lookup(OnnxNode &node, mlir::Value x, llvm::ArrayRef<int64_t> keys);
/// Emit ops that convert strings to numbers of type `to`, and numbers to strings.
mlir::Value parseText(OnnxNode &node, mlir::Value x, mlir::Type to);
mlir::Value formatText(OnnxNode &node, mlir::Value x);

} // namespace hewn::graph

#endif
