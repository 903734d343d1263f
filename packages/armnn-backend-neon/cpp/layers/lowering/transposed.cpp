/* SPDX-License-Identifier: MIT */
#include "layers/lowering/transposed.h"

#include <utility>

#include "operations/copy/copy.h"

namespace cpuacc {
namespace {

/* Outputs that ordinary windows compute: rows and columns of the output, a stride apart. */
struct Part {
  Windows windows;
  Phase y, x;
  int64_t blocks; /* outputs side by side and above each other that one row of sums has */
};

/* The window slides backwards over the input: what its first element sees comes last. */
void set_axis(const Phase &phase, int64_t size, int64_t &window, int64_t &pad_first, int64_t &pad_last,
              int64_t &outputs) {
  require(phase.taps > 0, "a stride beyond the window is not computed in integers");
  window = phase.taps;
  outputs = phase.count;
  pad_first = phase.taps - 1 - phase.lead;
  pad_last = phase.count - 1 + phase.taps - size - pad_first;
}

Part part_of(const Windows &w, const Phase &y, const Phase &x, int64_t blocks) {
  Part part{w, y, x, blocks};
  Windows &own = part.windows;
  own.stride_y = own.stride_x = own.dilation_y = own.dilation_x = 1;
  set_axis(y, w.height, own.window_height, own.pad_top, own.pad_bottom, own.output_height);
  set_axis(x, w.width, own.window_width, own.pad_left, own.pad_right, own.output_width);
  return part;
}

std::vector<Part> parts_of(const Windows &w) {
  if (blocks_tile(w)) {
    return {part_of(w, {0, w.height, 0, 0, 1}, {0, w.width, 0, 0, 1}, w.window_height * w.window_width)};
  }
  std::vector<Part> parts;
  for (int64_t i = 0; i < w.stride_y; ++i) {
    for (int64_t j = 0; j < w.stride_x; ++j) {
      const Phase y = row_phase(w, i);
      const Phase x = column_phase(w, j);
      if (y.count > 0 && x.count > 0) parts.push_back(part_of(w, y, x, 1));
    }
  }
  return parts;
}

/* [blocks * O, taps of the part, I]. */
TensorId weights_of(Lowering &l, const Windows &w, const Window &window, const Part &part) {
  const auto *weights = static_cast<const uint8_t *>(l.input(1).read());
  const Windows &own = part.windows;
  std::vector<uint8_t> ordered;
  for (int64_t block = 0; block < part.blocks; ++block) {
    for (int64_t o = 0; o < window.columns; ++o) {
      for (int64_t i = own.window_height - 1; i >= 0; --i) {
        for (int64_t j = own.window_width - 1; j >= 0; --j) {
          const int64_t y = part.y.offset + block / w.window_width + i * w.stride_y;
          const int64_t x = part.x.offset + block % w.window_width + j * w.stride_x;
          for (int64_t c = 0; c < window.depth; ++c) ordered.push_back(weights[window.place(o, y, x, c)]);
        }
      }
    }
  }
  return l.constant_tensor({static_cast<int64_t>(ordered.size())}, l.input(1).type, ordered);
}

Int8Params repeated(const Int8Params &params, int64_t times) {
  Int8Params all = params;
  for (int64_t i = 1; i < times; ++i) {
    all.multipliers.insert(all.multipliers.end(), params.multipliers.begin(), params.multipliers.end());
    all.bias.insert(all.bias.end(), params.bias.begin(), params.bias.end());
  }
  return all;
}

/* To where the sums of a part go in the output, [N, H', W', O]. */
CopyBox box_of(const Windows &w, const Part &part, int64_t columns) {
  const int64_t row = w.output_width * columns;
  const Windows &own = part.windows;
  if (part.blocks > 1) {
    const Shape shape{w.batch * w.height, w.width, w.window_height, w.window_width * columns};
    const int64_t run = w.window_width * columns;
    return {shape, strides_of(shape), {w.window_height * row, run, row, 1}};
  }
  const Shape shape{w.batch, own.output_height, own.output_width, columns};
  return {shape,
          strides_of(shape),
          {w.output_height * row, w.stride_y * row, w.stride_x * columns, 1},
          0,
          part.y.first * row + part.x.first * columns};
}

}  // namespace

void lower_int8_phases(Lowering &l, const Order &order, const Windows &w, const Window &window,
                       const Int8Params &params) {
  l.require_constant(1, "the weights of a convolution in 8 bits");
  const std::vector<Part> parts = parts_of(w);
  const TensorId input = l.in(0, order);
  std::vector<TensorId> made;
  std::vector<CopyBox> boxes;
  for (const Part &part : parts) {
    const Windows &own = part.windows;
    const int64_t taps = own.window_height * own.window_width;
    const int64_t columns = part.blocks * window.columns;
    const TensorId weights = weights_of(l, w, window, part);
    const TensorId sums = parts.size() == 1 && part.blocks == 1
                              ? l.out(0, order)
                              : l.temporary(l.output().type, {w.batch, own.output_height, own.output_width, columns});
    const WeightLayout layout{taps, window.depth, window.depth, 1, columns, taps * window.depth};
    l.add(int8_indirect_convolution({input, weights, kNone, sums}, own, layout, 1, 0, repeated(params, part.blocks)));
    made.push_back(sums);
    boxes.push_back(box_of(w, part, window.columns));
  }
  if (parts.size() == 1 && parts[0].blocks == 1) return;
  l.add<CopyBoxes>(std::move(made), l.out(0, order), std::move(boxes));
}

}  // namespace cpuacc
