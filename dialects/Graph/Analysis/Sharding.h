// SPDX-License-Identifier: Apache-2.0
//
// Sharding rules: which operand shards an op needs to compute a shard of its result.
//
// A tensor is sharded into equal parts along one dim. The dim consists of `blocks` blocks, each
// divided evenly among the parts. Part p is the p-th share of every block, concatenated. With one
// block, a part is contiguous. Several blocks result from reshapes and splits. For example, one
// matmul computes queries, keys and values side by side as [3 * heads * 64]; a sharding by heads
// has 3 blocks.
//
// The sharded quantity may be symbolic, such as the batch size n, and a factor of the dim: dim =
// blocks * n * unit. A part then has blocks * ceil(n / count) * unit elements, padded at the end.
// [n * seq, 64] is sharded by n in 1 block with unit seq, and [seq * n, 64] in seq blocks with unit
// 1.
//
// The sharding rule of an op gives, for a shard of the result, the shard of each operand that the
// op needs, or states that it needs the full operand. An op has a rule along a dim if the result
// elements at different indices of the dim do not depend on each other (GSPMD: Xu et al., 2021,
// "GSPMD: General and Scalable Parallelization for ML Computation Graphs").
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_CUTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_CUTS_H

#include "dialects/Graph/Analysis/Shapes.h"

namespace hewn::graph {

struct DimSharding {
  int64_t dim = 0;
  DimExpr blocks = 1;
  bool operator==(const DimSharding &other) const { return dim == other.dim && blocks == other.blocks; }
};

/// The number of parts into which a dim is sharded, `count`. Without `items`, `count` divides each
/// block evenly; a symbolic `count` is the full dim, so that each part is one element. With `items`
/// not 0, each block is a multiple of `items`, the sharded quantity, and a part has ceil(items /
/// count) of them.
struct ShardCount {
  DimExpr count;
  DimExpr items = 0;
  ShardCount(DimExpr count, DimExpr items = 0) : count(std::move(count)), items(std::move(items)) {}
};

/// How an op computes one shard of its result.
struct ShardingRule {
  /// For each operand, the shard that is needed; nullopt means the full operand.
  llvm::SmallVector<std::optional<DimSharding>> operands;
  /// The attributes of the op that computes only this shard of the result.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
};

/// Returns the sharding rule of an op with one result, from its op interface. Returns nullopt if
/// the op has no rule, or if its result cannot be sharded by `cut`.
std::optional<ShardingRule> shardingRule(mlir::Operation *op, const DimSharding &cut, const ShardCount &parts);

/// Returns how an op computes partial results if `operand` is sharded by `cut`, such that the sum
/// of the partial results is the op's result. Returns nullopt if this is not possible. Possible
/// cases: a contraction sharded along a reduction dim, and a lookup in a table sharded along the
/// indexed dim in one block, where entries of other shards count as 0 (`makeSummand` in
/// Collective/Collective.h).
std::optional<ShardingRule> sumForm(mlir::Operation *op, unsigned operand, const DimSharding &cut);

/// Returns all shardings of the op's result, along any dim, whose sharding rule needs operand
/// number `operand` sharded by `cut`. They are sorted by their number of blocks.
llvm::SmallVector<DimSharding> shardingsThrough(mlir::Operation *op, unsigned operand, const DimSharding &cut,
                                                int64_t parts);

/// Returns the number of elements that a part has along the sharded dim `dim`, or nullopt if the
/// dim cannot be sharded.
std::optional<DimExpr> shardSize(const DimExpr &dim, const DimSharding &cut, const ShardCount &parts);
/// Returns the number of consecutive elements along `dim` that are always in the same part: the
/// elements of one batch element if the batch is sharded, else a part's share of one block.
std::optional<DimExpr> grainOf(const DimExpr &dim, const DimSharding &cut, const ShardCount &parts);
/// Returns the dims of a part of a tensor with the dims `dims`.
Dims shardDims(Dims dims, const DimSharding &cut, const ShardCount &parts);
/// Returns true if a tensor with these dims can be sharded by `cut` into `parts` parts.
bool isShardable(const Dims &dims, const DimSharding &cut, int64_t parts);

/// Returns the attributes of an op, without those that contain its result dims, for an op that
/// computes only a part of the result.
llvm::SmallVector<mlir::NamedAttribute> ownAttributes(mlir::Operation *op);
/// Returns `ownAttributes(op)` with the list of dims named `name`, which are the last dims of the
/// result, changed to those of a part. An entry of 1, which broadcasts, is kept.
llvm::SmallVector<mlir::NamedAttribute> withPart(mlir::Operation *op, llvm::StringRef name, const DimSharding &cut,
                                                 const ShardCount &parts);

} // namespace hewn::graph

#endif
