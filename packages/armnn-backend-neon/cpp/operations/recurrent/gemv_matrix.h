/* SPDX-License-Identifier: MIT */
/* Matrices that few rows at a time are multiplied by, as in each step of a recurrent layer. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/ir.h"
#include "operations/recurrent/rows.h"

namespace cpuacc {

/* Numbers filled up to whole lines of a cache, or to two: Float64. */
inline int64_t padded(int64_t numbers) {
  constexpr int64_t kNumbersPerLine = 16;
  return ratio_up(numbers, kNumbersPerLine) * kNumbersPerLine;
}

template <typename T>
size_t bytes_of(int64_t numbers) { return static_cast<size_t>(numbers) * sizeof(T); }

/* What a packed matrix has: its numbers or, of floats only, steps behind the scale of each column, or bfloat16. */
enum class GemvStorage { numbers, steps, bfloat16 };

/* A matrix [columns, depth] in panels that gemv reads. */
template <typename T>
struct GemvMatrix {
  int64_t columns = 0;
  int64_t depth = 0;
  GemvStorage storage = GemvStorage::numbers;

  /* Packed. */
  size_t bytes(const Rows<T> &rows) const;
  /* Whether each column is whole steps in 8 bits, to the last bit; adds these steps. */
  bool find_steps(const T *weights, std::vector<float> &steps) const;
  /* Args: known: the steps of the columns, if they were looked for. */
  void pack(const T *weights, const Rows<T> &rows, std::byte *packed, const float *known = nullptr) const;
  /* y = x + bias + row * matrix for each row, the columns shared by threads if there is no other work for them. */
  void multiply(const Frame &frame, bool is_shared, const GemvOperands<T> &all, const std::byte *packed) const;

  /* What multiplying so many rows takes. */
  double ns(const Frame &frame, int64_t rows) const {
    return static_cast<double>(columns * depth) * weight_ns(frame, rows);
  }

 private:
  double weight_ns(const Frame &frame, int64_t rows) const;
  void pack_numbers(const T *weights, const Rows<T> &rows, T *packed) const;
  void pack_steps(const float *weights, const Rows<float> &rows, const float *scales, int8_t *steps) const;
  size_t scale_bytes() const;
};

}  // namespace cpuacc
