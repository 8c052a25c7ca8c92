// SPDX-License-Identifier: Apache-2.0
//
// Numbers as text, compared with the C library, which is exact, too.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

extern "C" {
#include "runtime/ops/text/decimal.h"
}

namespace {

std::string written(double value, int digits) {
  char text[HEWN_DECIMAL_BYTES];
  hewn_decimal_format(text, value, digits);
  return text;
}

std::string expected(double value, int digits) {
  char text[64];
  if (std::isfinite(value))
    snprintf(text, sizeof(text), "%.*g", digits, value);
  else
    snprintf(text, sizeof(text), "%s", std::isnan(value) ? "NaN" : value < 0 ? "-INF" : "INF");
  return text;
}

template <typename To, typename From> To bitsTo(From bits) {
  To value;
  static_assert(sizeof(value) == sizeof(bits));
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

bool isSame(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

void checkParse(const std::string &text) {
  char *end;
  double value = 0;
  const double wide = strtod(text.c_str(), &end);
  ASSERT_EQ(hewn_decimal_parse(text.c_str(), 0, &value), end) << text;
  if (end == text.c_str())
    return;
  ASSERT_TRUE(isSame(value, wide)) << text << ": " << value << ", not " << wide;
  const float narrow = strtof(text.c_str(), &end);
  ASSERT_EQ(hewn_decimal_parse(text.c_str(), 1, &value), end) << text;
  ASSERT_TRUE(isSame(value, narrow)) << text << ": " << value << ", not " << narrow;
}

TEST(Decimal, FormatsAllFloatsOf16Bits) {
  for (uint32_t bits = 0; bits < 1u << 16; ++bits) { // bfloat16
    float value = bitsTo<float>(bits << 16);
    for (int digits : {1, 3, 8, 9})
      ASSERT_EQ(written(value, digits), expected(value, digits)) << bits;
  }
  for (int exponent = -24; exponent < 16; ++exponent) // float16
    for (int significand = 1; significand < 2048; ++significand)
      ASSERT_EQ(written(std::ldexp(significand, exponent), 8), expected(std::ldexp(significand, exponent), 8));
}

TEST(Decimal, FormatsAndParsesRandomNumbers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200000; ++i) {
    const double wide = bitsTo<double>(uint64_t(random())), small = double(int64_t(random()) % 100000) / 1000;
    const float narrow = bitsTo<float>(uint32_t(random()));
    const int digits = 1 + int(random() % 17);
    for (double value : {wide, double(narrow), small}) {
      ASSERT_EQ(written(value, digits), expected(value, digits));
      checkParse(expected(value, digits));
    }
    checkParse(expected(wide, 17));
  }
}

TEST(Decimal, RoundsTiesToEven) {
  for (double value : {0.5, 1.5, 2.5, 0.125, 0.375, 1e22, 9.995, 99.5, 999999.5, 0.00009995, 5e-324,
                       2.2250738585072014e-308, 1.7976931348623157e308, -0.0, 0.0, 1e-5, 123456789.0, 1e17})
    for (int digits = 1; digits <= 17; ++digits)
      ASSERT_EQ(written(value, digits), expected(value, digits));
  // Midpoints of two neighbors, exactly, and with a digit far after them.
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    const float value = std::fabs(bitsTo<float>(uint32_t(random())));
    if (!std::isfinite(value) || !std::isfinite(std::nextafterf(value, INFINITY)))
      continue;
    char text[400];
    snprintf(text, sizeof(text), "%.160e", (double(value) + double(std::nextafterf(value, INFINITY))) / 2);
    checkParse(text);
    std::string exact = std::string(text).substr(0, std::strchr(text, 'e') - text), exponent = std::strchr(text, 'e');
    checkParse(exact + std::string(900, '0') + "1" + exponent);
  }
  const double wide = 1 + 0x1p-52;
  char text[1200];
  snprintf(text, sizeof(text), "%.53fe0", 1 + 0x1p-52);
  checkParse(text);
  snprintf(text, sizeof(text), "%.1100f", 0x1p-1074);
  checkParse(text);
  EXPECT_EQ(written(wide, 17), expected(wide, 17));
}

TEST(Decimal, ParsesForms) {
  for (const char *text : {"",
                           " ",
                           "+",
                           "-",
                           ".",
                           ".5",
                           "5.",
                           "-.5e1",
                           "1e",
                           "1e+",
                           "1e5x",
                           "1e+05",
                           " \t\n12",
                           "0",
                           "-0",
                           "00012",
                           "1..2",
                           "inf",
                           "-INF",
                           "Infinity",
                           "infini",
                           "nan",
                           "-NaN",
                           "nanx",
                           "1e400",
                           "1e-400",
                           "1e99999999999999999999",
                           "1e-99999999999999999999",
                           "0e99999999999999999999",
                           "2.4703282292062327e-324",
                           "2.4703282292062328e-324",
                           "1.7976931348623158e308",
                           "1.7976931348623159e308",
                           "3.4028235677973366e38",
                           "3.4028235677973365e38",
                           "--1",
                           "1 2"})
    checkParse(text);
  checkParse(std::string(2000, '9'));
  checkParse("0." + std::string(400, '0') + "1e400");
  checkParse(std::string(500, '1') + "e-500");
}

TEST(Decimal, Integers) {
  for (const char *text : {"0", "-0", "12", "-12", "+7", "9223372036854775807", "9223372036854775808",
                           "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
                           "18446744073709551616", "99999999999999999999999", "", "-", "x", " 5", "5x"}) {
    char *end;
    int64_t whole = 0;
    uint64_t natural = 0;
    const int64_t wanted = strtoll(text, &end, 10);
    EXPECT_EQ(hewn_decimal_parse_int64(text, &whole), end) << text;
    EXPECT_EQ(whole, wanted) << text;
    const uint64_t wantedNatural = strtoull(text, &end, 10);
    EXPECT_EQ(hewn_decimal_parse_uint64(text, &natural), end) << text;
    EXPECT_EQ(natural, wantedNatural) << text;
  }
  char text[HEWN_DECIMAL_BYTES];
  for (int64_t value : {INT64_MIN, INT64_MAX, int64_t(0), int64_t(-1), int64_t(10)}) {
    hewn_decimal_format_int64(text, value);
    EXPECT_EQ(std::string(text), std::to_string(value));
  }
  hewn_decimal_format_uint64(text, UINT64_MAX);
  EXPECT_EQ(std::string(text), "18446744073709551615");
}

} // namespace
