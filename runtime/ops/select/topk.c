// SPDX-License-Identifier: Apache-2.0
// TopK with a heap of the k best elements: n log k steps, most of which only compare an element
// with the worst of the heap. A row of which a large part is selected is sorted by radix sort
// instead. Elements are packed with their indices into integers of 64 bits, or of 128 bits for
// elements of 64 bits, in scratch memory.
#include "ops/element.h"

/// Number of adjacent rows that are processed at once. In a single row, it is the number of
/// elements that are compared at once with the worst element of the heap; they are skipped if none
/// is better.
enum { TOGETHER = 16 };

/// For each of TOGETHER rows, a copy of the worst element of its heap.
typedef union worst {
  uint8_t bytes[TOGETHER * 8];
  uint64_t align;
} worst;

/// Functions for elements of one type.
typedef struct access {
  /// Returns the first index >= `from`, in steps of `step`, where one of the TOGETHER adjacent
  /// elements at index * stride may be better than `worst`. If there is none, returns the first
  /// index > n - step.
  int64_t (*scan)(const void *data, int64_t stride, int64_t step, int64_t from, int64_t n, const worst *worst);
  /// Writes the keys of the TOGETHER elements from `at` on.
  void (*keys)(const void *data, int64_t at, uint64_t *keys);
} access;

/// One row of TopK's input and its k outputs. Input and outputs have the same stride between
/// elements.
typedef struct row {
  const unsigned char *input;
  unsigned char *values;
  int64_t *indices;
  int64_t stride;
  int64_t bytes;
  int32_t dtype;
  uint32_t sign; ///< the sign bit of truncated keys if the type is a signed integer, else 0
  uint64_t flip; ///< all ones to select the smallest instead of the largest elements
  const access *access;
} row;

static void put(const row *row, int64_t slot, int64_t index) {
  int64_t to = slot * row->stride, from = index * row->stride;
  row->indices[to] = index;
  switch (row->bytes) {
  case 8:
    hewn_part_copy(row->values, to, row->input, from, 8);
    return;
  case 4:
    hewn_part_copy(row->values, to, row->input, from, 4);
    return;
  default:
    hewn_part_copy(row->values, to, row->input, from, row->bytes);
  }
}

//===-- Elements of each type ---------------------------------------------===//

// Comparisons that are true if v may be better than w, where better is larger or smaller. A NaN is
// larger than all other elements.
#define LARGER(v, w) ((v) > (w))
#define SMALLER(v, w) ((v) < (w))
#define LARGER_FLOAT(v, w) (!((v) <= (w)))
#define SMALLER_FLOAT(v, w) (!((v) >= (w)))

/// Returns an integer in the order of 16-bit floats, except NaN with a sign bit.
static inline int16_t orderOfHalf(uint16_t bits) {
  int16_t value = (int16_t)bits;
  return (int16_t)(value ^ ((value >> 15) & 0x7fff));
}
#define LARGER_HALF(v, w) ((orderOfHalf(v) > orderOfHalf(w)) | ((int16_t)((v) & 0x7fff) > (int16_t)0x7c00))
#define LARGER_BFLOAT(v, w) ((orderOfHalf(v) > orderOfHalf(w)) | ((int16_t)((v) & 0x7fff) > (int16_t)0x7f80))
#define SMALLER_HALF(v, w) (orderOfHalf(v) < orderOfHalf(w))

#define SCAN(name, type, isBetter)                                                                                     \
  static int64_t name(const void *data, int64_t stride, int64_t step, int64_t from, int64_t n, const worst *worst) {   \
    type limit[TOGETHER];                                                                                              \
    memcpy(limit, worst->bytes, sizeof(limit));                                                                        \
    for (; from + step <= n; from += step) {                                                                           \
      const type *values = (const type *)data + from * stride;                                                         \
      int better = 0;                                                                                                  \
      for (int j = 0; j < TOGETHER; ++j)                                                                               \
        better |= isBetter(values[j], limit[j]);                                                                       \
      if (better)                                                                                                      \
        break;                                                                                                         \
    }                                                                                                                  \
    return from;                                                                                                       \
  }
#define ACCESS(name, dtype, type, larger, smaller)                                                                     \
  SCAN(name##Larger, type, larger)                                                                                     \
  SCAN(name##Smaller, type, smaller)                                                                                   \
  static void name##Keys(const void *data, int64_t at, uint64_t *keys) {                                               \
    for (int j = 0; j < TOGETHER; ++j)                                                                                 \
      keys[j] = hewn_part_key(data, at + j, dtype);                                                                    \
  }                                                                                                                    \
  static const access name[2] = {{name##Smaller, name##Keys}, {name##Larger, name##Keys}};

ACCESS(ofFloat, HEWN_PART_FLOAT, float, LARGER_FLOAT, SMALLER_FLOAT)
ACCESS(ofDouble, HEWN_PART_DOUBLE, double, LARGER_FLOAT, SMALLER_FLOAT)
ACCESS(ofFloat16, HEWN_PART_FLOAT16, uint16_t, LARGER_HALF, SMALLER_HALF)
ACCESS(ofBfloat16, HEWN_PART_BFLOAT16, uint16_t, LARGER_BFLOAT, SMALLER_HALF)
ACCESS(ofInt8, HEWN_PART_INT8, int8_t, LARGER, SMALLER)
ACCESS(ofInt16, HEWN_PART_INT16, int16_t, LARGER, SMALLER)
ACCESS(ofInt32, HEWN_PART_INT32, int32_t, LARGER, SMALLER)
ACCESS(ofInt64, HEWN_PART_INT64, int64_t, LARGER, SMALLER)
ACCESS(ofUint8, HEWN_PART_UINT8, uint8_t, LARGER, SMALLER)
ACCESS(ofUint16, HEWN_PART_UINT16, uint16_t, LARGER, SMALLER)
ACCESS(ofUint32, HEWN_PART_UINT32, uint32_t, LARGER, SMALLER)
ACCESS(ofUint64, HEWN_PART_UINT64, uint64_t, LARGER, SMALLER)

/// Returns the functions for elements of a type, to select the largest or the smallest.
static const access *accessOf(int32_t dtype, int largest) {
  switch (dtype) {
  case HEWN_PART_FLOAT:
    return &ofFloat[largest];
  case HEWN_PART_DOUBLE:
    return &ofDouble[largest];
  case HEWN_PART_FLOAT16:
    return &ofFloat16[largest];
  case HEWN_PART_BFLOAT16:
    return &ofBfloat16[largest];
  case HEWN_PART_INT8:
    return &ofInt8[largest];
  case HEWN_PART_INT16:
    return &ofInt16[largest];
  case HEWN_PART_INT32:
    return &ofInt32[largest];
  case HEWN_PART_INT64:
    return &ofInt64[largest];
  case HEWN_PART_UINT16:
    return &ofUint16[largest];
  case HEWN_PART_UINT32:
    return &ofUint32[largest];
  case HEWN_PART_UINT64:
    return &ofUint64[largest];
  default: // uint8, bool
    return &ofUint8[largest];
  }
}

/// Sets the worst element of row j to the element `index` of `row`. Not inlined, because it has
/// four callers for each width of entries.
__attribute__((noinline)) static void setWorst(const row *row, worst *worst, int j, int64_t index) {
  hewn_part_copy(worst->bytes, j, row->input, index * row->stride, row->bytes);
  if (row->dtype != HEWN_PART_FLOAT16 && row->dtype != HEWN_PART_BFLOAT16)
    return;
  uint16_t bits, infinity = row->dtype == HEWN_PART_FLOAT16 ? 0x7c00 : 0x7f80;
  memcpy(&bits, worst->bytes + 2 * j, sizeof(bits));
  bits &= 0x7fff;
  if (bits > infinity) // NaN without a sign bit, which is above infinity in `orderOfHalf`
    memcpy(worst->bytes + 2 * j, &bits, sizeof(bits));
}

/// Sets the worst element of all rows to the element `index` of `row`.
static inline void setAllWorst(const row *row, worst *worst, int64_t index) {
  setWorst(row, worst, 0, index);
  for (int64_t done = row->bytes; done < TOGETHER * row->bytes; done *= 2)
    memcpy(worst->bytes + done, worst->bytes, (size_t)done);
}

//===-- Rows --------------------------------------------------------------===//

__extension__ typedef unsigned __int128 wide;

#define NAME(function) function##32
#define ENTRY uint64_t
#define KEY_BITS 32
#include "ops/select/topkrows.h"
#undef NAME
#undef ENTRY
#undef KEY_BITS
#define NAME(function) function##64
#define ENTRY wide
#define KEY_BITS 64
#include "ops/select/topkrows.h"

/// Selects the k best elements of one row, or of TOGETHER adjacent rows.
static void selectRows(const row *rows, int64_t count, int64_t n, int64_t k, int packs, int sorts, void *scratch) {
  if (packs) {
    if (sorts)
      sortLine32(rows, n, k, scratch);
    else if (count == 1)
      selectLine32(rows, n, k, scratch);
    else
      selectLines32(rows, n, k, scratch);
  } else if (sorts) {
    sortLine64(rows, n, k, scratch);
  } else if (count == 1) {
    selectLine64(rows, n, k, scratch);
  } else {
    selectLines64(rows, n, k, scratch);
  }
}

int32_t hewn_part_topk(hewn_context *context, const char *node, int32_t num_inputs, const hewn_part_tensor *inputs,
                       int32_t num_outputs, hewn_part_tensor *outputs, const int64_t *params) {
  (void)num_inputs;
  (void)num_outputs;
  const hewn_part_tensor *x = &inputs[0];
  int64_t axis = hewn_part_axis(params[0], x->rank);
  if (!hewn_part_is_ordered(x->dtype) || axis < 0)
    return hewn_part_refuse(context, node, x->dtype);
  int64_t n = x->dims[axis];
  int64_t k = outputs[0].dims[axis];
  if (k < 0 || k > n)
    return hewn_rt_fail(context, HEWN_INVALID_ARGUMENT, node, "k = {a} is outside 0..{b}", k, n);
  int64_t outer = hewn_part_product(x->dims, 0, (int32_t)axis);
  int64_t inner = hewn_part_product(x->dims, (int32_t)axis + 1, x->rank);
  int64_t bytes = hewn_part_bytes(x->dtype);
  if (k == 0)
    return HEWN_OK;
  int packs = bytes <= 4 && n <= (int64_t)UINT32_MAX;
  // The histograms of a radix sort are too large for short rows. A radix sort takes as long as a
  // heap of n / 32 elements, or of n / 8 elements for keys of 64 bits, which have twice the digits.
  int sorts = n >= 256 && k >= n / (packs ? 32 : 8);
  int isSigned = x->dtype == HEWN_PART_INT8 || x->dtype == HEWN_PART_INT16 || x->dtype == HEWN_PART_INT32;
  int64_t together = sorts || inner < TOGETHER ? 1 : TOGETHER;
  int64_t entries = sorts ? hewn_size_mul(2, n) : hewn_size_mul(together, k);
  void *scratch =
      hewn_rt_alloc(context, hewn_size_mul(entries, (int64_t)(packs ? sizeof(uint64_t) : sizeof(wide))), 64);
  if (!scratch)
    return hewn_rt_code(context);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner;) {
      row rows[TOGETHER];
      int64_t count = inner - i >= together ? together : 1;
      for (int64_t j = 0; j < count; ++j) {
        int64_t from = o * n * inner + i + j, to = o * k * inner + i + j;
        rows[j] = (row){(const unsigned char *)x->data + from * bytes,
                        (unsigned char *)outputs[0].data + to * bytes,
                        (int64_t *)outputs[1].data + to,
                        inner,
                        bytes,
                        x->dtype,
                        isSigned ? UINT32_C(1) << 31 : 0,
                        params[1] ? 0 : UINT64_MAX,
                        accessOf(x->dtype, params[1] != 0)};
      }
      selectRows(rows, count, n, k, packs, sorts, scratch);
      i += count;
    }
  hewn_rt_free(context, scratch);
  return HEWN_OK;
}
