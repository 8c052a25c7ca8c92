// SPDX-License-Identifier: Apache-2.0
// ImageDecode, for ImageDecoder. The result is a sequence of one tensor, because the size of the
// image is known only after reading the file.
#include "image.h"

#include "ops/list/handles.h"

int hewn_image_allows(hewn_image *image, int64_t width, int64_t height) {
  if (width <= 0 || height <= 0)
    return 0;
  if (width > image->most || height > image->most / width)
    image->failed =
        hewn_rt_fail(image->context, HEWN_INVALID_ARGUMENT, image->node,
                     "the file declares an image of {a} x {b} pixels, too many for its length", width, height);
  // Adds the memory for the pixels to the codec's limit, only once per image (`claimed`): decoders
  // that know the size early call this function before hewn_image_make, which calls it again.
  if (!image->failed && !image->claimed) {
    image->claimed = 1;
    image->left += HEWN_IMAGE_A_PIXEL * width * height;
  }
  return !image->failed;
}

uint8_t *hewn_image_make(hewn_image *image, int64_t width, int64_t height) {
  if (!hewn_image_allows(image, width, height))
    return NULL;
  image->width = width;
  image->height = height;
  image->pixels = hewn_rt_keep(image->context, 3 * width * height);
  image->failed = image->pixels ? HEWN_OK : HEWN_OUT_OF_MEMORY;
  if (image->pixels)
    memset(image->pixels, 0, (size_t)(3 * width * height));
  return image->pixels;
}

static int begins(const uint8_t *bytes, size_t size, const char *with, size_t length) {
  return size >= length && memcmp(bytes, with, length) == 0;
}

static hewn_image_decoder *decoderOf(const uint8_t *bytes, size_t size) {
  if (begins(bytes, size, "\xff\xd8\xff", 3))
    return hewn_image_jpeg;
  if (begins(bytes, size, "\x89PNG\r\n\x1a\n", 8))
    return hewn_image_png;
  if (begins(bytes, size, "II*\0", 4) || begins(bytes, size, "MM\0*", 4) || begins(bytes, size, "II+\0", 4) ||
      begins(bytes, size, "MM\0+", 4))
    return hewn_image_tiff;
  if (begins(bytes, size, "RIFF", 4) && size >= 12 && memcmp(bytes + 8, "WEBP", 4) == 0)
    return hewn_image_webp;
  if (begins(bytes, size, "\0\0\0\x0cjP  \r\n\x87\n", 12) || begins(bytes, size, "\xff\x4f\xff\x51", 4))
    return hewn_image_jpeg2000;
  if (begins(bytes, size, "BM", 2))
    return hewn_image_bmp;
  if (size >= 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6')
    return hewn_image_pnm;
  return NULL;
}

enum { RGB = 0, BGR = 1, GRAYSCALE = 2 };

/// Converts the pixels in place to the requested channel order. Returns the number of bytes per
/// pixel.
static int64_t arrange(hewn_image *image, int64_t format) {
  int64_t n = image->width * image->height;
  uint8_t *p = image->pixels;
  if (format == GRAYSCALE) {
    // Computes gray pixels by ITU-R 601-2, in the fixed-point arithmetic of Pillow, which ONNX's
    // reference implementation uses.
    for (int64_t i = 0; i < n; ++i)
      p[i] = (uint8_t)((19595u * p[3 * i] + 38470u * p[3 * i + 1] + 7471u * p[3 * i + 2] + 0x8000u) >> 16);
    return 1;
  }
  for (int64_t i = 0; format == BGR && i < n; ++i) {
    uint8_t red = p[3 * i];
    p[3 * i] = p[3 * i + 2];
    p[3 * i + 2] = red;
  }
  return 3;
}

int32_t hewn_part_imagedecode(hewn_context *context, const char *node, int32_t num_inputs,
                              const hewn_part_tensor *inputs, int32_t num_outputs, hewn_part_tensor *outputs,
                              const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const uint8_t *bytes = inputs[0].data;
  size_t size = (size_t)inputs[0].dims[0];
  int64_t most = HEWN_IMAGE_SMALL + HEWN_IMAGE_A_BYTE * (inputs[0].dims[0] < HEWN_IMAGE_MOST / HEWN_IMAGE_A_BYTE
                                                             ? inputs[0].dims[0]
                                                             : HEWN_IMAGE_MOST / HEWN_IMAGE_A_BYTE);
  hewn_image image = {.context = context,
                      .node = node,
                      .most = most < HEWN_IMAGE_MOST ? most : HEWN_IMAGE_MOST,
                      .left = HEWN_IMAGE_SPARE};
  hewn_image_decoder *decode = decoderOf(bytes, size);
  hewn_image_spend(&image);
  int isDecoded = decode && decode(&image, bytes, size);
  hewn_image_spend(NULL);
  if (!isDecoded && image.spent && !image.failed)
    image.failed = hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node,
                                "decoding exceeds the memory limit for an image of this size", 0, 0);
  if (image.failed)
    return image.failed;
  if (!isDecoded)
    image.width = image.height = 0;
  int64_t channels = isDecoded ? arrange(&image, params[0]) : params[0] == GRAYSCALE ? 1 : 3;
  hewn_list *list = hewn_list_make(context, 1, 1);
  int64_t *shape = list ? hewn_rt_keep(context, 3 * (int64_t)sizeof(int64_t)) : NULL;
  if (!shape)
    return HEWN_OUT_OF_MEMORY;
  shape[0] = image.height;
  shape[1] = image.width;
  shape[2] = channels;
  DLTensor *to = &list->store->elements[0];
  *to = (DLTensor){.data = isDecoded ? (void *)image.pixels : (void *)shape,
                   .device = {kDLCPU, 0},
                   .ndim = 3,
                   .dtype = {kDLUInt, 8, 1},
                   .shape = shape};
  hewn_list_give(&outputs[0], list);
  return HEWN_OK;
}
