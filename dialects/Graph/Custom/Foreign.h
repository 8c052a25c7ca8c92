// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_DIALECTS_GRAPH_CUSTOM_FOREIGN_H
#define HEWN_DIALECTS_GRAPH_CUSTOM_FOREIGN_H

#include "mlir/IR/OpDefinition.h"

#include "dialects/Graph/Custom/Foreign.h.inc"

#endif
