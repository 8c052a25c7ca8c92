// SPDX-License-Identifier: Apache-2.0
//
// Happens-before relation among the threads of a launch, by vector clocks: for each thread, the
// time up to which it knows the actions of each other thread.
//
// The clock of a block advances at every synchronization, so that all threads that take part in one
// have the same time afterwards.
#ifndef HEWN_TEST_EMULATOR_DRIVER_ORDER_H
#define HEWN_TEST_EMULATOR_DRIVER_ORDER_H

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace emulator {

using Time = uint32_t;

/// A vector clock: the time `all` for every index, and later times for some indices. Copies of a
/// clock share the list of later times (copy on write).
class Times {
public:
  Time of(size_t thing) const { return list && thing < list->size() && (*list)[thing] > all ? (*list)[thing] : all; }
  void setAll(Time time) { all = time, list = nullptr; }
  void set(size_t thing, Time time);
  void join(const Times &other);

private:
  Time all = 0;
  std::shared_ptr<std::vector<Time>> list;

  std::vector<Time> &own(size_t size);
};

/// Times of the clocks of a block's threads, up to which one thread knows the actions of these
/// threads.
struct BlockView {
  /// Times up to which the block's threads have visible writes, and up to which their reads have
  /// completed.
  Times seen, passed;
  /// Times up to which the block's threads have writes that the async proxy (warpgroup MMA and TMA
  /// loads) sees.
  Times shown;
  void join(const BlockView &other) { seen.join(other.seen), passed.join(other.passed), shown.join(other.shown); }
};

/// Vector clocks of a thread, or those that a release stores for later acquires.
class View {
public:
  BlockView own;
  /// For each mbarrier by number, the number of completed phases whose TMA loads are visible.
  Times fetched;

  void join(const View &other);
  /// Returns what the thread knows about the actions of another block, or null if it knows nothing.
  const BlockView *ofOther(int64_t block) const;
  /// Converts the view of a thread of `block` into the view that threads of other blocks acquire.
  void publish(int64_t block);

private:
  using Others = std::map<int64_t, std::shared_ptr<const BlockView>>;
  std::shared_ptr<const Others> others;
};

/// Vector clocks of the threads of a block.
class BlockOrder {
public:
  BlockOrder(int64_t block, int64_t threads) : block(block), nows(size_t(threads), 1), views(size_t(threads)) {}

  const int64_t block;
  Time now(int64_t thread) const { return nows[size_t(thread)]; }
  const View &view(int64_t thread) const { return views[size_t(thread)]; }
  int64_t threads() const { return int64_t(nows.size()); }

  /// Executes a barrier of all threads of the block, or of the listed ones (a warp, or a part of
  /// the block).
  void meet();
  void meet(const std::vector<int64_t> &some);
  /// Records a warp-synchronous instruction: the earlier reads of the lanes have completed, but
  /// their writes do not become visible.
  void step(int64_t warp, int64_t lanes);
  /// Merges the thread's clocks into `to`. After `release`, threads of the same block can acquire
  /// them from there; after `releaseToAll`, threads of any block can.
  void release(int64_t thread, View &to);
  void releaseToAll(int64_t thread, View &to);
  void acquire(int64_t thread, const View &from);
  /// Executes a proxy fence: makes all writes that the thread has seen visible to the async proxy.
  void show(int64_t thread);
  void hasFetched(int64_t thread, size_t mbarrier, Time turns);

private:
  Time clock = 1;
  std::vector<Time> nows;
  std::vector<View> views;

  void includeOwn(View &view, int64_t thread);
};

} // namespace emulator

#endif
