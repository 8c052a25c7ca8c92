/* SPDX-License-Identifier: Apache-2.0
 *
 * run_model LIBRARY THREADS: runs a compiled model under an emulator and communicates with the test
 * through two pipes. It first describes the model; then it reads inputs and writes results until
 * its input ends. All values are 64-bit integers, or byte strings after their length.
 *
 *     out: code, message; name, variant; number of inputs, number of outputs; for each tensor:
 *          name, type code, bits, kind, rank, a text for each dim ("" if the data determine it);
 *          number of cases; for each case: condition, refusal (or ""), number of outputs (0 or
 *          all), and these
 *     in:  for each input: rank, dims, bytes
 *     out: code, message and, if the code is 0, for each output: rank, dims, bytes
 */
#include <hewn/runtime.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_DIMS = 32 };

/// Readable margin in bytes before and after each allocation. qemu 7.2 also reads the masked-out
/// lanes of a masked load, which a processor does not access. test/Numeric/Memory checks accesses
/// out of bounds.
#define SLACK ((size_t)64 << 20)
#define MOST_BYTES ((size_t)4 << 30)

static void *allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  (void)alignment; // pages are sufficiently aligned
  // Without a swap reserve, mmap succeeds for more memory than is available. The process fails
  // when it touches the pages.
  if (bytes > MOST_BYTES)
    return NULL;
  size_t all = bytes + 2 * SLACK;
  char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return NULL;
  memcpy(memory + SLACK - sizeof(all), &all, sizeof(all));
  return memory + SLACK;
}

static void release(void *user, void *data) {
  (void)user;
  size_t all;
  memcpy(&all, (char *)data - sizeof(all), sizeof(all));
  munmap((char *)data - SLACK, all);
}

static void put(int64_t number) { fwrite(&number, sizeof(number), 1, stdout); }
static void putBytes(const void *data, int64_t bytes) {
  put(bytes);
  fwrite(data, 1, (size_t)bytes, stdout);
}
static void putText(const char *text) { putBytes(text, (int64_t)strlen(text)); }

static int64_t take(void) {
  int64_t number;
  if (fread(&number, sizeof(number), 1, stdin) != 1)
    exit(0);
  return number;
}

static void describe(const hewn_model *model, const hewn_tensor_info *info) {
  putText(info->name);
  put(info->dtype.code);
  put(info->dtype.bits);
  put(info->kind);
  put(info->rank);
  for (int32_t d = 0; d < info->rank; ++d) {
    char number[32];
    int64_t dim = info->dims[d];
    snprintf(number, sizeof(number), "%" PRId64, dim);
    putText(dim >= 0                  ? number
            : dim == HEWN_DIM_FORMULA ? info->formulas[d]
            : dim == HEWN_DIM_DYNAMIC ? ""
                                      : model->symbols[-1 - dim].name);
  }
}

static DLTensor tensorOf(const hewn_tensor_info *info, int64_t rank, int64_t *shape) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof(tensor));
  tensor.device.device_type = kDLCPU;
  tensor.ndim = (int32_t)rank;
  tensor.dtype = info->dtype;
  tensor.shape = shape;
  return tensor;
}

static void run(const hewn_model *model, hewn_context *context) {
  DLTensor *inputs = calloc((size_t)model->num_inputs + 1, sizeof(DLTensor));
  DLTensor *outputs = calloc((size_t)model->num_outputs + 1, sizeof(DLTensor));
  int64_t (*shapes)[MOST_DIMS] = calloc((size_t)(model->num_inputs + model->num_outputs + 1), sizeof(*shapes));
  for (int32_t i = 0; i < model->num_inputs; ++i) {
    int64_t rank = take();
    if (rank > MOST_DIMS)
      exit(2);
    for (int64_t d = 0; d < rank; ++d)
      shapes[i][d] = take();
    int64_t bytes = take();
    inputs[i] = tensorOf(&model->inputs[i], rank, shapes[i]);
    inputs[i].data = allocate(NULL, (size_t)bytes, 64);
    if (!inputs[i].data || fread(inputs[i].data, 1, (size_t)bytes, stdin) != (size_t)bytes)
      exit(2);
  }
  for (int32_t i = 0; i < model->num_outputs; ++i)
    outputs[i] = tensorOf(&model->outputs[i], 0, shapes[model->num_inputs + i]);
  hewn_status status = model->runtime->run(model, context, inputs, model->num_inputs, outputs, model->num_outputs);
  put(status.code);
  putText(status.message);
  for (int32_t i = 0; status.code == HEWN_OK && i < model->num_outputs; ++i) {
    int64_t bytes = (outputs[i].dtype.bits + 7) / 8;
    put(outputs[i].ndim);
    for (int32_t d = 0; d < outputs[i].ndim; ++d) {
      put(outputs[i].shape[d]);
      bytes *= outputs[i].shape[d];
    }
    putBytes(outputs[i].data, bytes);
    model->runtime->output_release(context, outputs[i].data);
  }
  for (int32_t i = 0; i < model->num_inputs; ++i)
    release(NULL, inputs[i].data);
  free(inputs);
  free(outputs);
  free(shapes);
}

int main(int argc, char **argv) {
  void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  const hewn_model *model = library ? dlsym(library, HEWN_MODEL_SYMBOL) : NULL;
  if (!model) {
    put(HEWN_IO);
    putText(argc == 3 ? dlerror() : "usage: run_model LIBRARY THREADS");
    return 2;
  }
  hewn_context_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.threads = atoi(argv[2]);
  options.allocator.allocate = allocate;
  options.allocator.release = release;
  hewn_context *context = NULL;
  hewn_status status = model->runtime->context_create(model, &options, &context);
  put(status.code);
  putText(status.message);
  if (status.code != HEWN_OK)
    return 3;
  putText(model->name);
  putText(model->runtime->model_variant(model)->target);
  put(model->num_inputs);
  put(model->num_outputs);
  for (int32_t i = 0; i < model->num_inputs; ++i)
    describe(model, &model->inputs[i]);
  for (int32_t i = 0; i < model->num_outputs; ++i)
    describe(model, &model->outputs[i]);
  put(model->num_cases);
  for (int32_t k = 0; k < model->num_cases; ++k) {
    const hewn_case *one = &model->cases[k];
    putText(one->condition);
    putText(one->refusal ? one->refusal : "");
    put(one->outputs ? model->num_outputs : 0);
    for (int32_t i = 0; one->outputs && i < model->num_outputs; ++i)
      describe(model, &one->outputs[i]);
  }
  for (;;) {
    fflush(stdout);
    run(model, context);
  }
}
