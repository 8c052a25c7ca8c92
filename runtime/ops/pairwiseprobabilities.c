// SPDX-License-Identifier: Apache-2.0
// PairwiseProbabilities: the probabilities of the classes of a support vector machine, from those
// of each pair of classes. The algorithm is the second method of Wu, Lin and Weng (2004),
// "Probability Estimates for Multi-class Classification by Pairwise Coupling", with the bounds of
// LIBSVM. Like other implementations of ai.onnx.ml, it computes in float32, because its result
// depends on the round in which it stops.
#include "element.h"

enum { MOST_ROUNDS = 100 };

/// Fills the matrix q [k, k] of the quadratic form that the probabilities minimize. `pairs` has the
/// probability of class i against class j, for each i < j.
static void fillForm(float *q, const float *pairs, int64_t k) {
  for (int64_t i = 0; i < k * k; ++i)
    q[i] = 0;
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = i + 1; j < k; ++j) {
      float first = *pairs++, second = 1 - first;
      q[i * k + i] += second * second;
      q[j * k + j] += first * first;
      q[i * k + j] = q[j * k + i] = -second * first;
    }
}

/// Minimizes the form over p [k], one class after another. `products` [k] is scratch memory.
static void minimize(float *p, float *products, const float *q, int64_t k) {
  for (int64_t t = 0; t < k; ++t)
    p[t] = 1 / (float)k;
  for (int round = 0; round < MOST_ROUNDS; ++round) {
    float value = 0, largest = 0;
    for (int64_t t = 0; t < k; ++t) {
      products[t] = 0;
      for (int64_t j = 0; j < k; ++j)
        products[t] += q[t * k + j] * p[j];
      value += p[t] * products[t];
    }
    for (int64_t t = 0; t < k; ++t) {
      float error = __builtin_fabsf(products[t] - value);
      largest = error > largest ? error : largest;
    }
    if (largest < 0.005f / (float)k)
      return;
    for (int64_t t = 0; t < k; ++t) {
      float step = (value - products[t]) / q[t * k + t], scale = 1 + step;
      p[t] += step;
      value = (value + step * (step * q[t * k + t] + 2 * products[t])) / scale / scale;
      for (int64_t j = 0; j < k; ++j) {
        products[j] = (products[j] + step * q[t * k + j]) / scale;
        p[j] /= scale;
      }
    }
  }
}

int32_t hewn_part_pairwiseprobabilities(hewn_context *context, const char *node, int32_t num_inputs,
                                        const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                                        const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  const hewn_part_tensor *x = &inputs[0];
  int64_t rows = x->dims[0], pairs = x->dims[1], k = outputs[0].dims[1];
  if (k < 2 || k > INT32_MAX || pairs != k * (k - 1) / 2)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "{a} pairs do not match {b} classes", pairs, k);
  float *q = hewn_rt_alloc(context, hewn_size_mul(hewn_size_mul(k, k + 1), (int64_t)sizeof(float)), 64);
  if (!q)
    return hewn_rt_code(context);
  for (int64_t row = 0; row < rows; ++row) {
    fillForm(q, (const float *)x->data + row * pairs, k);
    minimize((float *)outputs[0].data + row * k, q + k * k, q, k);
  }
  hewn_rt_free(context, q);
  return HEWN_OK;
}
