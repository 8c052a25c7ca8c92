// SPDX-License-Identifier: Apache-2.0
//
// The ONNX records of dialects/Graph/*.td as a table. tools/gen_onnx_table.py writes OnnxTable.inc when building.
#ifndef HEWN_LIB_IMPORTER_ONNX_ONNXTABLE_H
#define HEWN_LIB_IMPORTER_ONNX_ONNXTABLE_H

#include "dialects/Graph/Builders/OnnxNode.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace hewn::importer {

/// How an attribute of a directly mapped node is read.
enum class AttrForm { Integer, Float, Double, String, Bool, Integers, Floats, Bools, ElementType };
enum class OperandForm { One, Optional, Variadic };

struct DirectAttr {
  llvm::StringLiteral name;
  AttrForm form;
  bool required;
};

/// One ONNX op in a range of versions of its domain.
struct OnnxRecord {
  llvm::StringLiteral domain, op;
  int64_t since, until; // both included
  /// Null where the node maps directly to `graphOp`.
  llvm::LogicalResult (*build)(graph::OnnxNode &);
  llvm::StringLiteral graphOp;
  llvm::ArrayRef<DirectAttr> attrs;
  llvm::ArrayRef<OperandForm> operands;
  unsigned numResults;
  bool segmentSizes;
};

/// The record for an op at a version, or null.
const OnnxRecord *findRecord(llvm::StringRef domain, llvm::StringRef op, int64_t opset);
/// The versions that there are records for, as text for users ("7 and later"); "" where there are none.
std::string recordedVersions(llvm::StringRef domain, llvm::StringRef op);

} // namespace hewn::importer

#endif
