// SPDX-License-Identifier: Apache-2.0
//
// Declares the ops graph.custom and graph.custom_sizes, for code that creates or registers them.
#ifndef HEWN_DIALECTS_GRAPH_CUSTOM_CUSTOM_H
#define HEWN_DIALECTS_GRAPH_CUSTOM_CUSTOM_H

#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Custom/Foreign.h"
#include "dialects/Graph/Graph.h"

#define GET_OP_CLASSES
#include "dialects/Graph/Custom/Custom.h.inc"

#endif
