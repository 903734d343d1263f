/* SPDX-License-Identifier: MIT */
/* The choice of the level that this machine has. Compiled for the baseline. */
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "kernels/kernels.h"
#include "kernels/levels.h"

namespace cpuacc {
namespace {

struct Level {
  const char *name;
  bool (*is_there)();
  bool (*is_permitted)(); /* asks the system for its registers; nullptr: every process has them */
  void (*fill)(Kernels &table);
};

}  // namespace
}  // namespace cpuacc

#include "levels_table.h" /* made from levels.toml: kLevels, the best one first */

namespace cpuacc {
namespace {

constexpr int kLevelCount = sizeof kLevels / sizeof kLevels[0];

struct Present {
  bool levels[kLevelCount] = {};

  Present() {
    for (int i = 0; i < kLevelCount; ++i) levels[i] = kLevels[i].is_there();
  }
};

bool is_there(int level) {
  static const Present present;
  return present.levels[level];
}

/* Only what is asked for is filled: the code that does so is beside the kernels, and brings 0.6 MiB of those of other
 * levels into each process.
 */
const Kernels *table_of(int level) {
  static Kernels tables[kLevelCount] = {};
  static std::once_flag filled[kLevelCount];
  std::call_once(filled[level], [&] { kLevels[level].fill(tables[level]); });
  return &tables[level];
}

bool is_permitted(const Level &level) { return level.is_permitted == nullptr || level.is_permitted(); }

ChosenLevel level_of(const char *name) {
  for (int i = 0; i < kLevelCount; ++i) {
    if (std::strcmp(kLevels[i].name, name) != 0 || !is_there(i)) continue;
    if (is_permitted(kLevels[i])) return {table_of(i), nullptr, false};
    return {nullptr, kLevels[i].name, true};
  }
  return {};
}

}  // namespace

const char *level_here(int index) {
  for (int i = 0; i < kLevelCount; ++i) {
    if (is_there(i) && index-- == 0) return kLevels[i].name;
  }
  return nullptr;
}

const char *level_built(int index) { return index < kLevelCount ? kLevels[index].name : nullptr; }

ChosenLevel choose_level(bool knows_tile_registers) {
  const char *wanted = std::getenv("ARMNN_CPUACC_ISA");
  if (wanted != nullptr && *wanted != '\0') return level_of(wanted);
  ChosenLevel chosen{};
  for (int i = 0; i < kLevelCount && chosen.kernels == nullptr; ++i) {
    if (!is_there(i)) continue;
    const bool may_be_used = kLevels[i].is_permitted == nullptr || knows_tile_registers;
    if (may_be_used && is_permitted(kLevels[i])) {
      chosen.kernels = table_of(i);
    } else {
      chosen.unused = kLevels[i].name;
      chosen.is_refused = may_be_used;
    }
  }
  return chosen;
}

}  // namespace cpuacc
