// SPDX-License-Identifier: Apache-2.0
// BMP decoder, based on stb_image.
#include "image.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_FAILURE_STRINGS
#define STBI_NO_THREAD_LOCALS
#define STBI_ASSERT(condition) ((void)(condition))
#define STBI_MAX_DIMENSIONS (1 << 28)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Weverything"
#include <stb/stb_image.h>
#pragma clang diagnostic pop

/// Reads a little-endian number of a BMP file's header.
static int64_t field(const uint8_t *bytes, size_t at, int width) {
  int64_t value = 0;
  for (int i = 0; i < width; ++i)
    value |= (int64_t)bytes[at + (size_t)i] << 8 * i;
  return value;
}

/// Returns true if the BMP file is as long as its header declares, because stb_image would replace
/// missing data by zeros. Compressed files are not checked: stb_image does not decode them.
static int isWhole(const uint8_t *bytes, size_t size, int64_t width, int64_t height) {
  if (size < 30)
    return 0;
  int64_t head = field(bytes, 14, 4), begin = field(bytes, 10, 4), bits = field(bytes, head == 12 ? 24 : 28, 2);
  begin = begin < 14 + head ? 14 + head : begin;
  return hewn_image_fits((int64_t)size - begin, width * bits, 4, height);
}

int hewn_image_bmp(hewn_image *image, const uint8_t *bytes, size_t size) {
  int width, height, channels;
  if (size > INT32_MAX || !stbi_info_from_memory(bytes, (int)size, &width, &height, &channels))
    return 0;
  // Files with top-down rows have a negative height.
  int64_t rows = height < 0 ? -(int64_t)height : height;
  uint8_t *pixels = isWhole(bytes, size, width, rows) ? hewn_image_make(image, width, rows) : NULL;
  uint8_t *decoded = pixels ? stbi_load_from_memory(bytes, (int)size, &width, &height, &channels, 3) : NULL;
  if (decoded && (width != image->width || height != image->height)) {
    stbi_image_free(decoded);
    decoded = NULL;
  }
  if (decoded)
    memcpy(pixels, decoded, 3 * (size_t)(image->width * image->height));
  stbi_image_free(decoded);
  return decoded != NULL;
}
