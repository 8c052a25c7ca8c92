// SPDX-License-Identifier: Apache-2.0
// TIFF decoder, based on libtiff: decodes the first image of the file, in any storage format.
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

typedef struct tiff_source {
  const uint8_t *bytes;
  toff_t size, at;
} tiff_source;

static tmsize_t take(thandle_t handle, void *to, tmsize_t count) {
  tiff_source *source = handle;
  toff_t left = source->at < source->size ? source->size - source->at : 0;
  toff_t taken = (toff_t)count < left ? (toff_t)count : left;
  memcpy(to, source->bytes + source->at, (size_t)taken);
  source->at += taken;
  return (tmsize_t)taken;
}
static tmsize_t put(thandle_t handle, void *from, tmsize_t count) {
  (void)handle;
  (void)from;
  (void)count;
  return -1;
}
static toff_t seek(thandle_t handle, toff_t to, int from) {
  tiff_source *source = handle;
  source->at = from == SEEK_SET ? to : from == SEEK_CUR ? source->at + to : source->size + to;
  return source->at;
}
static int finish(thandle_t handle) {
  (void)handle;
  return 0;
}
static toff_t sizeOf(thandle_t handle) { return ((tiff_source *)handle)->size; }

static int sayNothing(TIFF *tiff, void *user, const char *module, const char *format, va_list values) {
  (void)tiff;
  (void)user;
  (void)module;
  (void)format;
  (void)values;
  return 1;
}

/// Returns true if the file contains all samples of an uncompressed image. For compressed images,
/// the decoder detects missing data.
static int isWhole(TIFF *tiff, int64_t size, int64_t width, int64_t height) {
  uint16_t compression = COMPRESSION_NONE, bits = 1, samples = 1, photometric = PHOTOMETRIC_RGB;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &samples);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
  if (photometric == PHOTOMETRIC_YCBCR) // chroma may be subsampled
    samples = 1;
  return compression != COMPRESSION_NONE || width > HEWN_IMAGE_MOST ||
         hewn_image_fits(size, width * bits * samples, 1, height);
}

int hewn_image_tiff(hewn_image *image, const uint8_t *bytes, size_t size) {
  tiff_source source = {bytes, size, 0};
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (!options)
    return 0;
  TIFFOpenOptionsSetErrorHandlerExtR(options, sayNothing, NULL);
  TIFFOpenOptionsSetWarningHandlerExtR(options, sayNothing, NULL);
  // The TIFF file declares further sizes that determine allocations of libtiff, such as that of a
  // tile. Limits each of these sizes to the memory that the pixels may take.
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, 16 * image->most);
  // the mode flag "m" disables memory mapping
  TIFF *tiff = TIFFClientOpenExt("picture", "rm", &source, take, put, seek, finish, sizeOf, NULL, NULL, options);
  TIFFOpenOptionsFree(options);
  if (!tiff)
    return 0;
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  uint8_t *pixels = isWhole(tiff, (int64_t)size, width, height) ? hewn_image_make(image, width, height) : NULL;
  size_t count = (size_t)width * height;
  uint32_t *packed = pixels ? malloc(4 * count) : NULL;
  int isDecoded =
      packed && TIFFReadRGBAImageOriented(tiff, width, height, packed, ORIENTATION_TOPLEFT, /*stopOnError=*/1);
  for (size_t i = 0; isDecoded && i < count; ++i) {
    pixels[3 * i] = (uint8_t)TIFFGetR(packed[i]);
    pixels[3 * i + 1] = (uint8_t)TIFFGetG(packed[i]);
    pixels[3 * i + 2] = (uint8_t)TIFFGetB(packed[i]);
  }
  free(packed);
  TIFFClose(tiff);
  return isDecoded;
}
