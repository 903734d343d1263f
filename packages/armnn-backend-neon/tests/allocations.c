/* SPDX-License-Identifier: MIT */
/* Loaded before the C library: counts what the code of one library allocates. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static atomic_uintptr_t first, last;
static atomic_ulong count;

/* From now on counts calls from these addresses. */
void count_from(uintptr_t begin, uintptr_t end) {
  atomic_store(&first, begin);
  atomic_store(&last, end);
  atomic_store(&count, 0);
}

unsigned long counted(void) { return atomic_load(&count); }

static void note(void *caller) {
  const uintptr_t place = (uintptr_t)caller;
  if (place >= atomic_load(&first) && place < atomic_load(&last)) atomic_fetch_add(&count, 1);
}

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) {
  note(__builtin_return_address(0));
  return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
  note(__builtin_return_address(0));
  return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
  note(__builtin_return_address(0));
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
