/* SPDX-License-Identifier: MIT */
/* Panels whose weights are small enough for products that are added in 16 bits, but for a few fours of k. */
#pragma once

#include <algorithm>

#include "operations/quantised/int8_gemm.h"

namespace cpuacc {

/* What stands behind a panel: how many fours are added in 16 bits, or 0; how many are apart; which ones; their weights. */
size_t large_weights_bytes(const WeightLayout &layout, const Int8Kernels &kernels);

/* Moves the fours of a panel that are too large there. Returns whether that are few; else the panel stays as it is.
 *
 * Args: panel: the four weights of a column side by side.
 */
bool set_large_apart(int8_t *panel, const WeightLayout &layout, const Int8Kernels &kernels, int8_t *behind);

/* Reads what set_large_apart() has written. */
class LargeWeights {
 public:
  LargeWeights(const std::byte *behind, const WeightLayout &layout);

  bool is_small() const { return numbers_[0] != 0; }

  void name(Int8GemmTile &tile) const {
    tile.small_fours = numbers_[0];
    tile.large_count = numbers_[1];
    tile.large_fours = numbers_ + 2;
    tile.large_weights = weights_;
  }

 private:
  const int32_t *numbers_;
  const int8_t *weights_;
};

}  // namespace cpuacc
