/* SPDX-License-Identifier: MIT */
/* The work of products of matrices, counted as the tiles do it. */
#pragma once

#include <cstdint>

#include "costs/machine.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {

/* Where weights are before their products: behind the second cache; there, but in the third one, where the block of rows before
 * read them; or near.
 */
enum class WeightPlace { cold, repeated, near };

/* Products that follow each other, each with weights of its own, before they store anything. */
struct Products {
  int64_t rows;
  int64_t taps;
  int64_t depth;
  int64_t columns;
  int64_t count;
  bool has_even_rows; /* they begin at equal distances, as those of matrices do */
  WeightPlace weights;
  bool has_paired_tail; /* as in TileOf */
};

/* A panel of columns: what it takes of a register's width, 0.5 where a narrow register has all that is left. */
struct PanelWidth {
  double registers;
  double count; /* of such panels */
};

/* The full panels, and the last one. Args: has_paired_tail: as in TileOf. */
struct PanelWidths {
  PanelWidth full, last;
};
PanelWidths panel_widths(int64_t columns, const Kernels &kernels, bool has_paired_tail);

costs::Work product_work(const Products &products, const Kernels &kernels);

/* Transformed numbers that each panel reads: of a block that is computed at a time, and of all. */
struct Reread {
  int64_t of_block, of_all;
};

/* Those that the first cache does not keep from one panel to the next. */
void add_reread(costs::Work &work, const Reread &numbers, int64_t columns, const Kernels &kernels);

/* Where so many transformed weights are when the next block of rows reads them. */
WeightPlace between_blocks(int64_t numbers, const Kernels &kernels);

/* A gemm of so many rows. */
costs::Work gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, const Kernels &kernels);

/* The same in bfloat16, in tile registers where the level has them. Args: rounded_rows: of so much depth that are rounded before. */
costs::Work rounded_gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, int64_t rounded_rows,
                              const Kernels &kernels);

/* Products in tile registers of rows of taps * depth * number_bytes bytes. */
costs::Work tile_register_work(int64_t rows, const WeightLayout &layout, int64_t number_bytes);

costs::Work scaled(costs::Work work, double times);

}  // namespace cpuacc
