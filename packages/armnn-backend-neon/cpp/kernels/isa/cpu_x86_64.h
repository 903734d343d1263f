/* SPDX-License-Identifier: MIT */
/* The features of an x86-64 processor, by their names in levels.toml. */
#pragma once

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace cpuacc {

/* The built-in asks the operating system as well whether it saves the registers. */
inline bool cpu_has_sse2() { return true; /* of every x86-64 */ }
inline bool cpu_has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
inline bool cpu_has_fma() { return __builtin_cpu_supports("fma") != 0; }
inline bool cpu_has_f16c() { return __builtin_cpu_supports("f16c") != 0; }

/* A build for tests has the vectors of AVX-512 as pairs of AVX2. */
#if defined(CPUACC_EMULATED_VECTORS)
constexpr bool kEmulatesAvx512 = true;
#else
constexpr bool kEmulatesAvx512 = false;
#endif
inline bool cpu_has_avx512f() { return kEmulatesAvx512 || __builtin_cpu_supports("avx512f") != 0; }
inline bool cpu_has_avx512bw() { return kEmulatesAvx512 || __builtin_cpu_supports("avx512bw") != 0; }
inline bool cpu_has_avx512dq() { return kEmulatesAvx512 || __builtin_cpu_supports("avx512dq") != 0; }
inline bool cpu_has_avx512vl() { return kEmulatesAvx512 || __builtin_cpu_supports("avx512vl") != 0; }
inline bool cpu_has_avx512_vnni() { return kEmulatesAvx512 || __builtin_cpu_supports("avx512vnni") != 0; }
inline bool cpu_has_avx512_bf16() { return kEmulatesAvx512 || __builtin_cpu_supports("avx512bf16") != 0; }

/* The compiler's built-in does not know it. Its registers are those of AVX. */
inline bool cpu_has_avx_vnni() {
#if defined(CPUACC_VNNI_BY_AVX512) /* a build for tests has its instructions in the encoding of AVX-512 */
  return cpu_has_avx512vl() && cpu_has_avx512_vnni();
#else
  constexpr unsigned kAvxVnni = 1u << 4;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvxVnni) != 0;
#endif
}

/* AMX, of which the built-in knows nothing either. */
inline bool cpu_has_bit_of_leaf_7(unsigned bit) {
#if defined(CPUACC_EMULATED_TILES) /* a build for tests has its registers in memory */
  return bit != 0;
#else
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> bit & 1u) != 0;
#endif
}
inline bool cpu_has_amx_bf16() { return cpu_has_bit_of_leaf_7(22); }
inline bool cpu_has_amx_tile() { return cpu_has_bit_of_leaf_7(24); }
inline bool cpu_has_amx_int8() { return cpu_has_bit_of_leaf_7(25); }

/* Asks the system for the registers of AMX. A process that has them may not have small stacks for signals
 * any more, so only one that uses them asks. Systems without the question have no such registers.
 */
inline bool system_permits_amx() {
#if defined(CPUACC_EMULATED_TILES)
  return std::getenv("CPUACC_REFUSES_TILES") == nullptr;
#else
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#endif
}

}  // namespace cpuacc
