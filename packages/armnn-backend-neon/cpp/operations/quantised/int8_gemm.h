/* SPDX-License-Identifier: MIT */
/* int8 gemm with packed weights, tile by tile, and its requantisation. */
#ifndef CPUACC_OPERATIONS_QUANTISED_INT8_GEMM_H_
#define CPUACC_OPERATIONS_QUANTISED_INT8_GEMM_H_

#include <optional>
#include <vector>

#include "layers/lowering.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {

/* Whether a value has 8 bits, one scale and a zero point that it can store. */
bool is_int8(const Value &value);
bool is_signed_int8(armnn_data_type type);

/* Those of a data type. */
Bounds bounds_of(armnn_data_type type);

/* How bytes are read and what becomes of their sums. */
struct Int8Params {
  int32_t left_zero_point = 0; /* as stored */
  bool left_is_signed = true;
  int32_t right_zero_point = 0;
  bool right_is_signed = true;
  std::vector<int32_t> bias; /* of each column; empty: none */
  std::vector<float> multipliers; /* of each column; empty: the sums are stored as int32_t */
  int32_t zero_point = 0;
  Bounds bounds{};
};

/* Those of a layer without weights: of its first input and its output. Refuses others than bytes. */
Int8Params int8_io_params_of(const Lowering &lowering);

/* Those of a layer whose inputs are data, weights and maybe a bias, and whose weights have a scale
 * for each column or one for all. Refuses what is not computed in integers.
 *
 * Args: column_axis: the axis of the weights along which columns lie.
 */
Int8Params int8_params_of(const Lowering &lowering, size_t column_axis, int64_t columns, bool has_bias);

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

/* What becomes of bytes that were just stored, while they are near; nullptr: it is left out. */
struct Int8Epilogue {
  const ByteTable *table; /* replaces them */
  const Int8Addition *addition; /* then of them and those at the same place of another tensor */
  const uint8_t *other; /* that tensor */
  const uint8_t *output;
  const ByteTable *addition_table; /* replaces the sums */

  bool is_nothing() const { return table == nullptr && addition == nullptr; }
  void operator()(const Int8Kernels &kernels, uint8_t *bytes, int64_t count) const;
};

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

/* An operation on bytes that bounds its output, so that a bounding that follows costs nothing, and that
 * finishes what it stored while it is near: by a table, a sum with another tensor, and a table of that.
 */
class WithInt8Epilogue : public Operation {
 public:
  WithInt8Epilogue(std::vector<TensorId> inputs, TensorId out, Int8Params params)
      : Operation(std::move(inputs), {out}), params_(std::move(params)) {}

  EpilogueSlots epilogue_slots() override;

 protected:
  Int8Epilogue epilogue_of(const Frame &frame) const;

  /* The multipliers, filled up to a whole number of vectors or panels. */
  std::vector<float> filled_multipliers(int64_t first, int64_t columns, int64_t multiple) const;

  Int8Params params_;

 private:
  std::optional<ByteFunction> table_;
  std::optional<Int8Addition> addition_;
  std::optional<ByteFunction> addition_table_;
};

/* [batches, rows, depth] x [batches or 1, depth, columns]; the right side may be packed ahead. */
class Int8Gemm final : public WithInt8Epilogue {
 public:
  /* Args: left_steps, right_steps: of the batch axes, in matrices; 0 where it broadcasts. */
  Int8Gemm(TensorId left, TensorId right, TensorId out, WeightLayout layout, int64_t rows, Shape batch,
           Shape left_steps, Shape right_steps, Int8Params params)
      : WithInt8Epilogue({left, right}, out, std::move(params)),
        layout_(layout),
        rows_(rows),
        batch_(std::move(batch)),
        left_steps_(std::move(left_steps)),
        right_steps_(std::move(right_steps)) {}

  size_t prepare(const Setup &setup) override;
  void run(const Frame &frame) const override;

 private:
  struct Scratch; /* where the parts of the scratch memory are */
  Scratch scratch_of(const Frame &frame) const;
  void pack_computed(const Frame &frame, const Scratch &scratch) const;

  WeightLayout layout_;
  int64_t rows_;
  Shape batch_;
  Shape left_steps_;
  Shape right_steps_;
  Tiling tiling_{};
  int64_t matrices_ = 0;
  size_t matrix_bytes_ = 0; /* packed */
  size_t folded_bytes_ = 0;
  size_t pointer_bytes_ = 0;
  std::shared_ptr<const void> packed_;
  std::vector<int32_t> folded_; /* of constant weights */
  std::vector<float> scales_;
};

}  // namespace cpuacc

#endif
