// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft's MultiHeadAttention and Attention, which exporters write.
#include "dialects/Graph/Contract/Attention/Onnx.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"

#include <limits>

using namespace mlir;

namespace hewn::graph {

/// What all of them have.
static LogicalResult readAttributes(OnnxNode &node, AttentionInputs &in) {
  // A score that is so much less than others is none, as -infinity is none.
  constexpr double least = -1000;
  if (double masked = node.getFloat("mask_filter_value", -10000); !(masked <= least))
    return node.refuse("a mask_filter_value above " + Twine(int64_t(least)) + " is not supported");
  if (node.getFloat("scale", 0) != 0)
    in.scale = node.getFloat("scale", 0);
  if (node.getInt("unidirectional", 0))
    in.right = 0;
  return success();
}

/// x + b[first, first + width), where there is a bias.
static Value addBias(Composer &c, Value x, Value bias, const DimExpr &first) {
  if (!x || !bias)
    return x;
  return c.op<AddOp>({x, c.slice(bias, 0, first, getDims(x).back())});
}

/// The mask of keys, integers, as bools: [batch, key] and [batch, query, key] with heads (and queries) put in. One
/// length a batch goes to `lengths`. False after `refuse`.
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
    // Lengths here only say which keys are there; where queries stand is another thing.
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
    return node.refuse("has more inputs than hewn knows");
  DimExpr width = getDims(q).back();
  in.q = splitHeads(node, addBias(c, q, bias, DimExpr(0)), heads);
  // Keys and values of cross attention come with their heads apart.
  bool apart = getRank(k) == 4;
  if (apart && bias)
    return node.refuse("a bias on keys that come with their heads apart is not supported");
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
    return node.refuse("needs an input of rank 3 and weights of rank 2");
  (void)node.getInt("rotary_embedding_dim", 0); // nothing is rotated
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
    return node.refuse("qkv_hidden_sizes has " + Twine(sizes.size()) + " numbers");
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
    return node.refuse("weights of " + whole.str() + " columns are not queries, keys and values");
  in.q = parts[0], in.k = parts[1], in.v = parts[2];
  if (Value past = others.past) { // [2, batch, heads, n, size]
    Dims dims = getDims(past);
    if (dims.size() != 5)
      return node.refuse("needs past keys and values of rank 5");
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
