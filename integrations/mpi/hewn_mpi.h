// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_MPI_H
#define HEWN_MPI_H

/// \file
/// Communicators over MPI for models that are partitioned over ranks (hewn/communicator.h).
/// Implemented by libhewn_openmpi.so and libhewn_mpich.so, each for the MPI that it was built with.

#include <hewn/communicator.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hewn_mpi_flags {
  /// Uses MPI's collectives and messages instead of one-sided puts into and gets from the arenas
  /// of other ranks.
  HEWN_MPI_TWO_SIDED = 1
};

/// Creates a communicator of the ranks of an MPI communicator, which is duplicated. `comm` points
/// to an MPI_Comm, so that this header doesn't include <mpi.h>. MPI must be initialized, and must
/// not be finalized before the result is destroyed. All ranks must call this function. A wait for
/// other ranks fails after `milliseconds`; 0 means 30 seconds. `flags` are values of
/// hewn_mpi_flags.
HEWN_API hewn_status hewn_mpi_communicator_create(const void *comm, int64_t milliseconds, uint32_t flags,
                                                  hewn_communicator **communicator);

/// Like hewn_mpi_communicator_create for MPI_COMM_WORLD: all processes that the launcher started.
/// Initializes MPI if necessary, and then finalizes it when the communicator is destroyed. The
/// environment variable HEWN_MPI_TWO_SIDED=1 sets the flag HEWN_MPI_TWO_SIDED.
HEWN_API hewn_status hewn_mpi_world_create(int64_t milliseconds, hewn_communicator **communicator);

#ifdef __cplusplus
}
#endif

#endif // HEWN_MPI_H
