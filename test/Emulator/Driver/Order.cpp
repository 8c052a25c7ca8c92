// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Order.h"

#include <algorithm>
#include <utility>

namespace emulator {

std::vector<Time> &Times::own(size_t size) {
  if (!list)
    list = std::make_shared<std::vector<Time>>();
  else if (list.use_count() > 1)
    list = std::make_shared<std::vector<Time>>(*list);
  if (list->size() < size)
    list->resize(size, 0);
  return *list;
}

void Times::set(size_t thing, Time time) {
  if (of(thing) < time)
    own(thing + 1)[thing] = time;
}

void Times::join(const Times &other) {
  all = std::max(all, other.all);
  if (!other.list || list == other.list)
    return;
  if (!list) {
    list = other.list;
    return;
  }
  std::vector<Time> &mine = own(other.list->size());
  for (size_t i = 0; i < other.list->size(); ++i)
    mine[i] = std::max(mine[i], (*other.list)[i]);
}

void View::join(const View &other) {
  own.join(other.own);
  fetched.join(other.fetched);
  if (!other.others || others == other.others)
    return;
  if (!others) {
    others = other.others;
    return;
  }
  auto both = std::make_shared<Others>(*others);
  for (const auto &[block, view] : *other.others) {
    std::shared_ptr<const BlockView> &mine = (*both)[block];
    if (!mine || mine == view) {
      mine = view;
      continue;
    }
    auto joined = std::make_shared<BlockView>(*mine);
    joined->join(*view);
    mine = joined;
  }
  others = both;
}

const BlockView *View::ofOther(int64_t block) const {
  auto found = others ? others->find(block) : Others::const_iterator();
  return others && found != others->end() ? found->second.get() : nullptr;
}

void View::publish(int64_t block) {
  View other;
  auto one = std::make_shared<Others>();
  (*one)[block] = std::make_shared<BlockView>(std::exchange(own, {}));
  other.others = one;
  fetched = {};
  join(other);
}

void BlockOrder::includeOwn(View &view, int64_t thread) {
  view.own.seen.set(size_t(thread), now(thread));
  view.own.passed.set(size_t(thread), now(thread));
}

void BlockOrder::meet() {
  View all = views[0];
  for (size_t i = 1; i < views.size(); ++i)
    all.join(views[i]);
  all.own.seen.setAll(clock);
  all.own.passed.setAll(clock);
  ++clock;
  std::fill(views.begin(), views.end(), all);
  std::fill(nows.begin(), nows.end(), clock);
}

void BlockOrder::meet(const std::vector<int64_t> &some) {
  View all;
  for (int64_t thread : some) {
    all.join(views[size_t(thread)]);
    includeOwn(all, thread);
  }
  ++clock;
  for (int64_t thread : some) {
    views[size_t(thread)] = all;
    nows[size_t(thread)] = clock;
  }
}

void BlockOrder::step(int64_t warp, int64_t lanes) {
  Times passed;
  for (int64_t thread = warp; thread < warp + lanes; ++thread) {
    passed.join(views[size_t(thread)].own.passed);
    passed.set(size_t(thread), now(thread));
  }
  ++clock;
  for (int64_t thread = warp; thread < warp + lanes; ++thread) {
    views[size_t(thread)].own.passed = passed;
    nows[size_t(thread)] = clock;
  }
}

void BlockOrder::release(int64_t thread, View &to) {
  View mine = views[size_t(thread)];
  includeOwn(mine, thread);
  to.join(mine);
  nows[size_t(thread)] = ++clock;
}

void BlockOrder::releaseToAll(int64_t thread, View &to) {
  View mine;
  release(thread, mine);
  mine.publish(block);
  to.join(mine);
}

void BlockOrder::acquire(int64_t thread, const View &from) {
  View &view = views[size_t(thread)];
  view.join(from);
  if (const BlockView *ofThis = from.ofOther(block))
    view.own.join(*ofThis);
}

void BlockOrder::show(int64_t thread) {
  View &view = views[size_t(thread)];
  view.own.shown.join(view.own.seen);
  view.own.shown.set(size_t(thread), now(thread));
  nows[size_t(thread)] = ++clock;
}

void BlockOrder::hasFetched(int64_t thread, size_t mbarrier, Time turns) {
  views[size_t(thread)].fetched.set(mbarrier, turns);
}

} // namespace emulator
