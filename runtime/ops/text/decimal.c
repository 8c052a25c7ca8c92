// SPDX-License-Identifier: Apache-2.0
// Exact conversions by integers of any size: a number is a fraction of two integers, whose digits
// and rounding follow from comparisons and subtractions.

#include "ops/text/decimal.h"

#include <float.h>
#include <string.h>

/// The largest integers are 10^1131 (hewn_decimal_parse), which has 3758 bits.
#define WORDS 120
/// Digits of a text that are read exactly. The midpoint between two float64 has at most 768 digits,
/// so for longer texts it is enough to know whether any later digit is not zero.
#define MOST_DIGITS 800

/// A natural number: `count` words, the lowest one first. The highest word is not zero.
typedef struct natural {
  int count;
  uint32_t words[WORDS];
} natural;

static natural naturalOf(uint64_t value) {
  natural n = {0, {0}};
  for (; value; value >>= 32)
    n.words[n.count++] = (uint32_t)value;
  return n;
}

static void multiplyAdd(natural *n, uint32_t factor, uint32_t added) {
  uint64_t carry = added;
  for (int i = 0; i < n->count; ++i) {
    carry += (uint64_t)n->words[i] * factor;
    n->words[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry)
    n->words[n->count++] = (uint32_t)carry;
}

static void multiplyByPowerOfTen(natural *n, int power) {
  for (; power >= 9; power -= 9)
    multiplyAdd(n, 1000000000, 0);
  for (; power > 0; --power)
    multiplyAdd(n, 10, 0);
}

static void shiftLeft(natural *n, int bits) {
  int words = bits / 32, rest = bits % 32;
  multiplyAdd(n, (uint32_t)1 << rest, 0);
  if (words == 0 || n->count == 0)
    return;
  memmove(n->words + words, n->words, (size_t)n->count * sizeof(uint32_t));
  memset(n->words, 0, (size_t)words * sizeof(uint32_t));
  n->count += words;
}

static int highestBit(uint64_t value) {
  int bit = -1;
  for (; value; value >>= 1)
    ++bit;
  return bit;
}

static int bitsOf(const natural *n) {
  return n->count ? 32 * (n->count - 1) + highestBit(n->words[n->count - 1]) + 1 : 0;
}

static int compare(const natural *a, const natural *b) {
  if (a->count != b->count)
    return a->count < b->count ? -1 : 1;
  for (int i = a->count - 1; i >= 0; --i)
    if (a->words[i] != b->words[i])
      return a->words[i] < b->words[i] ? -1 : 1;
  return 0;
}

/// Subtracts `b`, which is not larger than `a`.
static void subtract(natural *a, const natural *b) {
  int64_t borrow = 0;
  for (int i = 0; i < a->count; ++i) {
    int64_t word = (int64_t)a->words[i] - (i < b->count ? b->words[i] : 0) + borrow;
    a->words[i] = (uint32_t)word;
    borrow = word >> 32;
  }
  while (a->count && !a->words[a->count - 1])
    --a->count;
}

//===----------------------------------------------------------------------===//
// Formatting
//===----------------------------------------------------------------------===//

void hewn_decimal_format_uint64(char *text, uint64_t value) {
  char reversed[20];
  int count = 0;
  do {
    reversed[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  while (count)
    *text++ = reversed[--count];
  *text = 0;
}

void hewn_decimal_format_int64(char *text, int64_t value) {
  if (value < 0)
    *text++ = '-';
  hewn_decimal_format_uint64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/// Writes the first digits of significand * 2^exponent, rounded, to `digits`. Returns the decimal
/// exponent of the first digit.
static int digitsOf(uint64_t significand, int exponent, int count, char *digits) {
  natural above = naturalOf(significand), below = naturalOf(1);
  shiftLeft(exponent > 0 ? &above : &below, exponent > 0 ? exponent : -exponent);
  // log10(2) is about 1233 / 4096; the estimate may be off by one.
  int bits = highestBit(significand) + exponent, power = (bits * 1233) / 4096;
  multiplyByPowerOfTen(power > 0 ? &below : &above, power > 0 ? power : -power);
  for (; compare(&above, &below) < 0; --power)
    multiplyAdd(&above, 10, 0);
  for (;;) {
    natural tenfold = below;
    multiplyAdd(&tenfold, 10, 0);
    if (compare(&above, &tenfold) < 0)
      break;
    below = tenfold;
    ++power;
  }
  for (int i = 0; i < count; ++i) {
    digits[i] = '0';
    for (; compare(&above, &below) >= 0; ++digits[i])
      subtract(&above, &below);
    if (i + 1 < count)
      multiplyAdd(&above, 10, 0);
  }
  multiplyAdd(&above, 2, 0);
  int order = compare(&above, &below), last = count - 1;
  if (order < 0 || (order == 0 && (digits[last] - '0') % 2 == 0))
    return power;
  for (; last >= 0 && digits[last] == '9'; --last)
    digits[last] = '0';
  if (last >= 0) {
    ++digits[last];
    return power;
  }
  digits[0] = '1'; // 9.99 became 10.0
  return power + 1;
}

void hewn_decimal_format(char *text, double value, int count) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  int biased = (int)(bits >> 52 & 0x7ff);
  if (biased == 0x7ff && fraction) {
    memcpy(text, "NaN", 4);
    return;
  }
  if (bits >> 63)
    *text++ = '-';
  if (biased == 0x7ff) {
    memcpy(text, "INF", 4);
    return;
  }
  if (biased == 0 && fraction == 0) {
    memcpy(text, "0", 2);
    return;
  }
  char digits[17];
  int power = biased ? digitsOf(fraction | UINT64_C(1) << 52, biased - 1075, count, digits)
                     : digitsOf(fraction, -1074, count, digits);
  int isPlain = power >= -4 && power < count, shown = count;
  while (shown > 1 && digits[shown - 1] == '0')
    --shown;
  int whole = isPlain && power >= 0 ? power + 1 : isPlain ? 0 : 1; // digits before the point
  if (whole == 0) {
    *text++ = '0';
    *text++ = '.';
    for (int i = power; i < -1; ++i)
      *text++ = '0';
  }
  for (int i = 0; i < shown || i < whole; ++i) {
    if (i == whole && whole > 0)
      *text++ = '.';
    *text++ = i < shown ? digits[i] : '0';
  }
  if (!isPlain) {
    *text++ = 'e';
    *text++ = power < 0 ? '-' : '+';
    int size = power < 0 ? -power : power;
    if (size < 10)
      *text++ = '0';
    hewn_decimal_format_int64(text, size);
    return;
  }
  *text = 0;
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static const char *skipSign(const char *text, int *isNegative) {
  while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
    ++text;
  *isNegative = *text == '-';
  return *text == '-' || *text == '+' ? text + 1 : text;
}

static int isDigit(char c) { return c >= '0' && c <= '9'; }

/// Returns the end of `word`, in lower case, at the start of `text` in any case, or NULL.
static const char *skipWord(const char *text, const char *word) {
  for (; *word; ++word, ++text)
    if ((*text | 0x20) != *word)
      return NULL;
  return text;
}

/// Returns significand * 2^exponent, which is a float64 number.
static double compose(uint64_t significand, int exponent) {
  uint64_t bits = 0;
  if (significand) {
    int shift = 52 - highestBit(significand), biased = exponent - shift + 1075;
    significand = shift >= 0 ? significand << shift : significand >> -shift;
    if (biased >= 0x7ff)
      bits = UINT64_C(0x7ff) << 52;
    else if (biased > 0)
      bits = (uint64_t)biased << 52 | (significand & ((UINT64_C(1) << 52) - 1));
    else
      bits = significand >> (1 - biased);
  }
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/// Returns above / below, rounded to a float with `precision` bits whose normal numbers have
/// exponents from `least` to `most`.
static double divide(natural *above, natural *below, int precision, int least, int most) {
  int distance = bitsOf(above) - bitsOf(below) + 1; // afterwards the fraction is between 1/4 and 1
  shiftLeft(distance > 0 ? below : above, distance > 0 ? distance : -distance);
  uint64_t quotient = 0; // of above * 2^64
  for (int i = 0; i < 64; ++i) {
    multiplyAdd(above, 2, 0);
    quotient <<= 1;
    if (compare(above, below) >= 0) {
      subtract(above, below);
      quotient |= 1;
    }
  }
  int top = highestBit(quotient), exponent = distance - 64;
  int kept = top + exponent >= least ? precision : precision - (least - top - exponent);
  if (kept < 0)
    return 0;
  int dropped = top + 1 - kept;
  uint64_t significand = dropped < 64 ? quotient >> dropped : 0, half = UINT64_C(1) << (dropped - 1);
  uint64_t rest = quotient & (half | (half - 1));
  if (rest > half || (rest == half && (above->count > 0 || (significand & 1))))
    ++significand;
  int highest = highestBit(significand) + exponent + dropped;
  return significand && highest > most ? compose(1, 1024) : compose(significand, exponent + dropped);
}

/// Reads the digits of a number. `*power` is set so that the number is the result * 10^power.
static natural readDigits(const char **text, int64_t *power) {
  natural digits = naturalOf(0);
  int count = 0, isAfterPoint = 0, isInexact = 0;
  *power = 0;
  for (const char *at = *text; isDigit(*at) || (*at == '.' && !isAfterPoint); *text = ++at) {
    if (*at == '.') {
      isAfterPoint = 1;
      continue;
    }
    uint32_t digit = (uint32_t)(*at - '0');
    *power -= isAfterPoint;
    if (count < MOST_DIGITS) {
      multiplyAdd(&digits, 10, digit);
      count += digits.count > 0;
    } else {
      isInexact |= digit != 0;
      ++*power;
    }
  }
  if (isInexact) {
    multiplyAdd(&digits, 10, 1);
    --*power;
  }
  return digits;
}

/// Computes digits * 10^power with one rounded operation on exact operands (Clinger, "How to read
/// floating point numbers accurately", 1990). Returns false if an operand is not exact in the type.
static int scaleExactly(const natural *digits, int64_t power, int isFloat, double *value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const int64_t mostPower = isFloat ? 10 : 22;
  if (FLT_EVAL_METHOD != 0 || bitsOf(digits) > (isFloat ? 24 : 53) || power < -mostPower || power > mostPower)
    return 0;
  uint64_t whole = digits->count > 1 ? (uint64_t)digits->words[1] << 32 | digits->words[0] : digits->words[0];
  double scale = powers[power < 0 ? -power : power];
  if (isFloat)
    *value = (double)(power < 0 ? (float)whole / (float)scale : (float)whole * (float)scale);
  else
    *value = power < 0 ? (double)whole / scale : (double)whole * scale;
  return 1;
}

const char *hewn_decimal_parse(const char *text, int isFloat, double *value) {
  int isNegative, isExponentNegative;
  const char *at = skipSign(text, &isNegative), *word = skipWord(at, "inf");
  const double sign = isNegative ? -1 : 1;
  if (word) {
    *value = sign * compose(1, 1024);
    at = skipWord(word, "inity");
    return at ? at : word;
  }
  if ((word = skipWord(at, "nan")) != NULL) {
    *value = sign * __builtin_nan("");
    return word;
  }
  if (!isDigit(*at) && !(*at == '.' && isDigit(at[1])))
    return text;
  int64_t power, exponent = 0;
  natural above = readDigits(&at, &power), below = naturalOf(1);
  if (*at == 'e' || *at == 'E') {
    const char *digits = at + 1;
    isExponentNegative = *digits == '-';
    digits += *digits == '-' || *digits == '+';
    const int64_t large = INT64_C(1) << 40; // beyond it, the result is 0 or infinite for any text in memory
    if (isDigit(*digits)) {
      for (; isDigit(*digits); ++digits)
        exponent = exponent < large ? 10 * exponent + (*digits - '0') : exponent;
      at = digits;
      power += isExponentNegative ? -exponent : exponent;
    }
  }
  if (scaleExactly(&above, power, isFloat, value)) {
    *value *= sign;
    return at;
  }
  // The number of decimal digits follows from that of bits, with an error of less than 2.
  const int64_t highest = power + (int64_t)bitsOf(&above) * 1233 / 4096;
  if (above.count == 0 || highest < -330) {
    *value = sign * 0.0;
    return at;
  }
  if (highest > 312) {
    *value = sign * compose(1, 1024);
    return at;
  }
  multiplyByPowerOfTen(power > 0 ? &above : &below, (int)(power > 0 ? power : -power));
  *value = sign * (isFloat ? divide(&above, &below, 24, -126, 127) : divide(&above, &below, 53, -1022, 1023));
  return at;
}

/// Parses the digits of an integer up to `most`. Returns its end, or NULL if there is no digit.
static const char *parseDigits(const char *text, uint64_t most, uint64_t *value) {
  if (!isDigit(*text))
    return NULL;
  int isTooLarge = 0;
  for (*value = 0; isDigit(*text); ++text) {
    uint64_t digit = (uint64_t)(*text - '0');
    isTooLarge |= *value > (most - digit) / 10;
    *value = 10 * *value + digit;
  }
  if (isTooLarge)
    *value = most;
  return text;
}

const char *hewn_decimal_parse_int64(const char *text, int64_t *value) {
  int isNegative;
  uint64_t size;
  const char *digits = skipSign(text, &isNegative);
  const char *end = parseDigits(digits, (uint64_t)INT64_MAX + (uint64_t)isNegative, &size);
  if (!end)
    return text;
  *value = (int64_t)(isNegative ? 0 - size : size);
  return end;
}

const char *hewn_decimal_parse_uint64(const char *text, uint64_t *value) {
  int isNegative;
  uint64_t size;
  const char *digits = skipSign(text, &isNegative);
  const char *end = parseDigits(digits, UINT64_MAX, &size);
  if (!end)
    return text;
  *value = isNegative && size != UINT64_MAX ? 0 - size : size;
  return end;
}
