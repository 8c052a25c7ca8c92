// SPDX-License-Identifier: Apache-2.0
//
// The public header of the dialect `graph`: op interfaces, and the ops for program structure. Code
// that names ops of another family also includes the family's header <family>Ops.h, which the build
// generates from the family's .td.
#ifndef HEWN_DIALECTS_GRAPH_GRAPH_H
#define HEWN_DIALECTS_GRAPH_GRAPH_H

#include "dialects/Graph/Analysis/BatchRule.h"
#include "dialects/Graph/Analysis/Halo.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Analysis/Shapes.h"
#include "dialects/Graph/Analysis/Sharding.h"
#include "dialects/Graph/Builders/Element.h"
#include "dialects/Graph/Control/ControlValues.h"
#include "lib/Support/WeightStore.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <functional>
#include <vector>

namespace hewn::graph {
/// Compiles and runs the function `main` of a graph-stage module, and returns the bytes of each
/// result. `main` has no arguments. The module is consumed. Several threads may call it at once.
using ConstantEvaluator =
    std::function<mlir::FailureOr<std::vector<std::vector<char>>>(mlir::OwningOpRef<mlir::ModuleOp>)>;
} // namespace hewn::graph

#include "dialects/Graph/GraphDialect.h.inc"
#include "dialects/Graph/GraphInterfaces.h.inc"

namespace hewn::graph {
/// Returns the bytes to which the `#graph.weight` attributes of the context refer. The context must
/// have loaded the dialect.
inline WeightStore &weightsOf(mlir::MLIRContext *context) {
  return context->getLoadedDialect<GraphDialect>()->getWeights();
}

/// Returns the evaluator of constants, or null if there is none. lib/Compiler sets it, since passes
/// must not depend on lib/Compiler. The context must have loaded the dialect.
inline const ConstantEvaluator &evaluatorOf(mlir::MLIRContext *context) {
  return context->getLoadedDialect<GraphDialect>()->getEvaluator();
}

/// Side-effect resource for the symbols of a run. An op that defines a symbol writes to it, so that
/// the op is not erased if its results have no uses.
struct SymbolResource : mlir::SideEffects::Resource::Base<SymbolResource> {
  llvm::StringRef getName() final { return "symbols"; }
};
/// Side-effect resource for the communication between the ranks of a sharded model. Ops that write
/// to it keep their order.
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
