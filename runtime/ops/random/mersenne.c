// SPDX-License-Identifier: Apache-2.0
// MT19937 (Matsumoto and Nishimura, "Mersenne Twister", 1998), seeded and read like NumPy's
// RandomState: the numbers that ONNX's reference implementation of Dropout uses.
#include "ops/element.h"

enum { WORDS = 624, MIDDLE = 397 };

typedef struct twister {
  uint32_t words[WORDS];
  int next;
} twister;

static void seed(twister *t, uint32_t from) {
  t->words[0] = from;
  for (uint32_t i = 1; i < WORDS; ++i)
    t->words[i] = UINT32_C(1812433253) * (t->words[i - 1] ^ (t->words[i - 1] >> 30)) + i;
  t->next = WORDS;
}

static void twist(twister *t) {
  for (int i = 0; i < WORDS; ++i) {
    uint32_t y = (t->words[i] & UINT32_C(0x80000000)) | (t->words[(i + 1) % WORDS] & UINT32_C(0x7fffffff));
    t->words[i] = t->words[(i + MIDDLE) % WORDS] ^ (y >> 1) ^ (y & 1 ? UINT32_C(0x9908b0df) : 0);
  }
  t->next = 0;
}

static uint32_t draw(twister *t) {
  if (t->next == WORDS)
    twist(t);
  uint32_t y = t->words[t->next++];
  y ^= y >> 11;
  y ^= (y << 7) & UINT32_C(0x9d2c5680);
  y ^= (y << 15) & UINT32_C(0xefc60000);
  return y ^ (y >> 18);
}

int32_t hewn_part_mersenne(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                           int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)context;
  (void)node;
  (void)num_inputs;
  (void)inputs;
  (void)num_outputs;
  twister t;
  seed(&t, (uint32_t)params[0]);
  double *y = outputs[0].data;
  for (int64_t i = 0, n = hewn_part_product(outputs[0].dims, 0, outputs[0].rank); i < n; ++i) {
    uint32_t high = draw(&t) >> 5, low = draw(&t) >> 6;
    y[i] = (high * 67108864.0 + low) / 9007199254740992.0; // 2^26, 2^53
  }
  return HEWN_OK;
}
