// SPDX-License-Identifier: Apache-2.0
//
// Bands: some lines of a tensor, one behind the other along one of its dims, and what an op makes of them.
//
// Unlike a cut (Cuts.h) a band is wherever it is asked for, and as long: what an op reads for a band of its result may be more lines than
// those, such as a convolution's, whose windows reach beyond them (the halo), and other ones, where it strides over lines or pads in
// front of them. Padding is made at the tensor's own ends alone: inside of it there are the neighbours' lines.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_BANDS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_BANDS_H

#include "dialects/Graph/Analysis/Shapes.h"

namespace hewn::graph {

/// Lines from `begin` to in front of `end`.
struct Lines {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool contains(const Lines &other) const { return begin <= other.begin && other.end <= end; }
  bool operator==(const Lines &other) const { return begin == other.begin && end == other.end; }
  Lines meet(const Lines &other) const { return {std::max(begin, other.begin), std::min(end, other.end)}; }
  /// All from the first of both to the last; of nothing and lines these.
  Lines join(const Lines &other) const {
    if (empty() || other.empty())
      return empty() ? other : *this;
    return {std::min(begin, other.begin), std::max(end, other.end)};
  }
};

struct Band {
  int64_t dim = 0;
  Lines lines;
};

/// How an op makes a band of its result.
struct BandForm {
  /// For each operand the band that is read; nullopt: it is needed whole.
  llvm::SmallVector<std::optional<Band>> operands;
  /// The attributes of the op that makes it.
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  /// What that makes, which are the lines asked for and maybe others. Only those asked for are as in the whole.
  Lines made;
};

/// The form of an op of one result, asked of its kind; nullopt where the dim's extent is no number, the lines are not in it, or the op makes no
/// bands of these lines.
std::optional<BandForm> bandForm(mlir::Operation *op, const Band &wanted);

/// All lines of a dim; nullopt where only a run knows how many there are.
std::optional<Lines> linesOf(mlir::Value value, int64_t dim);

/// The op's own attributes with entry `place` of the dims that attribute `name` lists replaced.
llvm::SmallVector<mlir::NamedAttribute> withDim(mlir::Operation *op, llvm::StringRef name, int64_t place,
                                                const DimExpr &value);

} // namespace hewn::graph

#endif
