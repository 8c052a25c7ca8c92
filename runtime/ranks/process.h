// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_RANKS_PROCESS_H
#define HEWN_RUNTIME_RANKS_PROCESS_H

#include <stdint.h>

#define HEWN_PROCESS_UNKNOWN UINT64_MAX

/// Returns the start time of a process in clock ticks. Returns 0 if there is no such process, or if
/// it has ended (a zombie), and HEWN_PROCESS_UNKNOWN if it cannot be determined.
uint64_t hewn_process_start(int32_t process);

#endif // HEWN_RUNTIME_RANKS_PROCESS_H
