/* SPDX-License-Identifier: MIT */
/* A fake arch_prctl with given answers, for test_tile_registers.py. */
#include <cstdarg>
#include <cstdio>

#include "kernels/isa/cpu_x86_64.h"

extern "C" long syscall(long number, ...) noexcept {
  va_list rest;
  va_start(rest, number);
  const long request = va_arg(rest, long), component = va_arg(rest, long);
  va_end(rest);
  std::printf("%ld %#lx %ld: ", number, static_cast<unsigned long>(request), component);
  return ANSWER;
}

int main() {
  using namespace cpuacc;
  std::printf("%d\n", system_permits_amx());
  std::printf("amx_tile %d\namx_int8 %d\namx_bf16 %d\n", cpu_has_amx_tile(), cpu_has_amx_int8(), cpu_has_amx_bf16());
}
