/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a disc, finds its edge with a compiled model, and prints both. */
#include "sobel.h"

#include <stdio.h>

enum { ROWS = 16, COLUMNS = 40 };

static void print(const float *picture, float threshold) {
  for (int y = 0; y < ROWS; ++y) {
    for (int x = 0; x < COLUMNS; ++x)
      putchar(picture[y * COLUMNS + x] > threshold ? '#' : '.');
    putchar('\n');
  }
  putchar('\n');
}

int main(void) {
  static float picture[ROWS * COLUMNS], edges[ROWS * COLUMNS];
  for (int y = 0; y < ROWS; ++y)
    for (int x = 0; x < COLUMNS; ++x) {
      /* Halve the horizontal distance: a character of the output is twice as high as it is wide. */
      float dy = y - 7.5f, dx = (x - 19.5f) / 2;
      picture[y * COLUMNS + x] = dx * dx + dy * dy < 36;
    }

  hewn_context *context;
  hewn_status status = hewn_context_create(&sobel, NULL, &context);
  if (status.code == HEWN_OK)
    status = sobel_run(context, picture, edges);
  if (status.code == HEWN_OK) {
    print(picture, 0.5f);
    print(edges, 2.5f);
  } else {
    fprintf(stderr, "edges: %s\n", status.message);
  }
  hewn_context_destroy(context);
  return status.code != HEWN_OK;
}
