// SPDX-License-Identifier: Apache-2.0
#include "parts/list/handles.h"

static const hewn_list empty = {{0, NULL}, NULL};

const hewn_list *hewn_list_of(const hewn_part_tensor *handle) {
  const hewn_list *list;
  memcpy(&list, handle->data, sizeof(list));
  return list ? list : &empty;
}

void hewn_list_give(hewn_part_tensor *result, const hewn_list *list) { memcpy(result->data, &list, sizeof(list)); }

DLDataType hewn_list_dtype(int32_t dtype, int isText) {
  // By TensorProto.DataType.
  static const DLDataType types[] = {{0, 0, 0},
                                     {kDLFloat, 32, 1},
                                     {kDLUInt, 8, 1},
                                     {kDLInt, 8, 1},
                                     {kDLUInt, 16, 1},
                                     {kDLInt, 16, 1},
                                     {kDLInt, 32, 1},
                                     {kDLInt, 64, 1},
                                     {0, 0, 0},
                                     {HEWN_DL_BOOL, 8, 1},
                                     {kDLFloat, 16, 1},
                                     {kDLFloat, 64, 1},
                                     {kDLUInt, 32, 1},
                                     {kDLUInt, 64, 1},
                                     {kDLComplex, 64, 1},
                                     {kDLComplex, 128, 1},
                                     {kDLBfloat, 16, 1},
                                     {HEWN_DL_FLOAT8_E4M3FN, 8, 1},
                                     {HEWN_DL_FLOAT8_E4M3FNUZ, 8, 1},
                                     {HEWN_DL_FLOAT8_E5M2, 8, 1},
                                     {HEWN_DL_FLOAT8_E5M2FNUZ, 8, 1},
                                     {kDLUInt, 4, 1},
                                     {kDLInt, 4, 1},
                                     {HEWN_DL_FLOAT4_E2M1FN, 4, 1},
                                     {HEWN_DL_FLOAT8_E8M0FNU, 8, 1},
                                     {kDLUInt, 2, 1},
                                     {kDLInt, 2, 1}};
  static const DLDataType string = {kDLOpaqueHandle, 64, 1};
  if (isText)
    return string;
  return types[dtype >= 0 && dtype < (int32_t)(sizeof(types) / sizeof(types[0])) ? dtype : 0];
}

const DLTensor *hewn_list_element(hewn_context *context, const char *node, const hewn_list *list,
                                  const hewn_part_tensor *place) {
  int64_t at = *(const int64_t *)place->data, length = list->seen.length;
  if (at >= -length && at < length)
    return &list->seen.elements[at < 0 ? at + length : at];
  hewn_rt_fail(context, HEWN_INDEX_OUT_OF_RANGE, node, "place {a} is outside of a sequence of {b}", at, length);
  return NULL;
}

const unsigned char *hewn_list_data(const DLTensor *tensor) {
  return (const unsigned char *)tensor->data + tensor->byte_offset;
}
