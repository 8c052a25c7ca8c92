// SPDX-License-Identifier: Apache-2.0
// Two ops that ONNX lacks: a recursive filter, and the indices of peaks. ops.json declares their
// inputs and outputs.
#include "hewn/custom.h"

// Filter(x [..., n], coefficients [5]) -> y [..., n]; attribute: gain.
// y[t] = gain * (b0 x[t] + b1 x[t-1] + b2 x[t-2]) - a1 y[t-1] - a2 y[t-2]
typedef struct {
  const float *x, *c;
  float *y, gain;
  int64_t n;
} filter_job;

static void filter_rows(void *arg, int64_t begin, int64_t end) {
  const filter_job *job = arg;
  for (int64_t row = begin; row < end; ++row) {
    const float *x = job->x + row * job->n, *c = job->c;
    float *y = job->y + row * job->n, x1 = 0, x2 = 0, y1 = 0, y2 = 0;
    for (int64_t t = 0; t < job->n; ++t) {
      y[t] = job->gain * (c[0] * x[t] + c[1] * x1 + c[2] * x2) - c[3] * y1 - c[4] * y2;
      x2 = x1, x1 = x[t], y2 = y1, y1 = y[t];
    }
  }
}

int32_t example_filter(hewn_custom_call *call) {
  const DLTensor *x = call->inputs[0], *y = call->outputs[0];
  int64_t n = y->shape[y->ndim - 1];
  filter_job job = {hewn_custom_data(x), hewn_custom_data(call->inputs[1]), hewn_custom_data(y),
                    (float)call->attributes[0].f, n};
  if (n == 0)
    return HEWN_OK;
  return hewn_custom_parallel_for(call, hewn_custom_elements(y) / n, filter_rows, &job);
}

// Peaks(x [n]) -> places [count], int64: the indices where x is above `threshold` and its
// neighbors.
int32_t example_peaks(hewn_custom_call *call) {
  const float *x = hewn_custom_data(call->inputs[0]), threshold = (float)call->attributes[0].f;
  int64_t n = call->inputs[0]->shape[0], count = 0, *places = hewn_custom_data(call->outputs[0]);
  if (threshold < 0)
    return hewn_custom_fail(call, "the threshold is below zero", 0, 0);
  for (int64_t t = 1; t + 1 < n; ++t)
    if (x[t] > threshold && x[t] > x[t - 1] && x[t] >= x[t + 1])
      places[count++] = t;
  call->sizes[0] = count; // the number of peaks, at most n; memory for n indices was allocated
  return HEWN_OK;
}
