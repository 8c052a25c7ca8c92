// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_IMAGE_IMAGE_H
#define HEWN_RUNTIME_PARTS_IMAGE_IMAGE_H

/// \file
/// Image decoders, one per format.

#include "hewn/services.h"

#include <stddef.h>
#include <string.h>

/// Limits on the number of pixels that a header may declare: HEWN_IMAGE_SMALL, plus
/// HEWN_IMAGE_A_BYTE per byte of the file, at most HEWN_IMAGE_MOST. Some formats encode any number
/// of equal pixels in a few bytes; for pixels that differ, the densest format (JPEG) has at most
/// 512 per byte.
#define HEWN_IMAGE_SMALL (INT64_C(1) << 24)
#define HEWN_IMAGE_A_BYTE (INT64_C(1) << 10)
#define HEWN_IMAGE_MOST (INT64_C(1) << 28)

/// Limit on the memory of a library while it decodes: HEWN_IMAGE_SPARE for tables and windows, plus
/// HEWN_IMAGE_A_PIXEL per declared pixel.
#define HEWN_IMAGE_SPARE (INT64_C(1) << 27)
#define HEWN_IMAGE_A_PIXEL INT64_C(48)

typedef struct hewn_image {
  hewn_context *context;
  const char *node;
  int64_t most; ///< number of pixels that a file of this length may declare
  int64_t width, height;
  int64_t left;    ///< bytes that the library may still allocate
  int spent;       ///< 1 if the library has exceeded its memory limit
  int claimed;     ///< 1 if the bytes for the pixels have been added to `left`
  uint8_t *pixels; ///< RGB rows, one byte per channel, in memory of the context
  int32_t failed;  ///< status of a recorded failure: too many pixels, or out of memory
} hewn_image;

/// Returns true if `left` bytes contain `height` rows of `bits` bits each, where rows begin at
/// multiples of `unit` bytes (the last row may be shorter). Checks headers of uncompressed formats,
/// so that no memory is allocated for pixels that the file cannot contain.
static inline int hewn_image_fits(int64_t left, int64_t bits, int64_t unit, int64_t height) {
  int64_t row = (bits + 8 * unit - 1) / (8 * unit) * unit;
  return bits > 0 && height > 0 && left > 0 && height <= (left + unit - 1) / row;
}

/// Returns true if an image may have width x height pixels. Records a failure if these are too many
/// for the length of the file. Must be called before a library allocates memory for the pixels.
int hewn_image_allows(hewn_image *image, int64_t width, int64_t height);

/// Allocates the pixels of an image and sets them to zero. Returns NULL if the image has no or too
/// many pixels, or if out of memory.
uint8_t *hewn_image_make(hewn_image *image, int64_t width, int64_t height);

/// Counts later allocations of codecs on this thread against the memory limit of `image`. If
/// `image` is NULL, such allocations fail.
void hewn_image_spend(hewn_image *image);

/// Decodes an image file of `size` bytes. Returns 0 on failure; the pixels are then undefined.
typedef int hewn_image_decoder(hewn_image *image, const uint8_t *bytes, size_t size);
hewn_image_decoder hewn_image_bmp, hewn_image_jpeg, hewn_image_jpeg2000, hewn_image_png, hewn_image_pnm,
    hewn_image_tiff, hewn_image_webp;

#endif // HEWN_RUNTIME_PARTS_IMAGE_IMAGE_H
