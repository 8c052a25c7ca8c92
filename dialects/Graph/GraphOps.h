// SPDX-License-Identifier: Apache-2.0
//
// Declares all ops of the dialect `graph`, for the op families and for code that creates ops.
// Passes only need Graph.h.
#ifndef HEWN_DIALECTS_GRAPH_GRAPHOPS_H
#define HEWN_DIALECTS_GRAPH_GRAPHOPS_H

#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Discontinuous.h"
#include "dialects/Graph/Graph.h"

#include "dialects/Graph/GraphFamilies.h.inc"

#endif
