// SPDX-License-Identifier: Apache-2.0
//
// The functions that gates of recurrent layers may be.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_RECURRENT_RECURRENT_H
#define HEWN_DIALECTS_GRAPH_CONTROL_RECURRENT_RECURRENT_H

#include "llvm/ADT/StringRef.h"

namespace hewn::graph {

struct RecurrentActivation {
  llvm::StringRef name; // ONNX's, in lower case: frameworks write it in both
  llvm::StringRef op;   // of ours
  unsigned numParameters;
  double alpha, beta; // where the model gives none
};

/// Null where there is none of that name.
const RecurrentActivation *findRecurrentActivation(llvm::StringRef name);

} // namespace hewn::graph

#endif
