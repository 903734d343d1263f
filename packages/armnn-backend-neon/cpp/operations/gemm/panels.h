/* SPDX-License-Identifier: MIT */
/* The numbers that weights of products are packed as: float32, or 16 bits where that gains. */
#ifndef CPUACC_OPERATIONS_GEMM_PANELS_H_
#define CPUACC_OPERATIONS_GEMM_PANELS_H_

#include <cstddef>
#include <string>

#include "operations/gemm/gemm.h"

namespace cpuacc {

/* bfloat16 numbers are multiplied as they are; who reads a panel in float16 widens it into memory of
 * its own.
 */
enum class Panels { float32, float16, bfloat16 };

/* As what weights are packed: float16 only if it holds each of them to the last bit and a task has so
 * many rows that widening takes next to no time.
 *
 * Args: recipe: of the packed weights, but for what they are packed as; most_rows: that a task may be
 * given for that.
 */
Panels panels_for(const Setup &setup, const Tensor &weights, const WeightLayout &layout,
                  const std::string &recipe, int64_t most_rows, Cut &cut);
/* What the recipe of packed weights ends with. */
std::string recipe_of(Panels panels);

/* A multiple of 64. */
size_t packed_bytes(Panels panels, const WeightLayout &layout, const Kernels &kernels);
void pack_weights(Panels panels, const float *weights, const WeightLayout &layout, const Kernels &kernels,
                  std::byte *packed);
/* Memory of a thread for the panel that it widens; a multiple of 64, 0 if it widens none. */
size_t widened_bytes(Panels panels, const WeightLayout &layout, const Kernels &kernels);

}  // namespace cpuacc

#endif
