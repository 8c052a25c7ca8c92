// SPDX-License-Identifier: Apache-2.0
//
// Decomposition of recurrent layers into a matmul and a scan. The matmul computes x W + b, which
// does not depend on the previous step, for all gates and all steps at once. The body of the scan
// is one matmul of the state by R, slices for the gates, and elementwise ops.
#include "dialects/Graph/Control/Recurrent/Recurrent.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Control/Recurrent/RecurrentOps.h"
#include "dialects/Graph/Elementwise/ActivationOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexOps.h"
#include "dialects/Graph/Quant/Quant.h"

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------===//
// Activations
//===------------------------------------------------------------------------------------------===//

static const RecurrentActivation kActivations[] = {{"relu", ReluOp::getOperationName(), 0, 0, 0},
                                                   {"tanh", TanhOp::getOperationName(), 0, 0, 0},
                                                   {"sigmoid", SigmoidOp::getOperationName(), 0, 0, 0},
                                                   {"affine", "", 2, 1, 0},
                                                   {"leakyrelu", LeakyReluOp::getOperationName(), 1, 0.01, 0},
                                                   {"elu", EluOp::getOperationName(), 1, 1, 0},
                                                   {"softsign", SoftsignOp::getOperationName(), 0, 0, 0},
                                                   {"softplus", SoftplusOp::getOperationName(), 0, 0, 0},
                                                   {"thresholdedrelu", ThresholdedReluOp::getOperationName(), 1, 1, 0},
                                                   {"scaledtanh", TanhOp::getOperationName(), 2, 1, 1},
                                                   {"hardsigmoid", HardSigmoidOp::getOperationName(), 2, 0.2, 0.5}};

const RecurrentActivation *findRecurrentActivation(StringRef name) {
  const auto *found = llvm::find_if(kActivations, [&](const RecurrentActivation &a) { return a.name == name; });
  return found == std::end(kActivations) ? nullptr : found;
}

//===------------------------------------------------------------------------------------------===//
// Shapes
//===------------------------------------------------------------------------------------------===//

/// Infers the result dims of a recurrent layer from its operands. `gates` is the number of gates,
/// `functions` the number of activations of each direction.
template <typename OpTy>
static LogicalResult inferRecurrent(OpTy op, int64_t gates, unsigned functions, DimsOf dimsOf,
                                    SmallVectorImpl<TensorShape> &results) {
  Dims x = dimsOf(op.getX()), w = dimsOf(op.getW()), r = dimsOf(op.getR());
  StringRef direction = op.getDirection();
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return op.emitOpError() << "direction '" << direction << "' is not supported";
  int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (x.size() != 3 || w.size() != 3 || r.size() != 3 || (op.getLayout() != 0 && op.getLayout() != 1))
    return op.emitOpError("input and weights must have rank 3, and layout must be 0 or 1");
  DimExpr hidden = r[2];
  auto differ = [](const DimExpr &a, const DimExpr &b) { return a.constant() && b.constant() && a != b; };
  DimExpr stacked = hidden * DimExpr(gates);
  if (differ(w[0], directions) || differ(r[0], directions) || differ(w[1], stacked) || differ(r[1], stacked) ||
      differ(w[2], x[2]))
    return op.emitOpError() << "requires weights for " << directions << " directions, " << gates << " gates of size "
                            << hidden.str() << ", and " << x[2].str() << " inputs";
  auto misshapen = [&](Value value, ArrayRef<DimExpr> wanted) {
    if (!value)
      return false;
    Dims dims = dimsOf(value);
    return dims.size() != wanted.size() ||
           llvm::any_of(llvm::zip(dims, wanted), [&](auto p) { return differ(std::get<0>(p), std::get<1>(p)); });
  };
  bool batchFirst = op.getLayout() == 1;
  DimExpr steps = x[batchFirst ? 1 : 0], batch = x[batchFirst ? 0 : 1];
  Dims state = batchFirst ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  if (misshapen(op.getBias(), {DimExpr(directions), stacked * DimExpr(2)}) ||
      misshapen(op.getSequenceLens(), {batch}) || misshapen(op.getInitialH(), state))
    return op.emitOpError("shape mismatch of bias, sequence lengths or initial state");
  size_t needed = size_t(functions * directions);
  if (op.getActivations().size() != needed || op.getAlphas().size() != needed || op.getBetas().size() != needed)
    return op.emitOpError() << "needs " << needed << " activations";
  for (Attribute name : op.getActivations())
    if (!findRecurrentActivation(cast<StringAttr>(name).getValue()))
      return op.emitOpError() << "activation " << name << " is not supported";
  Type element = getElementType(op.getX());
  results.push_back(
      {batchFirst ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden}, element});
  results.push_back({state, element});
  return success();
}

LogicalResult LSTMOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  for (auto [weights, scale, zero] : {std::tuple(getW(), getWScale(), getWZero()), {getR(), getRScale(), getRZero()}}) {
    Type type = getElementType(weights);
    if (isa<IntegerType>(type) != bool(scale) || (zero && (!scale || getElementType(zero) != type)) ||
        (scale && getElementType(scale) != getElementType(getX())))
      return emitOpError("needs weights of the input's type, or of integers with a scale of the input's type and zero "
                         "points of their own");
    for (Value parameter : {scale, zero}) {
      Dims wanted = parameter ? dimsOf(parameter) : Dims();
      if (parameter && (wanted.empty() || wanted.size() > 2 || dimsOf(weights).empty() ||
                        wanted[0] != dimsOf(weights)[0] || (wanted.size() > 1 && wanted[1] != dimsOf(weights)[1])))
        return emitOpError("scales and zero points must be one per direction, or one per direction and gate");
    }
  }
  if (failed(inferRecurrent(*this, 4, 3, dimsOf, results)))
    return failure();
  Dims state = results.back().dims, parts = {dimsOf(getW())[0], dimsOf(getR())[2] * DimExpr(3)};
  for (auto [operand, wanted] : {std::pair(getInitialC(), state), std::pair(getPeepholes(), parts)}) {
    auto differ = [](auto pair) {
      auto [dim, other] = pair;
      return dim.constant() && other.constant() && dim != other;
    };
    if (operand &&
        (dimsOf(operand).size() != wanted.size() || llvm::any_of(llvm::zip(dimsOf(operand), wanted), differ)))
      return emitOpError("shape mismatch of initial cell state or peepholes");
  }
  results.push_back(results.back());
  return success();
}
LogicalResult GRUOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferRecurrent(*this, 3, 2, dimsOf, results);
}
LogicalResult RNNOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  return inferRecurrent(*this, 1, 1, dimsOf, results);
}

//===------------------------------------------------------------------------------------------===//
// Decomposition
//===------------------------------------------------------------------------------------------===//

namespace {

/// One direction (forward or backward) of a recurrent layer: its weights, and functions that emit
/// ops of its cell.
class Direction {
public:
  template <typename OpTy>
  Direction(OpTy op, Composer &c, int64_t index, int64_t gates)
      : c(c), index(index), gates(gates), hidden(getDims(op.getR())[2]), clip(op.getClip().convertToDouble()) {
    unsigned functions = op.getActivations().size() / (op.getDirection() == "bidirectional" ? 2 : 1);
    for (unsigned i = index * functions; i < (index + 1) * functions; ++i) {
      names.push_back(cast<StringAttr>(op.getActivations()[i]).getValue());
      alphas.push_back(op.getAlphas()[i]);
      betas.push_back(op.getBetas()[i]);
    }
  }

  /// Slices a tensor whose dim 0 is the direction: returns this direction's slice, without dim 0.
  Value own(Value all) {
    if (!all)
      return all;
    Dims dims = getDims(all);
    dims.erase(dims.begin());
    return c.reshape(c.slice(all, 0, DimExpr(index), DimExpr(1)), dims);
  }

  /// Slices a value whose last dim has all gates: returns `count` gates, from gate `first` on.
  Value gate(Value all, int64_t first, int64_t count = 1) {
    return all ? c.slice(all, getRank(all) - 1, hidden * DimExpr(first), hidden * DimExpr(count)) : all;
  }

  /// Emits f(clip(x)), where f is activation number `i` of this direction of the layer.
  Value activate(unsigned i, Value x) {
    if (clip > 0)
      x = op<MinimumOp>(op<MaximumOp>(x, c.scalarLike(x, -clip)), c.scalarLike(x, clip));
    if (!x)
      return x;
    const RecurrentActivation &f = *findRecurrentActivation(names[i]);
    if (f.name == "affine")
      return op<AddOp>(op<MulOp>(x, c.scalarLike(x, alphas[i])), c.scalarLike(x, betas[i]));
    if (f.name == "scaledtanh")
      return op<MulOp>(c.opNamed(f.op, op<MulOp>(x, c.scalarLike(x, betas[i]))), c.scalarLike(x, alphas[i]));
    SmallVector<NamedAttribute> parameters;
    if (f.numParameters > 0)
      parameters.push_back(c.b.getNamedAttr("alpha", c.b.getF32FloatAttr(alphas[i])));
    if (f.numParameters > 1)
      parameters.push_back(c.b.getNamedAttr("beta", c.b.getF32FloatAttr(betas[i])));
    return makeNamed(c.b, c.loc, f.op, x, parameters);
  }

  template <typename OpTy> Value op(Value a, Value b) { return c.op<OpTy>({a, b}); }
  Value matmul(Value a, Value b) { return c.op<MatMulOp>({a, b}); }

  Composer &c;
  int64_t index, gates;
  DimExpr hidden;
  double clip;
  SmallVector<StringRef> names;
  SmallVector<double> alphas, betas;
};

/// Emits one step of the cell of a recurrent layer. Takes the old states and the step's x W + b,
/// and returns the new states; the hidden state is the first one.
using Cell = llvm::function_ref<SmallVector<Value>(Direction &d, ValueRange states, Value gates)>;
/// Emits ops on the weights of one direction of a recurrent layer whose results all steps use,
/// before the loop over the steps.
using Prepare = llvm::function_ref<void(Direction &d, Value r, Value recurrentBias)>;

struct Layer {
  int64_t gates;
  /// The number of leading gates of the cell whose recurrent bias is part of x W + b. The cell adds
  /// the recurrent bias of the other gates.
  int64_t biasedGates;
  unsigned numStates;
  /// Scales and zero points of the layer's weights if these are integers, or null for float
  /// weights.
  Value wScale = {}, wZero = {};
};

/// Returns the weights of one direction of a recurrent layer as floats [k, gates]. Dequantizes
/// integer weights: (w - zero) * scale.
Value weightsOf(Direction &d, Value w, Value scale, Value zero) {
  w = d.c.transpose(w, {1, 0});
  return scale && w ? composeDequantize(d.c, w, d.own(scale), d.own(zero), getElementType(scale)) : w;
}

/// Returns x times the weights. If `quantizes` is set, x is first quantized dynamically to 256
/// steps of its range.
Value product(Direction &d, Value x, Value weights, bool quantizes) {
  if (quantizes) {
    DynamicallyQuantized q = composeDynamicQuantize(d.c, x);
    x = q.value ? composeDequantize(d.c, q.value, q.scale, q.zeroPoint, getElementType(x)) : Value();
  }
  return d.matmul(x, weights);
}

template <typename OpTy> class LayerComposer {
public:
  LayerComposer(OpTy op, OpBuilder &b, Layer layer) : op(op), c(b, op.getLoc()), layer(layer) {
    x = op.getX();
    if (op.getLayout() == 1)
      x = c.transpose(x, {1, 0, 2});
    dims = getDims(x);
    hidden = getDims(op.getR())[2];
    keepsSteps = !op.getY().use_empty();
  }

  FailureOr<SmallVector<Value>> compose(ValueRange initial, Prepare prepare, Cell cell) {
    // for each direction of the layer: its final states, then its y
    SmallVector<SmallVector<Value>> parts;
    int64_t directions = op.getDirection() == "bidirectional" ? 2 : 1;
    requireFit(initial, directions);
    for (int64_t i = 0; i < directions; ++i) {
      bool backward = i == 1 || op.getDirection() == "reverse";
      parts.push_back(direction(i, backward, initial, prepare, cell));
      if (parts.back().empty())
        return op.emitOpError("cannot be decomposed"), failure();
    }
    SmallVector<Value> results;
    results.push_back(steps(parts));
    for (unsigned s = 0; s < layer.numStates; ++s)
      results.push_back(state(parts, s));
    if (llvm::is_contained(results, Value()))
      return op.emitOpError("cannot be decomposed"), failure();
    return results;
  }

  /// Emits the requirement that an operand of the layer has these dims. Does nothing if the operand
  /// is absent.
  void requireDims(Value operand, ArrayRef<DimExpr> wanted) {
    if (operand)
      for (auto [dim, other] : llvm::zip(getDims(operand), wanted))
        require(c.b, c.loc, Relation::Equal, dim, other);
  }

private:
  /// Emits requirements on the dynamic dims of the layer's operands, which the verifier cannot
  /// check. Without them, elementwise ops of the cell would broadcast an operand with a batch of
  /// one.
  void requireFit(ValueRange initial, int64_t directions) {
    DimExpr all(directions), stacked = hidden * DimExpr(layer.gates);
    requireDims(op.getW(), {all, stacked, dims[2]});
    requireDims(op.getR(), {all, stacked, hidden});
    requireDims(op.getBias(), {all, stacked * DimExpr(2)});
    requireDims(op.getSequenceLens(), {dims[1]});
    for (Value state : initial)
      requireDims(state, op.getLayout() == 1 ? Dims{dims[1], all, hidden} : Dims{all, dims[1], hidden});
  }

  SmallVector<Value> direction(int64_t index, bool backward, ValueRange initial, Prepare prepare, Cell cell) {
    Direction d(op, c, index, layer.gates);
    Type element = getElementType(x);
    // Emits the matmul x W for all steps of the recurrent layer at once.
    Value flat = c.reshape(x, {dims[0] * dims[1], dims[2]});
    Value gates = product(d, flat, weightsOf(d, d.own(op.getW()), layer.wScale, layer.wZero), bool(layer.wScale));
    Value recurrentBias;
    if (op.getBias()) {
      Value bias = d.own(op.getBias());
      Value sum = d.gate(bias, 0, layer.gates);
      recurrentBias = d.gate(bias, layer.gates, layer.gates);
      Value added = d.gate(recurrentBias, 0, layer.biasedGates);
      if (layer.biasedGates < layer.gates)
        sum = c.concat({d.op<AddOp>(d.gate(sum, 0, layer.biasedGates), added),
                        d.gate(sum, layer.biasedGates, layer.gates - layer.biasedGates)},
                       0);
      else
        sum = d.op<AddOp>(sum, added);
      gates = d.op<AddOp>(gates, sum);
    }
    gates = c.reshape(gates, {dims[0], dims[1], hidden * DimExpr(layer.gates)});
    prepare(d, d.own(op.getR()), recurrentBias);

    SmallVector<Value> states;
    for (Value all : initial) {
      if (all && op.getLayout() == 1)
        all = c.transpose(all, {1, 0, 2});
      states.push_back(all ? d.own(all) : c.filled({dims[1], hidden}, element, 0));
    }
    SmallVector<Value> sequences = {gates};
    Value lengths = op.getSequenceLens();
    if (lengths) {
      lengths = c.reshape(lengths, {dims[1], DimExpr(1)});
      sequences.push_back(stepNumbers(getElementType(lengths)));
    }
    return makeScan(c.b, c.loc, states, sequences, backward, [&](ValueRange before, ValueRange slices) {
      SmallVector<Value> next = cell(d, before, slices[0]);
      Value y = next.empty() ? Value() : next[0];
      if (lengths && y) {
        Value inside = d.op<LessOp>(slices[1], lengths);
        y = c.op<WhereOp>({inside, y, c.scalarLike(y, 0)});
        for (auto [now, old] : llvm::zip(next, before))
          now = c.op<WhereOp>({inside, now, old});
      }
      if (keepsSteps)
        next.push_back(y);
      return next;
    });
  }

  /// Returns the step numbers 0, 1, 2, ... as a tensor. Each step of the scan gets its number as a
  /// slice.
  Value stepNumbers(Type element) {
    Value zero = makeSplat(c.b, c.loc, element, 0), one = makeSplat(c.b, c.loc, element, 1);
    return make<RangeOp>(c.b, c.loc, {zero, one},
                         c.b.getNamedAttr("count", dimsAttr(c.b.getContext(), ArrayRef(dims[0]))));
  }

  /// Combines the outputs [steps, batch, hidden] of a layer's directions to one tensor [steps,
  /// directions, batch, hidden].
  Value steps(ArrayRef<SmallVector<Value>> parts) {
    if (!keepsSteps) // the output y of the layer has no uses
      return c.filled(getDims(op.getY()), getElementType(x), 0);
    SmallVector<Value> all;
    for (const SmallVector<Value> &part : parts)
      all.push_back(c.reshape(part[layer.numStates], {dims[0], DimExpr(1), dims[1], hidden}));
    Value y = c.concat(all, 1);
    return op.getLayout() == 1 ? c.transpose(y, {2, 0, 1, 3}) : y;
  }

  Value state(ArrayRef<SmallVector<Value>> parts, unsigned s) {
    SmallVector<Value> all;
    for (const SmallVector<Value> &part : parts)
      all.push_back(c.reshape(part[s], {DimExpr(1), dims[1], hidden}));
    Value state = c.concat(all, 0);
    return op.getLayout() == 1 ? c.transpose(state, {1, 0, 2}) : state;
  }

  OpTy op;
  Composer c;
  Layer layer;
  Value x; // input of the layer: [steps, batch, inputs]
  Dims dims;
  DimExpr hidden;
  bool keepsSteps;
};

} // namespace

FailureOr<SmallVector<Value>> LSTMOp::compose(OpBuilder &b) {
  Value recurrent, peepholes;
  auto prepare = [&](Direction &d, Value r, Value) {
    recurrent = weightsOf(d, r, getRScale(), getRZero());
    peepholes = getPeepholes() ? d.own(getPeepholes()) : Value();
  };
  auto cell = [&](Direction &d, ValueRange states, Value gates) -> SmallVector<Value> {
    Value h = states[0], before = states[1];
    gates = d.op<AddOp>(product(d, h, recurrent, bool(getRScale())), gates);
    auto peep = [&](Value gate, int64_t which, Value at) {
      return peepholes ? d.op<AddOp>(gate, d.op<MulOp>(d.gate(peepholes, which), at)) : gate;
    };
    Value in = d.activate(0, peep(d.gate(gates, 0), 0, before));
    Value forget =
        getInputForget() ? d.op<SubOp>(d.c.scalarLike(in, 1), in) : d.activate(0, peep(d.gate(gates, 2), 2, before));
    Value candidate = d.activate(1, d.gate(gates, 3));
    Value after = d.op<AddOp>(d.op<MulOp>(forget, before), d.op<MulOp>(in, candidate));
    Value out = d.activate(0, peep(d.gate(gates, 1), 1, after));
    return {d.op<MulOp>(out, d.activate(2, after)), after};
  };
  LayerComposer<LSTMOp> composer(*this, b, {4, 4, 2, getWScale(), getWZero()});
  composer.requireDims(getPeepholes(),
                       {DimExpr(getDirection() == "bidirectional" ? 2 : 1), getDims(getR())[2] * DimExpr(3)});
  return composer.compose({getInitialH(), getInitialC()}, prepare, cell);
}

FailureOr<SmallVector<Value>> GRUOp::compose(OpBuilder &b) {
  Value rT, rHiddenT, hiddenBias;
  bool linear = getLinearBeforeReset();
  auto prepare = [&](Direction &d, Value r, Value recurrentBias) {
    rT = d.c.transpose(r, {1, 0});
    rHiddenT = linear ? Value() : d.gate(rT, 2);
    rT = linear ? rT : d.gate(rT, 0, 2);
    hiddenBias = linear && recurrentBias ? d.gate(recurrentBias, 2) : Value();
  };
  auto cell = [&](Direction &d, ValueRange states, Value gates) -> SmallVector<Value> {
    Value h = states[0], product = d.matmul(h, rT);
    Value both = d.activate(0, d.op<AddOp>(d.gate(product, 0, 2), d.gate(gates, 0, 2)));
    Value update = d.gate(both, 0), reset = d.gate(both, 1), hidden;
    if (linear) {
      hidden = d.gate(product, 2);
      if (hiddenBias)
        hidden = d.op<AddOp>(hidden, hiddenBias);
      hidden = d.op<MulOp>(reset, hidden);
    } else {
      hidden = d.matmul(d.op<MulOp>(reset, h), rHiddenT);
    }
    Value candidate = d.activate(1, d.op<AddOp>(d.gate(gates, 2), hidden));
    // new hidden state of a GRU cell: (1 - z) candidate + z h
    return {d.op<AddOp>(candidate, d.op<MulOp>(update, d.op<SubOp>(h, candidate)))};
  };
  return LayerComposer<GRUOp>(*this, b, {3, linear ? 2 : 3, 1}).compose({getInitialH()}, prepare, cell);
}

FailureOr<SmallVector<Value>> RNNOp::compose(OpBuilder &b) {
  Value rT;
  auto prepare = [&](Direction &d, Value r, Value) { rT = d.c.transpose(r, {1, 0}); };
  auto cell = [&](Direction &d, ValueRange states, Value gates) -> SmallVector<Value> {
    return {d.activate(0, d.op<AddOp>(d.matmul(states[0], rT), gates))};
  };
  return LayerComposer<RNNOp>(*this, b, {1, 1, 1}).compose({getInitialH()}, prepare, cell);
}

} // namespace hewn::graph
