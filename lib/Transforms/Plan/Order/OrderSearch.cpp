// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Order/OrderSearch.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <numeric>
#include <queue>

namespace hewn::plan {

namespace {

/// A partial order: the steps done so far, and the bytes that are live after them.
class Progress {
public:
  explicit Progress(const OrderProblem &problem)
      : problem(&problem), done(problem.steps.size()), waits(problem.steps.size()), readers(problem.buffers.size()) {
    for (auto [i, step] : llvm::enumerate(problem.steps)) {
      waits[i] = unsigned(step.after.size());
      for (unsigned buffer : step.reads)
        ++readers[buffer];
    }
    for (const OrderProblem::Buffer &buffer : problem.buffers)
      live += buffer.given ? buffer.bytes : 0;
    peak = live;
  }

  bool isReady(unsigned step) const { return !done[step] && waits[step] == 0; }

  struct Effect {
    int64_t during, after;
  };
  /// Returns the bytes that are live during step `i` and after it, if step `i` is the next one.
  Effect effectOf(unsigned i) const {
    const OrderProblem::Step &step = problem->steps[i];
    int64_t made = 0, freed = 0;
    for (unsigned buffer : step.makes)
      made += problem->buffers[buffer].bytes;
    int64_t taken = 0;
    for (unsigned buffer : step.reads)
      if (readers[buffer] == 1 && !problem->buffers[buffer].stays) {
        freed += problem->buffers[buffer].bytes;
        if (llvm::is_contained(step.overwrites, buffer))
          taken = made;
      }
    // A step's result without uses is live during that step only.
    int64_t unread = 0;
    for (unsigned buffer : step.makes)
      if (readers[buffer] == 0 && !problem->buffers[buffer].stays)
        unread += problem->buffers[buffer].bytes;
    return {live + made - taken, live + made - freed - unread};
  }

  void take(unsigned i, llvm::ArrayRef<llvm::SmallVector<unsigned, 4>> users) {
    Effect effect = effectOf(i);
    peak = std::max(peak, effect.during);
    live = effect.after;
    done.set(i);
    for (unsigned buffer : problem->steps[i].reads)
      --readers[buffer];
    for (unsigned user : users[i])
      --waits[user];
    order.push_back(i);
  }

  const OrderProblem *problem;
  llvm::BitVector done;
  std::vector<unsigned> waits, readers, order;
  int64_t live = 0, peak = 0;
};

std::vector<llvm::SmallVector<unsigned, 4>> usersOf(const OrderProblem &problem) {
  std::vector<llvm::SmallVector<unsigned, 4>> users(problem.steps.size());
  for (auto [i, step] : llvm::enumerate(problem.steps))
    for (unsigned before : step.after)
      users[before].push_back(unsigned(i));
  return users;
}

/// Returns a lower bound of the memory peak of every order: the largest need of a single step, plus
/// the buffers that are live during all steps.
int64_t lowerBound(const OrderProblem &problem) {
  int64_t always = 0, most = 0;
  for (const OrderProblem::Buffer &buffer : problem.buffers)
    always += buffer.given && buffer.stays ? buffer.bytes : 0;
  for (const OrderProblem::Step &step : problem.steps) {
    int64_t own = always, made = 0;
    for (unsigned buffer : step.reads)
      if (const OrderProblem::Buffer &b = problem.buffers[buffer]; !(b.given && b.stays))
        own += b.bytes;
    for (unsigned buffer : step.makes)
      made += problem.buffers[buffer].bytes;
    most = std::max(most, own + (step.overwrites.empty() ? made : 0));
  }
  return most;
}

} // namespace

int64_t peakOf(const OrderProblem &problem, llvm::ArrayRef<unsigned> order) {
  std::vector<llvm::SmallVector<unsigned, 4>> users = usersOf(problem);
  Progress progress(problem);
  for (unsigned step : order)
    progress.take(step, users);
  return progress.peak;
}

std::optional<std::vector<unsigned>> findOrder(const OrderProblem &problem) {
  // Limits of the order search that keep it within about a tenth of a second. If a limit is
  // exceeded, the program keeps its given order.
  constexpr size_t maxStates = 3000, maxSteps = 2000;
  if (problem.steps.size() > maxSteps)
    return std::nullopt;
  std::vector<unsigned> given(problem.steps.size());
  std::iota(given.begin(), given.end(), 0u);
  int64_t known = peakOf(problem, given);
  if (known <= lowerBound(problem))
    return std::nullopt;
  std::vector<llvm::SmallVector<unsigned, 4>> users = usersOf(problem);

  std::vector<Progress> states;
  // Visit the search state with the lowest peak first; among equal peaks, the state with the most
  // steps done, then the state created first, which is closer to the given order.
  using Entry = std::tuple<int64_t, size_t, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  llvm::DenseSet<llvm::BitVector> seen;
  auto enter = [&](Progress state) {
    // Take a step at once, without alternatives, if it neither raises the peak nor leaves more
    // bytes live.
    for (bool more = true; more;) {
      more = false;
      for (unsigned i = 0; i < problem.steps.size(); ++i) {
        if (!state.isReady(i))
          continue;
        Progress::Effect effect = state.effectOf(i);
        if (effect.during <= state.peak && effect.after <= state.live) {
          state.take(i, users);
          more = true;
        }
      }
    }
    if (state.peak >= known || !seen.insert(state.done).second)
      return;
    open.push({state.peak, problem.steps.size() - state.order.size(), states.size()});
    states.push_back(std::move(state));
  };
  enter(Progress(problem));
  while (!open.empty() && states.size() < maxStates) {
    size_t next = std::get<2>(open.top());
    open.pop();
    if (states[next].order.size() == problem.steps.size())
      return states[next].order;
    for (unsigned i = 0; i < problem.steps.size(); ++i)
      if (states[next].isReady(i)) {
        Progress child = states[next];
        child.take(i, users);
        enter(std::move(child));
      }
  }
  return std::nullopt;
}

} // namespace hewn::plan
