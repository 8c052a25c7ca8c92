// SPDX-License-Identifier: Apache-2.0
// NonMaxSuppression: for each batch and class, visits boxes by descending score and drops those
// that overlap a selected box. A heap provides the order, because usually few boxes are selected.
#include "ops/element.h"

/// Number of selected boxes with which a box is compared at once.
enum { TOGETHER = 16 };

/// Input and state of the suppression for one batch element and class.
typedef struct problem {
  const float *boxes;
  const float *scores;
  int64_t *heap; ///< space for the indices of all boxes
  float *chosen; ///< selected boxes in groups of TOGETHER: low x, high x, low y, high y, area
  float overlap;
  int isCentered; ///< 1 if boxes are (x, y, width, height), 0 if they are two corners
} problem;

/// Returns true if box `a` is visited before box `b`.
static int isBefore(const problem *p, int64_t a, int64_t b) {
  if (p->scores[a] != p->scores[b])
    return p->scores[a] > p->scores[b];
  return a < b;
}

static void siftDown(const problem *p, int64_t slot, int64_t size) {
  for (;;) {
    int64_t child = 2 * slot + 1;
    if (child >= size)
      return;
    if (child + 1 < size && isBefore(p, p->heap[child + 1], p->heap[child]))
      ++child;
    if (!isBefore(p, p->heap[child], p->heap[slot]))
      return;
    int64_t held = p->heap[child];
    p->heap[child] = p->heap[slot];
    p->heap[slot] = held;
    slot = child;
  }
}

/// Computes the interval that a box covers in one dim, from two ends in any order, or from center
/// and length.
static void extentOf(const problem *p, const float *box, int dim, float *low, float *high) {
  float first = box[dim], second = box[dim + 2];
  if (p->isCentered) {
    *low = first - second / 2;
    *high = first + second / 2;
  } else {
    *low = first < second ? first : second;
    *high = first < second ? second : first;
  }
}

/// The corners and the area of a box, in the format of `chosen`.
typedef struct extents {
  float lowX, highX, lowY, highY, area;
} extents;

static extents extentsOf(const problem *p, int64_t box) {
  extents e;
  extentOf(p, p->boxes + 4 * box, 0, &e.lowX, &e.highX);
  extentOf(p, p->boxes + 4 * box, 1, &e.lowY, &e.highY);
  e.area = (e.highX - e.lowX) * (e.highY - e.lowY);
  return e;
}

/// Returns true if a box overlaps one of the selected boxes in a group. The loop has no branches,
/// so that the compiler vectorizes it.
static int overlapsOne(const extents *box, const float *group, float most) {
  const float *lowX = group, *highX = group + TOGETHER, *lowY = group + 2 * TOGETHER, *highY = group + 3 * TOGETHER,
              *area = group + 4 * TOGETHER;
  int any = 0;
  for (int i = 0; i < TOGETHER; ++i) {
    float left = box->lowX > lowX[i] ? box->lowX : lowX[i], right = box->highX < highX[i] ? box->highX : highX[i];
    float below = box->lowY > lowY[i] ? box->lowY : lowY[i], above = box->highY < highY[i] ? box->highY : highY[i];
    float common = (right - left) * (above - below), all = box->area + area[i] - common;
    any |= (right > left) & (above > below) & (box->area > 0) & (area[i] > 0) & (all > 0) & (common / all > most);
  }
  return any;
}

static void chooseBox(const problem *p, int64_t number, const extents *box) {
  float *place = p->chosen + number / TOGETHER * (5 * TOGETHER) + number % TOGETHER;
  if (number % TOGETHER == 0) // zeros, so that unused entries of the group overlap no box
    for (int i = 0; i < 5 * TOGETHER; ++i)
      place[i] = 0;
  place[0] = box->lowX;
  place[TOGETHER] = box->highX;
  place[2 * TOGETHER] = box->lowY;
  place[3 * TOGETHER] = box->highY;
  place[4 * TOGETHER] = box->area;
}

/// Selects up to `limit` boxes of one batch element and class, and writes each as a row of three
/// indices to `out`. Returns the number of rows.
static int64_t choose(const problem *p, int64_t size, int64_t limit, int64_t *out) {
  int64_t chosen = 0;
  for (int64_t i = size / 2; i-- > 0;)
    siftDown(p, i, size);
  while (size > 0 && chosen < limit) {
    int64_t box = p->heap[0];
    p->heap[0] = p->heap[--size];
    siftDown(p, 0, size);
    extents e = extentsOf(p, box);
    int isFree = 1;
    for (int64_t i = 0; isFree && i < chosen; i += TOGETHER)
      isFree = !overlapsOne(&e, p->chosen + 5 * i, p->overlap);
    if (!isFree)
      continue;
    chooseBox(p, chosen, &e);
    out[3 * chosen++ + 2] = box;
  }
  return chosen;
}

int32_t hewn_part_nonmaxsuppression(hewn_context *context, const char *node, int32_t num_inputs,
                                    const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                                    const int64_t *params) {
  (void)num_outputs;
  int64_t batches = inputs[1].dims[0];
  int64_t classes = inputs[1].dims[1];
  int64_t n = inputs[1].dims[2];
  if (inputs[0].dims[0] != batches || inputs[0].dims[1] != n)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "{a} boxes, but scores for {b} boxes", inputs[0].dims[1],
                        n);
  const int64_t *limitInput = num_inputs > 2 ? inputs[2].data : NULL;
  const float *overlapInput = num_inputs > 3 ? inputs[3].data : NULL;
  const float *thresholdInput = num_inputs > 4 ? inputs[4].data : NULL;
  int64_t limit = limitInput ? *limitInput : 0;
  int64_t room = outputs[0].dims[0];
  int64_t *out = outputs[0].data;
  int64_t total = 0;
  problem p = {0};
  p.overlap = overlapInput ? *overlapInput : 0;
  if (!(p.overlap >= 0 && p.overlap <= 1))
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "iou_threshold is outside of [0, 1]", 0, 0);
  p.isCentered = params[0] != 0;
  int64_t most = limit < n ? (limit > 0 ? limit : 0) : n, groups = most / TOGETHER + (most % TOGETHER != 0);
  int64_t heapBytes = hewn_size_mul(n, (int64_t)sizeof(int64_t));
  int64_t chosenBytes = hewn_size_mul(groups, 5 * TOGETHER * (int64_t)sizeof(float));
  p.heap = hewn_rt_alloc(context, hewn_size_add(heapBytes, chosenBytes), 64);
  if (!p.heap)
    return hewn_rt_code(context);
  p.chosen = (float *)(p.heap + n);
  for (int64_t bc = 0; limit > 0 && bc < batches * classes; ++bc) {
    p.boxes = (const float *)inputs[0].data + bc / classes * n * 4;
    p.scores = (const float *)inputs[1].data + bc * n;
    int64_t size = 0;
    for (int64_t i = 0; i < n; ++i)
      if (!thresholdInput || p.scores[i] > *thresholdInput)
        p.heap[size++] = i;
    int64_t left = room - total;
    int64_t chosen = choose(&p, size, limit < left ? limit : left, out + 3 * total);
    for (int64_t i = 0; i < chosen; ++i, ++total) {
      out[3 * total] = bc / classes;
      out[3 * total + 1] = bc % classes;
    }
  }
  hewn_rt_free(context, p.heap);
  outputs[0].dims[0] = total;
  return HEWN_OK;
}
