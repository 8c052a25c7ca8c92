// SPDX-License-Identifier: Apache-2.0
//
// Functions by which passes emit collectives, messages between ranks, and shards of values. Passes
// do not name the ops.
#ifndef HEWN_DIALECTS_GRAPH_COLLECTIVE_COLLECTIVE_H
#define HEWN_DIALECTS_GRAPH_COLLECTIVE_COLLECTIVE_H

#include "dialects/Graph/Analysis/Halo.h"
#include "dialects/Graph/Analysis/Sharding.h"
#include "mlir/IR/Builders.h"

namespace hewn::graph {

/// A group of `count` consecutive ranks.
struct RankRange {
  int64_t first = 0, count = 1;
};

/// Emits an all-reduce, whose result is the sum of the ranks' values `part`. Returns null if the
/// elements of `part` cannot be added.
mlir::Value makeAllReduce(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, RankRange ranks);
/// Emits the sum of `part` over the ranks as an all-gather and additions in rank order, so that the
/// result does not depend on the transport. Returns null if the elements of `part` cannot be added.
mlir::Value makeOrderedSum(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, RankRange ranks);
/// Emits a reduce-scatter: this rank's shard of the sum of `part` over the ranks. Returns null if
/// the elements of `part` cannot be added.
mlir::Value makeReduceScatter(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, const DimSharding &cut,
                              RankRange ranks);
/// Emits an all-gather. Its result is the full tensor, of which each rank has the shard `part`, as
/// `cut` describes it.
mlir::Value makeAllGather(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, const DimSharding &cut,
                          RankRange ranks);
/// Emits shard `number` of `parts` of a value of which the rank has all elements. No communication
/// is needed.
mlir::Value makePart(mlir::OpBuilder &b, mlir::Location loc, mlir::Value whole, const DimSharding &cut, int64_t parts,
                     int64_t number);
/// Pads a value by repeating its last batch element, so that all parts have the same size. Copies
/// of a valid batch element satisfy all requirements that the model has on batch elements.
/// `makePartOfEven` returns a shard of the padded value.
mlir::Value makeEven(mlir::OpBuilder &b, mlir::Location loc, mlir::Value whole, const DimSharding &cut,
                     const ShardCount &parts);
mlir::Value makePartOfEven(mlir::OpBuilder &b, mlir::Location loc, mlir::Value even, const Dims &whole,
                           const DimSharding &cut, const ShardCount &parts, int64_t number);
/// Concatenates the shards of all parts, without the padding at their end, to a value with the dims
/// `whole`.
mlir::Value makeWhole(mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange made, const Dims &whole,
                      const DimSharding &cut, const ShardCount &parts);
/// Emits the partial result of an op (`sumForm`) on one rank. Operands that the rule shards are
/// given as shard `number`, all others in full. Returns null on failure.
mlir::Value makeSummand(mlir::OpBuilder &b, mlir::Operation *op, const ShardingRule &form,
                        llvm::ArrayRef<mlir::Value> operands, int64_t number);
/// Emits the lookup `op` with `table` instead of its own table. `table` is a copy of that table
/// with additional entries at the end. Negative indices still count from the end of the op's own
/// table.
mlir::Value makeLookup(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value table);
/// Return true if ranks can send elements of this type to each other (`canTravel`), or add them up
/// (`canBeAdded`).
bool canTravel(mlir::Type elementType);
bool canBeAdded(mlir::Type elementType);
/// Emit a send of `value` to another rank, and a receive of a value with these dims from another
/// rank.
void makeSend(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t to);
mlir::Value makeReceive(mlir::OpBuilder &b, mlir::Location loc, const Dims &dims, mlir::Type elementType, int64_t from);

/// A range of rows that a rank has of a value, as one tensor.
struct Strip {
  Lines lines;
  mlir::Value value;
};
/// Returns the messages (sender, receiver) after which every rank has its `wanted` rows of a value,
/// if it has its `own` rows before. The messages are ordered such that each one waits for only a
/// few earlier ones, no matter how many ranks there are.
llvm::SmallVector<std::pair<int64_t, int64_t>> messagesOf(llvm::ArrayRef<Lines> own, llvm::ArrayRef<Lines> wanted);
/// Emits one rank's part of an exchange of rows: sends rows of `value` (the rank's own rows along
/// `dim`) to the ranks that need them, and receives the rows that this rank needs. Returns all rows
/// that the rank then has, in order.
llvm::SmallVector<Strip> makeExchange(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t dim,
                                      llvm::ArrayRef<Lines> own, llvm::ArrayRef<Lines> wanted, RankRange ranks,
                                      int64_t number);
/// Concatenates the row range `wanted` along `dim` from strips that contain its rows. Returns null
/// if a row is in no strip.
mlir::Value makeLines(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Strip> strips, int64_t dim, Lines lines);
/// Emits an all-gather of row ranges along `dim`: the full tensor of which each rank has its own
/// rows. The ranks may have different numbers of rows.
mlir::Value makeGatherOfLines(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t dim,
                              llvm::ArrayRef<Lines> own, RankRange ranks);

/// A communication op as cost models see it. `bytes` is the size of the full sum (for an all-reduce
/// or reduce-scatter), of the contribution of one rank (all-gather), or of the message.
struct Transfer {
  enum Kind { Sum, Scatter, Gather, Send, Receive } kind;
  /// The ranks that take part in the communication; for a message, only the other rank.
  RankRange ranks;
  DimExpr bytes;
  int64_t elementBytes;
};
std::optional<Transfer> transferOf(mlir::Operation *op);
/// Returns the bytes that `rank` reads from or writes to the memory of other ranks in a
/// communication op. In a sum, each rank adds up one chunk, a multiple of 64 elements: it reads
/// this chunk of each addend, and, in an all-reduce, writes the result to each rank. A message is
/// copied by its receiver.
DimExpr movedBytes(const Transfer &transfer, int64_t rank);

} // namespace hewn::graph

#endif
