// SPDX-License-Identifier: Apache-2.0
// Custom: calls custom ops. Converts operands to the types of include/hewn/custom.h, and checks the
// sizes that the op writes.
#include "hewn/custom.h"
#include "ops/element.h"

/// A call of a custom op, with the data that its service functions need.
typedef struct {
  hewn_custom_call call; // first member: the address of the call is the address of this struct
  hewn_context *context;
  void *scratch; // linked list: each block begins with the address of the previous one
} custom_call;

/// Size of the header of a scratch block, which precedes the memory that the op receives.
#define SCRATCH_HEAD 64

static custom_call *whole(hewn_custom_call *call) { return (custom_call *)(void *)call; }

static int32_t fail(hewn_custom_call *call, const char *message, int64_t a, int64_t b) {
  return hewn_rt_fail(whole(call)->context, HEWN_OP_FAILED, call->node, message ? message : "failed", a, b);
}

static void *scratch(hewn_custom_call *call, int64_t bytes) {
  custom_call *own = whole(call);
  char *memory = hewn_rt_alloc(own->context, hewn_size_add(bytes, SCRATCH_HEAD), 64);
  if (!memory)
    return NULL;
  memcpy(memory, &own->scratch, sizeof(void *));
  own->scratch = memory;
  return memory + SCRATCH_HEAD;
}

static void dropScratch(custom_call *own) {
  while (own->scratch) {
    void *memory = own->scratch;
    memcpy(&own->scratch, memory, sizeof(void *));
    hewn_rt_free(own->context, memory);
  }
}

static void *keep(hewn_custom_call *call, int64_t bytes) {
  return hewn_rt_keep(whole(call)->context, bytes == 0 ? 1 : bytes);
}

static int32_t parallelFor(hewn_custom_call *call, int64_t n, hewn_task task, void *arg) {
  return hewn_rt_parallel_for(whole(call)->context, n, task, arg);
}

static int32_t threads(const hewn_custom_call *call) {
  return hewn_rt_threads(((const custom_call *)(const void *)call)->context);
}

static const hewn_custom_services services = {sizeof(hewn_custom_services), fail, scratch, keep, parallelFor, threads};

//===-- Encoding of params -----------------------------------------------===//

/// Indices into the `params` of a Custom call, in the order that services.h documents.
enum { FUNCTION, ATTRIBUTES, SIZES, TENSORS, FORM, REST };

/// Returns the number of words that encode an attribute's value, which follow its type and count.
static int64_t payload(const int64_t *attribute) {
  int64_t count = attribute[1];
  switch (attribute[0]) {
  case HEWN_CUSTOM_INT:
  case HEWN_CUSTOM_FLOAT:
  case HEWN_CUSTOM_TENSOR:
    return 1;
  case HEWN_CUSTOM_STRING:
    return count / 8 + 1;
  case HEWN_CUSTOM_INTS:
    return count;
  case HEWN_CUSTOM_FLOATS:
    return (count + 1) / 2;
  case HEWN_CUSTOM_STRINGS:
    return 1 + attribute[2]; // the first word is the number of words of the strings
  default:
    return 0;
  }
}

/// A bump allocator for the structs that describe a call of a custom op.
typedef struct {
  char *at;
} room;

static void *take(room *from, size_t bytes) {
  void *taken = from->at;
  from->at += (bytes + 7) / 8 * 8;
  return taken;
}

static const DLTensor *makeTensor(room *from, const hewn_part_tensor *given, int isText) {
  if (given->dtype == 0)
    return NULL;
  DLTensor *tensor = take(from, sizeof(DLTensor));
  int64_t *strides = take(from, (size_t)given->rank * sizeof(int64_t)), stride = 1;
  for (int32_t d = given->rank; d-- > 0;) {
    strides[d] = stride;
    stride = hewn_size_mul(stride, given->dims[d]);
  }
  DLDevice cpu = {kDLCPU, 0};
  tensor->data = given->data;
  tensor->device = cpu;
  tensor->ndim = given->rank;
  tensor->dtype = hewn_part_dlpack(given->dtype, isText);
  tensor->shape = given->dims;
  tensor->strides = strides;
  tensor->byte_offset = 0;
  return tensor;
}

static void readAttribute(hewn_custom_attribute *to, const int64_t *from, const DLTensor *const *tensors,
                          room *memory) {
  const int64_t *data = from + 2;
  memset(to, 0, sizeof(*to));
  to->kind = (int32_t)from[0];
  to->count = from[1];
  switch (to->kind) {
  case HEWN_CUSTOM_INT:
    to->i = data[0];
    break;
  case HEWN_CUSTOM_FLOAT:
    memcpy(&to->f, data, sizeof(double));
    break;
  case HEWN_CUSTOM_STRING:
    to->s = (const char *)data;
    break;
  case HEWN_CUSTOM_INTS:
    to->ints = data;
    break;
  case HEWN_CUSTOM_FLOATS:
    to->floats = (const float *)(const void *)data;
    break;
  case HEWN_CUSTOM_STRINGS: {
    const char **strings = take(memory, (size_t)to->count * sizeof(char *));
    const char *text = (const char *)(data + 1);
    for (int64_t i = 0; i < to->count; ++i, text += strlen(text) + 1)
      strings[i] = text;
    to->strings = strings;
    break;
  }
  case HEWN_CUSTOM_TENSOR:
    to->tensor = tensors[data[0]];
    break;
  default:
    break;
  }
}

/// Returns the number of bytes that `fill` allocates.
static int64_t roomFor(int32_t num_inputs, const hewn_part_tensor *inputs, int32_t num_outputs,
                       const hewn_part_tensor *outputs, const int64_t *params, const int64_t *attributes) {
  int64_t words = params[SIZES], tensor = (int64_t)(sizeof(DLTensor) + sizeof(void *)) / 8 + 1;
  for (int32_t i = 0; i < num_inputs; ++i)
    words += tensor + inputs[i].rank;
  for (int32_t i = 0; i < num_outputs; ++i)
    words += tensor + outputs[i].rank;
  for (int64_t i = 0; i < params[ATTRIBUTES]; ++i, attributes += 2 + payload(attributes)) {
    words += ((int64_t)sizeof(hewn_custom_attribute) + 7) / 8;
    if (attributes[0] == HEWN_CUSTOM_STRINGS)
      words += attributes[1];
  }
  return 8 * words;
}

static void fill(hewn_custom_call *call, room memory, int32_t num_inputs, const hewn_part_tensor *inputs,
                 int32_t num_outputs, const hewn_part_tensor *outputs, const int64_t *params, const int64_t *text,
                 const int64_t *attributes) {
  int32_t tensors = (int32_t)params[TENSORS];
  const DLTensor **in = take(&memory, (size_t)num_inputs * sizeof(DLTensor *));
  DLTensor **out = take(&memory, (size_t)num_outputs * sizeof(DLTensor *));
  for (int32_t i = 0; i < num_inputs; ++i)
    in[i] = makeTensor(&memory, &inputs[i], text[i] != 0);
  for (int32_t i = 0; i < num_outputs; ++i)
    out[i] = (DLTensor *)makeTensor(&memory, &outputs[i], text[num_inputs + i] != 0);
  call->sizes = take(&memory, (size_t)params[SIZES] * sizeof(int64_t));
  hewn_custom_attribute *list = take(&memory, (size_t)params[ATTRIBUTES] * sizeof(hewn_custom_attribute));
  for (int64_t i = 0; i < params[ATTRIBUTES]; ++i, attributes += 2 + payload(attributes))
    readAttribute(&list[i], attributes, in, &memory);
  call->num_inputs = num_inputs - tensors;
  call->num_outputs = num_outputs;
  call->num_attributes = (int32_t)params[ATTRIBUTES];
  call->num_sizes = (int32_t)params[SIZES];
  call->inputs = in + tensors;
  call->outputs = out;
  call->attributes = list;
}

//===-- The call ---------------------------------------------------------===//

/// Checks that a size that the custom op wrote is between 0 and the capacity of its dim.
static int32_t checkSize(hewn_custom_call *call, int64_t size, int64_t most) {
  if (size >= 0 && size <= most)
    return HEWN_OK;
  return fail(call,
              size == -1 ? "the custom op did not write a size"
                         : "the custom op wrote the size {a}, which is outside 0..{b}",
              size, most);
}

static int32_t callFunction(custom_call *own, const int64_t *params) {
  hewn_custom_fn *function;
  memcpy(&function, &params[FUNCTION], sizeof(function));
  int32_t code = function(&own->call);
  dropScratch(own);
  int32_t told = hewn_rt_code(own->context);
  if (told != HEWN_OK)
    return told;
  return code == HEWN_OK ? HEWN_OK
                         : fail(&own->call, "the custom op failed without a message: it returned {a}", code, 0);
}

int32_t hewn_part_custom(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                         int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  int tells = params[FORM] == HEWN_CUSTOM_TELLS;
  int32_t shown = tells ? 0 : num_outputs;
  const int64_t *text = params + REST, *places = text + num_inputs + shown, *attributes = places;
  for (int32_t i = 0; i < shown; ++i)
    attributes += outputs[i].rank;

  custom_call own;
  memset(&own, 0, sizeof(own));
  own.call.size = sizeof(own.call);
  own.call.node = node;
  own.call.services = &services;
  own.context = context;
  int64_t local[256], bytes = roomFor(num_inputs, inputs, shown, outputs, params, attributes);
  room memory = {bytes <= (int64_t)sizeof(local) ? (char *)local : hewn_rt_alloc(context, bytes, 64)};
  void *allocated = memory.at == (char *)local ? NULL : memory.at;
  if (!memory.at)
    return HEWN_OUT_OF_MEMORY;
  fill(&own.call, memory, num_inputs, inputs, shown, outputs, params, text, attributes);
  for (int64_t i = 0; i < params[SIZES]; ++i)
    own.call.sizes[i] =
        params[FORM] == HEWN_CUSTOM_IS_TOLD ? ((const int64_t *)inputs[params[TENSORS] - 1].data)[i] : -1;

  int32_t code = callFunction(&own, params);
  for (int64_t i = 0; tells && code == HEWN_OK && i < params[SIZES]; ++i) {
    code = checkSize(&own.call, own.call.sizes[i], INT64_MAX);
    ((int64_t *)outputs[0].data)[i] = own.call.sizes[i];
  }
  for (int32_t i = 0; i < shown && code == HEWN_OK; ++i)
    for (int32_t d = 0; d < outputs[i].rank && code == HEWN_OK; ++d, ++places) {
      if (*places < 0)
        continue;
      code = checkSize(&own.call, own.call.sizes[*places], outputs[i].dims[d]);
      outputs[i].dims[d] = own.call.sizes[*places];
    }
  if (allocated)
    hewn_rt_free(context, allocated);
  return code;
}
