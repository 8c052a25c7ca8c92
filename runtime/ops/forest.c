// SPDX-License-Identifier: Apache-2.0
// Forest: ensembles of decision trees. A traversal has no unpredictable branches: each step reads
// one node and goes to one of two adjacent nodes. Eight traversals are interleaved to hide load
// latency. The loop over trees is outside of the loop over rows, so that a tree's nodes stay in the
// cache for several rows.
#include "element.h"

/// A node of a decision tree, for float32 and float64. A traversal compares a feature with `split`.
/// If the outcome of the comparison (LESS to UNORDERED) is in the bit set `outcomes`, the traversal
/// continues at node `next`, else at node `next` + 1. In a leaf, `split` is the value to add to the
/// result, or the bits of an index into `starts`.
typedef struct node32 {
  float split;
  int32_t feature;
  int32_t next;
  int32_t outcomes;
} node32;
typedef struct node64 {
  double split;
  int32_t feature;
  int32_t next;
  int32_t outcomes;
  int32_t reserved;
} node64;

enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };
enum { TOGETHER = 8, ROWS = 64 };
enum { SUM = 0, LEAST = 1, MOST = 2 };

typedef struct forest {
  const void *x, *nodes;
  const int32_t *trees; ///< pairs: index of the root, number of steps to a leaf
  const int32_t *starts, *targets;
  const void *weights;
  void *y;
  int64_t rows, features, num_trees, num_targets;
  int64_t aggregate, is_plain;
} forest;

#define FOREST(T, NODE, BITS, SUFFIX)                                                                                  \
  static inline int32_t step##SUFFIX(const NODE *node, T value, int isPlain) {                                         \
    if (isPlain) /* every node tests <=, which is false for NaN */                                                     \
      return node->next + !(value <= node->split);                                                                     \
    int32_t outcome = (value < node->split) | (value == node->split) << 1 | (value > node->split) << 2;                \
    outcome |= (outcome == 0) << 3;                                                                                    \
    return node->next + !(node->outcomes & outcome);                                                                   \
  }                                                                                                                    \
                                                                                                                       \
  static inline void add##SUFFIX(T *y, T weight, int64_t aggregate) {                                                  \
    if (aggregate == SUM)                                                                                              \
      *y += weight;                                                                                                    \
    else if (aggregate == LEAST ? weight < *y : weight > *y)                                                           \
      *y = weight;                                                                                                     \
  }                                                                                                                    \
                                                                                                                       \
  static inline void vote##SUFFIX(const forest *f, int64_t row, const NODE *leaf) {                                    \
    T *y = (T *)f->y + row * f->num_targets;                                                                           \
    if (!f->starts) {                                                                                                  \
      add##SUFFIX(y, leaf->split, f->aggregate);                                                                       \
      return;                                                                                                          \
    }                                                                                                                  \
    BITS number;                                                                                                       \
    memcpy(&number, &leaf->split, sizeof(number));                                                                     \
    for (int32_t i = f->starts[number]; i < f->starts[number + 1]; ++i)                                                \
      add##SUFFIX(y + f->targets[i], ((const T *)f->weights)[i], f->aggregate);                                        \
  }                                                                                                                    \
                                                                                                                       \
  /* Traverses `count` trees from `tree` on for one row, or one tree for `count` rows from `row` on. */                \
  static inline void walk##SUFFIX(const forest *f, int64_t tree, int64_t row, int64_t count, int overTrees,            \
                                  int isPlain) {                                                                       \
    const NODE *nodes = f->nodes;                                                                                      \
    const T *x = f->x;                                                                                                 \
    int32_t at[TOGETHER], steps = 0;                                                                                   \
    const T *values[TOGETHER];                                                                                         \
    for (int64_t i = 0; i < TOGETHER; ++i) {                                                                           \
      int64_t k = i < count ? i : 0;                                                                                   \
      int64_t t = overTrees ? tree + k : tree;                                                                         \
      at[i] = f->trees[2 * t];                                                                                         \
      if (f->trees[2 * t + 1] > steps)                                                                                 \
        steps = f->trees[2 * t + 1];                                                                                   \
      values[i] = x + (overTrees ? row : row + k) * f->features;                                                       \
    }                                                                                                                  \
    if (overTrees) { /* the trees have different depths: each traversal stops at its own */                            \
      for (int32_t s = 0; s < steps; ++s)                                                                              \
        for (int64_t i = 0; i < TOGETHER; ++i)                                                                         \
          if (s < f->trees[2 * (tree + (i < count ? i : 0)) + 1])                                                      \
            at[i] = step##SUFFIX(nodes + at[i], values[i][nodes[at[i]].feature], isPlain);                             \
    } else {                                                                                                           \
      for (int32_t s = 0; s < steps; ++s)                                                                              \
        for (int64_t i = 0; i < TOGETHER; ++i)                                                                         \
          at[i] = step##SUFFIX(nodes + at[i], values[i][nodes[at[i]].feature], isPlain);                               \
    }                                                                                                                  \
    for (int64_t i = 0; i < count; ++i)                                                                                \
      vote##SUFFIX(f, overTrees ? row : row + i, nodes + at[i]);                                                       \
  }                                                                                                                    \
                                                                                                                       \
  static inline void rows##SUFFIX(const forest *f, int64_t from, int64_t to, int isPlain) {                            \
    T *y = f->y;                                                                                                       \
    T first = f->aggregate == SUM ? (T)0 : f->aggregate == LEAST ? (T)__builtin_inff() : -(T)__builtin_inff();         \
    for (int64_t i = from * f->num_targets; i < to * f->num_targets; ++i)                                              \
      y[i] = first;                                                                                                    \
    if (to - from < TOGETHER) {                                                                                        \
      for (int64_t row = from; row < to; ++row)                                                                        \
        for (int64_t t = 0; t < f->num_trees; t += TOGETHER)                                                           \
          walk##SUFFIX(f, t, row, f->num_trees - t < TOGETHER ? f->num_trees - t : TOGETHER, 1, isPlain);              \
    } else {                                                                                                           \
      for (int64_t t = 0; t < f->num_trees; ++t)                                                                       \
        for (int64_t row = from; row < to; row += TOGETHER)                                                            \
          walk##SUFFIX(f, t, row, to - row < TOGETHER ? to - row : TOGETHER, 0, isPlain);                              \
    }                                                                                                                  \
    /* Targets without contribution of a leaf are 0. */                                                                \
    for (int64_t i = from * f->num_targets; i < to * f->num_targets && f->aggregate != SUM; ++i)                       \
      if (y[i] == first)                                                                                               \
        y[i] = 0;                                                                                                      \
  }                                                                                                                    \
                                                                                                                       \
  static void task##SUFFIX(void *arg, int64_t begin, int64_t end) {                                                    \
    const forest *f = arg;                                                                                             \
    for (int64_t block = begin; block < end; ++block) {                                                                \
      int64_t from = block * ROWS, to = from + ROWS < f->rows ? from + ROWS : f->rows;                                 \
      if (f->is_plain)                                                                                                 \
        rows##SUFFIX(f, from, to, 1);                                                                                  \
      else                                                                                                             \
        rows##SUFFIX(f, from, to, 0);                                                                                  \
    }                                                                                                                  \
  }

FOREST(float, node32, int32_t, 32)
FOREST(double, node64, int64_t, 64)

int32_t hewn_part_forest(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                         int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0];
  forest f = {.x = x->data,
              .nodes = inputs[1].data,
              .trees = inputs[2].data,
              .y = outputs[0].data,
              .rows = x->dims[0],
              .features = x->dims[1],
              .num_trees = inputs[2].dims[0],
              .num_targets = outputs[0].dims[1],
              .aggregate = params[0],
              .is_plain = params[1]};
  if (num_inputs > 3 && inputs[3].data) {
    f.starts = inputs[3].data;
    f.targets = inputs[4].data;
    f.weights = inputs[5].data;
  }
  if (params[2] >= f.features)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "the trees read feature {a}, but rows have {b} features",
                        params[2], f.features);
  return hewn_rt_parallel_for(context, (f.rows + ROWS - 1) / ROWS, x->dtype == HEWN_PART_DOUBLE ? task64 : task32, &f);
}
