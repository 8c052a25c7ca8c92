// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Partition/LinkCosts.h"

#include <cmath>
#include <initializer_list>

namespace hewn {

static double rounds(int64_t ranks) { return std::ceil(std::log2(double(ranks))); }

static LinkCost fastest(std::initializer_list<LinkCost> ways) {
  LinkCost best = *ways.begin();
  for (const LinkCost &way : ways)
    if (way.seconds < best.seconds)
      best = way;
  return best;
}

/// Returns true if the ranks of a collective are on several nodes, each with several of the ranks.
static bool hasLevels(const RankGroup &group) {
  return group.perNode > 1 && group.perNode < group.ranks && group.ranks % group.perNode == 0;
}

static LinkCost flatSum(const Link &link, int64_t ranks, double bytes) {
  double others = double(ranks - 1), all = 2 * others / double(ranks) * bytes / link.bandwidth;
  return fastest({{2 * others * link.latency + all, "ring"},
                  {rounds(ranks) * link.messageSeconds(bytes), "recursive doubling"},
                  {2 * rounds(ranks) * link.latency + all, "halving and doubling"}});
}

static LinkCost flatScatter(const Link &link, int64_t ranks, double bytes) {
  double others = double(ranks - 1), all = others / double(ranks) * bytes / link.bandwidth;
  return fastest({{rounds(ranks) * link.latency + all, "halving"}, {others * link.latency + all, "ring"}});
}

static LinkCost flatGather(const Link &link, int64_t ranks, double bytes) {
  double others = double(ranks - 1), all = others * bytes / link.bandwidth;
  return fastest({{rounds(ranks) * link.latency + all, "doubling"}, {others * link.latency + all, "ring"}});
}

LinkCost sumCost(const RankGroup &group, double bytes) {
  if (group.ranks < 2)
    return {};
  LinkCost best = flatSum(group.slowest(), group.ranks, bytes);
  if (!hasLevels(group))
    return best;
  double inNode = double(group.perNode), level = flatScatter(group.within, group.perNode, bytes).seconds;
  // Cost of the two-level all-reduce: all-reduce between nodes, then reduce-scatter and all-gather
  // within each node.
  LinkCost levels = flatSum(group.between, group.ranks / group.perNode, bytes / inNode);
  return fastest({best, {2 * level + levels.seconds, "two levels"}});
}

LinkCost scatterCost(const RankGroup &group, double bytes) {
  if (group.ranks < 2)
    return {};
  LinkCost best = flatScatter(group.slowest(), group.ranks, bytes);
  if (!hasLevels(group))
    return best;
  double inNode = double(group.perNode);
  double levels = flatScatter(group.within, group.perNode, bytes).seconds +
                  flatScatter(group.between, group.ranks / group.perNode, bytes / inNode).seconds;
  return fastest({best, {levels, "two levels"}});
}

LinkCost gatherCost(const RankGroup &group, double bytes) {
  if (group.ranks < 2)
    return {};
  LinkCost best = flatGather(group.slowest(), group.ranks, bytes);
  if (!hasLevels(group))
    return best;
  int64_t nodes = group.ranks / group.perNode;
  double levels = flatGather(group.between, nodes, bytes).seconds +
                  flatGather(group.within, group.perNode, bytes * double(nodes)).seconds;
  return fastest({best, {levels, "two levels"}});
}

} // namespace hewn
