/* SPDX-License-Identifier: MIT */
/* gemm: products of many rows and packed weights, tile by tile; also those of convolutions. */
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "costs/costs.h"
#include "costs/machine.h"
#include "graph/ir.h"
#include "graph/packed.h"

namespace cpuacc {

/* Where the weight of a tap, a k and a column is; strides in elements. */
struct WeightLayout {
  int64_t taps;
  int64_t tap_stride;
  int64_t depth;
  int64_t depth_stride;
  int64_t columns;
  int64_t column_stride;
  bool has_paired_tail = false; /* see TileOf */

  std::string recipe() const;
};

/* The layout with a paired tail, if the level has one and the last columns are few enough. */
WeightLayout with_paired_tail(const WeightLayout &layout, const Kernels &kernels);

/* The layout of a matrix [depth, columns], or [columns, depth] if it is transposed. */
WeightLayout matrix_layout(int64_t depth, int64_t columns, bool is_transposed);

/* [batch, rows, depth] x [batch or 1, depth, columns]. */
struct GemmShape {
  WeightLayout layout; /* the layout of a right matrix */
  int64_t rows;
  Shape batch = {};
  Shape left_steps = {}; /* the steps of the left side along the batch axes, in rows; 0 where it broadcasts */
  Shape right_steps = {}; /* the steps of the right side along the batch axes, in matrices */
  int64_t left_step = 1; /* from a row of the left side to the next one, in rows */
  ItemOffsets right_offsets = {}; /* the offsets of the right matrices, in elements; without axes: side by side */

  /* The first row of the left side, and the number of the right matrix, of an item of the batch. */
  int64_t left_of(int64_t item) const { return offset_of(batch, left_steps, item); }
  int64_t right_of(int64_t item) const { return offset_of(batch, right_steps, item); }
};

/* The bytes of all panels. A panel has kernels.columns columns, or one register if there are no more, and one row for
 * every tap and k.
 */
size_t packed_bytes(const WeightLayout &layout, const Kernels &kernels);

void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels, float *packed);

/* How many numbers a row of the panel has that begins with a column. */
inline int64_t panel_row(const WeightLayout &layout, int64_t column, const Kernels &kernels, const float *) {
  if (layout.columns - column > kernels.lanes) return kernels.columns;
  return layout.has_paired_tail ? kernels.lanes / 2 : kernels.lanes;
}

inline int64_t panel_row(const WeightLayout &, int64_t, const Kernels &kernels, const Bfloat16 *) { return kernels.columns; }

/* The depth as packed: bfloat16 has two k's in one row, so it is rounded up to an even number. */
inline int64_t packed_depth(int64_t depth, const float *) { return depth; }

inline int64_t packed_depth(int64_t depth, const Bfloat16 *) { return (depth + 1) / 2 * 2; }

/* The rows x columns of one gemm, split into tasks. */
struct Tiling {
  int64_t rows;
  int64_t columns;
  int64_t rows_per_task; /* a multiple of kernels.rows */
  int64_t columns_per_task; /* a multiple of kernels.columns */
  double ns = 0.0; /* the time of all tasks together, in float32 */
  int64_t threads = 1; /* threads that share the tasks */

  int64_t row_tasks() const { return ratio_up(rows, rows_per_task); }
  int64_t tasks() const { return row_tasks() * ratio_up(columns, columns_per_task); }

  double task_ns() const { return ns / static_cast<double>(std::max<int64_t>(1, tasks())); }

  /* The rows and columns that a task computes. */
  struct Range {
    int64_t first_row, last_row, first_column, last_column;
    int64_t rows() const { return last_row - first_row; }
    int64_t columns() const { return last_column - first_column; }
  };
  /* Each thread gets whole rows, as in the loops before and after, so that it reads from its own caches. It uses a
   * panel of weights for all of its rows before the next panel.
   */
  Range range(int64_t task) const {
    const int64_t all_rows = row_tasks();
    const int64_t across = ratio_up(columns, columns_per_task);
    int64_t first = 0;
    int64_t count = all_rows;
    if (threads > 1 && across > 1) {
      const int64_t parts = std::min(threads, all_rows);
      const int64_t part = task / across * parts / all_rows;
      first = ratio_up(all_rows * part, parts);
      count = ratio_up(all_rows * (part + 1), parts) - first;
    }
    const int64_t place = task - first * across;
    const int64_t row = (first + place % count) * rows_per_task;
    const int64_t column = place / count * columns_per_task;
    return {row, std::min(row + rows_per_task, rows), column, std::min(column + columns_per_task, columns)};
  }
};

/* Splits a gemm into tasks. Args: repeats: how many such gemms run together. */
Tiling gemm_tiling(int64_t rows, const WeightLayout &layout, int64_t repeats, const Setup &setup);

template <typename Number>
struct GemmTask {
  const WeightLayout &layout;
  const Number *packed;
  FloatOutput to;
  int64_t c_stride;
  Epilogue epilogue;
  /* One of these replaces `packed` if the panels are stored in float16 or in steps. */
  const uint16_t *float16_panels = nullptr;
  const std::byte *panels_in_steps = nullptr;
  float *float32_panel = nullptr; /* memory for one panel, converted to float32 */

  bool converts_panels() const { return float16_panels != nullptr || panels_in_steps != nullptr; }
};

/* How many numbers of a panel have scales of their own: one row, or two rows if pairs share a register. */
inline int64_t step_line(int64_t row, const Kernels &kernels) { return std::max(row, int64_t{kernels.lanes}); }

/* The bytes of a panel in steps and its scales, which come first; a multiple of 64. Args: row: numbers per row. */
inline int64_t panel_step_bytes(int64_t rows, int64_t row, const Kernels &kernels) {
  constexpr int64_t kLine = 64;
  return ratio_up(step_line(row, kernels) * static_cast<int64_t>(sizeof(float)) + rows * row, kLine) * kLine;
}

/* The panel that begins with a column. */
template <typename Number>
const Number *panel_of(const GemmTask<Number> &gemm, int64_t column, const Kernels &kernels) {
  const int64_t column_numbers = gemm.layout.taps * packed_depth(gemm.layout.depth, gemm.packed);
  if constexpr (std::is_same_v<Number, float>) {
    const int64_t row = panel_row(gemm.layout, column, kernels, gemm.packed);
    if (gemm.float16_panels != nullptr) {
      kernels.half_to_float32[static_cast<int>(HalfFormat::float16)](
          gemm.float16_panels + column * column_numbers, gemm.float32_panel, row * column_numbers);
      return gemm.float32_panel;
    }
    if (gemm.panels_in_steps != nullptr) {
      const int64_t before = column / kernels.columns * panel_step_bytes(column_numbers, kernels.columns, kernels);
      const std::byte *panel = gemm.panels_in_steps + before;
      const auto *steps = reinterpret_cast<const float *>(panel);
      const int64_t line = step_line(row, kernels);
      kernels.dequantize_s8_panel(reinterpret_cast<const int8_t *>(steps + line), steps, gemm.float32_panel,
                               row * column_numbers / line, line);
      return gemm.float32_panel;
    }
  }
  return gemm.packed + column * column_numbers;
}

/* Bytes of the pointers that run_gemm_task writes. */
size_t pointer_bytes(const Tiling &tiling, const WeightLayout &layout);

inline void run_tile(const Kernels &kernels, const GemmTile &tile) { kernels.gemm_tile(tile); }

inline void run_tile(const Kernels &kernels, const GemmTileBfloat16 &tile) { kernels.gemm_tile_bfloat16(tile); }

/* The number of rows of a tile. */
inline int64_t tile_rows(const Kernels &kernels, const float *) { return kernels.rows; }

inline int64_t tile_rows(const Kernels &kernels, const Bfloat16 *) { return kernels.rows_bfloat16; }

/* The state of a thread while it computes the tiles of a task: the configuration of tile registers, if any. */
template <typename Number>
class TilesOfTask {
 public:
  TilesOfTask(const Kernels &, int64_t) {}
};

template <>
class TilesOfTask<Bfloat16> {
 public:
  TilesOfTask(const Kernels &kernels, int64_t depth) : kernels_(kernels) {
    if (kernels_.begin_tiles_bfloat16 != nullptr) kernels_.begin_tiles_bfloat16(kept_, depth);
  }
  TilesOfTask(const TilesOfTask &) = delete;
  TilesOfTask &operator=(const TilesOfTask &) = delete;
  ~TilesOfTask() {
    if (kernels_.end_tiles_bfloat16 != nullptr) kernels_.end_tiles_bfloat16(kept_);
  }

 private:
  const Kernels &kernels_;
  TileState kept_;
};

/* Writes the pointers to the taps of a task's rows, tile by tile. point(row, pointers, stride) writes those of one row:
 * tap t to pointers[t * stride].
 */
template <typename Number, typename Point>
void point_rows(const Tiling::Range &range, int64_t taps, int64_t height, const Number **pointers, Point &point) {
  for (int64_t row = range.first_row, in_tile = 0; row < range.last_row; ++row) {
    point(row, pointers + in_tile, height);
    if (++in_tile < height) continue;
    in_tile = 0;
    pointers += taps * height;
  }
}

/* Rows at equal distances, with one tap. */
template <typename Number>
struct EvenRows {
  const Number *first; /* row 0 */
  int64_t step; /* from a row to the next one, in elements */
};

template <typename Number>
void point_rows(const Tiling::Range &range, int64_t, int64_t, const Number **pointers, EvenRows<Number> &rows) {
  const Number *first = rows.first + range.first_row * rows.step;
  const int64_t count = range.rows();
  for (int64_t i = 0; i < count; ++i) pointers[i] = first + i * rows.step;
}

/* The next panel of weights. The tiles of the panel before prefetch it, else its first tile would wait for memory. */
template <typename Number>
class NextPanel {
 public:
  /* Args: panel: nullptr if there is no next panel; depth: its packed depth; row: numbers per row. */
  NextPanel(const Number *panel, int64_t depth, int64_t row) {
    const int64_t rows = std::is_same_v<Number, float> ? depth : depth / 2;
    if (panel == nullptr || rows < costs::kLeastFetchedRows) return;
    panel_ = panel;
    numbers_ = depth * row;
    numbers_of_part_ = rows * (64 / static_cast<int64_t>(sizeof(Number)));
  }

  /* The address from which the next tile prefetches; nullptr if the whole panel was prefetched. */
  const Number *part() {
    return fetched_ < numbers_ ? panel_ + std::exchange(fetched_, fetched_ + numbers_of_part_) : nullptr;
  }

  const Number *all() const { return panel_; }
  int64_t bytes() const { return numbers_ * static_cast<int64_t>(sizeof(Number)); }

 private:
  const Number *panel_ = nullptr;
  int64_t numbers_ = 0;
  int64_t fetched_ = 0;
  int64_t numbers_of_part_ = 0;
};

/* The columns of a task in one panel of weights. */
template <typename Number>
class PanelOfTask {
 public:
  PanelOfTask(const GemmTask<Number> &gemm, const Tiling::Range &range, int64_t column, const Kernels &kernels)
      : gemm_(gemm), kernels_(kernels), column_(column), last_column_(range.last_column) {}

  bool has_paired_tail() const {
    return gemm_.layout.has_paired_tail && column_ + kernels_.columns > gemm_.layout.columns;
  }

  NextPanel<Number> next() const {
    const int64_t column = column_ + kernels_.columns;
    const bool is_there = column < last_column_ && !gemm_.converts_panels();
    const Number *panel = is_there ? panel_of(gemm_, column, kernels_) : nullptr;
    const int64_t depth = gemm_.layout.taps * packed_depth(gemm_.layout.depth, panel);
    return {panel, depth, panel_row(gemm_.layout, column, kernels_, panel)};
  }

  /* Sets the members of a tile that are equal for all rows of the output. */
  void set_output(TileOutput &tile) const {
    tile.bias = gemm_.epilogue.bias == nullptr ? nullptr : gemm_.epilogue.bias + column_;
    tile.function = gemm_.epilogue.function;
    tile.c_stride = gemm_.c_stride;
    tile.residual_stride = gemm_.c_stride;
    tile.column_count = static_cast<int32_t>(std::min<int64_t>(kernels_.columns, last_column_ - column_));
  }

  void move_to_row(TileOutput &tile, int64_t row) const {
    const int64_t offset = row * gemm_.c_stride + column_;
    const auto moved = [&](const auto *rows) { return rows == nullptr ? nullptr : rows + offset; };
    const FloatOutput to = gemm_.to + offset;
    tile.c = to.float32;
    tile.bfloat16_c = to.bfloat16;
    tile.residual = moved(gemm_.epilogue.residual);
    tile.bfloat16_residual = moved(gemm_.epilogue.bfloat16_residual);
  }

 private:
  const GemmTask<Number> &gemm_;
  const Kernels &kernels_;
  int64_t column_, last_column_;
};

/* Computes a task whose rows have pointers. Args: point: see point_rows. */
template <typename Number, typename Point>
void run_pointed_task(const GemmTask<Number> &gemm, const Tiling &tiling, int64_t task, const Kernels &kernels,
                      const Number **pointers, Point &&point) {
  const Tiling::Range range = tiling.range(task);
  const int64_t taps = gemm.layout.taps;
  const int64_t height = tile_rows(kernels, gemm.packed);
  point_rows(range, taps, height, pointers, point);
  const TilesOfTask<Number> tiles(kernels, gemm.layout.depth);
  for (int64_t column = range.first_column; column < range.last_column; column += kernels.columns) {
    const PanelOfTask<Number> panel(gemm, range, column, kernels);
    NextPanel<Number> next = panel.next();
    TileOf<Number> tile{};
    tile.rows_stride = height;
    tile.taps = taps;
    tile.depth = gemm.layout.depth;
    tile.all_rows = tiling.rows;
    tile.b = panel_of(gemm, column, kernels);
    tile.has_paired_tail = panel.has_paired_tail();
    panel.set_output(tile);
    for (int64_t row = range.first_row; row < range.last_row; row += height) {
      panel.move_to_row(tile, row);
      tile.rows = pointers + (row - range.first_row) / height * taps * height;
      tile.row_count = static_cast<int32_t>(std::min(height, range.last_row - row));
      tile.ahead = next.part();
      run_tile(kernels, tile);
    }
  }
}

using RowsKernel = void (*)(const GemmRows &);
using RowsKernelBfloat16 = void (*)(const GemmRowsBfloat16 &);

inline RowsKernel rows_kernel(const Kernels &kernels, const float *) { return kernels.gemm_rows; }
inline RowsKernelBfloat16 rows_kernel(const Kernels &kernels, const Bfloat16 *) { return kernels.gemm_rows_bfloat16; }

/* Computes a task whose rows begin at equal distances. */
template <typename Number>
void run_even_task(const GemmTask<Number> &gemm, const Tiling &tiling, int64_t task, const Kernels &kernels,
                   const EvenRows<Number> &rows) {
  const Tiling::Range range = tiling.range(task);
  for (int64_t column = range.first_column; column < range.last_column; column += kernels.columns) {
    const PanelOfTask<Number> panel(gemm, range, column, kernels);
    const NextPanel<Number> next = panel.next();
    GemmRowsOf<Number> all{};
    panel.set_output(all);
    panel.move_to_row(all, range.first_row);
    all.a = rows.first + range.first_row * rows.step;
    all.count = range.rows();
    all.step = rows.step;
    all.taps = 1;
    all.depth = gemm.layout.depth;
    all.b = panel_of(gemm, column, kernels);
    all.ahead = next.all();
    all.ahead_bytes = next.bytes();
    all.has_paired_tail = panel.has_paired_tail();
    rows_kernel(kernels, all.b)(all);
  }
}

/* Whether tiles keep two sums for each element: with few rows, each addition would wait for the one before it. */
inline bool has_two_sums(int64_t rows, const float *) { return static_cast<double>(rows) <= costs::kPairedRegisters; }
inline bool has_two_sums(int64_t, const Bfloat16 *) { return false; }

/* Computes a task. Args: point: see point_rows. */
template <typename Number, typename Point>
void run_gemm_task(const GemmTask<Number> &gemm, const Tiling &tiling, int64_t task, const Kernels &kernels,
                   const Number **pointers, Point &&point) {
  if constexpr (std::is_same_v<std::decay_t<Point>, EvenRows<Number>>) {
    const bool is_there = rows_kernel(kernels, gemm.packed) != nullptr;
    if (is_there && !has_two_sums(tiling.rows, gemm.packed)) return run_even_task(gemm, tiling, task, kernels, point);
  }
  run_pointed_task(gemm, tiling, task, kernels, pointers, point);
}

/* The tensors of an operation with weights; bias may be kNone. */
struct WeightedTensors {
  TensorId input, weights, bias, out;
};

/* out = input x weights + bias; constant weights are packed when the program is prepared. */
OperationPtr gemm(const WeightedTensors &tensors, GemmShape shape);

/* Multiplies each matrix of left, or its only one if it is shared, by the matrix of right; `to` is
 * [matrices, rows, columns].
 */
OperationPtr gemm_of_matrices(TensorId left, TensorId right, TensorId to, const WeightLayout &layout, int64_t rows,
                              int64_t matrices, bool is_left_shared);

/* An operation whose kernels have an epilogue. Its third input is the bias, or kNone. */
class WithEpilogue : public Operation {
 public:
  explicit WithEpilogue(const WeightedTensors &t) : Operation({t.input, t.weights, t.bias}, {t.out}) {}
  EpilogueSlots epilogue_slots() override;
  /* A tile reads the residual at the elements that it then writes. */
  bool may_overwrite(size_t input) const override { return is_residual(input); }

 protected:
  bool has_residual() const { return has_residual_; }
  bool is_residual(size_t input) const { return has_residual_ && input + 1 == inputs.size(); }
  /* Records in which format the residual and the output are stored. */
  void note_storage(const Setup &setup);
  FloatOutput stored(const Frame &frame) const;
  /* The number of elements of its bias; kNone: it absorbs neither a bias nor a residual. */
  virtual int64_t bias_count() const { return kNone; }
  /* Args: column: the first element of the bias; offset: the first element of the residual. */
  Epilogue epilogue(const Frame &frame, int64_t column, int64_t offset) const;

  Elementwise function_{Function::identity, 0.0f, 0.0f};
  bool has_residual_ = false; /* the last input is the residual */

 private:
  bool is_residual_bfloat16_ = false;
  bool is_output_bfloat16_ = false;
};

/* How packed weights are stored: float32, or fewer bits where that gains. */

/* The number of rows for which the packing of shared weights is chosen. Gemms with any number of rows may share them,
 * and equal rows have to give equal bits, so the real number cannot decide. By the costs of Emerald Rapids, 20 of 306
 * gemms with 16 rows are up to 36 % slower for that, and 10 with 512 rows up to 5 %.
 */
constexpr int64_t kRowsOfSharedWeights = 256;

/* Whether a gemm gains by bfloat16: rounding its rows must cost less than it saves. Args: is_left_bfloat16: the rows
 * are stored in bfloat16; rows: the number of rows, if no other gemm shares the weights.
 */
bool gains_by_bfloat16(const costs::Machine &machine, const Kernels &kernels, const WeightLayout &layout,
                       bool is_left_bfloat16 = false, int64_t rows = kRowsOfSharedWeights);

/* The bytes of all panels, which have one row of pairs for every tap and two k's. */
size_t packed_bfloat16_bytes(const WeightLayout &layout, const Kernels &kernels);

void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels, Bfloat16 *packed);

/* A task converts a panel in float16 or in steps (bytes, and a factor for each column) to float32 in its own memory.
 * bfloat16 is multiplied without conversion.
 */
enum class PanelStorage { float32, float16, steps, bfloat16 };

/* Matrices of weights in memory. */
struct WeightMatrices {
  WeightLayout layout; /* the layout of one matrix */
  int64_t count;
  int64_t stride; /* from a matrix to the next one, in elements */
};

/* Chooses bfloat16, and makes the rows of tasks a multiple of its tiles. */
PanelStorage bfloat16_panels(const Setup &setup, Tiling &tiling);

/* Chooses the storage of weights that are not multiplied in bfloat16: steps or float16 only if they hold each weight to
 * the last bit, and if a task has enough rows that converting a panel takes little time.
 *
 * Args: recipe: the recipe of the packed weights, without the storage; most_rows: the most rows that a task may get for
 * this.
 */
PanelStorage panel_storage(const Setup &setup, const Tensor &weights, const WeightMatrices &matrices,
                           const std::string &recipe, int64_t most_rows, Tiling &tiling);

/* The end of the recipe of packed weights. */
std::string recipe_of(PanelStorage panels);

/* The bytes of all panels; a multiple of 64. */
size_t packed_bytes(PanelStorage panels, const WeightLayout &layout, const Kernels &kernels);

void pack_weights(PanelStorage panels, const float *weights, const WeightLayout &layout, const Kernels &kernels,
                  std::byte *packed);

/* Matrices of weights in panels. Constants are packed when the program is prepared, other weights in each run. */
class PackedMatrices {
 public:
  /* Packs constants. Returns the bytes of scratch memory that a run needs for other weights.
   *
   * Args: stride: from a matrix to the next one, in elements; recipe: see panel_storage; offsets: those of
   * matrices that are not constant.
   */
  size_t prepare(const Setup &setup, TensorId &weights, PanelStorage panels, const WeightLayout &layout, int64_t count,
                 int64_t stride, const std::string &recipe, const ItemOffsets &offsets = {});
  /* Returns the packed weights, packing them into memory unless they are constant. */
  const std::byte *packed(const Frame &frame, TensorId weights, std::byte *memory) const;
  /* The bytes of one packed matrix. */
  size_t bytes() const { return bytes_; }

 private:
  void pack(const float *weights, int64_t i, const Kernels &kernels, std::byte *memory) const;
  void pack_ahead(const float *weights, const Setup &setup, std::byte *memory) const;

  PanelStorage panels_ = PanelStorage::float32;
  WeightLayout layout_{};
  int64_t count_ = 0;
  int64_t stride_ = 0;
  ItemOffsets offsets_; /* without axes: multiples of the stride */
  size_t bytes_ = 0;
  std::shared_ptr<const void> ahead_;
};

/* The bytes that a thread needs for a panel converted to float32; a multiple of 64, 0 if nothing is converted. */
size_t float32_panel_bytes(PanelStorage panels, const WeightLayout &layout, const Kernels &kernels);

/* A task of a gemm with a packed matrix. Args: panel: the thread's memory for a panel in float32. */
template <typename Number>
GemmTask<Number> panel_task(PanelStorage panels, const WeightLayout &layout, const std::byte *packed, std::byte *panel,
                            const FloatOutput &to, int64_t c_stride, const Epilogue &epilogue) {
  GemmTask<Number> gemm{layout, reinterpret_cast<const Number *>(packed), to, c_stride, epilogue};
  if (panels == PanelStorage::float16) gemm.float16_panels = reinterpret_cast<const uint16_t *>(packed);
  if (panels == PanelStorage::steps) gemm.panels_in_steps = packed;
  gemm.float32_panel = reinterpret_cast<float *>(panel);
  return gemm;
}

/* The work of products of matrices, counted as the tiles do it. */

/* Products in a row, each with its own weights, without storing results. */
struct Products {
  int64_t rows;
  int64_t taps;
  int64_t depth;
  int64_t columns;
  int64_t count;
  bool has_even_rows; /* rows begin at equal distances, as those of matrices do */
  bool are_weights_cold; /* they are behind the second cache: no earlier block of rows has read them */
  bool has_paired_tail; /* see TileOf */
};

/* The width of panels: whole registers, and 0.5 for a paired tail. */
struct PanelWidth {
  double registers;
  double count; /* how many panels have this width */
};

/* The full panels, and the last one. Args: has_paired_tail: see TileOf. */
struct PanelWidths {
  PanelWidth full, last;
};
PanelWidths panel_widths(int64_t columns, const Kernels &kernels, bool has_paired_tail);

costs::Work product_work(const Products &products, const Kernels &kernels);

/* The work of a gemm. */
costs::Work gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, const Kernels &kernels);

/* The work of a gemm in bfloat16, in tile registers where the level has them, without rounding its operands. */
costs::Work bfloat16_gemm_work(int64_t rows, const WeightLayout &layout, bool has_even_rows, const Kernels &kernels);

/* The work of products in tile registers, whose rows have taps * depth * number_bytes bytes. */
costs::Work tile_register_work(int64_t rows, const WeightLayout &layout, int64_t number_bytes);

costs::Work scaled(costs::Work work, double times);

/* out = left x right for integers, which wrap around, and Float64; nothing is packed. nullptr: the type is not
 * supported.
 */
OperationPtr plain_gemm(TensorId left, TensorId right, TensorId out, armnn_data_type type, GemmShape shape);

/* Adjugates: transposed matrices of cofactors, Arm NN's adjoints. */

/* The adjugates of matrices [count, size, size], Float32 or Float64. */
OperationPtr adjugate(Io io, armnn_data_type type, int64_t count, int64_t size);

}  // namespace cpuacc
