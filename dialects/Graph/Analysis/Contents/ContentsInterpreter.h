// SPDX-License-Identifier: Apache-2.0
//
// Interprets the arith and math ops that graph ops emit for an element, on constants and on
// expressions over dims.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_CONTENTSINTERPRETER_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_CONTENTSINTERPRETER_H

#include "dialects/Graph/Analysis/Contents/Contents.h"
#include "dialects/Graph/Builders/Element.h"
#include "mlir/IR/Block.h"

namespace hewn::graph {

/// A scratch block whose ops are emitted through `builder` and evaluated by `run`. Symbols are
/// assumed to be sizes, which are not negative, except for symbols read from tensors (`u0`), which
/// may have any value.
class ContentsInterpreter {
public:
  ContentsInterpreter(mlir::Location loc, const Facts &facts) : builder(loc.getContext()), loc(loc), facts(facts) {
    builder.setInsertionPointToEnd(&block);
  }

  /// Returns a new SSA value of `type` whose content is `content`.
  mlir::Value enter(mlir::Type type, const ElementContent &content);
  /// Evaluates the ops emitted since the last call and returns the content of `value`.
  ElementContent run(mlir::Value value);
  /// Clears the results of all ops, but not the contents of block arguments, so that the ops can be
  /// evaluated again for other contents.
  void restart();
  /// Replaces the content of a value created by `enter`.
  void replace(mlir::Value value, const ElementContent &content) { results[value].content = content; }
  /// Returns the value of an element index if it is a constant, else nullopt.
  std::optional<int64_t> constantOf(const Index &index);

  mlir::OpBuilder builder;
  mlir::Location loc;

private:
  /// True if the content of this result is only correct if no dim is 0, which the guards of
  /// divisions check. Such a result may decide a select inside of one op's body, but `run` never
  /// returns it.
  struct Result {
    ElementContent content;
    bool likely = false;
  };
  Result interpret(mlir::Operation &op);
  Result interpret(mlir::Operation &op, llvm::ArrayRef<Result> in);
  std::optional<Result> fold(mlir::Operation &op, llvm::ArrayRef<Result> operands);

  const Facts &facts;
  mlir::Block block;
  mlir::Operation *last = nullptr; // the last op that was evaluated
  llvm::DenseMap<mlir::Value, Result> results;
};

} // namespace hewn::graph

#endif
