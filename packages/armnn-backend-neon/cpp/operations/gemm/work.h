/* SPDX-License-Identifier: MIT */
/* The work of products of matrices, counted as the tiles do it. */
#pragma once

#include <cstdint>

#include "costs/machine.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {

/* Products that follow each other, each with weights of its own, before they store anything. */
struct Products {
  int64_t rows;
  int64_t taps;
  int64_t depth;
  int64_t columns;
  int64_t count;
  bool has_even_rows; /* they begin at equal distances, as those of matrices do */
  bool are_weights_cold; /* behind the second cache: a block of rows before did not read them */
  bool has_paired_tail; /* as in TileOf */
};

/* A panel of columns: whole registers, and 0.5 for a tail of which a register has two k's. */
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

/* A gemm of so many rows. */
costs::Work gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, const Kernels &kernels);

/* The same in bfloat16, in tile registers where the level has them. Numbers that are rounded before are not counted. */
costs::Work rounded_gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, const Kernels &kernels);

/* Products in tile registers of rows of taps * depth * number_bytes bytes. */
costs::Work tile_register_work(int64_t rows, const WeightLayout &layout, int64_t number_bytes);

costs::Work scaled(costs::Work work, double times);

}  // namespace cpuacc
