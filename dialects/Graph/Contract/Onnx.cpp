// SPDX-License-Identifier: Apache-2.0
//
// How ONNX's products become contractions: what is no sum of products (padding, bias, scales, vectors as operands) is
// written in ops of its own.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"

using namespace mlir;

namespace hewn::graph {

/// x with leading dims that are 1 in some runs alone, and then stand for as many as `other` has, made as large. Contractions repeat what is
/// known to be 1.
static Value withLeadingDimsOf(Composer &c, Value x, const Dims &other) {
  Dims dims = getDims(x);
  if (dims.size() < 3 || other.size() < 3)
    return x;
  ArrayRef<DimExpr> leading = ArrayRef(dims).drop_back(2);
  std::optional<Dims> all = broadcastDims({Dims(leading), Dims(ArrayRef(other).drop_back(2))});
  if (!all)
    return x; // the product says so
  Dims target = llvm::to_vector(ArrayRef(*all).take_back(leading.size()));
  for (auto [dim, large] : llvm::zip(leading, target))
    if (dim.is(1))
      large = dim;
  llvm::append_range(target, ArrayRef(dims).take_back(2));
  return c.expand(x, target);
}

Value composeMatMul(Composer &c, Value a, Value b) {
  if (!a || !b)
    return {};
  Dims left = getDims(a), right = getDims(b);
  a = withLeadingDimsOf(c, a, right);
  b = withLeadingDimsOf(c, b, left);
  if (left.empty() || right.empty())
    return {};
  // A vector is a row on the left and a column on the right, and its dim goes again.
  Value product = make<MatMulOp>(c.b, c.loc,
                                 {left.size() == 1 ? c.reshape(a, {DimExpr(1), left[0]}) : a,
                                  right.size() == 1 ? c.reshape(b, {right[0], DimExpr(1)}) : b});
  if (!product || (left.size() > 1 && right.size() > 1))
    return product;
  Dims dims = getDims(product);
  if (right.size() == 1)
    dims.pop_back();
  if (left.size() == 1)
    dims.erase(dims.end() - (right.size() == 1 ? 1 : 2));
  return c.reshape(product, dims);
}

LogicalResult buildMatMul(OnnxNode &node) {
  Composer c(node);
  if (getRank(node.input(0)) == 0 || getRank(node.input(1)) == 0)
    return node.refuse("multiplies a scalar");
  return node.finish(composeMatMul(c, node.input(0), node.input(1)));
}

LogicalResult buildGemm(OnnxNode &node) { return node.finish(importGemm(node)); }

Value importGemm(OnnxNode &node) {
  Composer c(node);
  Value a = node.input(0), b = node.input(1), addend = node.input(2);
  if (getRank(a) != 2 || getRank(b) != 2) {
    (void)node.refuse("operands need rank 2");
    return {};
  }
  if (node.getInt("transA", 0))
    a = c.transpose(a, {1, 0});
  if (node.getInt("transB", 0))
    b = c.transpose(b, {1, 0});
  double alpha = node.getFloat("alpha", 1), beta = node.getFloat("beta", 1);
  Value product = node.make<MatMulOp>({a, b});
  if (alpha != 1)
    product = c.op<MulOp>({product, c.scalarLike(product, alpha)});
  if (!addend || beta == 0 || !product)
    return product;
  // The addend is repeated, never the product.
  Dims dims = getDims(product), added = getDims(addend);
  if (added.size() > dims.size()) {
    (void)node.refuse("adds a tensor of rank " + Twine(added.size()));
    return {};
  }
  for (size_t i = 1; i <= added.size(); ++i)
    require(node.b, node.loc, Relation::Broadcast, added[added.size() - i], dims[dims.size() - i]);
  if (beta != 1)
    addend = c.op<MulOp>({addend, c.scalarLike(addend, beta)});
  return c.op<AddOp>({product, addend});
}

//===------------------------------------------------------------------------------------------------------------------===//
// Windows: what Conv, pooling and their kin share
//===------------------------------------------------------------------------------------------------------------------===//

std::optional<Window> readWindow(OnnxNode &node, ArrayRef<DimExpr> extents, ArrayRef<int64_t> kernel) {
  size_t n = extents.size();
  Window w;
  w.kernel.assign(kernel.begin(), kernel.end());
  w.strides = node.getInts("strides").value_or(SmallVector<int64_t>(n, 1));
  w.dilations = node.getInts("dilations").value_or(SmallVector<int64_t>(n, 1));
  std::optional<SmallVector<int64_t>> pads = node.getInts("pads");
  auto positive = [](int64_t v) { return v >= 1 && v < (int64_t(1) << 31); };
  if (kernel.size() != n || w.strides.size() != n || w.dilations.size() != n || (pads && pads->size() != 2 * n) ||
      !llvm::all_of(kernel, positive) || !llvm::all_of(w.strides, positive) || !llvm::all_of(w.dilations, positive)) {
    (void)node.refuse("kernel, strides, dilations and pads do not fit " + Twine(n) + " spatial dims");
    return std::nullopt;
  }
  std::string mode = node.getString("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    (void)node.refuse("auto_pad '" + mode + "'");
    return std::nullopt;
  }
  for (size_t i = 0; i < n; ++i) {
    DimExpr low(0), high(0);
    if (mode == "NOTSET" && pads) {
      low = DimExpr((*pads)[i]);
      high = DimExpr((*pads)[n + i]);
    } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      // As many outputs as strides fit; the odd element stands at the end, or at the start.
      DimExpr stride(w.strides[i]), reach((kernel[i] - 1) * w.dilations[i] + 1);
      DimExpr total = clampToZero((extents[i].ceilDiv(stride) - DimExpr(1)) * stride + reach - extents[i]);
      DimExpr small = total.floorDiv(DimExpr(2));
      low = mode == "SAME_UPPER" ? small : total - small;
      high = total - low;
    }
    w.low.push_back(low);
    w.high.push_back(high);
  }
  w.same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  return w;
}

static constexpr int64_t mostApart = 64;

/// Groups of channels whose numbers are symbols: where a group begins is no multiple of its index that a map of indices could say, so
/// each is a convolution of its own.
static Value groupsApart(Composer &c, Value x, Value w, const Window &window, int64_t groups) {
  DimExpr in = getDims(w)[1], features = getDims(w)[0], out = features.floorDiv(DimExpr(groups));
  require(c.b, c.loc, Relation::Equal, getDims(x)[1], in * DimExpr(groups));
  require(c.b, c.loc, Relation::Equal, out * DimExpr(groups), features);
  Window plain = window; // the operand has its borders
  llvm::fill(plain.low, DimExpr(0));
  llvm::fill(plain.high, DimExpr(0));
  SmallVector<Value> parts;
  for (int64_t g = 0; g < groups; ++g) {
    Value part = composeConv(c, c.slice(x, 1, in * DimExpr(g), in), c.slice(w, 0, out * DimExpr(g), out), plain, 1);
    if (!part)
      return {};
    parts.push_back(part);
  }
  return c.concat(parts, 1);
}

Value composeConv(Composer &c, Value x, Value w, const Window &window, int64_t groups, Value padding) {
  Dims low(2, DimExpr(0)), high(2, DimExpr(0));
  llvm::append_range(low, window.low);
  llvm::append_range(high, window.high);
  x = c.pad(x, low, high, "constant", padding);
  if (!x || !w)
    return {};
  Dims weights = getDims(w);
  if (groups > 1 && groups <= mostApart && !(weights[0].constant() && weights[1].constant()))
    return groupsApart(c, x, w, window, groups);
  return make<ConvOp>(c.b, c.loc, {x, w},
                      {c.b.getNamedAttr("strides", c.b.getDenseI64ArrayAttr(window.strides)),
                       c.b.getNamedAttr("dilations", c.b.getDenseI64ArrayAttr(window.dilations)),
                       c.b.getNamedAttr("groups", c.b.getI64IntegerAttr(groups))});
}

Value repeatChannels(Composer &c, ContractOpInterface op) {
  auto conv = dyn_cast<ConvOp>(op.getOperation());
  std::optional<int64_t> features = conv ? getDims(conv.getW())[0].constant() : std::nullopt;
  if (!features || conv.getGroups() < 2 || *features <= int64_t(conv.getGroups()) || !getDims(conv.getW())[1].is(1) ||
      !conv.getTerms().empty())
    return {};
  auto border = conv.getX().getDefiningOp<PaddingOpInterface>();
  Value x = border ? border->getOperand(0) : conv.getX();
  Dims dims = getDims(x), one = dims, each = dims, together = dims;
  if (border && dims[1] != getDims(conv.getX())[1])
    return {};
  one.insert(one.begin() + 2, DimExpr(1));
  each.insert(each.begin() + 2, DimExpr(*features / int64_t(conv.getGroups())));
  together[1] = DimExpr(*features);
  Value repeated = c.reshape(c.expand(c.reshape(x, one), each), together);
  auto onRepeated = [&](Operation *of, Value operand) -> Value {
    Operation *own = c.b.clone(*of);
    own->setOperand(0, operand);
    if (auto sum = dyn_cast<ConvOp>(own))
      sum.setGroups(*features);
    return succeeded(inferResults(own)) ? own->getResult(0) : Value();
  };
  if (border)
    repeated = onRepeated(border, repeated);
  return repeated ? onRepeated(conv, repeated) : Value();
}

Value addChannelBias(Composer &c, Value x, Value bias) {
  if (!x || !bias)
    return x;
  Dims shape(getRank(x), DimExpr(1));
  shape[1] = getDims(bias)[0];
  require(c.b, c.loc, Relation::Equal, shape[1], getDims(x)[1]);
  return c.op<AddOp>({x, c.reshape(bias, shape)});
}

std::optional<Window> readConvWindow(OnnxNode &node, Value x, Value w) {
  Dims dims = getDims(x), weights = getDims(w);
  if (dims.size() < 3 || weights.size() != dims.size()) {
    (void)node.refuse("input and weights need the same rank, 3 or more");
    return std::nullopt;
  }
  SmallVector<int64_t> kernel;
  for (const DimExpr &dim : ArrayRef(weights).drop_front(2)) {
    if (!dim.constant()) {
      (void)node.refuse("a kernel of unknown size");
      return std::nullopt;
    }
    kernel.push_back(*dim.constant());
  }
  if (std::optional<SmallVector<int64_t>> written = node.getInts("kernel_shape"); written && *written != kernel) {
    (void)node.refuse("kernel_shape is not the weights'");
    return std::nullopt;
  }
  return readWindow(node, ArrayRef(dims).drop_front(2), kernel);
}

LogicalResult buildConv(OnnxNode &node) { return node.finish(importConv(node)); }

Value importConv(OnnxNode &node) {
  Value x = node.input(0), w = node.input(1), bias = node.input(2);
  if (!x || !w || (bias && getRank(bias) != 1)) {
    (void)node.refuse("needs an input, weights, and a bias of rank 1 if any");
    return {};
  }
  std::optional<Window> window = readConvWindow(node, x, w);
  if (!window)
    return {};
  Composer c(node);
  return addChannelBias(c, composeConv(c, x, w, *window, node.getInt("group", 1)), bias);
}

} // namespace hewn::graph
