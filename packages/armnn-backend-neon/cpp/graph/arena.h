/* SPDX-License-Identifier: MIT */
/* The places of tensors and scratch memory while a program runs. */
#pragma once

#include <cstddef>
#include <vector>

#include "graph/ir.h"

namespace cpuacc {

/* A range of the arena that is in use from one operation to another, both included. */
struct Lease {
  size_t bytes;
  size_t first;
  size_t last;
  size_t offset;
};

/* Gives each lease an offset, so that those in use at one time do not overlap. Returns the size of
 * the arena.
 */
size_t arrange(std::vector<Lease> &leases);

/* What may share memory; the first is for programs, the others are what tests compare it with. */
enum class Sharing {
  in_place, /* tensors that are never in use at one time, parts of tensors, inputs with outputs */
  by_lifetime, /* tensors that are never in use at one time */
  none,
};

constexpr size_t kNowhere = ~size_t{0};

struct Arena {
  std::vector<size_t> tensors; /* offset by tensor that owns its memory; kNowhere: not in the arena */
  std::vector<size_t> scratch; /* offset by operation */
  size_t bytes = 0;
  size_t scratch_bytes = 0; /* the most that one operation has */
};

/* Whether a tensor's memory is the caller's or a constant's, by owner. */
std::vector<bool> outside_tensors(const Graph &graph);

/* Plans the arena of a graph whose operations are prepared. Where it saves memory, or costs none,
 * operations write over an input that has no later reader, and tensors that are joined, or cut
 * out of one, are parts of it: such tensors become aliases.
 *
 * Args: scratch_bytes: by operation.
 */
Arena plan_arena(Graph &graph, const std::vector<size_t> &scratch_bytes, Sharing sharing);

}  // namespace cpuacc
