/* SPDX-License-Identifier: Apache-2.0
 *
 * run_library LIBRARY RUNS [OUTPUT [VARIANT]]: runs a compiled model RUNS times on numbers of a
 * fixed generator, prints the variant that the loader chose (or VARIANT), and writes the bytes of
 * all outputs to OUTPUT. It contains no part of the compiler, so that it runs under emulators and
 * instruction counters. Symbols are 2. If the model can't be loaded, it prints the message and
 * exits with status 3. */
#define _GNU_SOURCE
#include <hewn/runtime.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 16, MOST_DIMS = 8 };

static int64_t fill(const hewn_tensor_info *info, DLTensor *tensor, int64_t *shape) {
  int64_t elements = 1;
  for (int32_t d = 0; d < info->rank; ++d)
    elements *= shape[d] = info->dims[d] >= 0 ? info->dims[d] : 2;
  memset(tensor, 0, sizeof(*tensor));
  tensor->device.device_type = kDLCPU;
  tensor->ndim = info->rank;
  tensor->dtype = info->dtype;
  tensor->shape = shape;
  return elements;
}

static void *numbers(const hewn_tensor_info *info, int64_t elements) {
  char *data = aligned_alloc(64, (size_t)(elements * 8 + 63) / 64 * 64);
  uint32_t state = 1;
  for (int64_t i = 0; data && i < elements; ++i) {
    state = state * 1664525u + 1013904223u;
    if (info->dtype.code == kDLFloat)
      ((float *)data)[i] = (float)(state >> 8) / (1 << 23) - 1;
    else
      ((int64_t *)data)[i] = state >> 29;
  }
  return data;
}

int main(int argc, char **argv) {
  DLTensor inputs[MOST_TENSORS], outputs[MOST_TENSORS];
  int64_t shapes[2 * MOST_TENSORS][MOST_DIMS];
  void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  const hewn_model *model = library ? dlsym(library, HEWN_MODEL_SYMBOL) : NULL;
  if (!model || model->num_inputs > MOST_TENSORS || model->num_outputs > MOST_TENSORS) {
    fprintf(stderr, "usage: run_library LIBRARY RUNS [OUTPUT [VARIANT]]\n");
    return 2;
  }
  hewn_model forced = *model;
  for (int32_t i = 0; argc > 4 && i < model->num_variants; ++i)
    if (strcmp(model->variants[i].target, argv[4]) == 0) {
      forced.variants = &model->variants[i];
      forced.num_variants = 1;
    }
  model = &forced;
  hewn_context *context = NULL;
  hewn_status status = model->runtime->context_create(model, NULL, &context);
  if (status.code != HEWN_OK) {
    puts(status.message);
    return 3;
  }
  for (int32_t i = 0; i < model->num_inputs; ++i) {
    int64_t elements = fill(&model->inputs[i], &inputs[i], shapes[i]);
    inputs[i].data = numbers(&model->inputs[i], elements);
  }
  puts(model->runtime->model_variant(model)->target);
  for (int run = atoi(argv[2]); run > 0; --run) {
    for (int32_t i = 0; i < model->num_outputs; ++i)
      fill(&model->outputs[i], &outputs[i], shapes[MOST_TENSORS + i]);
    status = model->runtime->run(model, context, inputs, model->num_inputs, outputs, model->num_outputs);
    if (status.code != HEWN_OK) {
      puts(status.message);
      return 1;
    }
    FILE *file = run == 1 && argc > 3 ? fopen(argv[3], "wb") : NULL;
    for (int32_t i = 0; i < model->num_outputs; ++i) {
      size_t bytes = (size_t)(outputs[i].dtype.bits + 7) / 8;
      for (int32_t d = 0; d < outputs[i].ndim; ++d)
        bytes *= (size_t)outputs[i].shape[d];
      if (file)
        fwrite(outputs[i].data, 1, bytes, file);
      model->runtime->output_release(context, outputs[i].data);
    }
    if (file && fclose(file) != 0)
      return 1;
  }
  model->runtime->context_destroy(context);
  return 0;
}
