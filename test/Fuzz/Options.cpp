// SPDX-License-Identifier: Apache-2.0
//
// AddressSanitizer options for a program whose LLVM is built without sanitizers.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  // Sets options of AddressSanitizer. User poisoning is off, because inline functions of LLVM's
  // allocators, which are compiled with the sanitizer, poison memory, but LLVM's library does not.
  // Leak detection is off, because LLVM keeps some memory until exit. No option is needed for
  // crashes of the code generator: hewn catches them and reports internal errors, which are
  // findings.
  return "allow_user_poisoning=0:detect_leaks=0";
}
