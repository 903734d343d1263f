/* SPDX-License-Identifier: MIT */
/* Preloaded: answers CPUID as a processor that ends with AVX2, where limited_peers.py replaced the instruction. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* Two bytes, as CPUID has; no instruction of a 64-bit program. */
static const unsigned char kReplacement[] = {0x27, 0x27};

/* Bits of what leaf and subleaf answer that are 0. */
struct hidden {
  uint32_t leaf, subleaf, eax, ebx, ecx, edx;
};

#define BIT(n) (UINT32_C(1) << (n))

static const struct hidden kHidden[] = {
    {7, 0, 0,
     /* AVX512: F, DQ, IFMA, PF, ER, CD, BW, VL */
     BIT(16) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28) | BIT(30) | BIT(31),
     /* AVX512: VBMI, VBMI2, VNNI, BITALG, VPOPCNTDQ; GFNI */
     BIT(1) | BIT(6) | BIT(11) | BIT(12) | BIT(14) | BIT(8),
     /* AVX512: 4VNNIW, 4FMAPS, VP2INTERSECT, FP16; AMX: BF16, TILE, INT8 */
     BIT(2) | BIT(3) | BIT(8) | BIT(23) | BIT(22) | BIT(24) | BIT(25)},
    {7, 1,
     /* AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA */
     BIT(4) | BIT(5) | BIT(21) | BIT(23), 0, 0,
     /* AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10 */
     BIT(4) | BIT(5) | BIT(8) | BIT(10) | BIT(19)},
    {0x24, 0, ~UINT32_C(0), ~UINT32_C(0), ~UINT32_C(0), ~UINT32_C(0)}, /* AVX10 */
};

static void answer(int signal_number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  (void)info;
  if (memcmp((const void *)registers[REG_RIP], kReplacement, sizeof kReplacement) != 0) {
    signal(signal_number, SIG_DFL); /* the instruction comes again, and ends the process */
    return;
  }
  const uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
  uint32_t eax, ebx, ecx, edx;
  __cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
  for (size_t i = 0; i < sizeof kHidden / sizeof *kHidden; ++i) {
    const struct hidden *hidden = &kHidden[i];
    if (hidden->leaf != leaf || hidden->subleaf != subleaf) continue;
    eax &= ~hidden->eax;
    ebx &= ~hidden->ebx;
    ecx &= ~hidden->ecx;
    edx &= ~hidden->edx;
  }
  registers[REG_RAX] = eax;
  registers[REG_RBX] = ebx;
  registers[REG_RCX] = ecx;
  registers[REG_RDX] = edx;
  registers[REG_RIP] += sizeof kReplacement;
}

__attribute__((constructor)) static void install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = answer;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, NULL);
}
