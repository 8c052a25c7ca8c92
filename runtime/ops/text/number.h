// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_RUNTIME_PARTS_TEXT_NUMBER_H
#define HEWN_RUNTIME_PARTS_TEXT_NUMBER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // uselocale
#endif

/// \file
/// Conversion between numbers and text. The C library's functions depend on the program's locale,
/// in which 1.5 may be "1,5". Between enter and leave, the calling thread has the locale "C"; other
/// threads and the program keep theirs.

#include "ops/text/strings.h"

#include <locale.h>

typedef struct hewn_number_scope {
  locale_t plain, before;
} hewn_number_scope;

/// Sets the calling thread's locale to "C". Returns HEWN_OK, or the code of a failure after
/// recording it.
static inline int32_t hewn_number_enter(hewn_context *context, const char *node, hewn_number_scope *scope) {
  scope->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (scope->plain == (locale_t)0)
    return hewn_rt_fail(context, HEWN_OUT_OF_MEMORY, node, "no memory for a locale", 0, 0);
  scope->before = uselocale(scope->plain);
  return HEWN_OK;
}

static inline void hewn_number_leave(hewn_number_scope scope) {
  uselocale(scope.before);
  freelocale(scope.plain);
}

#endif // HEWN_RUNTIME_PARTS_TEXT_NUMBER_H
