// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_OPS_TEXT_DECIMAL_H
#define HEWN_RUNTIME_OPS_TEXT_DECIMAL_H

/// \file
/// Conversion between numbers and decimal text. The functions are exact, need no C library, and do
/// not depend on the program's locale.

#include <stdint.h>

/// Size of the text of any number, with its zero byte.
#define HEWN_DECIMAL_BYTES 40

/// Writes a float64 with `digits` significant digits, 1 to 17, like C's "%.*g": rounded to nearest,
/// ties to even, without trailing zeros. Writes NaN, INF and -INF for values that are no numbers.
void hewn_decimal_format(char *text, double value, int digits);
/// Write an integer.
void hewn_decimal_format_int64(char *text, int64_t value);
void hewn_decimal_format_uint64(char *text, uint64_t value);

/// Parse a number at the start of `text` and return the end of its text, or `text` if there is no
/// number. White space and a sign may precede the digits. Values that are too large become
/// infinities, or the nearest integer.
///
/// Floats have plain or scientific notation, or are "inf", "infinity" or "nan" in any case. They
/// are rounded to nearest, ties to even: to float32 if `isFloat`, else to float64. A minus before
/// the digits of a uint64 negates it modulo 2^64, as in C's strtoull.
const char *hewn_decimal_parse(const char *text, int isFloat, double *value);
const char *hewn_decimal_parse_int64(const char *text, int64_t *value);
const char *hewn_decimal_parse_uint64(const char *text, uint64_t *value);

#endif // HEWN_RUNTIME_OPS_TEXT_DECIMAL_H
