// SPDX-License-Identifier: Apache-2.0
//
// Includes the declarations that the C++ expressions in the .td files of the op families use.
#ifndef HEWN_DIALECTS_GRAPH_GRAPHBODIES_H
#define HEWN_DIALECTS_GRAPH_GRAPHBODIES_H

#include "dialects/Graph/Elementwise/ElementwiseBodies.h"
#include "dialects/Graph/Indexing/Scatter.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Graph/Reduce/Normalize/Normalize.h"
#include "dialects/Graph/Reduce/Reduce.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#endif
