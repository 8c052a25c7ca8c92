// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of a graph read, and what follows from it: their order, and which of them are needed.
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

/// Names of values that the graph has constants for: inputs of these names are not fed.
llvm::StringSet<> initializedNames(const onnx::GraphProto &graph);

/// Names that a node reads, those that its subgraphs read from outside included.
void namesRead(const onnx::NodeProto &node, llvm::function_ref<void(llvm::StringRef)> visit);

/// An order in which each node comes after those that it reads from, the file's own where that is one. Nodes on a cycle
/// are left out.
llvm::SmallVector<int> sortNodes(const Nodes &nodes);

/// For each node whether one of `wanted` needs it.
std::vector<bool> neededNodes(const Nodes &nodes, llvm::ArrayRef<int> order, llvm::ArrayRef<llvm::StringRef> wanted);

/// Leaves out the model's functions that no node of its graph calls, not even through another one.
void dropUncalledFunctions(onnx::ModelProto &model);

} // namespace hewn::importer

#endif
