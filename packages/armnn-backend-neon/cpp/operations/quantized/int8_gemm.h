/* SPDX-License-Identifier: MIT */
/* int8 gemm with packed weights, tile by tile, and its requantization. */
#pragma once

#include <memory>
#include <vector>

#include "operations/gemm/gemm.h"
#include "operations/quantized/int8_epilogue.h"

namespace cpuacc {

/* Packed weights of one gemm: panels of kernels.int8.columns columns, each followed by the sums of
 * its columns as int32_t, and by its large weights if small ones are sought.
 */
size_t int8_panel_bytes(const WeightLayout &layout, const Int8Kernels &kernels, bool seeks_small);
size_t int8_packed_bytes(const WeightLayout &layout, const Int8Kernels &kernels, bool seeks_small);
void pack_int8(const uint8_t *weights, bool is_signed, const WeightLayout &layout,
               const Int8Kernels &kernels, bool seeks_small, std::byte *packed);
/* Rows times weights of one tap, but for the rows, the columns and the weights' zero point. */
Int8Gemv int8_gemv(const std::byte *packed, const WeightLayout &layout, const Int8Kernels &kernels, bool seeks_small);
/* Whether panels of small weights are worth being sought. */
bool seeks_small_weights(const Int8Params &params, const WeightLayout &layout, const Int8Kernels &kernels);
/* Columns of all panels. */
int64_t int8_columns(const WeightLayout &layout, const Int8Kernels &kernels);
/* Writes the bias of all columns of all panels, from first on, with the zero points' part. */
void fold_int8(const Int8Params &params, int64_t first, const WeightLayout &layout, const Int8Kernels &kernels,
               bool seeks_small, const std::byte *packed, int32_t *folded);

/* The constant weights of gemms with one layout, and the first values and factors of their sums. */
struct Int8Weights {
  size_t matrix_bytes = 0;
  int64_t columns = 0; /* of all panels of a matrix */
  bool seeks_small = false;
  std::shared_ptr<const void> packed;
  std::vector<int32_t> folded;
  std::vector<float> scales;

  /* Packs count matrices, stride apart, which are not read any more then; each has columns of its own unless the
   * parameters are those of one.
   *
   * Args: recipe: what the packing depends on beside the layout, with a space behind it. may_be_small: whether
   * kernels of a gemm read them.
   */
  void prepare(const Setup &setup, TensorId &weights, const WeightLayout &layout, int64_t count, int64_t stride,
               const Int8Params &params, const std::string &recipe, bool may_be_small);
  const std::byte *matrix(int64_t i) const {
    return static_cast<const std::byte *>(packed.get()) + static_cast<size_t>(i) * matrix_bytes;
  }
};

/* The work of a gemm without tile registers. */
costs::Work byte_gemm_work(int64_t rows, const WeightLayout &layout, const Int8Kernels &kernels);

costs::Work int8_gemm_work(int64_t rows, const WeightLayout &layout, const Kernels &kernels, bool in_tile_registers);

/* Whether a gemm is computed in tile registers. */
bool suits_tile_registers(int64_t rows, const WeightLayout &layout, const Kernels &kernels);

/* The kernels of a gemm. Weights are packed alike for all. */
inline const Int8Kernels &int8_gemm_kernels(const Kernels &kernels, bool in_tile_registers) {
  return in_tile_registers ? kernels.int8_in_tile_registers : kernels.int8;
}

/* Its name in a profile. */
inline const char *int8_gemm_kernel(bool in_tile_registers) {
  return in_tile_registers ? "bytes in tile registers" : "bytes";
}

/* As gemm_tiling(), for tiles of bytes. */
Tiling int8_gemm_tiling(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup);

/* One gemm, ready to be computed task by task. */
struct Int8GemmTask {
  const WeightLayout &layout;
  const Int8Params &params;
  const std::byte *packed;
  const int32_t *bias; /* folded */
  const float *scales; /* filled up to whole panels; nullptr: c holds int32_t */
  bool seeks_small; /* as it was packed */
  std::byte *c;
  int64_t c_stride; /* in elements */
  Int8Epilogue epilogue{};
  /* the scales by which c becomes floats, from the first column on; nullptr: int32_t */
  const DequantizedAccumulators *real = nullptr;
};

/* The scratch bytes of a task: pointers to rows and, where the kernels want them wider, some of these rows. */
size_t int8_task_bytes(const Tiling &tiling, const WeightLayout &layout, const Kernels &kernels);

/* The rows that pointers name: bytes, bytes for panels of small weights only, or numbers widened for the others. */
enum class Int8Rows { bytes, for_small_weights, widened };

/* Which panels a task has. */
struct PanelsOfTask {
  bool small_ones; /* of small weights */
  bool others;
};

PanelsOfTask panels_of_task(const Int8GemmTask &gemm, const Tiling &tiling, const Tiling::Range &range,
                            const Int8Kernels &kernels);

/* The last step of run_int8_gemm_task, for the rows that pointers names. */
void run_int8_gemm_tiles(const Int8GemmTask &gemm, const Tiling &tiling, const Tiling::Range &range,
                         const Int8Kernels &kernels, const uint8_t **pointers, Int8Rows rows);

/* Computes one task. Args: pointers: int8_task_bytes(); point: as for point_rows. */
template <typename Point>
void run_int8_gemm_task(const Int8GemmTask &gemm, const Tiling &tiling, int64_t task,
                        const Int8Kernels &kernels, const uint8_t **pointers, Point &&point) {
  const Tiling::Range range = tiling.range(task);
  point_rows(range, gemm.layout.taps, kernels.rows, pointers, point);
  run_int8_gemm_tiles(gemm, tiling, range, kernels, pointers, Int8Rows::bytes);
}

/* A task of an int8 gemm whose image may have been widened. Args: point_widened: as for point_rows. */
template <typename Point, typename PointWidened>
void run_int8_gemm_task(const Int8GemmTask &gemm, const Tiling &tiling, int64_t task, const Int8Kernels &kernels,
                        const uint8_t **pointers, Point &&point, PointWidened &&point_widened) {
  const Tiling::Range range = tiling.range(task);
  const PanelsOfTask has = panels_of_task(gemm, tiling, range, kernels);
  if (has.small_ones) {
    point_rows(range, gemm.layout.taps, kernels.rows, pointers, point);
    run_int8_gemm_tiles(gemm, tiling, range, kernels, pointers,
                        has.others ? Int8Rows::for_small_weights : Int8Rows::bytes);
  }
  if (!has.others) return;
  point_rows(range, gemm.layout.taps, kernels.rows, reinterpret_cast<const int16_t **>(pointers), point_widened);
  run_int8_gemm_tiles(gemm, tiling, range, kernels, pointers, Int8Rows::widened);
}

/* input x weights, of bytes; params.bias is that of the columns. */
OperationPtr int8_gemm(TensorId left, TensorId right, TensorId out, GemmShape shape, Int8Params params);

}  // namespace cpuacc
