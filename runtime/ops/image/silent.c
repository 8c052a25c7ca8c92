// SPDX-License-Identifier: Apache-2.0
// Replacements for functions that print, for a function of the compiler's support library that no C
// library has, and for fstat, which glibc does not export before 2.33 (isolate.cmake).
#include <stdint.h>

void *hewn_silent_file;
int hewn_silent_function(void);
int hewn_silent_popcount(uint64_t word);
int hewn_silent_fstat(int file, void *status);

int hewn_silent_function(void) { return 0; }

int hewn_silent_popcount(uint64_t word) {
  int count = 0;
  for (; word; word &= word - 1)
    ++count;
  return count;
}

/// Fails: images are decoded from memory, and libtiff would call fstat only for a file.
int hewn_silent_fstat(int file, void *status) {
  (void)file;
  (void)status;
  return -1;
}
