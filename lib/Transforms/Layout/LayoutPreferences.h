// SPDX-License-Identifier: Apache-2.0
//
// Layouts that the users of a value prefer.
#ifndef HEWN_LIB_TRANSFORMS_LAYOUT_LAYOUTPREFERENCES_H
#define HEWN_LIB_TRANSFORMS_LAYOUT_LAYOUTPREFERENCES_H

#include "dialects/Graph/Graph.h"

namespace hewn {

/// Returns the channel dim of a convolution's left operand: the only dim that does not depend on a
/// row dim.
std::optional<int64_t> channelDim(llvm::ArrayRef<mlir::AffineMap> maps, llvm::ArrayRef<bool> summed);

/// Returns true if more users of `value` prefer `order` than row-major. Looks through elementwise
/// and indexing ops. Convolutions prefer contiguous channels; GEMMs and reductions prefer
/// contiguous reduction dims.
bool readersPrefer(mlir::Value value, llvm::ArrayRef<int64_t> order);
/// Returns true if more users of `value` prefer row-major than `order`, and at least one of these
/// is a reduction.
bool reductionsPreferOther(mlir::Value value, llvm::ArrayRef<int64_t> order);

} // namespace hewn

#endif
