// SPDX-License-Identifier: Apache-2.0
//
// Searches for the order of launches and views (steps) with the lowest peak of live memory.
//
// A search state is the set of completed steps. Which bytes are live after them does not depend on
// the order in which they were completed. States are visited in ascending order of their peak, so
// the first state that has completed all steps has the minimal peak. A step that neither raises the
// peak nor leaves more bytes live is taken at once, without alternatives; the result is still
// optimal.
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
    /// Steps that must precede this step.
    llvm::SmallVector<unsigned, 4> after;
    /// Buffers that the step produces, and buffers that it reads (each listed once).
    llvm::SmallVector<unsigned, 2> makes;
    llvm::SmallVector<unsigned, 4> reads;
    /// Buffers that the step reads and may overwrite with its result.
    llvm::SmallVector<unsigned, 2> overwrites;
  };
  struct Buffer {
    int64_t bytes = 0;
    /// True if the buffer is still needed after the last step.
    bool stays = false;
    /// True if the buffer exists before the first step.
    bool given = false;
  };
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
};

/// Returns the peak of live bytes if the steps of `problem` run in this order.
int64_t peakOf(const OrderProblem &problem, llvm::ArrayRef<unsigned> order);
/// Returns an order with a lower peak than the given order, or nothing if the search finds none.
std::optional<std::vector<unsigned>> findOrder(const OrderProblem &problem);

} // namespace hewn::plan

#endif
