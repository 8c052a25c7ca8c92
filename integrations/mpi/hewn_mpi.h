// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_MPI_H
#define HEWN_MPI_H

/// \file
/// Communicators over MPI, for models that are split over ranks
/// (hewn/communicator.h): libhewn_openmpi.so and libhewn_mpich.so, each for
/// the MPI that it was built with.

#include <hewn/communicator.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hewn_mpi_flags {
  /// Sums, gathers and messages by MPI's own calls, instead of puts into and
  /// gets out of the other ranks' arenas.
  HEWN_MPI_TWO_SIDED = 1
};

/// The ranks of a communicator of MPI's, which is duplicated. `comm` points to an
/// MPI_Comm, so that this header needs none of MPI's. MPI must have been
/// initialized, and must not be finalized before this is destroyed. All ranks call it
/// together. A wait ends after `milliseconds`; 0: 30 seconds.
HEWN_API hewn_status hewn_mpi_communicator_create(const void *comm, int64_t milliseconds, uint32_t flags,
                                                  hewn_communicator **communicator);

/// The same of all processes that the launcher has started: initializes MPI where
/// nobody has, and finalizes it then when the communicator is destroyed. The
/// environment's HEWN_MPI_TWO_SIDED=1 stands for the flag.
HEWN_API hewn_status hewn_mpi_world_create(int64_t milliseconds, hewn_communicator **communicator);

#ifdef __cplusplus
}
#endif

#endif // HEWN_MPI_H
