// SPDX-License-Identifier: Apache-2.0
//
// The contractions of a graph that a quantization is about, by name.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_SITES_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_SITES_H

#include "lib/Transforms/Quantize/IntegerForm.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>
#include <vector>

namespace hewn {

/// A contraction of floats. Names are those of ONNX nodes; of several contractions of one node the later ones are "name:2", "name:3".
struct ContractionSite {
  graph::ContractOpInterface op;
  std::string name;
  /// As rules name it: "conv".
  llvm::StringRef kind;
  /// The constant right operand; null: it has none.
  mlir::Value weights;
  /// What the left operand is a view of, without its border: what would be made of integers.
  mlir::Value source;
  /// How integers compute it, or why they can't.
  Found<IntegerForm> form;
};

/// A look-up of rows in a constant table of float32, as embeddings are. Names are as those of contractions.
struct TableSite {
  graph::MoveOpInterface op;
  std::string name;
  /// As rules name it: "gather".
  llvm::StringRef kind;
  /// Why the table is not kept in integers.
  Verdict isTable;
};

/// Where a contraction's left operand comes from, as ContractionSite has it.
mlir::Value sourceOf(graph::ContractOpInterface op);

/// The dim of `value`, the left operand or what a border surrounds in it, along which the channels lie that are summed; nullopt where it is another
/// value.
std::optional<unsigned> channelDimOf(const ContractionSite &site, mlir::Value value);

/// Whether the contraction is a matrix of rows by one of weights [k, n].
bool readsRows(const ContractionSite &site);

/// Whether it sums over channels alone: readsRows, or a window of one element, whose rows lie along a dim of channels.
bool sumsChannels(const ContractionSite &site);

/// All of them, in the order in which they stand. Names do not change where what is around the contractions does.
std::vector<ContractionSite> findContractionSites(mlir::func::FuncOp function);

/// All look-ups in constants, in the order in which they stand, named apart from the contractions. Of a table of a few elements there is none.
std::vector<TableSite> findTableSites(mlir::func::FuncOp function, llvm::ArrayRef<ContractionSite> contractions);

/// Whether values of one place can be results of the function: not inside of a branch or loop.
bool isInProgram(mlir::Value value);

/// Makes a value of the program one of the function's results too; its number among them, or nullopt where the function can't have it.
std::optional<unsigned> addResult(mlir::func::FuncOp function, mlir::Value value);

/// The contraction's left operand with `with` in the place of its site's source: views and borders are made again.
mlir::Value leftOf(const ContractionSite &site, mlir::OpBuilder &b, mlir::Value with);

} // namespace hewn

#endif
