// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_IMAGE_IMAGE_H
#define HEWN_RUNTIME_PARTS_IMAGE_IMAGE_H

/// \file
/// Decoders of pictures, one a format.

#include "hewn/services.h"

#include <stddef.h>
#include <string.h>

/// How many pixels a header may claim: so many, more of them for each byte of the file, and at most so many. Some formats
/// write any number of equal pixels in a few bytes; of pixels that differ JPEG, the densest, has 512 in a byte at most.
#define HEWN_IMAGE_SMALL (INT64_C(1) << 24)
#define HEWN_IMAGE_A_BYTE (INT64_C(1) << 10)
#define HEWN_IMAGE_MOST (INT64_C(1) << 28)

/// How many bytes a library may have at a time while it decodes: tables and windows, and so many for each pixel that is claimed.
#define HEWN_IMAGE_SPARE (INT64_C(1) << 27)
#define HEWN_IMAGE_A_PIXEL INT64_C(48)

typedef struct hewn_image {
  hewn_context *context;
  const char *node;
  int64_t most; ///< how many pixels a file of this length may claim
  int64_t width, height;
  int64_t left;    ///< bytes that the library may still take
  int spent;       ///< whether it has asked for more
  int claimed;     ///< whether those for the pixels are in `left`
  uint8_t *pixels; ///< rows of red, green and blue, a byte each; lies in the context
  int32_t failed;  ///< the status of a failure that is recorded: too many pixels, no memory
} hewn_image;

/// Whether `left` bytes hold `height` rows of `bits` bits each, which begin at multiples of `unit` bytes: the header of a format without
/// compression tells so much, and nothing is made for what the file can't have. The last row may end early.
static inline int hewn_image_fits(int64_t left, int64_t bits, int64_t unit, int64_t height) {
  int64_t row = (bits + 8 * unit - 1) / (8 * unit) * unit;
  return bits > 0 && height > 0 && left > 0 && height <= (left + unit - 1) / row;
}

/// Whether a picture may have so many pixels; a failure is recorded where it has too many. To be asked before a library takes memory
/// for them.
int hewn_image_allows(hewn_image *image, int64_t width, int64_t height);

/// Makes room for pixels, all zero; NULL where there are none, too many, or there is no memory.
uint8_t *hewn_image_make(hewn_image *image, int64_t width, int64_t height);

/// On this thread, what codecs take is the picture's from here on; NULL: they get nothing.
void hewn_image_spend(hewn_image *image);

/// Decodes `size` bytes; 0 where that can't be done. What was made then is of no use.
typedef int hewn_image_decoder(hewn_image *image, const uint8_t *bytes, size_t size);
hewn_image_decoder hewn_image_bmp, hewn_image_jpeg, hewn_image_jpeg2000, hewn_image_png, hewn_image_pnm,
    hewn_image_tiff, hewn_image_webp;

#endif // HEWN_RUNTIME_PARTS_IMAGE_IMAGE_H
