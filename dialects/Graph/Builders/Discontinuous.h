// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_DIALECTS_GRAPH_BUILDERS_DISCONTINUOUS_H
#define HEWN_DIALECTS_GRAPH_BUILDERS_DISCONTINUOUS_H

#include "mlir/IR/OpDefinition.h"

namespace hewn::graph {

/// Of an op whose result may jump where an operand moves by its last digit: a rounding, a comparison, a function that ends somewhere.
/// Operands that were computed in a wider type are rounded to their own one first (docs/decisions/numbers/narrow-floats.md).
template <typename ConcreteOp> class Discontinuous : public mlir::OpTrait::TraitBase<ConcreteOp, Discontinuous> {};

} // namespace hewn::graph

#endif
