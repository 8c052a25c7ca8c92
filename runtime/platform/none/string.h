// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_NONE_STRING_H
#define HEWN_RUNTIME_NONE_STRING_H

/// \file
/// The functions of C's <string.h> that runtime functions of ops use, for targets without a C
/// library. Freestanding builds search this folder for system headers.

#include "core/string.h"

#define strlen hewn_strlen
#define strcmp hewn_strcmp
#define strstr hewn_strstr

#endif // HEWN_RUNTIME_NONE_STRING_H
