/* SPDX-License-Identifier: MIT */
/* int8 gemm with packed weights, tile by tile, and its requantisation. */
#pragma once

#include <memory>
#include <vector>

#include "operations/gemm/gemm.h"
#include "operations/quantised/int8_epilogue.h"

namespace cpuacc {

/* Packed weights of one gemm: panels of kernels.int8.columns columns, each followed by the sums of
 * its columns as int32_t.
 */
size_t int8_panel_bytes(const WeightLayout &layout, const Int8Kernels &kernels);

size_t int8_packed_bytes(const WeightLayout &layout, const Int8Kernels &kernels);

void pack_int8(const uint8_t *weights, bool is_signed, const WeightLayout &layout,
               const Int8Kernels &kernels, std::byte *packed);

/* Writes the bias with what zero points add, for all columns of all panels. */
void fold_int8(const Int8Params &params, const int32_t *bias, const WeightLayout &layout,
               const Int8Kernels &kernels, const std::byte *packed, int32_t *folded);

/* What an int8 gemm takes, roughly, and one of its tasks. */
double int8_gemm_ns(int64_t rows, int64_t columns, int64_t depth);

double int8_gemm_task_ns(const Tiling &tiling, const WeightLayout &layout);

/* As gemm_tiling(), for tiles of bytes. */
Tiling int8_gemm_tiling(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup);

/* One gemm, ready to be computed task by task. */
struct Int8GemmTask {
  const WeightLayout &layout;
  const Int8Params &params;
  const std::byte *packed;
  const int32_t *bias; /* folded */
  const float *scales; /* filled up to whole panels; nullptr: c holds int32_t */
  std::byte *c;
  int64_t c_stride; /* in elements */
  Int8Epilogue epilogue{};
};

/* The last step of run_int8_gemm_task, for the rows that pointers names. */
void run_int8_gemm_tiles(const Int8GemmTask &gemm, const Tiling &tiling, int64_t task,
                         const Int8Kernels &kernels, const uint8_t *const *pointers);

/* Computes one task. point(row, pointers, stride) writes where the taps of a row begin: tap t to
 * pointers[t * stride].
 */
template <typename Point>
void run_int8_gemm_task(const Int8GemmTask &gemm, const Tiling &tiling, int64_t task,
                        const Int8Kernels &kernels, const uint8_t **pointers, const Point &point) {
  const int64_t first = task % tiling.row_tasks() * tiling.rows_per_task;
  const int64_t last = first + tiling.rows_per_task < tiling.rows ? first + tiling.rows_per_task : tiling.rows;
  const int64_t height = kernels.rows;
  const uint8_t **tile = pointers;
  for (int64_t row = first; row < last; row += height, tile += gemm.layout.taps * height) {
    const int64_t count = last - row < height ? last - row : height;
    for (int64_t r = 0; r < count; ++r) point(row + r, tile + r, height);
  }
  run_int8_gemm_tiles(gemm, tiling, task, kernels, pointers);
}

/* As gemm(), of bytes; params.bias is that of the columns. */
OperationPtr int8_gemm(TensorId left, TensorId right, TensorId out, const WeightLayout &layout, int64_t rows,
                       Shape batch, Shape left_steps, Shape right_steps, Int8Params params);

}  // namespace cpuacc
