/* SPDX-License-Identifier: MIT */
/* Symbol versions that let the library run with an older C library than the one it was linked against: functions that
 * got a newer version since glibc 2.27 are asked for by their first one. The functions are the same, and
 * the compiler's C++ library, linked into ours, finds these definitions as well. */
#include <pthread.h>
#include <signal.h>

#ifdef __GLIBC__

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#endif

/* Args: asked: the symbol that is asked for; name: the function that answers. */
#define OLD_AS(result, asked, name, parameters, arguments)                                          \
  extern "C" result old_##name parameters;                                                          \
  __asm__(".symver old_" #name "," #name "@" FIRST);                                                \
  extern "C" __attribute__((visibility("hidden"))) result own_##name parameters __asm__(#asked);    \
  result own_##name parameters { return old_##name arguments; }
#define OLD(result, name, parameters, arguments) OLD_AS(result, name, name, parameters, arguments)

using Body = void *(*)(void *);

OLD(int, pthread_create, (pthread_t * made, const pthread_attr_t *how, Body body, void *arg),
    (made, how, body, arg))
OLD(int, pthread_join, (pthread_t thread, void **result), (thread, result))
OLD(int, pthread_once, (pthread_once_t * control, void (*body)()), (control, body))
OLD(int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *before), (how, set, before))
OLD(double, exp, (double x), (x))
OLD(double, log, (double x), (x))
OLD(double, log2, (double x), (x))
OLD(double, pow, (double x, double y), (x, y))
/* Since 2.43. */
OLD(float, acosf, (float x), (x))
OLD(float, acoshf, (float x), (x))
OLD(float, asinf, (float x), (x))
OLD(float, atanhf, (float x), (x))
OLD(float, coshf, (float x), (x))
OLD(float, sinhf, (float x), (x))
/* Headers since 2.38 ask for these, which read binary numbers, too: ours have none. */
OLD_AS(long, __isoc23_strtol, strtol, (const char *text, char **end, int base), (text, end, base))
OLD_AS(long long, __isoc23_strtoll, strtoll, (const char *text, char **end, int base), (text, end, base))
OLD_AS(unsigned long, __isoc23_strtoul, strtoul, (const char *text, char **end, int base), (text, end, base))

#ifndef __SANITIZE_THREAD__ /* its library has an __fxstat64 without a version, and the linker takes neither */
/* Before 2.33 a program passed which version of the structure it knows, 1 on x86-64 and 0 on Arm. */
extern "C" int old_fstat(int version, int file, void *made);
__asm__(".symver old_fstat,__fxstat64@" FIRST);
extern "C" __attribute__((visibility("hidden"))) int own_fstat(int file, void *made) __asm__(
    "fstat64");
int own_fstat(int file, void *made) {
#if defined(__x86_64__)
  return old_fstat(1, file, made);
#else
  return old_fstat(0, file, made);
#endif
}
#endif

/* Whether the C++ library may count references without atomics, which it then never does. */
extern "C" __attribute__((visibility("hidden"))) char own_single_threaded __asm__(
    "__libc_single_threaded");
char own_single_threaded = 0;

#endif
