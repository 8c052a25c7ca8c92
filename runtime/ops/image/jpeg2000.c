// SPDX-License-Identifier: Apache-2.0
// JPEG 2000 decoder, based on OpenJPEG: files (jp2) and code streams.
#include "image.h"

#include <string.h>

#include <openjpeg.h>

typedef struct stream_source {
  const uint8_t *bytes;
  size_t size, at;
} stream_source;

static OPJ_SIZE_T take(void *to, OPJ_SIZE_T count, void *user) {
  stream_source *source = user;
  size_t left = source->size - source->at;
  if (left == 0)
    return (OPJ_SIZE_T)-1;
  size_t taken = count < left ? count : left;
  memcpy(to, source->bytes + source->at, taken);
  source->at += taken;
  return taken;
}
static OPJ_OFF_T skip(OPJ_OFF_T count, void *user) {
  stream_source *source = user;
  OPJ_OFF_T left = (OPJ_OFF_T)(source->size - source->at);
  if (count < 0)
    return -1;
  count = count < left ? count : left;
  source->at += (size_t)count;
  return count;
}
static OPJ_BOOL seek(OPJ_OFF_T to, void *user) {
  stream_source *source = user;
  if (to < 0 || (size_t)to > source->size)
    return OPJ_FALSE;
  source->at = (size_t)to;
  return OPJ_TRUE;
}

/// Returns a sample of a component as a byte. The component may be subsampled.
static int64_t sampleAt(const opj_image_t *decoded, int c, int64_t x, int64_t y) {
  const opj_image_comp_t *component = &decoded->comps[c];
  int64_t column = x * component->w / decoded->comps[0].w, row = y * component->h / decoded->comps[0].h;
  int64_t value = component->data[row * component->w + column];
  if (component->sgnd)
    value += INT64_C(1) << (component->prec - 1);
  int64_t most = (INT64_C(1) << component->prec) - 1;
  value = value < 0 ? 0 : value > most ? most : value;
  return component->prec == 8 ? value : (value * 255 + most / 2) / most;
}

static uint8_t clamp(double value) { return (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : value + 0.5); }

static int copy(hewn_image *image, const opj_image_t *decoded) {
  int channels = (int)decoded->numcomps >= 3 ? 3 : 1;
  if (decoded->numcomps == 0)
    return 0;
  for (int c = 0; c < channels; ++c) {
    const opj_image_comp_t *component = &decoded->comps[c];
    if (!component->data || component->w == 0 || component->h == 0 || component->prec < 1 || component->prec > 31 ||
        component->w > decoded->comps[0].w || component->h > decoded->comps[0].h)
      return 0;
  }
  int64_t width = decoded->comps[0].w, height = decoded->comps[0].h;
  uint8_t *to = hewn_image_make(image, width, height);
  int hasChroma = channels == 3 && decoded->color_space == OPJ_CLRSPC_SYCC;
  for (int64_t y = 0; to && y < height; ++y)
    for (int64_t x = 0; x < width; ++x, to += 3) {
      for (int c = 0; c < 3; ++c)
        to[c] = (uint8_t)sampleAt(decoded, c < channels ? c : 0, x, y);
      if (hasChroma) { // ITU-R 601, full range
        double luma = to[0], blue = to[1] - 128.0, red = to[2] - 128.0;
        to[0] = clamp(luma + 1.402 * red);
        to[1] = clamp(luma - 0.344136 * blue - 0.714136 * red);
        to[2] = clamp(luma + 1.772 * blue);
      }
    }
  return image->pixels != NULL;
}

/// Returns true if OpenJPEG may allocate the samples. At most four components are allowed, because
/// OpenJPEG stores four bytes per sample, and the memory limit is per pixel.
static int isSmall(hewn_image *image, const opj_image_t *decoded) {
  return decoded->numcomps <= 4 &&
         hewn_image_allows(image, (int64_t)decoded->x1 - decoded->x0, (int64_t)decoded->y1 - decoded->y0);
}

int hewn_image_jpeg2000(hewn_image *image, const uint8_t *bytes, size_t size) {
  stream_source source = {bytes, size, 0};
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_codec_t *codec = opj_create_decompress(bytes[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  opj_stream_t *stream = opj_stream_create(OPJ_J2K_STREAM_CHUNK_SIZE, OPJ_TRUE);
  opj_image_t *decoded = NULL;
  int isDecoded = 0;
  if (codec && stream) {
    opj_stream_set_user_data(stream, &source, NULL);
    opj_stream_set_user_data_length(stream, size);
    opj_stream_set_read_function(stream, take);
    opj_stream_set_skip_function(stream, skip);
    opj_stream_set_seek_function(stream, seek);
    isDecoded = opj_setup_decoder(codec, &parameters) && opj_read_header(stream, codec, &decoded) &&
                isSmall(image, decoded) && opj_decode(codec, stream, decoded) && opj_end_decompress(codec, stream) &&
                copy(image, decoded);
  }
  opj_image_destroy(decoded);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  return isDecoded;
}
