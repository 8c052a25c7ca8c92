// SPDX-License-Identifier: Apache-2.0
// WebP decoder, based on libwebp. Animations are not decoded.
#include "image.h"

#include <webp/decode.h>

int hewn_image_webp(hewn_image *image, const uint8_t *bytes, size_t size) {
  int width, height;
  if (!WebPGetInfo(bytes, size, &width, &height))
    return 0;
  uint8_t *pixels = hewn_image_make(image, width, height);
  return pixels && WebPDecodeRGBInto(bytes, size, pixels, 3 * (size_t)width * (size_t)height, 3 * width) != NULL;
}
