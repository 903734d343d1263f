/* SPDX-License-Identifier: MIT */
#include "operations/recurrent/gemv_matrix.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "costs/costs.h"
#include "operations/storage/steps.h"

namespace cpuacc {
/* Few rows are multiplied, so all weights come from behind the first cache. */
template <typename T>
double GemvMatrix<T>::weight_ns(const Frame &frame, int64_t rows) const {
  const double read = frame.ns_of(costs::weight_row) / static_cast<double>(frame.kernels.columns);
  const double bytes = storage == GemvStorage::steps ? 1.0 : storage == GemvStorage::bfloat16 ? 2.0 : sizeof(T);
  return frame.ns_of(costs::multiply_add) * static_cast<double>(rows) + read * bytes / sizeof(float);
}

template <typename T>
size_t GemvMatrix<T>::scale_bytes() const {
  return storage == GemvStorage::steps ? bytes_of<float>(padded(columns)) : 0;
}

template <typename T>
size_t GemvMatrix<T>::bytes(const Rows<T> &rows) const {
  const int64_t whole = ratio_up(columns, rows.lanes) * rows.lanes;
  if (storage == GemvStorage::steps) return scale_bytes() + aligned_bytes(static_cast<size_t>(whole * depth));
  if (storage == GemvStorage::bfloat16) return aligned_bytes(bytes_of<Bfloat16>(whole * depth));
  return bytes_of<T>(padded(whole * depth));
}

template <typename T>
bool GemvMatrix<T>::find_steps(const T *weights, std::vector<float> &steps) const {
  if constexpr (std::is_same_v<T, float>) {
    for (int64_t j = 0; j < columns; ++j) {
      steps.push_back(step_of(weights + j * depth, depth, 1));
      if (steps.back() == 0.0f) return false;
    }
    return true;
  }
  return false;
}

template <typename T>
void GemvMatrix<T>::pack_numbers(const T *weights, const Rows<T> &rows, T *packed) const {
  for (int64_t first = 0; first < columns; first += rows.gemv_columns) {
    const int64_t width = std::min<int64_t>(rows.gemv_columns, columns - first);
    const int64_t whole = ratio_up(width, rows.lanes) * rows.lanes;
    if (width < whole) std::fill_n(packed, whole * depth, T{});
    rows.transpose(weights + first * depth, depth, packed, whole, width, depth);
    packed += whole * depth;
  }
}

/* Some rows of a panel at a time are put side by side as floats, which stay in the first cache. */
template <typename T>
void GemvMatrix<T>::pack_steps(const float *weights, const Rows<float> &rows, const float *scales,
                               int8_t *steps) const {
  constexpr int64_t kTogether = 16;
  std::vector<float> block(static_cast<size_t>(kTogether * rows.gemv_columns));
  for (int64_t first = 0; first < columns; first += rows.gemv_columns) {
    const int64_t width = std::min<int64_t>(rows.gemv_columns, columns - first);
    const int64_t whole = ratio_up(width, rows.lanes) * rows.lanes;
    for (int64_t k = 0; k < depth; k += kTogether) {
      const int64_t count = std::min(kTogether, depth - k);
      rows.transpose(weights + first * depth + k, depth, block.data(), whole, width, count);
      for (int64_t i = 0; i < count; ++i, steps += whole) {
        put_in_steps(block.data() + i * whole, scales + first, width, steps);
        std::fill(steps + width, steps + whole, int8_t{});
      }
    }
  }
}

template <typename T>
void GemvMatrix<T>::pack(const T *weights, const Rows<T> &rows, std::byte *packed, const float *known) const {
  if constexpr (std::is_same_v<T, float>) {
    if (storage == GemvStorage::bfloat16) {
      /* Panel by panel: rounded in one go, without a second copy of all weights. */
      std::vector<float> panel(static_cast<size_t>(rows.gemv_columns * depth));
      for (int64_t first = 0; first < columns; first += rows.gemv_columns) {
        const GemvMatrix<float> part{std::min<int64_t>(rows.gemv_columns, columns - first), depth};
        part.pack(weights + first * depth, rows, reinterpret_cast<std::byte *>(panel.data()));
        const int64_t numbers = ratio_up(part.columns, rows.lanes) * rows.lanes * depth;
        rows.round(panel.data(), reinterpret_cast<Bfloat16 *>(packed) + first * depth, numbers);
      }
      return;
    }
    if (storage == GemvStorage::steps) {
      auto *scales = reinterpret_cast<float *>(packed);
      for (int64_t j = 0; j < columns; ++j) {
        scales[j] = known == nullptr ? step_of(weights + j * depth, depth, 1) : known[j];
      }
      std::fill(scales + columns, scales + padded(columns), 0.0f);
      return pack_steps(weights, rows, scales, reinterpret_cast<int8_t *>(packed + scale_bytes()));
    }
  }
  pack_numbers(weights, rows, reinterpret_cast<T *>(packed));
}

template <typename T>
void GemvMatrix<T>::multiply(const Frame &frame, bool is_shared, const GemvOperands<T> &all,
                             const std::byte *packed) const {
  const Rows<T> rows(frame.kernels);
  const int64_t width = rows.gemv_columns;
  const auto *numbers = reinterpret_cast<const T *>(packed);
  const auto *scales = reinterpret_cast<const float *>(packed);
  const auto *steps = reinterpret_cast<const int8_t *>(packed + scale_bytes());
  const auto *rounded = reinterpret_cast<const Bfloat16 *>(packed);
  const auto compute = [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * width;
      const int64_t place = first * depth;
      PanelOf<T> panel{};
      switch (storage) {
        case GemvStorage::numbers: panel.numbers = numbers + place; break;
        case GemvStorage::steps: panel.steps = steps + place, panel.scales = scales + first; break;
        case GemvStorage::bfloat16: panel.rounded = rounded + place; break;
      }
      rows.gemv(all, depth, panel, first, std::min(width, columns - first));
    }
  };
  const int64_t panels = ratio_up(columns, width);
  const double panel_ns = static_cast<double>(depth * width) * weight_ns(frame, all.count);
  is_shared ? frame.pool.run(panels, panel_ns, compute) : compute(0, panels, 0);
}

template struct GemvMatrix<float>;
template struct GemvMatrix<double>;

}  // namespace cpuacc
