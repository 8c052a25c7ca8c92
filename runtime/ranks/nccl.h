// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_RANKS_NCCL_H
#define HEWN_RUNTIME_RANKS_NCCL_H

/// \file
/// The NCCL functions that are used, as declared in its public header (nccl.h) since version 2.14.
/// The types are declared here, so that the build does not need NCCL.

#include <stddef.h>
#include <stdint.h>

typedef int nccl_result; ///< 0 on success
typedef struct nccl_comm_s *nccl_comm;
typedef struct nccl_id {
  char bytes[128];
} nccl_id;

/// ncclConfig_t of version 2.14. Later versions append members, and handle this size and version.
typedef struct nccl_config {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
} nccl_config;

enum { NCCL_MAGIC = (int)0xcafebeef, NCCL_OLDEST = 21400 };
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum nccl_type {
  NCCL_INT8 = 0,
  NCCL_UINT8 = 1,
  NCCL_INT32 = 2,
  NCCL_UINT32 = 3,
  NCCL_INT64 = 4,
  NCCL_UINT64 = 5,
  NCCL_FLOAT16 = 6,
  NCCL_FLOAT32 = 7,
  NCCL_FLOAT64 = 8,
  NCCL_BFLOAT16 = 9
};
enum { NCCL_SUM = 0 };

#define HEWN_NCCL_FUNCTIONS(X)                                                                                         \
  X(ncclGetVersion, (int *version))                                                                                    \
  X(ncclGetUniqueId, (nccl_id * id))                                                                                   \
  X(ncclCommInitRankConfig, (nccl_comm * comm, int ranks, nccl_id id, int rank, nccl_config *config))                  \
  X(ncclCommGetAsyncError, (nccl_comm comm, nccl_result * error))                                                      \
  X(ncclCommFinalize, (nccl_comm comm))                                                                                \
  X(ncclCommDestroy, (nccl_comm comm))                                                                                 \
  X(ncclGroupStart, (void))                                                                                            \
  X(ncclGroupEnd, (void))                                                                                              \
  X(ncclCommAbort, (nccl_comm comm))                                                                                   \
  X(ncclAllReduce, (const void *from, void *to, size_t count, int type, int operation, nccl_comm comm, void *stream))  \
  X(ncclReduceScatter,                                                                                                 \
    (const void *from, void *to, size_t count, int type, int operation, nccl_comm comm, void *stream))                 \
  X(ncclAllGather, (const void *from, void *to, size_t count, int type, nccl_comm comm, void *stream))                 \
  X(ncclSend, (const void *from, size_t count, int type, int peer, nccl_comm comm, void *stream))                      \
  X(ncclRecv, (void *to, size_t count, int type, int peer, nccl_comm comm, void *stream))

typedef struct hewn_nccl {
#define HEWN_NCCL_MEMBER(name, arguments) nccl_result(*name) arguments;
  HEWN_NCCL_FUNCTIONS(HEWN_NCCL_MEMBER)
#undef HEWN_NCCL_MEMBER
  const char *(*ncclGetErrorString)(nccl_result result);
} hewn_nccl;

#endif // HEWN_RUNTIME_RANKS_NCCL_H
