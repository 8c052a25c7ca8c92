// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_DISCONTINUOUS_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_DISCONTINUOUS_H

#include "mlir/IR/OpDefinition.h"

namespace hewn::graph {

/// Trait of ops such as rounding, comparison and functions with a limited domain, whose result may
/// jump when an operand changes in its last bit. Operands that were computed in a wider type are
/// therefore rounded to their own type before such an op
/// (docs/decisions/numbers/half-precision.md).
template <typename ConcreteOp> class Discontinuous : public mlir::OpTrait::TraitBase<ConcreteOp, Discontinuous> {};

} // namespace hewn::graph

#endif
