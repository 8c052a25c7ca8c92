// SPDX-License-Identifier: Apache-2.0
//
// Everything that C++ in the families' .td files calls.
#ifndef HEWN_DIALECTS_GRAPH_GRAPHBODIES_H
#define HEWN_DIALECTS_GRAPH_GRAPHBODIES_H

#include "dialects/Graph/Elementwise/ElementwiseBodies.h"
#include "dialects/Graph/Move/Scatter.h"
#include "dialects/Graph/Part/Part.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Reduce/Normalize/Normalize.h"
#include "dialects/Graph/Reduce/Reduce.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#endif
