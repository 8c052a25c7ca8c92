// SPDX-License-Identifier: Apache-2.0
//
// Import of LSTM, GRU and RNN. Assigns the node's activation parameters to the activations.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Control/Recurrent/Recurrent.h"
#include "dialects/Graph/Control/Recurrent/RecurrentOps.h"

using namespace mlir;

namespace hewn::graph {

/// Inputs of LSTM, GRU and RNN nodes. The three nodes have the same inputs up to `initial_h`. LSTM
/// has two more.
static constexpr unsigned kNumInputs = 6, kNumLstmInputs = 8, kNumLstmOperands = 12;

/// Checks that each of the node's sequence lengths is between 0 and the number of steps.
static LogicalResult checkSequenceLens(OnnxNode &node) {
  Dims dims = getDims(node.input(0));
  if (!node.input(4) || dims.size() != 3)
    return success(); // the verifier of the op rejects another rank
  return checkIndices(node, node.input(4), dims[node.getInt("layout", 0) == 1 ? 1 : 0], IndexRange::Length);
}

/// Assigns the alphas and betas of a recurrent node to its activations. In ONNX, both lists only
/// have entries for activations with such a parameter, in order.
static LogicalResult readActivations(OnnxNode &node, ArrayRef<StringRef> otherwise, int64_t directions,
                                     SmallVectorImpl<NamedAttribute> &attributes) {
  SmallVector<std::string> names;
  if (std::optional<SmallVector<std::string>> written = node.getStrings("activations"); written && !written->empty())
    names = *written;
  else
    for (int64_t i = 0; i < directions; ++i)
      names.append(otherwise.begin(), otherwise.end());
  SmallVector<float> alphas = node.getFloats("activation_alpha").value_or(SmallVector<float>());
  SmallVector<float> betas = node.getFloats("activation_beta").value_or(SmallVector<float>());
  size_t nextAlpha = 0, nextBeta = 0;
  SmallVector<StringRef> canonical;
  SmallVector<double> alpha, beta;
  for (const std::string &name : names) {
    const RecurrentActivation *f = findRecurrentActivation(StringRef(name).lower());
    if (!f)
      return node.refuse("activation '" + name + "' is not supported");
    canonical.push_back(f->name);
    bool ownAlpha = f->numParameters > 0 && nextAlpha < alphas.size();
    bool ownBeta = f->numParameters > 1 && nextBeta < betas.size();
    alpha.push_back(ownAlpha ? alphas[nextAlpha++] : f->alpha);
    beta.push_back(ownBeta ? betas[nextBeta++] : f->beta);
  }
  if (names.size() != otherwise.size() * directions)
    return node.refuse("needs " + Twine(otherwise.size() * directions) + " activations");
  attributes.push_back(node.attr("activations", node.b.getStrArrayAttr(canonical)));
  attributes.push_back(node.attr("alphas", node.b.getDenseF64ArrayAttr(alpha)));
  attributes.push_back(node.attr("betas", node.b.getDenseF64ArrayAttr(beta)));
  return success();
}

LogicalResult buildRecurrent(OnnxNode &node) {
  bool isQuantized = node.opType() == "DynamicQuantizeLSTM", isLstm = isQuantized || node.opType() == "LSTM",
       isGru = node.opType() == "GRU";
  StringRef name = isLstm ? LSTMOp::getOperationName() : isGru ? GRUOp::getOperationName() : RNNOp::getOperationName();
  OperationState state(node.loc, name);
  SmallVector<int32_t> segments;
  for (unsigned i = 0, n = isLstm ? kNumLstmOperands : kNumInputs; i < n; ++i) {
    // DynamicQuantizeLSTM has scales and zero points after the inputs of LSTM, and the dims of its
    // weights are in another order: inputs, then gates.
    Value input = isQuantized || i < kNumLstmInputs ? node.input(i) : Value();
    if (input && isQuantized && (i == 1 || i == 2)) {
      if (getRank(input) != 3)
        return node.refuse("needs weights of rank 3");
      input = Composer(node).transpose(input, {0, 2, 1});
    }
    if (input)
      state.addOperands(input);
    else if (i < 3)
      return node.refuse("needs input and weights");
    segments.push_back(input ? 1 : 0);
  }
  if (failed(checkSequenceLens(node)))
    return failure();
  // Checks the attribute hidden_size, which must agree with the dims of the weights.
  if (Dims weights = getDims(state.operands[2]); node.hasAttr("hidden_size") && weights.size() == 3)
    require(node.b, node.loc, Relation::Equal, weights[2], DimExpr(node.getInt("hidden_size", 0)));
  state.addAttribute("operandSegmentSizes", node.b.getDenseI32ArrayAttr(segments));
  std::string direction = node.getString("direction", "forward");
  SmallVector<StringRef> otherwise;
  if (isLstm)
    otherwise = {"sigmoid", "tanh", "tanh"};
  else if (isGru)
    otherwise = {"sigmoid", "tanh"};
  else
    otherwise = {"tanh"};
  SmallVector<NamedAttribute> attributes;
  if (failed(readActivations(node, otherwise, direction == "bidirectional" ? 2 : 1, attributes)))
    return failure();
  attributes.push_back(node.attr("direction", node.b.getStringAttr(direction)));
  attributes.push_back(node.attr("clip", node.b.getF64FloatAttr(node.getFloat("clip", 0))));
  attributes.push_back(node.attr("layout", node.getInt("layout", 0)));
  if (isLstm) {
    attributes.push_back(node.attr("inputForget", node.b.getBoolAttr(node.getInt("input_forget", 0) != 0)));
  }
  if (isGru)
    attributes.push_back(
        node.attr("linearBeforeReset", node.b.getBoolAttr(node.getInt("linear_before_reset", 0) != 0)));
  state.addAttributes(attributes);
  // Gives the new op placeholder result types, which `inferResults` replaces.
  state.types.assign(isLstm ? 3 : 2, RankedTensorType::get({}, node.b.getF32Type()));
  Operation *op = node.b.create(state);
  if (failed(inferResults(op))) {
    op->erase();
    return failure();
  }
  for (OpResult result : op->getResults())
    node.setOutput(result.getResultNumber(), result);
  return success();
}

} // namespace hewn::graph
