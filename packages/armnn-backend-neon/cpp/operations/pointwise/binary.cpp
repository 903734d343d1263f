/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/binary.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"

namespace cpuacc {
bool Binary::may_overwrite(size_t input) const {
  return (input == 0 ? broadcast_.x : broadcast_.y) == strides_of(broadcast_.shape);
}

int32_t Binary::repeated_side() const {
  const Broadcast &b = broadcast_;
  for (const int32_t side : {0, 1}) {
    const int64_t length = b.row_of(static_cast<size_t>(side));
    if (length > 0 && 2 * length * element_bytes_ <= costs::kRepeatedBytes) return side;
  }
  return -1;
}

void Binary::run_repeated(const Frame &frame, int32_t side) const {
  const std::byte *operands[] = {frame.in<std::byte>(inputs[0]), frame.in<std::byte>(inputs[1])};
  auto *z = frame.out<std::byte>(outputs[0]);
  const int64_t rows = broadcast_.shape[0];
  const int64_t length = broadcast_.shape[1];
  const int64_t bytes = length * element_bytes_;
  const int64_t times = costs::kRepeatedBytes / bytes;
  const double item_ns = static_cast<double>(times * length) * frame.element_ns();
  frame.pool.run(ratio_up(rows, times), item_ns, [&](int64_t begin, int64_t end, int32_t) {
    alignas(64) std::byte repeated[costs::kRepeatedBytes];
    for (int64_t i = 0; i < times; ++i) {
      std::memcpy(repeated + i * bytes, operands[side], static_cast<size_t>(bytes));
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * times;
      const int64_t n = std::min(times, rows - first) * length;
      const std::byte *x = side == 0 ? repeated : operands[0] + first * bytes;
      const std::byte *y = side == 0 ? operands[1] + first * bytes : repeated;
      compute(frame.kernels, x, 1, y, 1, z + first * bytes, n);
    }
  });
}

void Binary::run(const Frame &frame) const {
  if (const int32_t side = repeated_side(); side >= 0) return run_repeated(frame, side);
  const auto *x = frame.in<std::byte>(inputs[0]);
  const auto *y = frame.in<std::byte>(inputs[1]);
  auto *z = frame.out<std::byte>(outputs[0]);
  const size_t rank = broadcast_.shape.size();
  const int64_t length = broadcast_.shape[rank - 1];
  const int64_t x_step = broadcast_.x[rank - 1];
  const int64_t y_step = broadcast_.y[rank - 1];
  const int64_t pieces = ratio_up(length, costs::kChunkElements);
  const int64_t rows = elements(broadcast_.shape, 0, rank - 1);
  const double item_ns = static_cast<double>(std::min(length, costs::kChunkElements)) * frame.element_ns();
  frame.for_each(rows * pieces, item_ns, [&](int64_t i, int32_t) {
    const int64_t first = i % pieces * costs::kChunkElements;
    int64_t number = i / pieces;
    int64_t at_x = first * x_step;
    int64_t at_y = first * y_step;
    const int64_t at_z = number * length + first;
    for (size_t axis = rank - 1; axis-- > 0;) {
      const int64_t index = number % broadcast_.shape[axis];
      number /= broadcast_.shape[axis];
      at_x += index * broadcast_.x[axis];
      at_y += index * broadcast_.y[axis];
    }
    compute(frame.kernels, x + at_x * element_bytes_, x_step, y + at_y * element_bytes_, y_step,
            z + at_z * element_bytes_, std::min(costs::kChunkElements, length - first));
  });
}

}  // namespace cpuacc
