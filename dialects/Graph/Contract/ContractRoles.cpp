// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Contract/ContractRoles.h"
#include "dialects/Graph/Analysis/Layout.h"

using namespace mlir;

namespace hewn::graph {

std::optional<unsigned> resultWith(AffineMap map, unsigned d) {
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(d))
      return i;
  return std::nullopt;
}

int64_t factorOf(AffineExpr expr, unsigned d) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition() == d;
  if (isa<AffineConstantExpr>(expr))
    return 0;
  auto binary = cast<AffineBinaryOpExpr>(expr);
  if (expr.getKind() == AffineExprKind::Add)
    return factorOf(binary.getLHS(), d) + factorOf(binary.getRHS(), d);
  auto right = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return right ? factorOf(binary.getLHS(), d) * right.getValue() : 0;
}

SmallVector<std::pair<unsigned, unsigned>> termPairs(unsigned terms) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned i = 0; i < terms; ++i) {
    // starts with the right component of the last pair of the previous i, so that consecutive pairs
    // share it
    unsigned smallest = terms - 1 - i;
    pairs.push_back({i, smallest});
    for (unsigned j = 0; j < smallest; ++j)
      pairs.push_back({i, j});
  }
  return pairs;
}

LogicalResult verifyTerms(Operation *op, DimsOf dimsOf) {
  if (op->getNumOperands() % 2 != 0)
    return op->emitOpError("requires an equal number of components of both operands");
  for (unsigned i = 2; i < op->getNumOperands(); ++i) {
    Value first = op->getOperand(i % 2), term = op->getOperand(i);
    if (getElementType(term) != getElementType(first) || dimsOf(term) != dimsOf(first))
      return op->emitOpError() << "operand " << i << " is a component of operand " << i % 2
                               << ", but has another shape or type";
  }
  return success();
}

ContractOpInterface onlyContraction(Block &body) {
  ContractOpInterface found;
  for (Operation &op : body.without_terminator()) {
    if (auto contraction = dyn_cast<ContractOpInterface>(op)) {
      if (found)
        return {};
      found = contraction;
    } else if (!isa<ElementwiseOpInterface, IndexingOpInterface, ConstantOp>(op)) {
      return {};
    }
  }
  return found;
}

Dims ProductDims::dims(ArrayRef<unsigned> list) const {
  return llvm::map_to_vector<4>(list, [&](unsigned d) { return extents[d]; });
}

DimExpr ProductDims::count(ArrayRef<unsigned> list) const { return numElements(dims(list)); }

std::optional<unsigned> ProductDims::innermost(Value tensor, AffineMap map) const {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> order = memoryOrder(type);
  auto layout = dyn_cast_or_null<LayoutAttr>(type.getEncoding());
  if (layout && layout.getBlockDim() >= 0)
    order.push_back(layout.getBlockDim());
  if (layout && layout.getGroupDim() >= 0)
    order.push_back(layout.getGroupDim());
  for (int64_t i : llvm::reverse(order)) {
    SmallVector<unsigned> found;
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (map.getResult(unsigned(i)).isFunctionOfDim(d) && !extents[d].is(1))
        found.push_back(d);
    if (!found.empty())
      return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
  }
  return std::nullopt;
}

ProductDims productDims(ContractOpInterface op) {
  ProductDims product;
  product.maps = op.getIndexingMaps();
  product.extents = op.getIterationDims(getDims);
  for (auto [d, summed] : llvm::enumerate(op.getReductionDims())) {
    bool left = product.maps[0].isFunctionOfDim(d), right = product.maps[1].isFunctionOfDim(d);
    (summed          ? product.summed
     : left == right ? product.batch
     : left          ? product.rows
                     : product.columns)
        .push_back(unsigned(d));
  }
  return product;
}

/// Returns the only batch dim longer than 1, which vector code maps to vector lanes in a
/// contraction without column dims. Returns nullopt if there are several such dims, or if a
/// reduction dim is not a window dim.
static std::optional<unsigned> sharedColumn(const ContractRoles &roles, ArrayRef<AffineMap> maps, const Dims &extents) {
  for (unsigned d : roles.summed)
    if (std::optional<unsigned> i = resultWith(maps[0], d);
        !extents[d].is(1) && i && isa<AffineDimExpr>(maps[0].getResult(*i)))
      return std::nullopt;
  std::optional<unsigned> found;
  for (unsigned d : roles.batch)
    if (!extents[d].is(1) && maps[2].isFunctionOfDim(d)) {
      if (found)
        return std::nullopt;
      found = d;
    }
  return found;
}

std::optional<ContractRoles> contractRoles(ContractOpInterface op) {
  ProductDims product = productDims(op);
  ContractRoles roles;
  roles.batch = product.batch;
  roles.rows = product.rows;
  roles.summed = product.summed;
  std::optional<unsigned> column;
  if (product.columns.size() == 1)
    column = product.columns[0];
  if (product.columns.size() > 1) {
    // The right operand has several matrices, all multiplied with one left operand. The column dims
    // other than the innermost one become batch dims, which the left operand lacks.
    column = product.innermost(op->getOperand(1), product.maps[1]);
    if (!column || !llvm::is_contained(product.columns, *column))
      return std::nullopt;
    for (unsigned d : product.columns)
      if (d != *column)
        roles.batch.push_back(d);
  }
  if (!column || product.extents[*column].is(1))
    if (std::optional<unsigned> shared = sharedColumn(roles, product.maps, product.extents)) {
      llvm::erase(roles.batch, *shared);
      if (column)
        roles.batch.push_back(*column);
      roles.column = *shared;
      roles.columnInLeft = true;
      return roles;
    }
  if (!column)
    return std::nullopt;
  roles.column = *column;
  return roles;
}

std::optional<ContractRoles> groupedLanes(ContractOpInterface op) {
  std::optional<ContractRoles> roles = contractRoles(op);
  if (!roles || roles->columnInLeft || termsOf(op) != 1)
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  Dims extents = op.getIterationDims(getDims);
  std::optional<int64_t> perGroup = extents[roles->column].constant();
  std::optional<unsigned> group, within;
  for (unsigned d : roles->batch)
    if (!extents[d].is(1)) {
      if (group)
        return std::nullopt;
      group = d;
    }
  if (!group || perGroup.value_or(1) <= 1)
    return std::nullopt;
  // Returns true if exactly one result of the indexing map depends on the group dim or on d, and
  // that result is perGroup * group + d.
  auto countsGroups = [&](AffineMap map, unsigned d) {
    std::optional<unsigned> i = resultWith(map, *group);
    if (!i || resultWith(map, d) != i)
      return false;
    for (unsigned other = 0; other < map.getNumDims(); ++other)
      if (factorOf(map.getResult(*i), other) != (other == d ? 1 : other == *group ? *perGroup : 0))
        return false;
    return llvm::count_if(map.getResults(),
                          [&](AffineExpr e) { return e.isFunctionOfDim(*group) || e.isFunctionOfDim(d); }) == 1;
  };
  for (unsigned d : roles->summed)
    if (!within && extents[d].is(*perGroup) && countsGroups(maps[0], d))
      within = d;
  if (!within || !countsGroups(maps[1], roles->column) || !countsGroups(maps[2], roles->column))
    return std::nullopt;
  llvm::erase(roles->batch, *group);
  llvm::erase(roles->summed, *within);
  roles->columnInLeft = true;
  roles->group = group;
  roles->within = within;
  roles->perGroup = *perGroup;
  return roles;
}

std::optional<unsigned> plainSummedDim(ContractOpInterface op, const ContractRoles &roles) {
  AffineMap left = op.getIndexingMaps()[0];
  Dims extents = op.getIterationDims(getDims);
  std::optional<unsigned> found;
  for (unsigned d : roles.summed)
    if (std::optional<unsigned> i = resultWith(left, d);
        i && isa<AffineDimExpr>(left.getResult(*i)) && !extents[d].is(1)) {
      if (found)
        return std::nullopt;
      found = d;
    }
  return found;
}

std::optional<SmallVector<Clip>> clipsOf(ContractOpInterface op, IndexingOpInterface border) {
  auto zeros = dyn_cast<PaddingOpInterface>(border.getOperation());
  std::optional<SmallVector<int64_t>> lows = zeros ? zeros.getZeroPadding() : std::nullopt;
  std::optional<ContractRoles> roles = contractRoles(op);
  if (!lows || !roles)
    return std::nullopt;
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  Dims source = getDims(border->getOperand(0)), framed = getDims(border->getResult(0));
  SmallVector<Clip> clips;
  for (auto [i, expr] : llvm::enumerate(maps[0].getResults())) {
    if (source[i] == framed[i] && (*lows)[i] == 0)
      continue;
    std::optional<unsigned> row, summed;
    for (unsigned d = 0; d < maps[0].getNumDims(); ++d) {
      if (!expr.isFunctionOfDim(d))
        continue;
      std::optional<unsigned> &role = llvm::is_contained(roles->rows, d) ? row : summed;
      if (role || (!llvm::is_contained(roles->rows, d) && !llvm::is_contained(roles->summed, d)))
        return std::nullopt;
      role = d;
    }
    if (!row || !summed)
      return std::nullopt;
    clips.push_back({unsigned(i), *row, *summed, factorOf(expr, *row), factorOf(expr, *summed), (*lows)[i], source[i]});
  }
  return clips;
}

unsigned tiledRow(ContractOpInterface op, const ContractRoles &roles) {
  Dims extents = op.getIterationDims(getDims);
  constexpr int64_t enough = 4;
  std::optional<unsigned> longest;
  for (unsigned d : llvm::reverse(roles.rows)) {
    int64_t extent = extents[d].constant().value_or(enough);
    if (extent >= enough)
      return d;
    if (!longest || extent > *extents[*longest].constant())
      longest = d;
  }
  return longest.value_or(roles.rows.empty() ? roles.column : roles.rows.back());
}

/// Returns the number of channels (of one group) that a convolution reduces, or 0 if it is dynamic.
static int64_t summedChannels(ContractOpInterface op, const ContractRoles &roles) {
  AffineMap left = op.getIndexingMaps()[0];
  Dims extents = op.getIterationDims(getDims);
  int64_t channels = 1;
  for (unsigned d : roles.summed)
    if (std::optional<unsigned> i = resultWith(left, d))
      if (llvm::none_of(roles.rows, [&](unsigned row) { return left.getResult(*i).isFunctionOfDim(row); }))
        channels = llvm::SaturatingMultiply<uint64_t>(channels, extents[d].constant().value_or(0));
  return channels;
}

bool hasKnownPlaces(const Clip &clip, const Dims &extents) {
  // For each window offset, a contiguous range of the result's rows reads inside of the unpadded
  // source. The code for the rows before and after that range is emitted separately for each
  // offset.
  constexpr int64_t most = 11;
  return extents[clip.row].constant() && clip.extent.constant() &&
         extents[clip.summed].constant().value_or(most + 1) <= most;
}

/// Returns true if the contraction reduces, besides the windows of the clips, at most one dim, and
/// if this dim is static and short.
static bool sumsShortLine(ContractOpInterface op, ArrayRef<Clip> clips, const ContractRoles &roles) {
  constexpr int64_t mostBytes = 32768;
  Dims extents = op.getIterationDims(getDims);
  std::optional<unsigned> line = plainSummedDim(op, roles);
  for (unsigned d : roles.summed)
    if (!extents[d].is(1) && d != line && llvm::none_of(clips, [&](const Clip &c) { return c.summed == d; }))
      return false;
  return !line || extents[*line].constant().value_or(mostBytes + 1) <= mostBytes / elementBytes(op->getOperand(0));
}

bool leavesOutBorder(ContractOpInterface op, IndexingOpInterface border, const ContractRoles &roles, bool whenRun) {
  std::optional<SmallVector<Clip>> clips = clipsOf(op, border);
  if (!clips || roles.rows.empty())
    return false;
  Dims extents = op.getIterationDims(getDims);
  unsigned tiled = tiledRow(op, roles);
  for (const Clip &clip : *clips) {
    std::optional<int64_t> window = extents[clip.summed].constant();
    if (!window)
      return false;
    if (clip.row == tiled && !hasKnownPlaces(clip, extents) && !(whenRun && sumsShortLine(op, *clips, roles)))
      return false;
  }
  // Bounds for skipping the padded copy: with few channels, checking the bounds of each access
  // costs more than a copy with padding, unless most of the padded copy is padding.
  constexpr int64_t fewest = 8, mostGrowth = 4;
  double growth = 1;
  for (const Clip &clip : *clips)
    if (std::optional<int64_t> inside = clip.extent.constant(),
        all = getDims(border->getResult(0))[clip.operandDim].constant();
        inside && all)
      growth *= double(*all) / double(std::max<int64_t>(*inside, 1));
  return roles.columnInLeft || summedChannels(op, roles) >= fewest || growth > mostGrowth;
}

/// Returns the iteration dims with an extent above 1 that index the tensor's dims, in the tensor's
/// order. Returns nullopt if a tensor dim is not indexed by exactly one full iteration dim.
static std::optional<SmallVector<unsigned>> wholeDims(Value tensor, AffineMap map, const Dims &extents) {
  SmallVector<unsigned> found;
  for (auto [expr, dim] : llvm::zip_equal(map.getResults(), getDims(tensor))) {
    SmallVector<unsigned> here;
    for (unsigned d = 0; d < map.getNumDims(); ++d)
      if (expr.isFunctionOfDim(d) && !extents[d].is(1))
        here.push_back(d);
    bool isWhole =
        here.empty() ? dim.is(1) : here.size() == 1 && extents[here[0]] == dim && factorOf(expr, here[0]) == 1;
    if (!isWhole)
      return std::nullopt;
    found.append(here);
  }
  return found;
}

std::optional<PixelProduct> pixelProduct(ContractOpInterface op) {
  ProductDims product = productDims(op);
  auto isLong = [&](unsigned d) { return !product.extents[d].is(1); };
  auto only = [&](ArrayRef<unsigned> dims) -> std::optional<unsigned> {
    const unsigned *found = llvm::find_if(dims, isLong);
    return llvm::count_if(dims, isLong) == 1 ? std::optional(*found) : std::nullopt;
  };
  std::optional<unsigned> feature = only(product.columns), channel = only(product.summed);
  if (termsOf(op) != 1 || !feature || !channel || llvm::any_of(product.batch, isLong))
    return std::nullopt;
  auto left = wholeDims(op->getOperand(0), product.maps[0], product.extents),
       right = wholeDims(op->getOperand(1), product.maps[1], product.extents),
       result = wholeDims(op->getResult(0), product.maps[2], product.extents);
  if (!left || !right || !result)
    return std::nullopt;
  unsigned *between = llvm::find(*left, *channel);
  SmallVector<unsigned> items(left->begin(), between), pixels(between + 1, left->end());
  *between = *feature;
  if (pixels.empty() || *left != *result)
    return std::nullopt;
  return PixelProduct{product.count(items), product.extents[*feature], product.extents[*channel], product.count(pixels),
                      right->front() == *feature};
}

bool hasWindows(ContractOpInterface op) {
  return llvm::any_of(op.getIndexingMaps()[0].getResults(),
                      [](AffineExpr position) { return !isa<AffineDimExpr, AffineConstantExpr>(position); });
}

bool widensRight(ContractOpInterface op) {
  Type left = getElementType(op->getOperand(0)), right = getElementType(op->getOperand(1));
  return left == getElementType(op->getResult(0)) && left.isF32() &&
         (right.isF16() || right.isBF16() || right.isInteger(8) || isa<Float8E4M3FNType>(right));
}

PackedWeightsOpInterface rightDecoder(ContractOpInterface op) {
  auto decoder = op->getOperand(1).getDefiningOp<PackedWeightsOpInterface>();
  std::optional<ContractRoles> roles = contractRoles(op);
  std::optional<unsigned> k = roles ? plainSummedDim(op, *roles) : std::nullopt;
  AffineMap right = op.getIndexingMaps()[1];
  bool isCode = decoder && k && roles->summed.size() == 1 && !roles->columnInLeft;
  return isCode && right.getNumResults() == 2 && right.getResult(0) == getAffineDimExpr(*k, op->getContext()) &&
                 right.getResult(1) == getAffineDimExpr(roles->column, op->getContext()) &&
                 getElementType(op->getOperand(0)).isF32() && getElementType(op->getResult(0)).isF32()
             ? decoder
             : PackedWeightsOpInterface();
}

} // namespace hewn::graph
