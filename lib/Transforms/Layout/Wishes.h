// SPDX-License-Identifier: Apache-2.0
//
// What the readers of a value want its memory to be like.
#ifndef HEWN_LIB_TRANSFORMS_LAYOUT_WISHES_H
#define HEWN_LIB_TRANSFORMS_LAYOUT_WISHES_H

#include "dialects/Graph/GraphOps.h"

namespace hewn {

/// The dim of a contraction's left operand that no row dim runs along: a window's channels.
std::optional<int64_t> channelDim(llvm::ArrayRef<mlir::AffineMap> maps, llvm::ArrayRef<bool> summed);

/// Whether more of those that read `value`, also through moves and elementwise ops, are better served where it lies in `order`
/// than where it is row-major. Windows want their channels innermost, sums and reductions what they go over.
bool readersWant(mlir::Value value, llvm::ArrayRef<int64_t> order);
/// Whether more of them are worse served, and reductions are among these.
bool reductionsDislike(mlir::Value value, llvm::ArrayRef<int64_t> order);

} // namespace hewn

#endif
