/* SPDX-License-Identifier: MIT */
/* Which level this machine has. Compiled for the baseline. */
#include <cstdlib>
#include <cstring>

#if defined(__aarch64__)
#include <sys/auxv.h>
#else
#include <cpuid.h>
#endif

#include "kernels/kernels.h"
#include "kernels/levels.h"

namespace cpuacc {

#if defined(__x86_64__)
namespace sse2 {
void fill(Kernels &table);
}
namespace avx2 {
void fill(Kernels &table);
}
namespace avx_vnni {
void fill_int8_gemm(Int8Kernels &table);
void fill_int8_accumulators(Int8Kernels &table);
void fill_int8_direct(Int8Kernels &table);
void fill_int8_depthwise(Int8Kernels &table);
}
namespace avx512 {
void fill(Kernels &table);
}
namespace avx512_bf16 {
void fill_gemm_bfloat16(Kernels &table);
}
#else
namespace neon {
void fill(Kernels &table);
}
namespace neon_dotprod {
void fill(Kernels &table);
}
namespace neon_i8mm {
void fill(Kernels &table);
}
namespace neon_fp16 {
void fill_pointwise_float16(Kernels &table);
}
namespace neon_bf16 {
void fill_gemm_bfloat16(Kernels &table);
}
#endif

namespace {

struct Level {
  const char *name;
  bool (*is_there)();
  void (*fill)(Kernels &table);
};

bool always() { return true; }

#if defined(__x86_64__)
/* The built-in asks the operating system as well whether it saves the registers. */
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("f16c");
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vnni");
}

bool has_avx512_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }

void fill_avx512_bf16(Kernels &table) {
  avx512::fill(table);
  avx512_bf16::fill_gemm_bfloat16(table);
  table.name = "avx512_bf16";
}

#if defined(CPUACC_VNNI_BY_AVX512)
/* A build for tests, whose instructions of this level have the encoding of AVX-512. */
bool has_avx_vnni() { return has_avx512(); }
#else
/* The compiler's built-in does not know it. Its registers are those of AVX. */
bool has_avx_vnni() {
  constexpr unsigned kAvxVnni = 1u << 4;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvxVnni) != 0;
}
#endif

void fill_avx_vnni(Kernels &table) {
  avx2::fill(table);
  avx_vnni::fill_int8_gemm(table.int8);
  avx_vnni::fill_int8_accumulators(table.int8);
  avx_vnni::fill_int8_direct(table.int8);
  avx_vnni::fill_int8_depthwise(table.int8);
  table.name = "avx_vnni";
}

/* The best one first. */
constexpr Level kLevels[] = {
    {"avx512_bf16", has_avx512_bf16, fill_avx512_bf16},
    {"avx512", has_avx512, avx512::fill},
    {"avx_vnni", has_avx_vnni, fill_avx_vnni},
    {"avx2", has_avx2, avx2::fill},
    {"sse2", always, sse2::fill},
};
#else
bool has_fp16() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0; }

bool has_dotprod() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }

bool has_i8mm() { return has_dotprod() && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0; }

bool has_bf16() { return has_i8mm() && (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0; }

void fill_neon_fp16(Kernels &table) {
  neon::fill(table);
  neon_fp16::fill_pointwise_float16(table);
  table.name = "neon_fp16";
}

/* From dotprod on, Float16 is computed in Float16 if the processor can; practically all of them can. */
void fill_neon_dotprod(Kernels &table) {
  neon_dotprod::fill(table);
  if (has_fp16()) neon_fp16::fill_pointwise_float16(table);
}

void fill_neon_i8mm(Kernels &table) {
  neon_i8mm::fill(table);
  if (has_fp16()) neon_fp16::fill_pointwise_float16(table);
}

void fill_neon_bf16(Kernels &table) {
  fill_neon_i8mm(table);
  neon_bf16::fill_gemm_bfloat16(table);
  table.name = "neon_bf16";
}

constexpr Level kLevels[] = {
    {"neon_bf16", has_bf16, fill_neon_bf16},
    {"neon_i8mm", has_i8mm, fill_neon_i8mm},
    {"neon_dotprod", has_dotprod, fill_neon_dotprod},
    {"neon_fp16", has_fp16, fill_neon_fp16},
    {"neon", always, neon::fill},
};
#endif
constexpr int kLevelCount = sizeof kLevels / sizeof kLevels[0];

struct Tables {
  Kernels tables[kLevelCount] = {};
  bool is_there[kLevelCount] = {};

  Tables() {
    for (int i = 0; i < kLevelCount; ++i) {
      is_there[i] = kLevels[i].is_there();
      if (is_there[i]) kLevels[i].fill(tables[i]);
    }
  }
};

const Tables &tables() {
  static const Tables all;
  return all;
}

}  // namespace

const Kernels *kernels_of(const char *name) {
  for (int i = 0; i < kLevelCount; ++i) {
    if (std::strcmp(kLevels[i].name, name) == 0) {
      return tables().is_there[i] ? &tables().tables[i] : nullptr;
    }
  }
  return nullptr;
}

const char *level_here(int index) {
  for (int i = 0; i < kLevelCount; ++i) {
    if (tables().is_there[i] && index-- == 0) return kLevels[i].name;
  }
  return nullptr;
}

const Kernels *best_kernels() {
  const char *wanted = std::getenv("ARMNN_CPUACC_ISA");
  if (wanted != nullptr && *wanted != '\0') return kernels_of(wanted);
  for (int i = 0; i < kLevelCount; ++i) {
    if (tables().is_there[i]) return &tables().tables[i];
  }
  return nullptr;
}

}  // namespace cpuacc
