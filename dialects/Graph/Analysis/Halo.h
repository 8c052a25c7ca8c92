// SPDX-License-Identifier: Apache-2.0
//
// Halo rules: the operand rows that an op reads to compute a range of rows of its result.
//
// A row range (`HaloShard`) is a range of indices along one dim of a tensor. Unlike a shard
// (Sharding.h), it has any start and size. The row range that an op reads may be larger than the
// result's row range: a convolution also reads the rows that its windows reach (the halo). It may
// also start at another row, because of strides and padding. Zero padding applies only at the ends
// of the full tensor; at other ends of a row range, the op reads the neighboring rows.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_BANDS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_BANDS_H

#include "dialects/Graph/Analysis/Shapes.h"

namespace hewn::graph {

/// A range of rows of a tensor: from `begin` to `end` - 1.
struct Lines {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool contains(const Lines &other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Lines &other) const { return begin == other.begin && end == other.end; }
  Lines meet(const Lines &other) const { return {std::max(begin, other.begin), std::min(end, other.end)}; }
  /// Returns the smallest range that contains both ranges. An empty range is ignored.
  Lines join(const Lines &other) const {
    if (empty() || other.empty())
      return empty() ? other : *this;
    return {std::min(begin, other.begin), std::max(end, other.end)};
  }
};

struct HaloShard {
  int64_t dim = 0;
  Lines lines;
};

/// How an op computes a row range of its result.
struct HaloRule {
  /// For each operand, the row range that is read; nullopt means the full operand.
  llvm::SmallVector<std::optional<HaloShard>> operands;
  /// The attributes of an op that computes only the row range.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  /// The result rows that the op with these attributes computes: the requested rows, and possibly
  /// more. Only the requested rows are equal to those of the full result.
  Lines made;
};

/// Returns the halo rule of an op with one result, from its op interface. Returns nullopt if the
/// dim is dynamic, if the rows are outside of the dim, or if the op cannot compute the rows
/// separately.
std::optional<HaloRule> haloRule(mlir::Operation *op, const HaloShard &wanted);

/// Returns the range of all rows of a value along a dim, or nullopt if the dim is dynamic.
std::optional<Lines> linesOf(mlir::Value value, int64_t dim);

/// Returns `ownAttributes(op)` with entry `place` of the list of dims named `name` replaced by
/// `value`.
llvm::SmallVector<mlir::NamedAttribute> withDim(mlir::Operation *op, llvm::StringRef name, int64_t place,
                                                const DimExpr &value);

} // namespace hewn::graph

#endif
