// SPDX-License-Identifier: Apache-2.0
//
// Activation functions of recurrent layers (LSTM, GRU, RNN).
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_RECURRENT_RECURRENT_H
#define HEWN_DIALECTS_GRAPH_CONTROL_RECURRENT_RECURRENT_H

#include "llvm/ADT/StringRef.h"

namespace hewn::graph {

struct RecurrentActivation {
  // the activation's name in ONNX in lower case, because exporters do not agree on the case
  llvm::StringRef name;
  llvm::StringRef op; // name of the graph op that computes the activation
  unsigned numParameters;
  double alpha, beta; // default parameters of the activation
};

/// Returns the activation function with this name, or null if there is none.
const RecurrentActivation *findRecurrentActivation(llvm::StringRef name);

} // namespace hewn::graph

#endif
