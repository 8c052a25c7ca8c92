// SPDX-License-Identifier: Apache-2.0
//
// Table of the `onnx` records in dialects/Graph/*.td, which map ONNX ops to graph ops.
// tools/generate/onnx_table.py generates OnnxTable.inc during the build.
#ifndef HEWN_LIB_IMPORTER_ONNX_ONNXTABLE_H
#define HEWN_LIB_IMPORTER_ONNX_ONNXTABLE_H

#include "dialects/Graph/Builders/OnnxNode.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace hewn::importer {

/// Type of an attribute that is copied from an ONNX node to the graph op.
enum class AttrForm { Integer, Float, Double, String, Bool, Integers, Floats, Bools, ElementType };
enum class OperandForm { One, Optional, Variadic };

struct DirectAttr {
  llvm::StringLiteral name;
  AttrForm form;
  bool required;
};

/// Record of an ONNX op for a range of versions of its domain.
struct OnnxRecord {
  llvm::StringLiteral domain, op;
  int64_t since, until; // first and last version of the op's domain that the record is for
  /// Function that creates the graph ops, or null if the node is mapped directly to the op
  /// `graphOp`.
  llvm::LogicalResult (*build)(graph::OnnxNode &);
  llvm::StringLiteral graphOp;
  llvm::ArrayRef<DirectAttr> attrs;
  llvm::ArrayRef<OperandForm> operands;
  unsigned numResults;
  bool segmentSizes;
};

/// Returns the record of the op for version `opset` of its domain, or null if there is none.
const OnnxRecord *findRecord(llvm::StringRef domain, llvm::StringRef op, int64_t opset);
/// Returns the supported versions of the op as a text for users, such as "7 and later", or "" if no
/// version is supported.
std::string recordedVersions(llvm::StringRef domain, llvm::StringRef op);

} // namespace hewn::importer

#endif
