// SPDX-License-Identifier: Apache-2.0
//
// Runs the arith and math ops that ops emit, on constants and on expressions over dims.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_CONTENTSINTERPRETER_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_CONTENTSINTERPRETER_H

#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Builders/Element.h"
#include "mlir/IR/Block.h"

namespace hewn::graph {

/// A scratch block that is filled through `builder` and run by `run`. Symbols are sizes, so never negative; those that
/// the program reads from tensors (`u0`) may be anything.
class ContentsInterpreter {
public:
  ContentsInterpreter(mlir::Location loc, const Facts &facts) : builder(loc.getContext()), loc(loc), facts(facts) {
    builder.setInsertionPointToEnd(&block);
  }

  /// A value of `type` that stands for `content`.
  mlir::Value enter(mlir::Type type, const ElementContent &content);
  /// Runs what was built since the last call and says what `value` is.
  ElementContent run(mlir::Value value);
  /// Forgets all results but those of block arguments, so that the same ops run again.
  void restart();
  /// Enters another content for a value that `enter` made.
  void replace(mlir::Value value, const ElementContent &content) { results[value].content = content; }
  /// An index, where it is the same in every run.
  std::optional<int64_t> constantOf(const Index &index);

  mlir::OpBuilder builder;
  mlir::Location loc;

private:
  /// `likely`: right unless a dim is 0, which guards of divisions ask for. Such a result chooses a branch inside of one
  /// body and never leaves it.
  struct Result {
    ElementContent content;
    bool likely = false;
  };
  Result interpret(mlir::Operation &op);
  Result interpret(mlir::Operation &op, llvm::ArrayRef<Result> in);
  std::optional<Result> fold(mlir::Operation &op, llvm::ArrayRef<Result> operands);

  const Facts &facts;
  mlir::Block block;
  mlir::Operation *last = nullptr; // the last op that ran
  llvm::DenseMap<mlir::Value, Result> results;
};

} // namespace hewn::graph

#endif
