// SPDX-License-Identifier: Apache-2.0
//
// For passes, which know no ops: what ranks do together, and parts of values by rank.
#ifndef HEWN_DIALECTS_GRAPH_COLLECTIVE_COLLECTIVE_H
#define HEWN_DIALECTS_GRAPH_COLLECTIVE_COLLECTIVE_H

#include "dialects/Graph/Analysis/Bands.h"
#include "dialects/Graph/Analysis/Cuts.h"
#include "mlir/IR/Builders.h"

namespace hewn::graph {

/// Ranks that do something together: so many from the first one on.
struct RankRange {
  int64_t first = 0, count = 1;
};

/// The sum of `part` over the ranks; null where its elements can't be added.
mlir::Value makeAllReduce(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, RankRange ranks);
/// The same, made of what all ranks gather, in their order, whoever carries it; null as above.
mlir::Value makeOrderedSum(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, RankRange ranks);
/// Of that sum the part that `cut` says, each rank its own; null as above.
mlir::Value makeReduceScatter(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, const Cut &cut,
                              RankRange ranks);
/// The whole of which each of the ranks has the part that `cut` says.
mlir::Value makeAllGather(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, const Cut &cut, RankRange ranks);
/// Part `number` of `parts` of a value that is there as a whole: no rank is asked.
mlir::Value makePart(mlir::OpBuilder &b, mlir::Location loc, mlir::Value whole, const Cut &cut, int64_t parts,
                     int64_t number);
/// A value with the last one of the items that `parts` divides again and again behind it, so that all parts have as many (what holds of all
/// items holds of these): what `makePartOfEven` takes parts of.
mlir::Value makeEven(mlir::OpBuilder &b, mlir::Location loc, mlir::Value whole, const Cut &cut, const Parts &parts);
mlir::Value makePartOfEven(mlir::OpBuilder &b, mlir::Location loc, mlir::Value even, const Dims &whole, const Cut &cut,
                           const Parts &parts, int64_t number);
/// The value of these dims of which all parts are there, without what fills the last ones up.
mlir::Value makeWhole(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange made, const Dims &whole, const Cut &cut,
                      const Parts &parts);
/// An op's summand (`sumForm`) of operands that are part `number` of theirs where they are cut; null where it can't be built.
mlir::Value makeSummand(mlir::OpBuilder &b, mlir::Operation *op, const CutForm &form,
                        llvm::ArrayRef<mlir::Value> operands, int64_t number);
/// The lookup `op` in `table`, which is its own with further elements behind them along the dim: indices below 0 count from the end of its own.
mlir::Value makeLookup(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value table);
/// Whether such elements can be handed to other ranks, and whether ranks can add them up.
bool canTravel(mlir::Type elementType);
bool canBeAdded(mlir::Type elementType);
/// Gives `value` to another rank, and takes what another one gives, of these dims.
void makeSend(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t to);
mlir::Value makeReceive(mlir::OpBuilder &b, mlir::Location loc, const Dims &dims, mlir::Type elementType, int64_t from);

/// Lines of a value that a rank has, in one value.
struct Strip {
  Lines lines;
  mlir::Value value;
};
/// The messages by which each rank gets what it wants of a value of which each has its own lines: from whom and to whom, none waiting for more than
/// a few before it, however many ranks there are.
llvm::SmallVector<std::pair<int64_t, int64_t>> messagesOf(llvm::ArrayRef<Lines> own, llvm::ArrayRef<Lines> wanted);
/// Hands lines of `value`, this rank's own along `dim`, to those that want them, and takes the others' that it wants; what it then has, in order.
llvm::SmallVector<Strip> makeExchange(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t dim,
                                      llvm::ArrayRef<Lines> own, llvm::ArrayRef<Lines> wanted, RankRange ranks,
                                      int64_t number);
/// Lines of what is there in strips along `dim`; null where some are missing.
mlir::Value makeLines(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Strip> strips, int64_t dim, Lines lines);
/// The whole of which each of the ranks has its own lines along `dim`, as many as others or not.
mlir::Value makeGatherOfLines(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t dim,
                              llvm::ArrayRef<Lines> own, RankRange ranks);

/// What an op hands between ranks; `bytes` are the sum's, of which ranks then have the whole or each a part, what each rank brings to a gather, a message's.
struct Transfer {
  enum Kind { Sum, Scatter, Gather, Send, Receive } kind;
  /// Those that meet; of a message the other one.
  RankRange ranks;
  DimExpr bytes;
  int64_t elementBytes;
};
std::optional<Transfer> transferOf(mlir::Operation *op);
/// The bytes that `rank` reads of other ranks' memory and writes there: of a sum its own chunk of each addend, and the chunk's sum to each;
/// chunks are cut at multiples of 64 elements. Where ranks want no more than their parts, the addends of these. Who receives a message moves it.
DimExpr movedBytes(const Transfer &transfer, int64_t rank);

} // namespace hewn::graph

#endif
