// SPDX-License-Identifier: Apache-2.0
// Det: the determinants of square matrices, by Gaussian elimination with partial pivoting in
// double.
#include "element.h"

/// Returns the determinant of the n x n matrix `m`, which is overwritten.
static double determinant(double *m, int64_t n) {
  double product = 1;
  for (int64_t column = 0; column < n; ++column) {
    int64_t pivot = column;
    for (int64_t row = column + 1; row < n; ++row)
      if (__builtin_fabs(m[row * n + column]) > __builtin_fabs(m[pivot * n + column]))
        pivot = row;
    double head = m[pivot * n + column];
    if (head == 0)
      return 0;
    for (int64_t i = column; pivot != column && i < n; ++i) {
      double held = m[pivot * n + i];
      m[pivot * n + i] = m[column * n + i];
      m[column * n + i] = held;
    }
    product *= pivot == column ? head : -head;
    for (int64_t row = column + 1; row < n; ++row) {
      double factor = m[row * n + column] / head;
      for (int64_t i = column + 1; i < n; ++i)
        m[row * n + i] -= factor * m[column * n + i];
    }
  }
  return product;
}

int32_t hewn_part_det(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                      int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  (void)params;
  const hewn_part_tensor *x = &inputs[0];
  int64_t n = x->dims[x->rank - 1];
  if (x->dims[x->rank - 2] != n)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "the matrix is not square: {a} x {b}",
                        x->dims[x->rank - 2], n);
  double *matrix = hewn_rt_alloc(context, hewn_size_mul(hewn_size_mul(n, n), (int64_t)sizeof(double)), 64);
  if (!matrix)
    return hewn_rt_code(context);
  int64_t batches = hewn_part_product(x->dims, 0, x->rank - 2);
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t i = 0; i < n * n; ++i)
      matrix[i] = hewn_part_load(x->data, b * n * n + i, x->dtype);
    hewn_part_store(outputs[0].data, b, outputs[0].dtype, determinant(matrix, n));
  }
  hewn_rt_free(context, matrix);
  return HEWN_OK;
}
