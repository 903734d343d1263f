/* SPDX-License-Identifier: MIT */
/* How packed weights are stored: float32, or fewer bits where that gains. */
#pragma once

#include <cstddef>
#include <string>

#include "operations/gemm/gemm.h"

namespace cpuacc {

/* Rows by which weights are packed that gemms of any number of rows may share: equal rows have equal bits beside any
 * others, so these do not decide. By the costs of Emerald Rapids another number chooses otherwise for 20 of 306 gemms
 * with 16 rows, which are up to 36 % longer so, for 10 with 512 rows, up to 5 %.
 */
constexpr int64_t kRowsOfSharedWeights = 256;

/* Whether a gemm gains by bfloat16: rounding its rows must cost less than what it saves. Args: is_left_rounded: they
 * are stored so; rows: of the gemm, where its weights are for them alone.
 */
bool gains_by_bfloat16(const costs::Machine &machine, const Kernels &kernels, const WeightLayout &layout,
                       bool is_left_rounded = false, int64_t rows = kRowsOfSharedWeights);

/* Panels as of float32; in each, for every tap and two k's, one row of pairs. */
size_t packed_bfloat16_bytes(const WeightLayout &layout, const Kernels &kernels);

void pack_weights(const float *weights, const WeightLayout &layout, const Kernels &kernels, Bfloat16 *packed);

/* bfloat16 numbers are multiplied as they are; a task converts a panel in float16 or in steps, which are
 * bytes and a factor for each column, to float32 in memory of its own.
 */
enum class PanelStorage { float32, float16, steps, bfloat16 };

/* Where matrices of weights are. */
struct WeightMatrices {
  WeightLayout layout; /* of one */
  int64_t count;
  int64_t stride; /* from one to the next one */
};

/* Weights in bfloat16, for tasks of whole tiles of it. */
PanelStorage rounded_panels(const Setup &setup, Tiling &tiling);

/* As what other weights are packed: steps or float16 only if they hold each of them to the last bit and a task has
 * so many rows that the conversion takes next to no time, or a little for a quarter of the memory.
 *
 * Args: recipe: of the packed weights, but for what they are packed as; most_rows: that a task may be
 * given for that.
 */
PanelStorage panel_storage(const Setup &setup, const Tensor &weights, const WeightMatrices &matrices,
                           const std::string &recipe, int64_t most_rows, Tiling &tiling);

/* What the recipe of packed weights ends with. */
std::string recipe_of(PanelStorage panels);

/* A multiple of 64. */
size_t packed_bytes(PanelStorage panels, const WeightLayout &layout, const Kernels &kernels);

void pack_weights(PanelStorage panels, const float *weights, const WeightLayout &layout, const Kernels &kernels,
                  std::byte *packed);

/* Matrices of weights in panels: those of a constant are packed ahead, others in each run. */
class PackedMatrices {
 public:
  /* Returns the bytes of scratch memory that a run needs for them. A constant is not read any more then.
   *
   * Args: stride: from a matrix to the next one; recipe: as above; places: where those are that are no constants.
   */
  size_t prepare(const Setup &setup, TensorId &weights, PanelStorage panels, const WeightLayout &layout, int64_t count,
                 int64_t stride, const std::string &recipe, const Places &places = {});
  /* Packs what is not packed ahead. Args: memory: as many bytes as prepare asked for. */
  const std::byte *packed(const Frame &frame, TensorId weights, std::byte *memory) const;
  /* Of one matrix. */
  size_t bytes() const { return bytes_; }

 private:
  void pack(const float *weights, int64_t i, const Kernels &kernels, std::byte *memory) const;
  void pack_ahead(const float *weights, const Setup &setup, std::byte *memory) const;

  PanelStorage panels_ = PanelStorage::float32;
  WeightLayout layout_{};
  int64_t count_ = 0;
  int64_t stride_ = 0;
  Places places_; /* no axis: as the stride says */
  size_t bytes_ = 0;
  std::shared_ptr<const void> ahead_;
};

/* Memory of a thread for a panel converted to float32; a multiple of 64, 0 if there is none. */
size_t float32_panel_bytes(PanelStorage panels, const WeightLayout &layout, const Kernels &kernels);

/* A gemm with a packed matrix. Args: panel: memory of the thread for a panel in float32. */
template <typename Number>
GemmTask<Number> panel_task(PanelStorage panels, const WeightLayout &layout, const std::byte *packed, std::byte *panel,
                            const Stored &to, int64_t c_stride, const Epilogue &epilogue) {
  GemmTask<Number> gemm{layout, reinterpret_cast<const Number *>(packed), to, c_stride, epilogue};
  if (panels == PanelStorage::float16) gemm.float16_panels = reinterpret_cast<const uint16_t *>(packed);
  if (panels == PanelStorage::steps) gemm.panels_in_steps = packed;
  gemm.float32_panel = reinterpret_cast<float *>(panel);
  return gemm;
}

}  // namespace cpuacc
