// SPDX-License-Identifier: Apache-2.0
// PNG decoder, based on libpng. 16-bit samples are truncated to 8 bits, and transparency is
// ignored.
#include "image.h"

#include <setjmp.h>
#include <string.h>

#include <png.h>

typedef struct png_source {
  const uint8_t *bytes;
  size_t left;
} png_source;

static void give(png_structp decoder, png_bytep to, size_t count) {
  png_source *source = png_get_io_ptr(decoder);
  if (count > source->left)
    png_error(decoder, "");
  memcpy(to, source->bytes, count);
  source->bytes += count;
  source->left -= count;
}

static void leave(png_structp decoder, png_const_charp message) {
  (void)message;
  png_longjmp(decoder, 1);
}
static void sayNothing(png_structp decoder, png_const_charp message) {
  (void)decoder;
  (void)message;
}

int hewn_image_png(hewn_image *image, const uint8_t *bytes, size_t size) {
  png_source source = {bytes, size};
  png_structp decoder = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, leave, sayNothing);
  png_infop info = decoder ? png_create_info_struct(decoder) : NULL;
  if (!info || setjmp(png_jmpbuf(decoder))) {
    png_destroy_read_struct(&decoder, info ? &info : NULL, NULL);
    return 0;
  }
  png_set_read_fn(decoder, &source, give);
  // Disables libpng's own limits on the image size, because hewn_image_allows checks hewn's.
  png_set_user_limits(decoder, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(decoder, info);
  if (!hewn_image_allows(image, png_get_image_width(decoder, info), png_get_image_height(decoder, info)))
    png_error(decoder, ""); // before the library allocates rows
  png_set_expand(decoder);
  png_set_strip_16(decoder);
  png_set_gray_to_rgb(decoder);
  png_set_strip_alpha(decoder);
  int passes = png_set_interlace_handling(decoder);
  png_read_update_info(decoder, info);
  int64_t width = png_get_image_width(decoder, info), height = png_get_image_height(decoder, info);
  uint8_t *pixels = NULL;
  if (png_get_rowbytes(decoder, info) == (size_t)(3 * width))
    pixels = hewn_image_make(image, width, height);
  for (int pass = 0; pixels && pass < passes; ++pass)
    for (int64_t y = 0; y < height; ++y)
      png_read_row(decoder, pixels + 3 * width * y, NULL);
  png_destroy_read_struct(&decoder, &info, NULL);
  return pixels != NULL;
}
