// SPDX-License-Identifier: Apache-2.0
//
// Packs the bytes of constants into another layout.
#ifndef HEWN_LIB_TRANSFORMS_LAYOUT_PACKING_H
#define HEWN_LIB_TRANSFORMS_LAYOUT_PACKING_H

#include "mlir/IR/BuiltinTypes.h"
#include <vector>

namespace hewn {

/// Returns true if `packElements` supports the element type: bools and types of 1, 2, 4 or 8 bytes.
bool canPack(mlir::Type element);

/// Returns the size of a tensor in bytes in the layout of its type, including the padding of
/// blocks. The type must be static, with an element type that canPack() accepts.
int64_t packedBytes(mlir::RankedTensorType type);

/// Returns true if converting a tensor from one layout to the other would change no byte: every
/// element has the same offset in both layouts, and neither has padding. The types must satisfy the
/// conditions of packElements().
bool isSameMemory(mlir::RankedTensorType from, mlir::RankedTensorType to);

/// Converts `bytes` from the layout of `from` to the layout of `to`: permutes dims, pads blocks
/// with zeros, and applies the Winograd transform (float16 and float32 only). Both types have the
/// same static dims and element type; `bytes` has packedBytes(from) bytes.
std::vector<char> packElements(llvm::ArrayRef<char> bytes, mlir::RankedTensorType from, mlir::RankedTensorType to);

} // namespace hewn

#endif
