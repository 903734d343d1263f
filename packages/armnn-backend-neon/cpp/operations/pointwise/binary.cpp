/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/binary.h"

#include <algorithm>
#include <cstring>

#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

constexpr int64_t kChunk = 4096; /* elements that are worth a thread's while */
constexpr int64_t kRepeatedBytes = 4096;

/* The strides of an operand along the axes of the output in memory. */
Shape operand_strides(const Shape &shape, const Order &order, const Order &output_order) {
  Shape logical(output_order.size(), 0);
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    if (shape[axis] != 1) logical[axis + output_order.size() - shape.size()] = step;
    step *= shape[axis];
  }
  return in_memory(logical, output_order);
}

Broadcast merged(const Shape &shape, const Shape &x, const Shape &y) {
  Broadcast result;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const bool continues = !result.shape.empty() && result.x.back() == x[i] * shape[i] &&
                           result.y.back() == y[i] * shape[i];
    if (continues) {
      result.shape.back() *= shape[i];
      result.x.back() = x[i];
      result.y.back() = y[i];
    } else {
      result.shape.push_back(shape[i]);
      result.x.push_back(x[i]);
      result.y.push_back(y[i]);
    }
  }
  if (result.shape.empty()) result = {{1}, {1}, {1}};
  return result;
}

}  // namespace

bool Binary::may_overwrite(size_t input) const {
  return (input == 0 ? broadcast_.x : broadcast_.y) == strides_of(broadcast_.shape);
}

int32_t Binary::repeated_side() const {
  const Broadcast &b = broadcast_;
  for (const int32_t side : {0, 1}) {
    const int64_t line = b.row_of(static_cast<size_t>(side));
    if (line > 0 && 2 * line * element_bytes_ <= kRepeatedBytes) return side;
  }
  return -1;
}

void Binary::run_repeated(const Frame &frame, int32_t side) const {
  const std::byte *operands[] = {frame.in<std::byte>(inputs[0]), frame.in<std::byte>(inputs[1])};
  auto *z = frame.out<std::byte>(outputs[0]);
  const int64_t lines = broadcast_.shape[0];
  const int64_t line = broadcast_.shape[1];
  const int64_t bytes = line * element_bytes_;
  const int64_t times = kRepeatedBytes / bytes;
  const double item_ns = static_cast<double>(times * line) * kElementNs;
  frame.pool.run((lines + times - 1) / times, item_ns, [&](int64_t begin, int64_t end, int32_t) {
    alignas(64) std::byte repeated[kRepeatedBytes];
    for (int64_t i = 0; i < times; ++i) {
      std::memcpy(repeated + i * bytes, operands[side], static_cast<size_t>(bytes));
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * times;
      const int64_t n = std::min(times, lines - first) * line;
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
  const int64_t line = broadcast_.shape[rank - 1];
  const int64_t x_step = broadcast_.x[rank - 1];
  const int64_t y_step = broadcast_.y[rank - 1];
  const int64_t pieces = line == 0 ? 0 : (line + kChunk - 1) / kChunk;
  const int64_t lines = elements(broadcast_.shape, 0, rank - 1);
  const double item_ns = static_cast<double>(std::min(line, kChunk)) * kElementNs;
  frame.pool.run(lines * pieces, item_ns, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * kChunk;
      int64_t number = i / pieces;
      int64_t at_x = first * x_step;
      int64_t at_y = first * y_step;
      const int64_t at_z = number * line + first;
      for (size_t axis = rank - 1; axis-- > 0;) {
        const int64_t index = number % broadcast_.shape[axis];
        number /= broadcast_.shape[axis];
        at_x += index * broadcast_.x[axis];
        at_y += index * broadcast_.y[axis];
      }
      compute(frame.kernels, x + at_x * element_bytes_, x_step, y + at_y * element_bytes_,
              y_step, z + at_z * element_bytes_, std::min(kChunk, line - first));
    }
  });
}

Operands operands_of(Lowering &l) {
  const Shape &shape = l.output().shape;
  for (const Order &order : {l.common_order(), plain_order(shape.size())}) {
    Operands result{{kNone, kNone}, order, {}};
    Order orders[2];
    Shape strides[2];
    for (size_t i = 0; i < 2; ++i) {
      const size_t rank = l.input(i).shape.size();
      orders[i] = rank == shape.size() ? order : plain_order(rank);
      strides[i] = operand_strides(l.input(i).shape, orders[i], order);
    }
    result.broadcast = merged(in_memory(shape, order), strides[0], strides[1]);
    const bool fits = result.broadcast.x.back() <= 1 && result.broadcast.y.back() <= 1;
    if (!fits && !is_plain(order)) continue;
    for (size_t i = 0; i < 2; ++i) result.tensors[i] = l.in(i, orders[i]);
    return result;
  }
  throw Refusal{"the operands do not broadcast"};
}

}  // namespace cpuacc
