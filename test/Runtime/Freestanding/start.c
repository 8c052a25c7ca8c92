// SPDX-License-Identifier: Apache-2.0
// The entry point of a Linux executable without a C library: exits with 0 if the test passes, else
// with 1, after writing the line of the failed check.

int hewn_test(void);

#if defined(__x86_64__)
static long call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}
enum { WRITE = 1, EXIT = 60 };
__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  and $-16, %rsp\n  call hewn_test_main\n");
#elif defined(__i386__)
static long call(long number, long a, long b, long c) {
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
  return result;
}
enum { WRITE = 4, EXIT = 1 };
__asm__(".globl _start\n_start:\n  xor %ebp, %ebp\n  and $-16, %esp\n  call hewn_test_main\n");
#elif defined(__aarch64__)
static long call(long number, long a, long b, long c) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}
enum { WRITE = 64, EXIT = 93 };
__asm__(".globl _start\n_start:\n  mov x29, xzr\n  bl hewn_test_main\n");
#endif

__attribute__((used)) void hewn_test_main(void) {
  int line = hewn_test();
  char text[] = "line 0000 fails\n";
  for (int i = 8, rest = line; i > 4; --i, rest /= 10)
    text[i] = (char)('0' + rest % 10);
  if (line)
    call(WRITE, 2, (long)text, sizeof(text) - 1);
  call(EXIT, line != 0, 0, 0);
}
