// SPDX-License-Identifier: Apache-2.0
// JPEG decoder, based on libjpeg-turbo.
#include "image.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

typedef struct jpeg_failure {
  struct jpeg_error_mgr manager;
  jmp_buf back;
} jpeg_failure;

static void leave(j_common_ptr decoder) { longjmp(((jpeg_failure *)decoder->err)->back, 1); }
static void sayNothing(j_common_ptr decoder) { (void)decoder; }

/// Rejects truncated files: libjpeg would fill all remaining rows of the declared size with gray.
static void warn(j_common_ptr decoder, int level) {
  if (level < 0 && decoder->err->msg_code == JWRN_JPEG_EOF)
    leave(decoder);
}

/// Converts CMYK pixels to RGB. In files that Adobe's programs write, the CMYK values are inverted.
static void lightOf(const uint8_t *inks, uint8_t *to, int64_t n, int isInverted) {
  for (int64_t i = 0; i < n; ++i)
    for (int c = 0; c < 3; ++c) {
      unsigned ink = inks[4 * i + c], black = inks[4 * i + 3];
      if (!isInverted)
        ink = 255 - ink, black = 255 - black;
      to[3 * i + c] = (uint8_t)((ink * black + 127) / 255);
    }
}

int hewn_image_jpeg(hewn_image *image, const uint8_t *bytes, size_t size) {
  struct jpeg_decompress_struct decoder;
  jpeg_failure failure;
  uint8_t *volatile inks = NULL;
  decoder.err = jpeg_std_error(&failure.manager);
  failure.manager.error_exit = leave;
  failure.manager.output_message = sayNothing;
  failure.manager.emit_message = warn;
  jpeg_create_decompress(&decoder);
  if (setjmp(failure.back)) {
    jpeg_destroy_decompress(&decoder);
    free(inks);
    return 0;
  }
  jpeg_mem_src(&decoder, bytes, (unsigned long)size);
  jpeg_read_header(&decoder, TRUE);
  int hasInks = decoder.num_components == 4;
  decoder.out_color_space = hasInks ? JCS_CMYK : JCS_RGB;
  // Checks the image size before jpeg_start_decompress, which reads all of a progressive file.
  int64_t width = decoder.image_width;
  uint8_t *pixels = hewn_image_make(image, width, decoder.image_height);
  if (pixels)
    jpeg_start_decompress(&decoder);
  if (pixels && hasInks)
    inks = malloc((size_t)(4 * width));
  while (pixels && (inks || !hasInks) && decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = pixels + 3 * width * decoder.output_scanline, to = hasInks ? inks : row;
    jpeg_read_scanlines(&decoder, &to, 1);
    if (hasInks)
      lightOf(inks, row, width, decoder.saw_Adobe_marker);
  }
  int isWhole = pixels && decoder.output_scanline == decoder.output_height;
  if (isWhole)
    jpeg_finish_decompress(&decoder);
  jpeg_destroy_decompress(&decoder);
  free(inks);
  return isWhole;
}
