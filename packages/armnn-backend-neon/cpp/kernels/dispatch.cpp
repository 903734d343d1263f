/* SPDX-License-Identifier: MIT */
/* Which level this machine has. Compiled for the baseline. */
#include <cstdlib>
#include <cstring>

#include "kernels/kernels.h"
#include "kernels/levels.h"

namespace cpuacc {
namespace {

struct Level {
  const char *name;
  bool (*is_there)();
  void (*fill)(Kernels &table);
};

}  // namespace
}  // namespace cpuacc

#include "levels_table.h" /* made from levels.toml: kLevels, the best one first */

namespace cpuacc {
namespace {

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

const char *level_built(int index) { return index < kLevelCount ? kLevels[index].name : nullptr; }

const Kernels *best_kernels() {
  const char *wanted = std::getenv("ARMNN_CPUACC_ISA");
  if (wanted != nullptr && *wanted != '\0') return kernels_of(wanted);
  for (int i = 0; i < kLevelCount; ++i) {
    if (tables().is_there[i]) return &tables().tables[i];
  }
  return nullptr;
}

}  // namespace cpuacc
