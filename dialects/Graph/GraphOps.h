// SPDX-License-Identifier: Apache-2.0
//
// All ops of the dialect. For the families themselves and for what makes ops; passes need Graph.h alone.
#ifndef HEWN_DIALECTS_GRAPH_GRAPHOPS_H
#define HEWN_DIALECTS_GRAPH_GRAPHOPS_H

#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Discontinuous.h"
#include "dialects/Graph/Graph.h"

#include "dialects/Graph/GraphFamilies.h.inc"

#endif
