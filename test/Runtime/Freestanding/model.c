// SPDX-License-Identifier: Apache-2.0
// A model whose descriptor is written by hand, and checks of its runs. Uses no C library.
//
// y[batch] = 2 * x[batch] + weights[batch % 4]; names[1] is the string "even" or "odd". If `batch`
// is HUGE_BATCH, the arena has 5 GiB.

#include "hewn/services.h"

#if defined(__wasm__)
#include "platform/wasm/allocator.h"
#endif

enum { HUGE_BATCH = 1000, MOST_BATCH = 1000 };
#define GIB ((int64_t)1 << 30)

static int64_t arenaBytes(const int64_t *symbols) { return symbols[0] == HUGE_BATCH ? 5 * GIB : symbols[0] * 4; }

static void outputDims(const int64_t *symbols, int64_t *const *dims) {
  dims[0][0] = symbols[0];
  dims[1][0] = 1;
}

static void doubleAll(void *arg, int64_t begin, int64_t end) {
  const hewn_frame *frame = arg;
  for (int64_t i = begin; i < end; ++i)
    ((float *)(void *)frame->arena)[i] = 2 * ((const float *)frame->inputs[0])[i];
}

static int64_t scratchBytes; ///< additional memory that the model allocates

static int32_t run(hewn_context *context, const hewn_frame *frame) {
  int32_t code = hewn_rt_begin_kernel(context, "double");
  int64_t n = frame->symbols[0];
  if (code == HEWN_OK)
    code = hewn_rt_parallel_for(context, n, doubleAll, (void *)(uintptr_t)frame);
  if (code != HEWN_OK)
    return code;
  for (int64_t i = 0; i < n; ++i)
    ((float *)frame->outputs[0])[i] =
        ((const float *)(const void *)frame->arena)[i] + ((const float *)(const void *)frame->weights)[i % 4];
  if (scratchBytes && !hewn_rt_alloc(context, scratchBytes, 64))
    return hewn_rt_code(context);
  char *text = hewn_rt_keep(context, 5);
  if (!text)
    return hewn_rt_code(context);
  const char *from = n % 2 ? "odd" : "even";
  for (int i = 0; i < 5; ++i)
    text[i] = i < 4 || n % 2 == 0 ? from[i] : '\0';
  *(hewn_handle *)frame->outputs[1] = hewn_handle_of(text);
  return HEWN_OK;
}

static const DLDataType float32 = {kDLFloat, 32, 1}, string = {kDLOpaqueHandle, 64, 1};
static const int64_t rows[] = {HEWN_DIM_SYMBOL(0)}, one[] = {1};
static const hewn_tensor_info inputs[] = {{"x", {kDLFloat, 32, 1}, 1, rows, NULL, 0, {0, 0, 0}, 0, 0}};
static const hewn_tensor_info outputs[] = {{"y", {kDLFloat, 32, 1}, 1, rows, NULL, 0, {0, 0, 0}, 0, 0},
                                           {"names", {kDLOpaqueHandle, 64, 1}, 1, one, NULL, 0, {0, 0, 0}, 0, 0}};
static const hewn_symbol symbols[] = {{"batch", 1, MOST_BATCH}};
static const hewn_variant variants[] = {{"freestanding", 0, arenaBytes, run}};
static const hewn_services services = {sizeof(hewn_services), 0, &hewn_rt_platform, NULL, HEWN_TEST_WEIGHTS, NULL};

extern HEWN_API const hewn_model model;
const hewn_model model = {.abi_version = HEWN_ABI_VERSION,
                          .struct_bytes = sizeof(hewn_model),
                          .name = "model",
                          .digest = "feed",
                          .target = "freestanding",
                          .runtime = &hewn_rt_table,
                          .num_inputs = 1,
                          .num_outputs = 2,
                          .num_symbols = 1,
                          .num_variants = 1,
                          .inputs = inputs,
                          .outputs = outputs,
                          .symbols = symbols,
                          .variants = variants,
                          .weights_file = "model.weights",
                          .weights_digest = "cafe",
                          .weights_bytes = 16,
                          .output_dims = outputDims,
                          .services = &services};

typedef struct weights_file {
  hewn_weights_header header;
  float data[4];
} weights_file;

static _Alignas(64) weights_file weights = {
    {{'H', 'E', 'W', 'N', 'W', 0}, HEWN_WEIGHTS_VERSION, 16, {'c', 'a', 'f', 'e'}, 0}, {1, 2, 3, 4}};

static _Alignas(64) unsigned char memory[1 << 16];
static size_t used, largest; ///< bytes in use, and the largest allocation that was requested

static void *allocate(void *user, size_t bytes, size_t alignment) {
  (void)user;
  size_t begin = (used + alignment - 1) & ~(alignment - 1);
  if (bytes > largest)
    largest = bytes;
  if (bytes > sizeof(memory) || begin > sizeof(memory) - bytes)
    return NULL;
  used = begin + bytes;
  return memory + begin;
}

static void release(void *user, void *block) { (void)user, (void)block; }

static int hooked; ///< number of calls of the thread hook

static void inHalves(void *user, int64_t n, hewn_task task, void *arg) {
  (void)user;
  ++hooked;
  task(arg, n / 2, n);
  task(arg, 0, n / 2);
}

static int isSame(const char *a, const char *b) {
  while (*a && *a == *b)
    ++a, ++b;
  return *a == *b;
}

#define CHECK(condition)                                                                                               \
  if (!(condition))                                                                                                    \
  return __LINE__

/// Checks that contexts with wrong options fail with a message.
static int checkOptions(hewn_context_options options) {
  hewn_context *context;
  const void *file = options.weights;
#if !defined(__wasm__)
  const hewn_allocator given = options.allocator;
  options.allocator.allocate = NULL;
  options.allocator.release = NULL;
  hewn_status status = hewn_context_create(&model, &options, &context);
  CHECK(status.code == HEWN_INVALID_ARGUMENT && !context);
  CHECK(isSame(status.message, "options.allocator is required on this platform"));
  options.allocator = given;
#endif
  options.weights = NULL;
  options.weights_bytes = 0;
  CHECK(hewn_context_create(&model, &options, &context).code == HEWN_IO);
  CHECK(isSame(hewn_context_message(context), "options.weights is required: this platform has no files"));
  hewn_context_destroy(context);
  options.weights = (const char *)file + 4;
  CHECK(hewn_context_create(&model, &options, &context).code == HEWN_INVALID_ARGUMENT && !context);
  options.weights = file;
  options.weights_bytes = sizeof(weights) - 1;
  CHECK(hewn_context_create(&model, &options, &context).code == HEWN_IO);
  CHECK(
      isSame(hewn_context_message(context), "model 'model': options.weights is too long: 16 bytes expected, got 15") ||
      isSame(hewn_context_message(context), "model 'model': options.weights is truncated: 80 bytes expected, got 79"));
  hewn_context_destroy(context);
  return 0;
}

/// Checks that byte counts above the size of the address space fail instead of being truncated.
static int checkHuge(hewn_context *context) {
  float x[4] = {0}, y[4] = {0};
  hewn_handle name = 0;
  const void *in[] = {x};
  void *out[] = {y, &name};
  int64_t huge = HUGE_BATCH, two = 2;
  largest = 0;
  hewn_status status = hewn_context_reserve(context, &huge);
  CHECK(status.code == HEWN_OUT_OF_MEMORY);
  CHECK(isSame(status.message, "model 'model' needs an arena of 5368709120 bytes, which the allocator cannot provide"));
  scratchBytes = 5 * GIB;
  status = hewn_run_pointers(&model, context, in, out, NULL, &two);
  scratchBytes = 0;
  CHECK(status.code == HEWN_OUT_OF_MEMORY);
  CHECK(isSame(status.message, "out of memory: 5368709120 bytes for a buffer whose size depends on data"));
  CHECK(sizeof(size_t) > 4 || largest < sizeof(memory)); // the allocator saw no truncated size
  // A tensor whose size in bytes does not fit in the address space.
  int64_t shape[] = {5 * GIB / 4}, single[] = {1};
  DLTensor tensor = {x, {kDLCPU, 0}, 1, float32, shape, NULL, 0};
  DLTensor results[] = {{y, {kDLCPU, 0}, 1, float32, shape, NULL, 0}, {&name, {kDLCPU, 0}, 1, string, single, NULL, 0}};
  CHECK(hewn_run(&model, context, &tensor, results).code == HEWN_INVALID_ARGUMENT);
  return 0;
}

static int checkRuns(hewn_context *context) {
  float x[3] = {1, 10, 100}, y[3] = {0};
  hewn_handle name = 0;
  int64_t n[] = {3}, single[] = {1};
  DLTensor in = {x, {kDLCPU, 0}, 1, float32, n, NULL, 0};
  DLTensor out[] = {{y, {kDLCPU, 0}, 1, float32, n, NULL, 0}, {&name, {kDLCPU, 0}, 1, string, single, NULL, 0}};
  CHECK(hewn_arena_bytes(&model, n) == 12);
  CHECK(hewn_run(&model, context, &in, out).code == HEWN_OK);
  CHECK(y[0] == 3 && y[1] == 22 && y[2] == 203);
  CHECK(isSame(hewn_handle_object(name), "odd"));
  CHECK(hooked == 1);
  n[0] = -3;
  CHECK(hewn_run(&model, context, &in, out).code == HEWN_INVALID_ARGUMENT);
  CHECK(isSame(hewn_context_message(context), "input 'x': shape [batch] expected, got [-3]"));
  const void *pointers[] = {x};
  void *results[] = {y, &name};
  n[0] = 2;
  CHECK(hewn_run_pointers(&model, context, pointers, results, NULL, n).code == HEWN_OK);
  CHECK(y[0] == 3 && y[1] == 22 && isSame(hewn_handle_object(name), "even"));
  return 0;
}

#if defined(__wasm__)
static int checkWasm(void) {
  // The compiler's products with overflow, and its math functions.
  volatile int64_t a = INT64_C(3037000500), b = -INT64_C(3037000499);
  int64_t product;
  CHECK(__builtin_mul_overflow(a, a, &product));
  CHECK(!__builtin_mul_overflow(a, b, &product) && product == -INT64_C(9223372033963249500));
  __extension__ volatile unsigned __int128 wide = (unsigned __int128)UINT64_C(0xfedcba9876543210) << 64 | 1;
  volatile int by = 4, many = 68;
  CHECK((uint64_t)(wide >> by) == 0 && (uint64_t)(wide >> many) == UINT64_C(0x0fedcba987654321));
  CHECK((uint64_t)((__int128)wide >> many >> by) == UINT64_C(0xfffedcba98765432));
  CHECK((uint64_t)(wide << by) == 16 && (uint64_t)(wide << many >> 64) == 16);
  volatile double third = 1.0 / 3, three = 3;
  CHECK(__builtin_fma(third, three, -1) == -0x1p-54);
  volatile float half = -0.5f;
  CHECK(__builtin_roundf(half) == -1 && __builtin_round(2.4) == 2);
  // Blocks do not overlap, are aligned, and are used again after they are freed.
  unsigned char *blocks[16];
  for (size_t i = 0; i < 16; ++i) {
    blocks[i] = hewn_wasm_allocate(100 * i + 1, (size_t)16 << i % 5);
    CHECK(blocks[i] && (uintptr_t)blocks[i] % ((size_t)16 << i % 5) == 0);
    for (size_t k = 0; k <= 100 * i; ++k)
      blocks[i][k] = (unsigned char)i;
  }
  for (size_t i = 0; i < 16; ++i)
    for (size_t k = 0; k <= 100 * i; ++k)
      CHECK(blocks[i][k] == i);
  size_t pages = __builtin_wasm_memory_size(0);
  for (size_t i = 0; i < 16; ++i)
    hewn_wasm_release(blocks[i * 5 % 16]);
  CHECK(hewn_wasm_allocate(12000, 64) && __builtin_wasm_memory_size(0) == pages);
  CHECK(!hewn_wasm_allocate((size_t)3 << 30, 64));
  return 0;
}
#endif

/// Returns 0 if all checks pass, else the line of the first one that fails.
int hewn_test(void);
int hewn_test(void) {
  hewn_context_options options = {.size = sizeof(options),
                                  .threads = 4,
                                  .allocator = {allocate, release, NULL},
                                  .thread_hook = {inHalves, NULL},
                                  .weights = &weights,
                                  .weights_bytes = sizeof(weights)};
  hewn_context *context;
  int line = checkOptions(options);
  if (line)
    return line;
  CHECK(hewn_context_create(&model, &options, &context).code == HEWN_OK);
  if ((line = checkRuns(context)) || (line = checkHuge(context)))
    return line;
  hewn_context_destroy(context);
#if defined(__wasm__)
  if ((line = checkWasm()))
    return line;
  options.allocator.allocate = NULL;
  options.allocator.release = NULL;
  hooked = 0;
  CHECK(hewn_context_create(&model, &options, &context).code == HEWN_OK);
  if ((line = checkRuns(context)))
    return line;
  hewn_context_destroy(context);
#endif
  return 0;
}
