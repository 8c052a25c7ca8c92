// SPDX-License-Identifier: Apache-2.0
//
// The bytes of constants in another layout.
#ifndef HEWN_LIB_TRANSFORMS_LAYOUT_PACKING_H
#define HEWN_LIB_TRANSFORMS_LAYOUT_PACKING_H

#include "mlir/IR/BuiltinTypes.h"
#include <vector>

namespace hewn {

/// Whether `packElements` takes elements of this type: those of one, two, four or eight bytes, and bools.
bool canPack(mlir::Type element);

/// Bytes that a tensor of this type takes as its layout has it, the padding of blocks included. Dims and element as packElements
/// takes them.
int64_t packedBytes(mlir::RankedTensorType type);

/// Whether every element lies at the same place in both, and nothing else is in either: packing changes no byte. Types as packElements takes them.
bool isSameMemory(mlir::RankedTensorType from, mlir::RankedTensorType to);

/// The elements in `bytes`, which lie as `from` says, as `to` says: another order, blocks padded with zeros, windows
/// transformed (float32 alone). Both types have the same static dims and element; `bytes` has packedBytes(from) of them.
std::vector<char> packElements(llvm::ArrayRef<char> bytes, mlir::RankedTensorType from, mlir::RankedTensorType to);

} // namespace hewn

#endif
