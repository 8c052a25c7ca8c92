// SPDX-License-Identifier: Apache-2.0
//
// Determines which names the nodes of a graph read, and from that a topological order of the nodes
// and the nodes that given values depend on.
#ifndef HEWN_LIB_IMPORTER_ONNX_NODEORDER_H
#define HEWN_LIB_IMPORTER_ONNX_NODEORDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <onnx/onnx_pb.h>
#include <vector>

namespace hewn::importer {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// Returns the names of the graph's values that have an initializer. Inputs with such a name are
/// constants.
llvm::StringSet<> initializedNames(const onnx::GraphProto &graph);

/// Calls `visit` with each name that the node reads. That includes names that its subgraphs read
/// from the enclosing graph.
void namesRead(const onnx::NodeProto &node, llvm::function_ref<void(llvm::StringRef)> visit);

/// Returns the indices of the graph's nodes in topological order. If the order in the file is
/// topological, returns that order. Nodes on a cycle are omitted.
llvm::SmallVector<int> sortNodes(const Nodes &nodes);

/// Returns for each node of the graph whether one of the values named in `wanted` depends on it.
std::vector<bool> neededNodes(const Nodes &nodes, llvm::ArrayRef<int> order, llvm::ArrayRef<llvm::StringRef> wanted);

/// Removes those functions of the model that no node of the graph calls, directly or indirectly.
void dropUncalledFunctions(onnx::ModelProto &model);

} // namespace hewn::importer

#endif
