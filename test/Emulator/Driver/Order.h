// SPDX-License-Identifier: Apache-2.0
//
// What happens before what among the threads of a launch, by vector clocks: what a thread knows of how far the others had come.
//
// A block's clock goes on whenever somebody lets others know something, so that all who meet at a time have the same one after it.
#ifndef HEWN_TEST_EMULATOR_DRIVER_ORDER_H
#define HEWN_TEST_EMULATOR_DRIVER_ORDER_H

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace emulator {

using Time = uint32_t;

/// Times up to which each of some things is known: `all`, and of some more than that. Copies share their list.
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

/// What is known of a block's threads.
struct BlockView {
  /// What they have written, which is there to read; and what they have done with what they read.
  Times seen, passed;
  /// What they have written that products of groups and fetched boxes see.
  Times shown;
  void join(const BlockView &other) { seen.join(other.seen), passed.join(other.passed), shown.join(other.shown); }
};

/// What a thread knows, or what others will who come to where it has been left.
class View {
public:
  BlockView own;
  /// Turns of mbarriers, by number, up to which what was fetched is there.
  Times fetched;

  void join(const View &other);
  /// Of other blocks; null: nothing.
  const BlockView *ofOther(int64_t block) const;
  /// As others see it who are not of this block.
  void publish(int64_t block);

private:
  using Others = std::map<int64_t, std::shared_ptr<const BlockView>>;
  std::shared_ptr<const Others> others;
};

/// The threads of a block, which meet.
class BlockOrder {
public:
  BlockOrder(int64_t block, int64_t threads) : block(block), nows(size_t(threads), 1), views(size_t(threads)) {}

  const int64_t block;
  Time now(int64_t thread) const { return nows[size_t(thread)]; }
  const View &view(int64_t thread) const { return views[size_t(thread)]; }
  int64_t threads() const { return int64_t(nows.size()); }

  /// All threads of the block have come to a barrier; or some: a part of them, or a warp.
  void meet();
  void meet(const std::vector<int64_t> &some);
  /// A warp does something together: whatever its threads have read has come, but what they have written need not be there.
  void step(int64_t warp, int64_t lanes);
  /// What the thread has done is left for others, who come to `to` from the same block, or from any.
  void release(int64_t thread, View &to);
  void releaseToAll(int64_t thread, View &to);
  void acquire(int64_t thread, const View &from);
  /// What the thread knows of is shown to products of groups and fetched boxes.
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
