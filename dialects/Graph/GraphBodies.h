// SPDX-License-Identifier: Apache-2.0
//
// Everything that C++ in the families' .td files calls.
#ifndef HEWN_DIALECTS_GRAPH_GRAPHBODIES_H
#define HEWN_DIALECTS_GRAPH_GRAPHBODIES_H

#include "dialects/Graph/ElementwiseBodies.h"
#include "dialects/Graph/Move/Scatter.h"
#include "dialects/Graph/Normalize.h"
#include "dialects/Graph/Part.h"
#include "dialects/Graph/Quant.h"
#include "dialects/Graph/Reduce.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#endif
