// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_RANKS_PROCESS_H
#define HEWN_RUNTIME_RANKS_PROCESS_H

#include <stdint.h>

#define HEWN_PROCESS_UNKNOWN UINT64_MAX

/// When a process began, in the system's ticks; 0 where there is none, or one that has ended and is not buried; HEWN_PROCESS_UNKNOWN where
/// that can't be told now.
uint64_t hewn_process_start(int32_t process);

#endif // HEWN_RUNTIME_RANKS_PROCESS_H
