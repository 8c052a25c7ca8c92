// SPDX-License-Identifier: Apache-2.0
//
// Models the floating-point addition of matrix instructions, which do not round as IEEE 754
// operations do. The hardware aligns a few products and the accumulator to the largest exponent
// among them, truncates lower bits, and truncates the result to float32. The errors of many
// instructions thus all point towards zero.
//
// Source: Khattak and Mikaitis, Accurate Models of NVIDIA Tensor Cores, arXiv 2512.07004. With TF32
// an A100 adds four products at a time with one extra bit, an H100 eight with two extra bits. With
// 16-bit types they add twice as many products at a time.
#ifndef HEWN_TEST_EMULATOR_DRIVER_SUMS_H
#define HEWN_TEST_EMULATOR_DRIVER_SUMS_H

#include <cstdint>

namespace emulator {

/// Returns `sum` plus `left[i] * right[i]` for `count` pairs. Adds `atOnce` of them at a time, with
/// `moreBits` bits more than float32 has.
float addProducts(float sum, const double *left, const double *right, int64_t count, int64_t atOnce, int64_t moreBits);

} // namespace emulator

#endif
