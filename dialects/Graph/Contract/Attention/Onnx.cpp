// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX's Attention and RotaryEmbedding nodes.
#include "dialects/Graph/Contract/Attention/Onnx.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Control/Control.h"

#include "dialects/Graph/Contract/Attention/AttentionOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include <cmath>

using namespace mlir;

namespace hewn::graph {

Value splitHeads(OnnxNode &node, Value x, int64_t heads) {
  if (!x)
    return x;
  Dims dims = getDims(x);
  if (dims.size() != 3 || heads < 1) {
    (void)node.refuse("requires inputs of rank 3 and a number of heads");
    return {};
  }
  if (dims[2].constant() && *dims[2].constant() % heads != 0) {
    (void)node.refuse(dims[2].str() + " elements are not divisible by " + Twine(heads) + " heads");
    return {};
  }
  Composer c(node);
  return c.transpose(c.reshape(x, Dims{dims[0], dims[1], DimExpr(heads), dims[2].floorDiv(DimExpr(heads))}),
                     {0, 2, 1, 3});
}

Value mergeHeads(OnnxNode &node, Value x) {
  if (!x)
    return x;
  Composer c(node);
  Dims dims = getDims(x);
  return c.reshape(c.transpose(x, {0, 2, 1, 3}), Dims{dims[0], dims[2], dims[1] * dims[3]});
}

AttentionResults makeAttention(OnnxNode &node, AttentionInputs in) {
  Composer c(node);
  if (!in.q || !in.k || !in.v || bool(in.pastK) != bool(in.pastV)) {
    (void)node.refuse("lacks an input");
    return {};
  }
  Dims q = getDims(in.q), past = in.pastK ? getDims(in.pastK) : Dims();
  if (q.size() != 4 || (in.pastK && past.size() != 4) || (!in.scale && !q[3].constant())) {
    (void)node.refuse("requires inputs of rank 4, or of rank 3 with numbers of heads, and a static head size");
    return {};
  }
  AttentionResults results;
  results.presentK = in.pastK ? c.concat({in.pastK, in.k}, 2) : in.k;
  results.presentV = in.pastV ? c.concat({in.pastV, in.v}, 2) : in.v;
  if (!results.presentK || !results.presentV)
    return {};
  OperationState state(node.loc, AttentionOp::getOperationName());
  state.addOperands({in.q, results.presentK, results.presentV});
  for (Value optional : {in.mask, in.lengths})
    if (optional)
      state.addOperands(optional);
  Dims offset = {in.pastK ? past[2] : DimExpr(0)};
  double scale = in.scale ? *in.scale : 1 / std::sqrt(double(*q[3].constant()));
  Builder &b = node.b;
  state.addAttributes(
      {node.attr("operandSegmentSizes", b.getDenseI32ArrayAttr({1, 1, 1, in.mask ? 1 : 0, in.lengths ? 1 : 0})),
       node.attr("scale", b.getF64FloatAttr(scale)), node.attr("softcap", b.getF64FloatAttr(in.softcap)),
       node.attr("offset", ArrayRef<DimExpr>(offset)), node.attr("left", in.left), node.attr("right", in.right),
       node.attr("stage", in.stage),
       node.attr("precision", TypeAttr::get(in.precision ? in.precision : getElementType(in.q)))});
  // Gives the new op placeholder result types, which `inferResults` replaces.
  state.types.assign(2, RankedTensorType::get({}, b.getF32Type()));
  Operation *op = node.b.create(state);
  if (failed(inferResults(op))) {
    op->erase();
    return {};
  }
  results.result = op->getResult(0);
  results.scores = op->getResult(1);
  return results;
}

LogicalResult finishAttention(OnnxNode &node, AttentionInputs in) {
  AttentionResults results = makeAttention(node, in);
  if (!results.result)
    return failure();
  node.setOutput(1, results.presentK);
  node.setOutput(2, results.presentV);
  return node.finish(mergeHeads(node, results.result));
}

/// Pads the columns of an attention mask to the number of keys. ONNX allows masks with fewer
/// columns: all further keys are masked.
static Value padMask(Composer &c, Value mask, const DimExpr &keys) {
  Dims dims = getDims(mask), low(dims.size(), DimExpr(0)), high = low;
  if (dims.empty() || dims.back() == keys)
    return mask;
  high.back() = clampToZero(keys - dims.back());
  bool isBool = getElementType(mask).isInteger(1);
  Value fill = c.scalarLike(mask, isBool ? 0 : -std::numeric_limits<double>::infinity());
  return c.pad(mask, low, high, "constant", fill);
}

LogicalResult buildAttention(OnnxNode &node) {
  Composer c(node);
  AttentionInputs in;
  in.q = node.input(0), in.k = node.input(1), in.v = node.input(2), in.mask = node.input(3);
  in.pastK = node.input(4), in.pastV = node.input(5), in.lengths = node.input(6);
  if (!in.q || !in.k || !in.v)
    return node.refuse("lacks an input");
  bool flat = getRank(in.q) == 3;
  if (flat) {
    int64_t heads = node.getInt("kv_num_heads", 0);
    in.q = splitHeads(node, in.q, node.getInt("q_num_heads", 0));
    in.k = splitHeads(node, in.k, heads);
    in.v = splitHeads(node, in.v, heads);
    if (!in.q || !in.k || !in.v)
      return failure();
  }
  if (in.lengths && getRank(in.k) == 4 && failed(checkIndices(node, in.lengths, getDims(in.k)[2], IndexRange::Length)))
    return failure();
  if (in.mask && getRank(in.k) == 4) {
    DimExpr keys = getDims(in.k)[2];
    if (in.pastK && getRank(in.pastK) == 4)
      keys = keys + getDims(in.pastK)[2];
    // converts an integer mask to float, so that it can be padded with -inf
    if (!getElementType(in.mask).isInteger(1))
      in.mask = c.cast(in.mask, getElementType(in.q));
    in.mask = in.mask ? padMask(c, in.mask, keys) : Value();
    if (!in.mask)
      return failure();
  }
  if (node.hasAttr("scale"))
    in.scale = node.getFloat("scale", 1);
  in.softcap = node.getFloat("softcap", 0);
  in.left = node.getInt("left_window_size", -1);
  in.right = node.getInt("is_causal", 0) ? 0 : node.getInt("right_window_size", -1);
  if (in.left < -1 || in.right < -1)
    return node.refuse("window sizes must be at least -1");
  in.stage = node.getInt("qk_matmul_output_mode", 0);
  if (in.stage < 0 || in.stage > 3)
    return node.refuse("qk_matmul_output_mode " + Twine(in.stage) + " is not in [0, 3]");
  if (node.hasAttr("softmax_precision"))
    in.precision = node.elementTypeOf(node.getInt("softmax_precision", 1));
  if (in.precision && !isa<FloatType>(in.precision))
    return node.refuse("softmax_precision must be a float type");
  AttentionResults results = makeAttention(node, in);
  if (!results.result)
    return failure();
  node.setOutput(1, results.presentK);
  node.setOutput(2, results.presentV);
  node.setOutput(3, results.scores);
  return node.finish(flat ? mergeHeads(node, results.result) : results.result);
}

//===------------------------------------------------------------------------------------------===//
// RotaryEmbedding
//===------------------------------------------------------------------------------------------===//

Value rotate(Composer &c, Value x, Value cos, Value sin, int64_t turned, bool interleaved) {
  if (!x || !cos || !sin)
    return {};
  Dims dims = getDims(x);
  int64_t last = dims.size() - 1;
  DimExpr half(turned / 2);
  Value real = interleaved ? c.slice(x, last, DimExpr(0), half, 2) : c.slice(x, last, DimExpr(0), half);
  Value imag = interleaved ? c.slice(x, last, DimExpr(1), half, 2) : c.slice(x, last, half, half);
  auto mul = [&](Value a, Value b) { return c.op<MulOp>({a, b}); };
  Value newReal = c.op<SubOp>({mul(cos, real), mul(sin, imag)});
  Value newImag = c.op<AddOp>({mul(sin, real), mul(cos, imag)});
  if (!newReal || !newImag)
    return {};
  Dims rotated = dims;
  rotated.back() = DimExpr(turned);
  Value both;
  if (interleaved) {
    Dims pair = getDims(newReal);
    pair.push_back(DimExpr(1));
    both = c.reshape(c.concat({c.reshape(newReal, pair), c.reshape(newImag, pair)}, last + 1), rotated);
  } else {
    both = c.concat({newReal, newImag}, last);
  }
  DimExpr rest = dims.back() - DimExpr(turned);
  return rest.is(0) ? both : c.concat({both, c.slice(x, last, DimExpr(turned), rest)}, last);
}

/// Sets the node's output to x, rotated by the angles `cos` and `sin` [batch or 1, n, rotated / 2].
/// x is [batch, heads, n, size] or [batch, n, heads * size].
static LogicalResult finishRotary(OnnxNode &node, Value x, Value cos, Value sin, int64_t heads) {
  Composer c(node);
  if (!x || !cos || !sin)
    return failure();
  Dims dims = getDims(x), table = getDims(cos);
  bool flat = dims.size() == 3;
  if ((flat && heads < 1) || dims.size() < 3 || dims.size() > 4 || table.size() != 3 || getDims(sin) != table)
    return node.refuse(
        "requires an input of rank 4, or of rank 3 with a number of heads, and sin and cos caches of equal shape");
  DimExpr size = flat ? dims[2].floorDiv(DimExpr(heads)) : dims[3];
  if (!size.constant() || (flat && dims[2] != size * DimExpr(heads)))
    return node.refuse("the head size is dynamic, or the input is not divisible by it");
  int64_t turned = node.getInt("rotary_embedding_dim", 0);
  turned = turned ? turned : *size.constant();
  if (turned % 2 != 0 || turned < 0 || turned > *size.constant() || !table[2].is(turned / 2))
    return node.refuse("cannot rotate " + Twine(turned) + " of " + size.str() + " elements by " + table[2].str() +
                       " angles");
  Dims angles = flat ? Dims{table[0], table[1], DimExpr(1), table[2]} : Dims{table[0], DimExpr(1), table[1], table[2]};
  Value split = flat ? c.reshape(x, Dims{dims[0], dims[1], DimExpr(heads), size}) : x;
  Value turnedX =
      rotate(c, split, c.reshape(cos, angles), c.reshape(sin, angles), turned, node.getInt("interleaved", 0));
  return node.finish(c.reshape(turnedX, dims));
}

/// Gathers the rows `positions` of a table of rotation angles.
static Value rowsOf(OnnxNode &node, Value table, Value positions) {
  return node.make<GatherOp>({table, positions}, node.attr("axis", int64_t(0)));
}

LogicalResult buildRotaryEmbedding(OnnxNode &node) {
  Value cos = node.input(1), sin = node.input(2), positions = node.input(3);
  if (!node.input(0) || !cos || !sin)
    return node.refuse("lacks an input");
  if (int64_t rank = positions ? 2 : 3; getRank(cos) != rank || getRank(sin) != rank)
    return node.refuse("requires sin and cos caches of rank " + Twine(rank) + (positions ? " with position_ids" : ""));
  if (positions) {
    if (failed(checkIndices(node, positions, getDims(cos)[0], IndexRange::Position)))
      return failure();
    require(node.b, node.loc, Relation::Equal, getDims(sin)[0], getDims(cos)[0]);
    cos = rowsOf(node, cos, positions);
    sin = rowsOf(node, sin, positions);
  }
  // Requires rotation angles for each position, because the rotation would broadcast a dim of 1.
  // Caches that are gathered by position_ids have a row for each batch element, other caches may be
  // shared by all of them, as PyTorch's exporter writes them.
  if (Dims dims = getDims(node.input(0)), angles = getDims(cos); angles.size() == 3 && dims.size() >= 3) {
    require(node.b, node.loc, positions ? Relation::Equal : Relation::Broadcast, angles[0], dims[0]);
    require(node.b, node.loc, Relation::Equal, angles[1], dims[dims.size() == 4 ? 2 : 1]);
  }
  return finishRotary(node, node.input(0), cos, sin, node.getInt("num_heads", 0));
}

LogicalResult buildRotaryEmbeddingMs(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0), positions = node.input(1), cos = node.input(2), sin = node.input(3);
  if (!x || !positions || !cos || !sin)
    return node.refuse("lacks an input");
  if (node.getInt("is_packed_batching", 0) || node.getFloat("scale", 1) != 1)
    return node.refuse("packed batches and scaled positions are not supported");
  Dims dims = getDims(x), table = getDims(cos);
  if (dims.size() < 3 || table.size() != 2 || getRank(sin) != 2 || !table[1].constant())
    return node.refuse("requires an input of rank 3 or 4 and caches of static width");
  int64_t heads = node.getInt("num_heads", 0);
  if (heads == 0 && dims.size() == 3 && dims[2].constant() && *table[1].constant() > 0)
    heads = *dims[2].constant() / (2 * *table[1].constant());
  DimExpr count = dims.size() == 4 ? dims[2] : dims[1], one(1);
  // `positions` contains the position of the first element; the other elements follow it
  if (getRank(positions) == 1) {
    positions = c.range(c.cast(c.reshape(positions, {}), node.b.getI64Type()), c.number(one), count);
    positions = c.reshape(positions, Dims{one, count});
  }
  if (!positions || failed(checkIndices(node, positions, table[0], IndexRange::Position)))
    return failure();
  require(node.b, node.loc, Relation::Equal, getDims(sin)[0], table[0]);
  return finishRotary(node, x, rowsOf(node, cos, positions), rowsOf(node, sin, positions), heads);
}

} // namespace hewn::graph
