// SPDX-License-Identifier: Apache-2.0
//
// Looks for the order of some steps in which the least memory is live at once.
//
// A state is the set of steps that are done: what is live then does not depend on their order. The states are walked from the
// lowest peak up, so the first that has done everything has the lowest peak there is. A step that can be done without a new
// peak and leaves no more behind than before is done at once, without alternatives: nothing is lost by it.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_ORDER_ORDERSEARCH_H
#define HEWN_LIB_TRANSFORMS_PLAN_ORDER_ORDERSEARCH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace hewn::plan {

struct OrderProblem {
  struct Step {
    /// Steps that come before it.
    llvm::SmallVector<unsigned, 4> after;
    /// Buffers that it makes, and those that it reads (each once).
    llvm::SmallVector<unsigned, 2> makes;
    llvm::SmallVector<unsigned, 4> reads;
    /// Of those that it reads, the ones in whose memory what it makes may lie.
    llvm::SmallVector<unsigned, 2> overwrites;
  };
  struct Buffer {
    int64_t bytes = 0;
    /// Needed after the last step as well.
    bool stays = false;
    /// There before the first step.
    bool given = false;
  };
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
};

/// The most bytes that are live at once in this order.
int64_t peakOf(const OrderProblem &problem, llvm::ArrayRef<unsigned> order);
/// An order with a lower peak than that of the steps as they stand; nullopt where none is found.
std::optional<std::vector<unsigned>> findOrder(const OrderProblem &problem);

} // namespace hewn::plan

#endif
