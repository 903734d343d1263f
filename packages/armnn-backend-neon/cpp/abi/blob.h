/* SPDX-License-Identifier: MIT */
/* Programs as bytes: the graph as it was imported, with constants as the program has them. Reading
 * lowers the graph again, which takes what was packed from the bytes.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "abi/bytes.h"
#include "abi/importing.h"
#include "abi/options.h"
#include "graph/packed.h"

namespace cpuacc {

/* The bytes of a program; constants stay in them if they are mapped. */
struct Blob {
  const void *data;
  size_t size;
  std::shared_ptr<const void> mapping; /* keeps them; nullptr: they are there for the call */

  /* Returns bytes that were found in it, where they are or as a copy. */
  std::shared_ptr<const void> keep(const void *found, size_t bytes) const;
};

struct StoredProgram {
  Options options;
  ImportedGraph graph;
  std::vector<ProgramWeights::Entry> packed;
  std::shared_ptr<const void> zeros; /* the elements of constants that were left out */
};

/* Writes a program for the level of kernels that it was compiled for. */
void write_blob(const Options &options, const ImportedGraph &graph, const ProgramWeights &weights,
                const std::string &level, const Write &write);

/* Reads a program that write_blob wrote, by the same build and for the same level. Throws Failure with
 * ARMNN_INCOMPATIBLE_BLOB for anything else; what it returns has indices and sizes that fit.
 */
StoredProgram read_blob(const Blob &blob, const std::string &level, PackedWeights &shared);

}  // namespace cpuacc
