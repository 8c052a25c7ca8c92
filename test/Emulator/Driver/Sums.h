// SPDX-License-Identifier: Apache-2.0
//
// How matrix instructions add floats. They do not round as IEEE 754's operations do: some products and the sum so far are brought to
// the largest exponent among them, what lies below is cut off, and so is what a float32 has no room for in the end. Errors of many
// instructions thus have one sign, towards zero. (Khattak and Mikaitis, Accurate Models of NVIDIA Tensor Cores, arXiv 2512.07004: of
// float32s' leading bits an A100 takes four products at a time, with one bit more than a float32 has, an H100 eight, with two; of
// narrower ones twice as many.)
#ifndef HEWN_TEST_EMULATOR_DRIVER_SUMS_H
#define HEWN_TEST_EMULATOR_DRIVER_SUMS_H

#include <cstdint>

namespace emulator {

/// `sum` plus the products of `count` pairs, `atOnce` of them at a time, with `moreBits` beside a float32's.
float addProducts(float sum, const double *left, const double *right, int64_t count, int64_t atOnce, int64_t moreBits);

} // namespace emulator

#endif
