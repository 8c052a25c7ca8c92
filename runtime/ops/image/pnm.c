// SPDX-License-Identifier: Apache-2.0
// PNM decoder: portable bit, gray and pixel maps (netpbm's manual pages pbm, pgm, ppm). P1 to P3
// are text, P4 to P6 binary.
#include "image.h"

typedef struct pnm_source {
  const uint8_t *at, *end;
} pnm_source;

static int isSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skipSpace(pnm_source *source) {
  while (source->at < source->end && (isSpace(*source->at) || *source->at == '#')) {
    int isComment = *source->at == '#';
    while (isComment && source->at < source->end && *source->at != '\n' && *source->at != '\r')
      ++source->at;
    source->at += source->at < source->end;
  }
}

/// Reads a number below 2^24 from the text of a PNM file. Returns -1 if there is none.
static int64_t number(pnm_source *source) {
  skipSpace(source);
  int64_t value = -1;
  for (; source->at < source->end && *source->at >= '0' && *source->at <= '9'; ++source->at) {
    value = 10 * (value < 0 ? 0 : value) + (*source->at - '0');
    if (value >> 24)
      return -1;
  }
  return value;
}

/// Reads a sample of a PNM file: as text, or as one or two bytes.
static int64_t sample(pnm_source *source, int isText, int isBit, int64_t most) {
  if (isText && !isBit)
    return number(source);
  if (isText) { // in P1, digits need not be separated by space
    skipSpace(source);
    return source->at < source->end && (*source->at == '0' || *source->at == '1') ? *source->at++ - '0' : -1;
  }
  int64_t value = -1;
  if (source->end - source->at >= (most > 255 ? 2 : 1))
    value = most > 255 ? source->at[0] * 256 + source->at[1] : source->at[0];
  source->at += value < 0 ? 0 : most > 255 ? 2 : 1;
  return value;
}

int hewn_image_pnm(hewn_image *image, const uint8_t *bytes, size_t size) {
  pnm_source source = {bytes + 2, bytes + size};
  int kind = bytes[1] - '0', isText = kind <= 3, isBit = kind % 3 == 1, channels = kind % 3 == 0 ? 3 : 1;
  int64_t width = number(&source), height = number(&source), most = isBit ? 1 : number(&source);
  if (width <= 0 || height <= 0 || most < 1 || most > 65535)
    return 0;
  if (!isText && (source.at == source.end || !isSpace(*source.at++)))
    return 0;
  // In a text format, a sample takes at least one digit.
  int64_t bits = isText ? 8 : isBit ? 1 : most > 255 ? 16 : 8;
  if (!hewn_image_fits(source.end - source.at, width * channels * bits, 1, height))
    return 0;
  uint8_t *to = hewn_image_make(image, width, height);
  if (!to)
    return 0;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c, ++to) {
        if (c >= channels) {
          *to = to[-1];
          continue;
        }
        int64_t value;
        if (isBit && !isText) { // P4: eight pixels per byte; each row begins with a new byte
          int64_t stride = (width + 7) / 8;
          value = source.at[y * stride + x / 8] >> (7 - x % 8) & 1;
        } else if ((value = sample(&source, isText, isBit, most)) < 0) {
          return 0;
        }
        value = isBit ? 1 - value : value < most ? value : most; // in a bit map, 1 is black
        *to = (uint8_t)((value * 255 + most / 2) / most);
      }
  return 1;
}
