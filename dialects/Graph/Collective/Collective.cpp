// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Collective/Collective.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Collective/CollectiveOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"

using namespace mlir;

namespace hewn::graph {

/// Returns true if ranks can send each other elements of this type, as the bytes that the elements
/// have in memory. Strings and types below 8 bits cannot be sent.
bool canTravel(Type elementType) { return isOrdered(elementType) || elementType.isInteger(1); }
bool canBeAdded(Type elementType) { return isOrdered(elementType) && !elementType.isInteger(1); }

//===------------------------------------------------------------------------------------------===//
// The ops
//===------------------------------------------------------------------------------------------===//

LogicalResult AllReduceOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Type type = getElementType(getX());
  if (int64_t(getRanks()) < 1)
    return emitOpError("requires at least one rank");
  if (!canBeAdded(type))
    return emitOpError("can't add elements of type ") << type;
  results.push_back({dimsOf(getX()), type});
  return success();
}

void AllReduceOp::requireDims(Requirements &) {}

LogicalResult ReduceScatterOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Type type = getElementType(getX());
  Dims dims = dimsOf(getX());
  if (!canBeAdded(type))
    return emitOpError("can't add elements of type ") << type;
  if (int64_t(getRanks()) < 1 || dims.empty() || !dims.front().is(int64_t(getRanks())))
    return emitOpError("the first dim must be the number of ranks");
  results.push_back({Dims(dims.begin() + 1, dims.end()), type});
  return success();
}

void ReduceScatterOp::requireDims(Requirements &) {}

LogicalResult AllGatherOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  if (int64_t(getRanks()) < 1)
    return emitOpError("requires at least one rank");
  if (!canTravel(getElementType(getX())))
    return emitOpError("cannot send elements of type ") << getElementType(getX());
  Dims dims = {DimExpr(int64_t(getRanks()))};
  llvm::append_range(dims, dimsOf(getX()));
  results.push_back({dims, getElementType(getX())});
  return success();
}

void AllGatherOp::requireDims(Requirements &) {}

LogicalResult SendOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  if (!canTravel(getElementType(getX())))
    return emitOpError("cannot send elements of type ") << getElementType(getX());
  results.push_back({{DimExpr(0)}, IntegerType::get(getContext(), 8)});
  return success();
}

void SendOp::requireDims(Requirements &) {}

LogicalResult ReceiveOp::inferShapes(DimsOf, SmallVectorImpl<TensorShape> &results) {
  std::optional<Dims> dims = parseDims(getShape());
  if (!dims)
    return emitOpError("shape must be a list of integers and expressions");
  if (!canTravel(getElementTypeAttr().getValue()))
    return emitOpError("cannot receive elements of type ") << getElementTypeAttr().getValue();
  results.push_back({*dims, getElementTypeAttr().getValue()});
  return success();
}

void ReceiveOp::requireDims(Requirements &) {}

//===------------------------------------------------------------------------------------------===//
// Interface for passes
//===------------------------------------------------------------------------------------------===//

static Value lookUp(Composer &c, Operation *op, Value table, Value indices) {
  return makeNamed(c.b, c.loc, op->getName().getStringRef(), {table, indices}, ownAttributes(op));
}

/// Returns the indices of a lookup, with negative indices converted to positive ones.
static Value indicesFromBegin(Composer &c, Operation *op, Value indices, int64_t dim) {
  Value size = c.scalarLike(indices, double(*getDims(op->getOperand(0))[dim].constant()));
  Value isBelow = c.op<LessOp>({indices, c.scalarLike(indices, 0)});
  return c.op<WhereOp>({isBelow, c.add({indices, size}), indices});
}

Value makeLookup(OpBuilder &b, Operation *op, Value table) {
  Composer c(b, op->getLoc());
  int64_t dim = *cast<IndexingOpInterface>(op).getLookedUpDim();
  return lookUp(c, op, table, indicesFromBegin(c, op, op->getOperand(1), dim));
}

Value makeSummand(OpBuilder &b, Operation *op, const ShardingRule &form, ArrayRef<Value> operands, int64_t number) {
  auto move = dyn_cast<IndexingOpInterface>(op);
  if (!move)
    return makeNamed(b, op->getLoc(), op->getName().getStringRef(), operands, form.attributes);
  // A rank contributes 0 for a looked-up index that belongs to another rank's shard of the table.
  // The index is clamped, so that the lookup does not read outside of the rank's own shard.
  Composer c(b, op->getLoc());
  int64_t dim = *move.getLookedUpDim(), size = *getDims(operands[0])[dim].constant();
  Value indices = c.sub({indicesFromBegin(c, op, operands[1], dim), c.scalarLike(operands[1], double(size * number))});
  Value isOwn = c.op<AndOp>({c.op<GreaterOrEqualOp>({indices, c.scalarLike(indices, 0)}),
                             c.op<LessOp>({indices, c.scalarLike(indices, double(size))})});
  Value found = lookUp(c, op, operands[0], indices);
  if (!found || !isOwn)
    return {};
  Dims dims = getDims(isOwn);
  dims.append(getRank(operands[0]) - dim - 1, DimExpr(1));
  // Ranks without the looked-up entry contribute the neutral element of addition: -0.0 for floats.
  double zero = isa<FloatType>(getElementType(found)) ? -0.0 : 0.0;
  return c.op<WhereOp>({c.reshape(isOwn, dims), found, c.scalarLike(found, zero)});
}

static SmallVector<NamedAttribute> attributesOf(OpBuilder &b, RankRange ranks) {
  return {b.getNamedAttr("first", b.getI64IntegerAttr(ranks.first)),
          b.getNamedAttr("ranks", b.getI64IntegerAttr(ranks.count))};
}

Value makeAllReduce(OpBuilder &b, Location loc, Value part, RankRange ranks) {
  return canBeAdded(getElementType(part)) ? make<AllReduceOp>(b, loc, part, attributesOf(b, ranks)) : Value();
}

Value makeOrderedSum(OpBuilder &b, Location loc, Value part, RankRange ranks) {
  if (!canBeAdded(getElementType(part)))
    return {}; // such elements cannot be added, neither here nor by all_reduce
  Composer c(b, loc);
  Dims dims = getDims(part);
  Value all = make<AllGatherOp>(b, loc, part, attributesOf(b, ranks)), sum;
  for (int64_t r = 0; all && r < ranks.count; ++r) {
    Value one = c.reshape(c.slice(all, 0, DimExpr(r), DimExpr(1)), dims);
    sum = sum ? c.add({sum, one}) : one;
  }
  return sum;
}

/// Splits the sharded dim of a tensor into the dims `blocks`, `parts` (omitted if 0) and the rest.
static Dims takenApart(const Dims &dims, const DimSharding &cut, int64_t parts) {
  Dims apart(dims.begin(), dims.begin() + cut.dim);
  apart.push_back(cut.blocks);
  if (parts)
    apart.push_back(DimExpr(parts));
  apart.push_back(dims[cut.dim].floorDiv(cut.blocks * DimExpr(std::max<int64_t>(parts, 1))));
  apart.append(dims.begin() + cut.dim + 1, dims.end());
  return apart;
}

Value makeReduceScatter(OpBuilder &b, Location loc, Value part, const DimSharding &cut, RankRange ranks) {
  if (!canBeAdded(getElementType(part)))
    return {};
  Composer c(b, loc);
  // Makes the shards contiguous for the reduce-scatter: [.., blocks, parts, rest, ..] to [parts,
  // .., blocks, rest, ..].
  Dims whole = getDims(part), apart = takenApart(whole, cut, ranks.count);
  SmallVector<int64_t> order = {cut.dim + 1};
  for (int64_t d = 0; d < int64_t(apart.size()); ++d)
    if (d != cut.dim + 1)
      order.push_back(d);
  Dims parts = shardDims(whole, cut, DimExpr(ranks.count));
  parts.insert(parts.begin(), DimExpr(ranks.count));
  Value each = c.reshape(c.transpose(c.reshape(part, apart), order), parts);
  return each ? make<ReduceScatterOp>(b, loc, each, attributesOf(b, ranks)) : Value();
}

Value makeAllGather(OpBuilder &b, Location loc, Value part, const DimSharding &cut, RankRange ranks) {
  Composer c(b, loc);
  int64_t parts = ranks.count;
  Value gathered = make<AllGatherOp>(b, loc, part, attributesOf(b, ranks));
  if (!gathered)
    return {};
  // Interleaves the gathered shards: [parts, .., blocks, rest, ..] to [.., blocks, parts, rest,
  // ..].
  Dims apart = takenApart(getDims(part), cut, 0);
  apart.insert(apart.begin(), DimExpr(parts));
  SmallVector<int64_t> order;
  for (int64_t d = 1; d < int64_t(apart.size()); ++d) {
    order.push_back(d);
    if (d == cut.dim + 1)
      order.push_back(0);
  }
  Dims whole = getDims(part);
  whole[cut.dim] = whole[cut.dim] * DimExpr(parts);
  return c.reshape(c.transpose(c.reshape(gathered, apart), order), whole);
}

Value makePart(OpBuilder &b, Location loc, Value whole, const DimSharding &cut, int64_t parts, int64_t number) {
  Composer c(b, loc);
  Dims dims = getDims(whole);
  if (cut.blocks.is(1)) {
    DimExpr size = dims[cut.dim].floorDiv(DimExpr(parts));
    return c.slice(whole, cut.dim, size * DimExpr(number), size);
  }
  Value apart = c.slice(c.reshape(whole, takenApart(dims, cut, parts)), cut.dim + 1, DimExpr(number), DimExpr(1));
  return c.reshape(apart, shardDims(dims, cut, DimExpr(parts)));
}

namespace {
/// The dims of a tensor after its sharded dim has been split, and the number of the dim along which
/// the shards differ.
struct Apart {
  Dims dims;
  int64_t dim;
};
} // namespace

/// Splits the sharded dim of a tensor into three dims: blocks, `many` batch elements, and the
/// elements of a batch element. A dim that consists of the batch elements only is not split.
static Apart takeApart(const Dims &whole, const DimSharding &cut, const ShardCount &parts, const DimExpr &many) {
  DimExpr unit = parts.items.is(0) ? DimExpr(1) : *grainOf(whole[cut.dim], cut, parts);
  Apart apart{whole, cut.dim};
  apart.dims[cut.dim] = many;
  if (cut.blocks.is(1) && unit.is(1))
    return apart;
  apart.dims.insert(apart.dims.begin() + cut.dim, cut.blocks);
  apart.dims.insert(apart.dims.begin() + cut.dim + 2, unit);
  return {apart.dims, cut.dim + 1};
}

Value makeEven(OpBuilder &b, Location loc, Value whole, const DimSharding &cut, const ShardCount &parts) {
  Composer c(b, loc);
  Apart apart = takeApart(getDims(whole), cut, parts, parts.items);
  Dims none(apart.dims.size(), DimExpr(0)), behind = none;
  behind[apart.dim] = parts.items.ceilDiv(parts.count) * parts.count - parts.items;
  return c.pad(c.reshape(whole, apart.dims), none, behind, "edge");
}

Value makePartOfEven(OpBuilder &b, Location loc, Value even, const Dims &whole, const DimSharding &cut,
                     const ShardCount &parts, int64_t number) {
  Composer c(b, loc);
  int64_t dim = takeApart(whole, cut, parts, parts.items).dim;
  DimExpr size = parts.items.ceilDiv(parts.count);
  return c.reshape(c.slice(even, dim, size * DimExpr(number), size), shardDims(whole, cut, parts));
}

Value makeWhole(OpBuilder &b, Location loc, ValueRange made, const Dims &whole, const DimSharding &cut,
                const ShardCount &parts) {
  Composer c(b, loc);
  bool hasItems = !parts.items.is(0);
  DimExpr size = hasItems ? parts.items.ceilDiv(parts.count) : *grainOf(whole[cut.dim], cut, parts);
  Apart apart = takeApart(whole, cut, parts, size);
  Value all = c.concat(llvm::map_to_vector(made, [&](Value part) { return c.reshape(part, apart.dims); }), apart.dim);
  if (all && hasItems && getDims(all)[apart.dim] != parts.items)
    all = c.slice(all, apart.dim, DimExpr(0), parts.items);
  return c.reshape(all, whole);
}

void makeSend(OpBuilder &b, Location loc, Value value, int64_t to) {
  make<SendOp>(b, loc, value, b.getNamedAttr("to", b.getI64IntegerAttr(to)));
}

Value makeReceive(OpBuilder &b, Location loc, const Dims &dims, Type elementType, int64_t from) {
  return make<ReceiveOp>(b, loc, {},
                         {b.getNamedAttr("shape", dimsAttr(b.getContext(), dims)),
                          b.getNamedAttr("elementType", TypeAttr::get(elementType)),
                          b.getNamedAttr("from", b.getI64IntegerAttr(from))});
}

SmallVector<std::pair<int64_t, int64_t>> messagesOf(ArrayRef<Lines> own, ArrayRef<Lines> wanted) {
  SmallVector<std::pair<int64_t, int64_t>> messages;
  for (int64_t from = 0; from < int64_t(own.size()); ++from)
    for (int64_t to = 0; to < int64_t(own.size()); ++to)
      if (from != to && !own[from].meet(wanted[to]).empty())
        messages.push_back({from, to});
  // All ranks process the messages between them in this order, so the sender and the receiver of
  // the first message that is not done are always ready for it. Messages between ranks 0-1, 2-3,
  // ... come first, then those between 1-2, 3-4, ...: the first ones do not wait for each other.
  auto keyOf = [](const std::pair<int64_t, int64_t> &message) {
    auto [from, to] = message;
    int64_t least = std::min(from, to), away = std::max(from, to) - least;
    return std::tuple(away, least / away % 2, least, from);
  };
  llvm::sort(messages, [&](const auto &a, const auto &b) { return keyOf(a) < keyOf(b); });
  return messages;
}

SmallVector<Strip> makeExchange(OpBuilder &b, Location loc, Value value, int64_t dim, ArrayRef<Lines> own,
                                ArrayRef<Lines> wanted, RankRange ranks, int64_t number) {
  SmallVector<Strip> strips = {{own[number], value}};
  for (auto [from, to] : messagesOf(own, wanted)) {
    Lines lines = own[from].meet(wanted[to]);
    if (from == number) {
      makeSend(b, loc, makeLines(b, loc, strips.front(), dim, lines), ranks.first + to);
    } else if (to == number) {
      Dims dims = getDims(value);
      dims[dim] = DimExpr(lines.size());
      strips.push_back({lines, makeReceive(b, loc, dims, getElementType(value), ranks.first + from)});
    }
  }
  llvm::sort(strips, [](const Strip &a, const Strip &b) { return a.lines.begin < b.lines.begin; });
  return strips;
}

Value makeLines(OpBuilder &b, Location loc, ArrayRef<Strip> strips, int64_t dim, Lines lines) {
  Composer c(b, loc);
  SmallVector<Value> values;
  int64_t end = lines.begin;
  for (const Strip &strip : strips) {
    Lines some = strip.lines.meet(lines);
    if (some.empty())
      continue;
    if (some.begin != end)
      return {}; // the rank lacks some of the rows
    end = some.end;
    values.push_back(some == strip.lines
                         ? strip.value
                         : c.slice(strip.value, dim, DimExpr(some.begin - strip.lines.begin), DimExpr(some.size())));
  }
  if (end != lines.end)
    return {}; // the rank lacks some of the rows
  return values.size() == 1 ? values.front() : c.concat(values, dim);
}

Value makeGatherOfLines(OpBuilder &b, Location loc, Value value, int64_t dim, ArrayRef<Lines> own, RankRange ranks) {
  Composer c(b, loc);
  int64_t most = 0, mine = *getDims(value)[dim].constant();
  for (const Lines &lines : own)
    most = std::max(most, lines.size());
  // An all-gather requires contributions of equal size, so shorter ones are padded.
  Dims none(getDims(value).size(), DimExpr(0)), behind = none;
  behind[dim] = DimExpr(most - mine);
  Value even = mine < most ? c.pad(value, none, behind) : value;
  Value all = makeAllGather(b, loc, even, DimSharding{dim, 1}, ranks);
  if (all && llvm::all_of(own, [&](const Lines &lines) { return lines.size() == most; }))
    return all;
  SmallVector<Value> values;
  for (auto [rank, lines] : llvm::enumerate(own))
    values.push_back(c.slice(all, dim, DimExpr(int64_t(rank) * most), DimExpr(lines.size())));
  return c.concat(values, dim);
}

std::optional<Transfer> transferOf(Operation *op) {
  auto made = [&](Transfer::Kind kind, RankRange ranks, Value value) {
    int64_t bytes = elementBytes(value);
    return Transfer{kind, ranks, numElements(getDims(value)) * DimExpr(bytes), bytes};
  };
  if (auto sum = dyn_cast<AllReduceOp>(op))
    return made(Transfer::Sum, {int64_t(sum.getFirst()), int64_t(sum.getRanks())}, sum.getX());
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return made(Transfer::Scatter, {int64_t(scatter.getFirst()), int64_t(scatter.getRanks())}, scatter.getX());
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return made(Transfer::Gather, {int64_t(gather.getFirst()), int64_t(gather.getRanks())}, gather.getX());
  if (auto send = dyn_cast<SendOp>(op))
    return made(Transfer::Send, {int64_t(send.getTo()), 1}, send.getX());
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return made(Transfer::Receive, {int64_t(receive.getFrom()), 1}, op->getResult(0));
  return std::nullopt;
}

DimExpr movedBytes(const Transfer &transfer, int64_t rank) {
  // collective transports divide a sum into chunks that are multiples of this many elements
  constexpr int64_t granule = 64;
  DimExpr others(transfer.ranks.count - 1);
  if (transfer.kind == Transfer::Send)
    return DimExpr(0);
  if (transfer.kind == Transfer::Receive)
    return transfer.bytes;
  if (transfer.kind == Transfer::Gather)
    return others * transfer.bytes;
  if (transfer.kind == Transfer::Scatter)
    return others * transfer.bytes.floorDiv(DimExpr(transfer.ranks.count));
  DimExpr count = transfer.bytes.floorDiv(DimExpr(transfer.elementBytes));
  DimExpr lines = (count + DimExpr(granule - 1)).floorDiv(DimExpr(granule));
  auto bound = [&](int64_t r) {
    return DimExpr::min(count, (lines * DimExpr(r)).floorDiv(DimExpr(transfer.ranks.count)) * DimExpr(granule));
  };
  int64_t own = rank - transfer.ranks.first;
  return DimExpr(2) * others * (bound(own + 1) - bound(own)) * DimExpr(transfer.elementBytes);
}

} // namespace hewn::graph
