// SPDX-License-Identifier: Apache-2.0
//
// Compares lib/Support/HalfFloats.h with LLVM's APFloat: all finite float16 numbers, and float64
// values around and between them.
#include "lib/Support/HalfFloats.h"

#include "gtest/gtest.h"

#include "llvm/ADT/APFloat.h"
#include <limits>

namespace {

uint16_t rounded(double x) {
  llvm::APFloat value(x);
  bool isLossy = false;
  value.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &isLossy);
  return uint16_t(value.bitcastToAPInt().getZExtValue());
}

TEST(HalfFloats, AreThoseOfApFloat) {
  constexpr unsigned infinity = 0x7c00, sign = 0x8000;
  for (unsigned bits = 0; bits < infinity; ++bits) {
    llvm::APFloat exact(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits));
    bool isLossy = false;
    exact.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &isLossy);
    double x = exact.convertToDouble(), next = bits + 1 < infinity ? hewn::doubleOfHalf(uint16_t(bits + 1)) : 0x1p16;
    ASSERT_EQ(hewn::doubleOfHalf(uint16_t(bits)), x);
    ASSERT_EQ(hewn::doubleOfHalf(uint16_t(bits | sign)), -x);
    double tie = (x + next) / 2;
    for (double y : {x, tie, std::nextafter(tie, 0.0), std::nextafter(tie, 1e9), std::nextafter(x, 1e9)}) {
      ASSERT_EQ(hewn::halfOfDouble(y), rounded(y)) << y;
      ASSERT_EQ(hewn::halfOfDouble(-y), rounded(-y)) << -y;
    }
  }
}

TEST(HalfFloats, WhatIsTooLargeIsInfinite) {
  for (double x : {65520.0, 1e6, 1e300, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(hewn::halfOfDouble(x), rounded(x)) << x;
  EXPECT_EQ(hewn::halfOfDouble(std::numeric_limits<double>::denorm_min()), 0);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
