// SPDX-License-Identifier: Apache-2.0
//
// What the sanitizers must know of a program whose LLVM is not built with them.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  // LLVM's allocators mark their memory where their inline parts are ours, and not in the library. What LLVM keeps for good is no
  // leak of ours. Crashes inside of the code generator are caught by hewn, and are findings by its message.
  return "allow_user_poisoning=0:detect_leaks=0";
}
