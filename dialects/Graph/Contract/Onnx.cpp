// SPDX-License-Identifier: Apache-2.0
//
// Import of ONNX's contractions. The padding, bias and scales of a node, and the reshapes of its
// vector operands, become separate ops.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Contract/Contract.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"

using namespace mlir;

namespace hewn::graph {

/// Expands those leading dims of the matmul operand x that may or may not be 1 at run time to the
/// dims of `other`, because contractions broadcast a dim only if it is statically 1.
static Value withLeadingDimsOf(Composer &c, Value x, const Dims &other) {
  Dims dims = getDims(x);
  if (dims.size() < 3 || other.size() < 3)
    return x;
  ArrayRef<DimExpr> leading = ArrayRef(dims).drop_back(2);
  std::optional<Dims> all = broadcastDims({Dims(leading), Dims(ArrayRef(other).drop_back(2))});
  if (!all)
    return x; // the leading dims do not broadcast, which the verifier of the matmul will report
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
  // Reshapes a vector operand of a matmul to a row (left operand) or a column (right operand). The
  // dim of 1 that the reshape adds is removed from the result.
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
    return node.refuse("a scalar operand is not allowed");
  return node.finish(composeMatMul(c, node.input(0), node.input(1)));
}

LogicalResult buildGemm(OnnxNode &node) { return node.finish(importGemm(node)); }

Value importGemm(OnnxNode &node) {
  Composer c(node);
  Value a = node.input(0), b = node.input(1), addend = node.input(2);
  if (getRank(a) != 2 || getRank(b) != 2) {
    (void)node.refuse("operands must have rank 2");
    return {};
  }
  if (node.getInt("transA", 0))
    a = c.transpose(a, {1, 0});
  if (node.getInt("transB", 0))
    b = c.transpose(b, {1, 0});
  double alpha = node.getFloat("alpha", 1), beta = node.getFloat("beta", 1);
  Value product = node.make<MatMulOp>({a, b});
  if (!product)
    return product;
  // Gemm of integers with a fractional alpha or beta computes alpha * A * B + beta * C in float64
  // and truncates the sum, as ONNX's reference does. The product A * B itself is exact.
  Type type = getElementType(product);
  bool isWhole = alpha == std::floor(alpha) && beta == std::floor(beta), widens = isa<IntegerType>(type) && !isWhole;
  if (widens)
    product = c.cast(product, c.b.getF64Type());
  if (alpha != 1)
    product = c.op<MulOp>({product, c.scalarLike(product, alpha)});
  if (!addend || beta == 0)
    return widens ? c.cast(product, type) : product;
  // Requires that input C of Gemm broadcasts to the dims of A * B. A * B must not broadcast to the
  // dims of C.
  Dims dims = getDims(product), added = getDims(addend);
  if (added.size() > dims.size()) {
    (void)node.refuse("input C has rank " + Twine(added.size()) + ", which is above 2");
    return {};
  }
  for (size_t i = 1; i <= added.size(); ++i)
    require(node.b, node.loc, Relation::Broadcast, added[added.size() - i], dims[dims.size() - i]);
  if (widens)
    addend = c.cast(addend, c.b.getF64Type());
  if (beta != 1)
    addend = c.op<MulOp>({addend, c.scalarLike(addend, beta)});
  Value sum = c.op<AddOp>({product, addend});
  return widens ? c.cast(sum, type) : sum;
}

//===------------------------------------------------------------------------------------------===//
// Windows of convolution and pooling
//===------------------------------------------------------------------------------------------===//

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
    (void)node.refuse("kernel, strides, dilations or pads are invalid for " + Twine(n) + " spatial dims");
    return std::nullopt;
  }
  std::string mode = node.getString("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    (void)node.refuse("auto_pad '" + mode + "' is not supported");
    return std::nullopt;
  }
  for (size_t i = 0; i < n; ++i) {
    DimExpr low(0), high(0);
    if (mode == "NOTSET" && pads) {
      low = DimExpr((*pads)[i]);
      high = DimExpr((*pads)[n + i]);
    } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      // For the auto_pad modes SAME_*, the output has ceil(extent / stride) elements. If the total
      // padding is odd, the additional element is at the end (SAME_UPPER) or at the start
      // (SAME_LOWER).
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

/// Splits a grouped convolution whose channel counts are symbolic into one convolution per group. A
/// single op would need an affine map from the group to its first channel, and a symbolic factor is
/// not affine.
static Value groupsApart(Composer &c, Value x, Value w, const Window &window, int64_t groups) {
  DimExpr in = getDims(w)[1], features = getDims(w)[0], out = features.floorDiv(DimExpr(groups));
  require(c.b, c.loc, Relation::Equal, getDims(x)[1], in * DimExpr(groups));
  require(c.b, c.loc, Relation::Equal, out * DimExpr(groups), features);
  Window plain = window; // the window without padding, because x is already padded
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

Value expandChannelMultiplier(Composer &c, ContractOpInterface op) {
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
    (void)node.refuse("input and weights must have the same rank, 3 or more");
    return std::nullopt;
  }
  SmallVector<int64_t> kernel;
  for (const DimExpr &dim : ArrayRef(weights).drop_front(2)) {
    if (!dim.constant()) {
      (void)node.refuse("a dynamic kernel size is not supported");
      return std::nullopt;
    }
    kernel.push_back(*dim.constant());
  }
  if (std::optional<SmallVector<int64_t>> written = node.getInts("kernel_shape"); written && *written != kernel) {
    (void)node.refuse("kernel_shape differs from the weights' shape");
    return std::nullopt;
  }
  return readWindow(node, ArrayRef(dims).drop_front(2), kernel);
}

LogicalResult buildConv(OnnxNode &node) { return node.finish(importConv(node)); }

Value importConv(OnnxNode &node) {
  Value x = node.input(0), w = node.input(1), bias = node.input(2);
  if (!x || !w || (bias && getRank(bias) != 1)) {
    (void)node.refuse("requires an input, weights, and an optional bias of rank 1");
    return {};
  }
  std::optional<Window> window = readConvWindow(node, x, w);
  if (!window)
    return {};
  Composer c(node);
  return addChannelBias(c, composeConv(c, x, w, *window, node.getInt("group", 1)), bias);
}

} // namespace hewn::graph
