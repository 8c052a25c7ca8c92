// SPDX-License-Identifier: Apache-2.0
//
// Which layouts the readers of a value prefer.
#ifndef HEWN_LIB_TRANSFORMS_LAYOUT_LAYOUTPREFERENCES_H
#define HEWN_LIB_TRANSFORMS_LAYOUT_LAYOUTPREFERENCES_H

#include "dialects/Graph/Graph.h"

namespace hewn {

/// The dim of a contraction's left operand that no row dim runs along: a window's channels.
std::optional<int64_t> channelDim(llvm::ArrayRef<mlir::AffineMap> maps, llvm::ArrayRef<bool> summed);

/// Whether more of those that read `value`, also through moves and elementwise ops, are better served where it lies in `order`
/// than where it is row-major. Windows want their channels innermost, sums and reductions what they go over.
bool readersPrefer(mlir::Value value, llvm::ArrayRef<int64_t> order);
/// Whether more of them are worse served, and reductions are among these.
bool reductionsPreferOther(mlir::Value value, llvm::ArrayRef<int64_t> order);

} // namespace hewn

#endif
