// SPDX-License-Identifier: Apache-2.0
//
// How recurrent layers are composed. What does not depend on the step before (x W + b, for all gates) is one product
// over all steps; the scan's body is one product with the state, slices of gates and a chain of elementwise ops.
#include "dialects/Graph/Control/Recurrent/Recurrent.h"
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Control/Recurrent/RecurrentOps.h"
#include "dialects/Graph/Elementwise/ActivationOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/IndexOps.h"
#include "dialects/Graph/Quant/Quant.h"

using namespace mlir;

namespace hewn::graph {

//===------------------------------------------------------------------------------------------------------------------===//
// Activations
//===------------------------------------------------------------------------------------------------------------------===//

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

//===------------------------------------------------------------------------------------------------------------------===//
// Shapes
//===------------------------------------------------------------------------------------------------------------------===//

/// Dims of all results from those of the operands; `gates` products and `functions` activations a direction.
template <typename OpTy>
static LogicalResult inferRecurrent(OpTy op, int64_t gates, unsigned functions, DimsOf dimsOf,
                                    SmallVectorImpl<TensorShape> &results) {
  Dims x = dimsOf(op.getX()), w = dimsOf(op.getW()), r = dimsOf(op.getR());
  StringRef direction = op.getDirection();
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return op.emitOpError() << "direction '" << direction << "'";
  int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (x.size() != 3 || w.size() != 3 || r.size() != 3 || (op.getLayout() != 0 && op.getLayout() != 1))
    return op.emitOpError("input and weights need rank 3, and layout is 0 or 1");
  DimExpr hidden = r[2];
  auto differ = [](const DimExpr &a, const DimExpr &b) { return a.constant() && b.constant() && a != b; };
  DimExpr stacked = hidden * DimExpr(gates);
  if (differ(w[0], directions) || differ(r[0], directions) || differ(w[1], stacked) || differ(r[1], stacked) ||
      differ(w[2], x[2]))
    return op.emitOpError() << "needs weights of " << directions << " directions, " << gates << " gates of "
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
    return op.emitOpError("bias, sequence lengths or initial state do not fit input and weights");
  size_t needed = size_t(functions * directions);
  if (op.getActivations().size() != needed || op.getAlphas().size() != needed || op.getBetas().size() != needed)
    return op.emitOpError() << "needs " << needed << " activations";
  for (Attribute name : op.getActivations())
    if (!findRecurrentActivation(cast<StringAttr>(name).getValue()))
      return op.emitOpError() << "activation " << name;
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
        return emitOpError("has scales or zero points that are not one a direction, or one a direction and gate");
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
      return emitOpError("initial cell state or peepholes do not fit input and weights");
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

//===------------------------------------------------------------------------------------------------------------------===//
// Composition
//===------------------------------------------------------------------------------------------------------------------===//

namespace {

/// One direction of a layer: its weights, and how its cell is written.
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

  /// This direction's part of a tensor with directions in dim 0, without that dim.
  Value own(Value all) {
    if (!all)
      return all;
    Dims dims = getDims(all);
    dims.erase(dims.begin());
    return c.reshape(c.slice(all, 0, DimExpr(index), DimExpr(1)), dims);
  }

  /// Gates `first` to `first + count` of a value that holds them one after another in its last dim.
  Value gate(Value all, int64_t first, int64_t count = 1) {
    return all ? c.slice(all, getRank(all) - 1, hidden * DimExpr(first), hidden * DimExpr(count)) : all;
  }

  /// f(clip(x)) with this direction's function `i`.
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

/// One step of a cell: new states (the hidden one first) from the old ones and the step's x W + b.
using Cell = llvm::function_ref<SmallVector<Value>(Direction &d, ValueRange states, Value gates)>;
/// What a direction's cell needs of weights, made once outside of the loop.
using Prepare = llvm::function_ref<void(Direction &d, Value r, Value recurrentBias)>;

struct Layer {
  int64_t gates;
  /// Gates whose recurrent bias is added with x W + b; the others' is the cell's.
  int64_t biasedGates;
  unsigned numStates;
  /// Of integer weights.
  Value wScale = {}, wZero = {};
};

/// A direction's weights, [k, gates] of floats: integers as (w - zero) * scale.
Value weightsOf(Direction &d, Value w, Value scale, Value zero) {
  w = d.c.transpose(w, {1, 0});
  return scale && w ? composeDequantize(d.c, w, d.own(scale), d.own(zero), getElementType(scale)) : w;
}

/// x times weights; with `quantizes`, x is rounded to 256 steps of its range.
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
    SmallVector<SmallVector<Value>> parts; // of each direction: states, then y
    int64_t directions = op.getDirection() == "bidirectional" ? 2 : 1;
    requireFit(initial, directions);
    for (int64_t i = 0; i < directions; ++i) {
      bool backward = i == 1 || op.getDirection() == "reverse";
      parts.push_back(direction(i, backward, initial, prepare, cell));
      if (parts.back().empty())
        return op.emitOpError("can't be composed"), failure();
    }
    SmallVector<Value> results;
    results.push_back(steps(parts));
    for (unsigned s = 0; s < layer.numStates; ++s)
      results.push_back(state(parts, s));
    if (llvm::is_contained(results, Value()))
      return op.emitOpError("can't be composed"), failure();
    return results;
  }

  /// The operand, if there is one, has these dims.
  void requireDims(Value operand, ArrayRef<DimExpr> wanted) {
    if (operand)
      for (auto [dim, other] : llvm::zip(getDims(operand), wanted))
        require(c.b, c.loc, Relation::Equal, dim, other);
  }

private:
  /// What the verifier can't see where dims are known only when run. Elementwise ops would repeat a batch of one.
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
    // x W for all steps at once.
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

  /// 0, 1, 2, ... for the scan to slice.
  Value stepNumbers(Type element) {
    Value zero = makeSplat(c.b, c.loc, element, 0), one = makeSplat(c.b, c.loc, element, 1);
    return make<RangeOp>(c.b, c.loc, {zero, one},
                         c.b.getNamedAttr("count", dimsAttr(c.b.getContext(), ArrayRef(dims[0]))));
  }

  /// [steps, directions, batch, hidden] of the directions' [steps, batch, hidden].
  Value steps(ArrayRef<SmallVector<Value>> parts) {
    if (!keepsSteps) // nobody looks at it
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
  Value x; // [steps, batch, inputs]
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
    // (1 - z) candidate + z h
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
