// SPDX-License-Identifier: Apache-2.0
//
// The dialect `graph` as code outside of dialects/Graph sees it: kinds of op, and the ops that hold a program together. What
// names other ops (their own families, mostly) includes the family's header, <family>Ops.h, which the build makes of its .td.
#ifndef HEWN_DIALECTS_GRAPH_GRAPH_H
#define HEWN_DIALECTS_GRAPH_GRAPH_H

#include "dialects/Graph/Analysis/Bands.h"
#include "dialects/Graph/Analysis/Cuts.h"
#include "dialects/Graph/Analysis/Items.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Analysis/Shapes.h"
#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Control/ControlValues.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Graph/GraphDialect.h.inc"
#include "dialects/Graph/GraphInterfaces.h.inc"

namespace hewn::graph {
/// What the symbols of a run are: an op writes to it where it tells one, so that it is called also where nobody reads its results.
struct SymbolResource : mlir::SideEffects::Resource::Base<SymbolResource> {
  llvm::StringRef getName() final { return "symbols"; }
};
/// What the ranks of a model that is split do together: ops that write to it stay in their order.
struct PeersResource : mlir::SideEffects::Resource::Base<PeersResource> {
  llvm::StringRef getName() final { return "peers"; }
};
} // namespace hewn::graph

#define GET_ATTRDEF_CLASSES
#include "dialects/Graph/GraphAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Graph/Control/Program.h.inc"

#define GET_OP_CLASSES
#include "dialects/Graph/Control/Control.h.inc"

#endif
