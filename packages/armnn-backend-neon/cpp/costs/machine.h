/* SPDX-License-Identifier: MIT */
/* The time that a unit of work takes on this machine. */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costs/work.h"

namespace cpuacc {
namespace costs {

/* The size of each level of caches, as one core sees it. */
struct Caches {
  int64_t first = 0;
  int64_t second = 0;
  int64_t third = 0;
};

/* The times of one CPU with registers of one width. */
struct Machine {
  std::string cpu; /* where they were measured */
  int64_t lanes = 0; /* floats in a register */
  Caches caches;
  PerUnit ns{};

  double ns_of(const Work &work) const;
  /* Half of a cache: the other half is left to data that passes through. */
  int64_t first_cache_bytes() const { return caches.first / 2; }
  int64_t second_cache_bytes() const { return caches.second / 2; }
};

/* The times by which everything in this process is chosen: of the file that ARMNN_CPUACC_COSTS names, or
 * that `armnn tune --machine` wrote on a CPU of this name, or of the built-in machine that is most
 * like this one, with this one's caches. Read once: they never change.
 *
 * Throws std::runtime_error for a file that cannot be used.
 */
const Machine &machine(int64_t lanes);

/* Whether the time of products in tile registers was measured; else they are used only if their level is named. */
bool knows_tile_registers();

/* The digest of all times and caches, on which programs depend. */
std::string digest();

/* Where the times for registers of so many lanes are from, in words. */
std::string origin(int64_t lanes);

/* Reads a file of costs. Throws std::runtime_error, with the line. */
std::vector<Machine> read_machines(const std::string &text);

/* The machine of so many lanes that is most like a CPU of this name (cpu_name()) with these caches. */
const Machine &nearest(const std::vector<Machine> &machines, int64_t lanes, const std::string &cpu, const Caches &caches);

}  // namespace costs
}  // namespace cpuacc
