// SPDX-License-Identifier: Apache-2.0
//
// Import of com.microsoft's MultiHeadAttention and Attention.
#include "dialects/Graph/Contract/Attention/Onnx.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"

#include <limits>

using namespace mlir;

namespace hewn::graph {

/// Reads the attributes that all attention nodes of com.microsoft have.
static LogicalResult readAttributes(OnnxNode &node, AttentionInputs &in) {
  // Bound for mask_filter_value: a mask that lowers scores by at least 1000 is equivalent to
  // -infinity.
  constexpr double least = -1000;
  if (double masked = node.getFloat("mask_filter_value", -10000); !(masked <= least))
    return node.refuse("a mask_filter_value above " + Twine(int64_t(least)) + " is not supported");
  if (node.getFloat("scale", 0) != 0)
    in.scale = node.getFloat("scale", 0);
  if (node.getInt("unidirectional", 0))
    in.right = 0;
  return success();
}

/// Returns x plus the elements of the node's bias from `first` on, one for each column of x.
/// Returns x if the node has no bias.
static Value addBias(Composer &c, Value x, Value bias, const DimExpr &first) {
  if (!x || !bias)
    return x;
  return c.op<AddOp>({x, c.slice(bias, 0, first, getDims(x).back())});
}

/// Converts the node's integer mask of keys to a bool mask. A mask [batch, key] or [batch, query,
/// key] gets dims of 1 for heads and queries. A mask [batch] contains the number of valid keys of
/// each batch element, which is compared with key positions. Returns false after a call of
/// `refuse`.
static bool addKeyMask(OnnxNode &node, Value mask, AttentionInputs &in) {
  if (!mask)
    return true;
  Composer c(node);
  Dims dims = getDims(mask);
  DimExpr one(1);
  if (dims.size() == 1) {
    if (dims[0] != getDims(in.q)[0]) {
      (void)node.refuse("a mask of " + dims[0].str() + " elements is not supported");
      return false;
    }
    if (failed(checkIndices(node, mask, getDims(in.k)[2], IndexRange::Length)))
      return false;
    // Emits the sequence lengths as a bool mask, not as `AttentionInputs::lengths`, because the
    // latter would also change the positions of the queries.
    Value keys = c.range(getDims(in.k)[2]);
    Value lengths = c.reshape(c.cast(mask, node.b.getI64Type()), Dims{dims[0], one, one, one});
    mask = c.op<LessOp>({keys, lengths});
  } else if (dims.size() == 2 || dims.size() == 3) {
    mask = c.cast(mask, node.b.getI1Type());
    mask = c.reshape(mask, dims.size() == 2 ? Dims{dims[0], one, one, dims[1]} : Dims{dims[0], one, dims[1], dims[2]});
  } else {
    (void)node.refuse("a mask of rank " + Twine(dims.size()) + " is not supported");
    return false;
  }
  if (!mask)
    return false;
  if (!in.mask) {
    in.mask = mask;
    return true;
  }
  Value forbidden = c.scalarLike(in.mask, -std::numeric_limits<double>::infinity());
  in.mask = c.op<WhereOp>({mask, in.mask, forbidden});
  return bool(in.mask);
}

LogicalResult buildMultiHeadAttention(OnnxNode &node) {
  Composer c(node);
  AttentionInputs in;
  Value q = node.input(0), k = node.input(1), v = node.input(2), bias = node.input(3);
  int64_t heads = node.getInt("num_heads", 0);
  if (!q || !k || !v || getRank(q) != 3)
    return node.refuse("packed queries, keys and values are not supported");
  if (node.numInputs() > 8)
    return node.refuse("inputs beyond the first 8 are not supported");
  DimExpr width = getDims(q).back();
  in.q = splitHeads(node, addBias(c, q, bias, DimExpr(0)), heads);
  // In cross attention, keys and values have rank 4 and are already split into heads.
  bool apart = getRank(k) == 4;
  if (apart && bias)
    return node.refuse("a bias on keys of rank 4 is not supported");
  in.k = apart ? k : splitHeads(node, addBias(c, k, bias, width), heads);
  in.v = apart ? v : splitHeads(node, addBias(c, v, bias, width + width), heads);
  if (!in.q || !in.k || !in.v)
    return failure();
  in.mask = node.input(5);
  in.pastK = node.input(6), in.pastV = node.input(7);
  if (failed(readAttributes(node, in)))
    return failure();
  return addKeyMask(node, node.input(4), in) ? finishAttention(node, in) : failure();
}

LogicalResult buildPackedAttention(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0), weights = node.input(1), bias = node.input(2);
  if (!x || !weights || getRank(x) != 3 || getRank(weights) != 2)
    return node.refuse("requires an input of rank 3 and weights of rank 2");
  // the attribute has no effect, because this node does not rotate
  (void)node.getInt("rotary_embedding_dim", 0);
  if (node.getInt("do_rotary", 0) || node.numInputs() > 6)
    return node.refuse("rotation and past lengths are not supported");
  Value all = c.op<MatMulOp>({x, weights});
  if (bias)
    all = c.op<AddOp>({all, bias});
  return finishPackedAttention(node, all, {node.input(3), node.input(4), node.input(5)});
}

LogicalResult finishPackedAttention(OnnxNode &node, Value all, const PackedInputs &others) {
  if (!all)
    return failure();
  Composer c(node);
  AttentionInputs in;
  DimExpr whole = getDims(all).back(), third = whole.floorDiv(DimExpr(3));
  SmallVector<int64_t> sizes = node.getInts("qkv_hidden_sizes").value_or(SmallVector<int64_t>());
  if (!sizes.empty() && sizes.size() != 3)
    return node.refuse("qkv_hidden_sizes has " + Twine(sizes.size()) + " entries instead of 3");
  DimExpr offset(0);
  Value parts[3];
  for (int i = 0; i < 3; ++i) {
    DimExpr size = sizes.empty() ? third : DimExpr(sizes[i]);
    parts[i] = splitHeads(node, c.slice(all, 2, offset, size), node.getInt("num_heads", 0));
    if (!parts[i])
      return failure();
    offset = offset + size;
  }
  if (offset != whole)
    return node.refuse("the weights' " + whole.str() + " columns are not the sum of the query, key and value sizes");
  in.q = parts[0], in.k = parts[1], in.v = parts[2];
  if (Value past = others.past) { // past keys and values: [2, batch, heads, n, size]
    Dims dims = getDims(past);
    if (dims.size() != 5)
      return node.refuse("requires past keys and values of rank 5");
    Dims one(dims.begin() + 1, dims.end());
    in.pastK = c.reshape(c.slice(past, 0, DimExpr(0), DimExpr(1)), one);
    in.pastV = c.reshape(c.slice(past, 0, DimExpr(1), DimExpr(1)), one);
  }
  in.mask = others.addend;
  if (failed(readAttributes(node, in)) || failed(node.needsDefault("past_present_share_buffer", 0)) ||
      !addKeyMask(node, others.keyMask, in))
    return failure();
  AttentionResults results = makeAttention(node, in);
  if (!results.result)
    return failure();
  if (node.wantsOutput(1)) {
    auto stacked = [&](Value present) {
      Dims dims = getDims(present);
      dims.insert(dims.begin(), DimExpr(1));
      return c.reshape(present, dims);
    };
    node.setOutput(1, c.concat({stacked(results.presentK), stacked(results.presentV)}, 0));
  }
  return node.finish(mergeHeads(node, results.result));
}

} // namespace hewn::graph
