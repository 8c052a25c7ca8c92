// SPDX-License-Identifier: Apache-2.0
//
// Import of optimizer steps. The inputs of a node are the learning rate, the step number, and then,
// for each category of tensors (weights, gradients, moments), one tensor per parameter. The outputs
// are the updated categories in this order.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// Emits arithmetic on the tensors of one trained parameter (weights, gradient, moments). Scalars
/// get the element type of these tensors.
class Step {
public:
  Step(OnnxNode &node, Value like) : c(node), like(like), rate(number(node.input(0))), count(number(node.input(1))) {}

  Value add(Value a, Value b) { return c.op<AddOp>({a, b}); }
  Value sub(Value a, Value b) { return c.op<SubOp>({a, b}); }
  Value mul(Value a, Value b) { return c.op<MulOp>({a, b}); }
  Value div(Value a, Value b) { return c.op<DivOp>({a, b}); }
  Value sqrt(Value a) { return c.op<SqrtOp>(a); }
  Value power(double base, Value exponent) { return c.op<PowOp>({number(base), exponent}); }
  Value number(double value) { return c.scalarLike(like, value); }
  Value scale(double factor, Value a) { return mul(number(factor), a); }
  /// Emits a value that is `first` in training step 0 and `later` in all other steps.
  Value unlessFirst(Value later, Value first) {
    return c.op<WhereOp>({c.op<LessOp>({number(0.0), count}), later, first});
  }
  /// Emits the gradient plus the gradient of the L2 regularization (norm_coefficient * weights).
  Value gradient(OnnxNode &node, Value weights, Value gradients) {
    return add(scale(node.getFloat("norm_coefficient", 0), weights), gradients);
  }

private:
  Composer c;
  Value like;
  Value number(Value scalar) { return scalar ? c.reshape(c.cast(scalar, getElementType(like)), {}) : scalar; }

public:
  Value rate, count;
};
} // namespace

/// Calls `update` for each trained parameter of an optimizer node. `update` gets the parameter's
/// tensors, one of each of `kinds` categories, and replaces those that change. `changes` has the
/// numbers of the categories that are outputs of the node.
static LogicalResult updateAll(OnnxNode &node, unsigned kinds, ArrayRef<unsigned> changes,
                               llvm::function_ref<void(Step &, MutableArrayRef<Value>)> update) {
  if (node.numInputs() < 2 + kinds || (node.numInputs() - 2) % kinds != 0)
    return node.refuse("has " + Twine(node.numInputs()) + " inputs instead of 2 plus " + Twine(kinds) +
                       " per parameter");
  for (unsigned i = 0; i < node.numInputs(); ++i)
    if (!node.input(i) || (i > 1 && !isa<FloatType>(getElementType(node.input(i)))))
      return node.refuse("input " + Twine(i) + " is absent or not a float tensor");
  unsigned parameters = (node.numInputs() - 2) / kinds;
  for (unsigned p = 0; p < parameters; ++p) {
    SmallVector<Value> tensors;
    for (unsigned kind = 0; kind < kinds; ++kind)
      tensors.push_back(node.input(2 + kind * parameters + p));
    Step step(node, tensors.front());
    update(step, tensors);
    for (auto [i, kind] : llvm::enumerate(changes)) {
      if (!tensors[kind])
        return failure();
      node.setOutput(i * parameters + p, tensors[kind]);
    }
  }
  return success();
}

LogicalResult buildAdagrad(OnnxNode &node) {
  return updateAll(node, 3, {0, 2}, [&](Step &s, MutableArrayRef<Value> tensors) {
    Value x = tensors[0], g = s.gradient(node, x, tensors[1]);
    Value rate = s.div(s.rate, s.add(s.number(1), s.scale(node.getFloat("decay_factor", 0), s.count)));
    tensors[2] = s.add(tensors[2], s.mul(g, g));
    Value size = s.add(s.sqrt(tensors[2]), s.number(node.getFloat("epsilon", 1e-6)));
    tensors[0] = s.sub(x, s.div(s.mul(rate, g), size));
  });
}

LogicalResult buildAdam(OnnxNode &node) {
  double alpha = node.getFloat("alpha", 0.9), beta = node.getFloat("beta", 0.999);
  return updateAll(node, 4, {0, 2, 3}, [&](Step &s, MutableArrayRef<Value> tensors) {
    Value x = tensors[0], g = s.gradient(node, x, tensors[1]), one = s.number(1);
    tensors[2] = s.add(s.scale(alpha, tensors[2]), s.scale(1 - alpha, g));
    tensors[3] = s.add(s.scale(beta, tensors[3]), s.scale(1 - beta, s.mul(g, g)));
    Value size = s.add(s.sqrt(tensors[3]), s.number(node.getFloat("epsilon", 1e-6)));
    // The moments of Adam start at 0, so they are biased toward 0 in the first steps. The learning
    // rate is corrected for this bias.
    Value unbiased =
        s.div(s.mul(s.rate, s.sqrt(s.sub(one, s.power(beta, s.count)))), s.sub(one, s.power(alpha, s.count)));
    Value stepped = s.sub(x, s.mul(s.unlessFirst(unbiased, s.rate), s.div(tensors[2], size)));
    tensors[0] = s.scale(1 - node.getFloat("norm_coefficient_post", 0), stepped);
  });
}

LogicalResult buildMomentum(OnnxNode &node) {
  double alpha = node.getFloat("alpha", 0), beta = node.getFloat("beta", 0);
  bool nesterov = node.getString("mode", "standard") == "nesterov";
  return updateAll(node, 3, {0, 2}, [&](Step &s, MutableArrayRef<Value> tensors) {
    Value x = tensors[0], g = s.gradient(node, x, tensors[1]);
    Value share = s.unlessFirst(s.number(beta), s.number(1));
    tensors[2] = s.add(s.scale(alpha, tensors[2]), s.mul(share, g));
    Value direction = nesterov ? s.add(g, s.scale(alpha, tensors[2])) : tensors[2];
    tensors[0] = s.sub(x, s.mul(s.rate, direction));
  });
}

} // namespace hewn::graph
