/* SPDX-License-Identifier: MIT */
/* Convolutions, depthwise and transposed ones. */
#include <algorithm>
#include <utility>

#include "costs/costs.h"
#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "layers/lowering/pointwise.h"
#include "layers/lowering/windows.h"
#include "operations/convolution/convolution.h"
#include "operations/copy/copy.h"
#include "operations/depthwise/depthwise.h"
#include "operations/gemm/gemm.h"
#include "operations/pointwise/functions.h"
#include "operations/quantized/int8_gemm.h"
#include "operations/quantized/quantized.h"

namespace cpuacc {
namespace {

/* Outputs that ordinary windows compute: rows and columns of the output, a stride apart. */
struct PhaseWindows {
  Windows windows;
  Phase y, x;
  int64_t blocks; /* outputs side by side and above each other that one row of sums has */
};

/* The window slides backwards over the input: the input of its first element comes last. */
void set_axis(const Phase &phase, int64_t size, int64_t &window, int64_t &pad_first, int64_t &pad_last,
              int64_t &outputs) {
  require(phase.taps > 0, "a stride beyond the window is not computed in integers");
  window = phase.taps;
  outputs = phase.count;
  pad_first = phase.taps - 1 - phase.lead;
  pad_last = phase.count - 1 + phase.taps - size - pad_first;
}

PhaseWindows part_of(const Windows &w, const Phase &y, const Phase &x, int64_t blocks) {
  PhaseWindows part{w, y, x, blocks};
  Windows &own = part.windows;
  own.stride_y = own.stride_x = own.dilation_y = own.dilation_x = 1;
  set_axis(y, w.height, own.window_height, own.pad_top, own.pad_bottom, own.output_height);
  set_axis(x, w.width, own.window_width, own.pad_left, own.pad_right, own.output_width);
  return part;
}

std::vector<PhaseWindows> parts_of(const Windows &w) {
  if (blocks_tile(w)) {
    return {part_of(w, {0, w.height, 0, 0, 1}, {0, w.width, 0, 0, 1}, w.window_height * w.window_width)};
  }
  std::vector<PhaseWindows> parts;
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
TensorId weights_of(Lowering &l, const Windows &w, const Window &window, const PhaseWindows &part) {
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
CopyBox box_of(const Windows &w, const PhaseWindows &part, int64_t columns) {
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

/* Lowers a layer to ordinary convolutions: outputs whose places are alike within a stride see the same part of
 * the window. Refuses other than constant weights. Args: order: of the image, channels last.
 */
void lower_int8_phases(Lowering &l, const Order &order, const Windows &w, const Window &window,
                       const Int8Params &params) {
  l.require_constant(1, "the weights of a convolution in 8 bits");
  const std::vector<PhaseWindows> parts = parts_of(w);
  const TensorId input = l.in(0, order);
  std::vector<TensorId> made;
  std::vector<CopyBox> boxes;
  for (const PhaseWindows &part : parts) {
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

/* Convolutions, in floats, in bytes and of exact integers. */

/* The facts that convolutions with weights [O, KH, KW, I] or [O, I, KH, KW] have in common. */
struct Convolution {
  Order order; /* of the image: channels last */
  bool is_last; /* whether the weights have their channels last as well */
  Windows windows;
  int64_t depth; /* input channels of a group */
  int64_t outputs; /* output channels of all groups */

  int64_t taps() const { return windows.window_height * windows.window_width; }
  int64_t groups() const { return windows.channels / depth; }
  int64_t columns() const { return outputs / groups(); }
  int64_t group_stride() const { return columns() * taps() * depth; }
  WeightLayout layout() const {
    return is_last ? WeightLayout{taps(), depth, depth, 1, columns(), taps() * depth}
                   : WeightLayout{taps(), 1, depth, taps(), columns(), taps() * depth};
  }
  /* The steps of weights with one input and one output channel in each group, equal in both layouts. */
  WindowSteps steps() const { return {taps(), windows.window_width, 1}; }
};

Convolution convolution_of(const Lowering &l, int64_t usual_stride = ARMNN_CONVOLUTION2D_STRIDE_Y_DEFAULT) {
  const Shape &weights = l.input(1).shape;
  require(weights.size() == 4, "the rank must be 4");
  const Order order = image_order(l);
  const bool is_last = is_plain(order);
  Convolution c{order, is_last, windows_of(l, order, usual_stride), weights[is_last ? 3 : 1], weights[0]};
  c.windows.window_height = weights[is_last ? 1 : 2];
  c.windows.window_width = weights[is_last ? 2 : 3];
  return c;
}

/* The facts of a Convolution2d. Refuses groups that do not fit. */
Convolution grouped_convolution_of(const Lowering &l) {
  const Convolution c = convolution_of(l);
  require(c.depth > 0 && c.windows.channels % c.depth == 0, "the weights do not fit to the channels", 1);
  require(c.groups() > 0 && c.outputs % c.groups() == 0, "the weights do not fit to the groups", 1);
  return c;
}

/* A depthwise convolution with weights [1, KH, KW, I * multiplier]. */
struct DepthwiseLayer {
  Order order; /* of the image: channels last */
  Windows windows;
  int64_t outputs; /* channels */

  bool is_single() const { return outputs == windows.channels; }
  int64_t multiplier() const {
    require(windows.channels > 0 && outputs % windows.channels == 0,
            "the weights' channels must be a multiple of the input's", 1);
    return outputs / windows.channels;
  }
  /* As a convolution with a group for each input channel. */
  WeightLayout layout() const {
    return {windows.window_height * windows.window_width, outputs, 1, 1, multiplier(), 1};
  }
  WindowSteps steps() const { return {1, windows.window_width * outputs, outputs}; }
};

DepthwiseLayer depthwise_of(const Lowering &l) {
  const Shape &weights = l.input(1).shape;
  require(weights.size() == 4, "the rank must be 4");
  const Order order = image_order(l);
  DepthwiseLayer d{order, windows_of(l, order), weights[3]};
  d.windows.window_height = weights[1];
  d.windows.window_width = weights[2];
  return d;
}

/* Refuses other than float32 images and weights of rank 4. */
void require_float_images(const Lowering &l) {
  require_floats(l);
  require(l.input(0).shape.size() == 4 && l.input(1).shape.size() == 4, "the rank must be 4");
}

/* Whether a gemm that has no other kernel gains by bfloat16. */
bool rounds(const Lowering &l, const WeightLayout &layout) {
  return l.fast_math().has_bfloat16 && gains_by_bfloat16(costs::machine(l.kernels().lanes), l.kernels(), layout);
}

/* Whether weights and bias are known now: kernels whose weights take more than packing need that. */
bool has_constant_weights(const Lowering &l) {
  return l.input(1).is_constant() && (!l.has_input(2) || l.input(2).is_constant());
}

/* The layer's third input; kNone without one. */
TensorId bias_of(Lowering &lowering) { return lowering.has_input(2) ? lowering.in(2) : kNone; }

/* The bias, with the numbers of its columns repeated so many times. */
TensorId repeated_bias(Lowering &lowering, int64_t columns, int64_t times) {
  if (!lowering.has_input(2)) return kNone;
  if (!lowering.input(2).is_constant()) {
    const TensorId from = lowering.in(2);
    const TensorId to = lowering.temporary(ARMNN_FLOAT32, {times * columns});
    lowering.add<CopyBoxes>(Io{from, to}, CopyBox{{times, columns}, {0, 1}, {columns, 1}});
    return to;
  }
  const float *bias = lowering.constant(2, "the bias");
  std::vector<float> repeated;
  for (int64_t i = 0; i < times; ++i) repeated.insert(repeated.end(), bias, bias + columns);
  return lowering.constant_tensor({times * columns}, repeated);
}

/* The weights of a depthwise convolution with as many output channels as the input has: packed from the layer's own order, as
 * reordered ones would be packed again for each shape. Args: order: in which computed ones are [KH, KW, C].
 */
TensorId depthwise_weights(Lowering &l, const Order &order) {
  return l.input(1).is_constant() ? l.in(1) : l.in(1, order);
}

/* The layer's weights as [ow_block, O, KH, KW', I], for so many outputs side by side. */
TensorId blocked_weights(Lowering &l, const Windows &w, int64_t depth, bool is_depth_last, int64_t ow_block) {
  const float *weights = l.constant(1, "the weights");
  const int64_t columns = l.input(1).shape[0];
  const int64_t taps = w.window_height * w.window_width;
  const int64_t width = w.window_width + (ow_block - 1) * w.stride_x;
  const Shape shape{ow_block * columns, w.window_height, width, depth};
  std::vector<float> result(static_cast<size_t>(elements(shape)));
  for (int64_t row = 0; row < ow_block * columns; ++row) {
    const int64_t shift = row / columns * w.stride_x;
    const float *from = weights + row % columns * taps * depth;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t place = (row * w.window_height + t / w.window_width) * width + t % w.window_width;
      float *to = result.data() + (place + shift) * depth;
      for (int64_t c = 0; c < depth; ++c) to[c] = from[is_depth_last ? t * depth + c : c * taps + t];
    }
  }
  return l.constant_tensor(shape, result);
}

/* A convolution as a gemm of the pixels that windows see: indirect, or over a raster. */
OperationPtr gemm_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                              ConvolutionKernel::Kind kind, bool use_bfloat16, int64_t groups = 1,
                              int64_t group_stride = 0) {
  return kind == ConvolutionKernel::raster
             ? raster_convolution(tensors, windows, layout, groups, group_stride)
             : indirect_convolution(tensors, windows, layout, use_bfloat16, groups, group_stride);
}

/* A convolution as a gemm whose kernel is not chosen by costs. */
OperationPtr gemm_convolution(const Lowering &l, const WeightedTensors &tensors, const Windows &windows,
                              const WeightLayout &layout, int64_t groups = 1, int64_t group_stride = 0) {
  const bool use_bfloat16 = rounds(l, layout);
  const auto kind = use_bfloat16 && suits_raster(windows, l.kernels()) ? ConvolutionKernel::raster : ConvolutionKernel::indirect;
  return gemm_convolution(tensors, windows, layout, kind, use_bfloat16, groups, group_stride);
}

void lower_depthwise(Lowering &l) {
  require_float_images(l);
  const DepthwiseLayer d = depthwise_of(l);
  const TensorId input = l.in(0, d.order);
  const TensorId bias = bias_of(l);
  const TensorId weights = l.in(1);
  const int64_t multiplier = d.is_single() ? 1 : d.multiplier();
  const WeightedTensors tensors{input, weights, bias, l.out(0, d.order)};
  if (d.is_single()) return l.add(depthwise_convolution(tensors, d.windows, d.steps()));
  if (d.windows.channels == 1 && suits_direct(d.windows)) {
    const WeightLayout direct = single_channel_layout(d.windows, d.outputs);
    return l.add(direct_convolution(tensors, d.windows, direct, direct));
  }
  l.add(gemm_convolution(l, tensors, d.windows, d.layout(), d.windows.channels, multiplier));
}

/* The image with zeros around it, channels last; order is that of the tensor before. */
TensorId padded(Lowering &l, const Order &order, Windows &windows) {
  const Windows w = windows;
  windows = padded_windows(w);
  if (windows.height == w.height && windows.width == w.width) return l.in(0, order);
  /* Straight from the image's own order: one loop over memory instead of two. */
  const Order from = l.order(0);
  const Shape shape{w.batch, w.height, w.width, w.channels};
  const Shape to{w.batch, windows.height, windows.width, w.channels};
  const Shape steps = strides_of(to);
  const Shape own = strides_of(in_memory(l.input(0).shape, from));
  CopyBox box{shape, {}, steps, 0, w.pad_top * steps[1] + w.pad_left * steps[2]};
  for (const int32_t axis : order) box.from.push_back(own[place_of(from, axis)]);
  const TensorId image = l.in(0, from);
  const TensorId result = l.temporary(ARMNN_FLOAT32, to);
  l.add<CopyBoxes>(Io{image, result}, std::move(box), std::vector<std::byte>(sizeof(float)));
  return result;
}

/* Adds the operation that computes a layer by a kernel. */
void add_as(Lowering &l, const ConvolutionKernel &kernel, OperationPtr operation) {
  operation->kernel = kernel.name();
  operation->work = kernel.work;
  l.add(std::move(operation));
}

/* The image of a direct convolution: one that has to be reordered gets its padding on the way. */
TensorId padded_on_the_way(Lowering &l, const Order &order, Windows &windows) {
  return l.order(0) == order ? l.in(0, order) : padded(l, order, windows);
}

/* Weights [columns, KH, KW, I]. */
void add_ungrouped(Lowering &l, const ConvolutionKernel &kernel, const Order &order, TensorId weights, TensorId bias,
                   TensorId out, Windows windows, int64_t columns) {
  if (kernel.kind == ConvolutionKernel::direct) {
    const WeightLayout layout = direct_layout(windows, columns);
    const TensorId image = padded_on_the_way(l, order, windows);
    return add_as(l, kernel, direct_convolution({image, weights, bias, out}, windows, layout, layout));
  }
  if (kernel.joins_taps && kernel.kind == ConvolutionKernel::indirect) {
    /* The numbers of a row of the window are contiguous once the padding is there. */
    const WeightLayout layout = direct_layout(windows, columns);
    const TensorId image = padded(l, order, windows);
    windows.window_width = 1;
    return add_as(l, kernel, indirect_convolution({image, weights, bias, out}, windows, layout, true));
  }
  const int64_t depth = windows.channels;
  const int64_t taps = windows.window_height * windows.window_width;
  const WeightLayout own{taps, depth, depth, 1, columns, taps * depth};
  const WeightLayout layout = kernel.joins_taps ? direct_layout(windows, columns) : own;
  add_as(l, kernel, gemm_convolution({l.in(0, order), weights, bias, out}, windows, layout, kernel.kind, kernel.use_bfloat16));
}

/* Weights are packed from the layer's own order: reordered ones would be packed again for each shape. */
void lower_direct(Lowering &l, const ConvolutionKernel &kernel, const Convolution &c) {
  const int64_t columns = c.columns();
  const TensorId bias = bias_of(l);
  if (c.is_last || kernel.use_bfloat16) {
    const TensorId weights = l.in(1, c.is_last ? plain_order(4) : channels_last(4));
    return add_ungrouped(l, kernel, c.order, weights, bias, l.out(0, c.order), c.windows, columns);
  }
  const TensorId weights = l.in(1);
  Windows windows = c.windows;
  const TensorId image = padded_on_the_way(l, c.order, windows);
  add_as(l, kernel, direct_convolution({image, weights, bias, l.out(0, c.order)}, windows,
                                       direct_layout(windows, columns), c.layout()));
}

/* Several outputs side by side at once; columns beyond the output's width are cropped. */
void lower_blocked(Lowering &l, const ConvolutionKernel &kernel, const Order &order, const Windows &windows,
                   bool is_last) {
  const int64_t ow_block = kernel.ow_block;
  const int64_t columns = l.input(1).shape[0];
  const TensorId weights = blocked_weights(l, windows, windows.channels, is_last, ow_block);
  const TensorId bias = repeated_bias(l, columns, ow_block);
  const Windows wide = blocked_windows(windows, ow_block);
  const int64_t width = wide.output_width * ow_block;
  if (width == windows.output_width) {
    return add_ungrouped(l, kernel, order, weights, bias, l.out(0, order), wide, ow_block * columns);
  }
  const Shape shape{windows.batch, windows.output_height, width, columns};
  const TensorId made = l.temporary(ARMNN_FLOAT32, shape);
  add_ungrouped(l, kernel, order, weights, bias, made, wide, ow_block * columns);
  const Shape kept{windows.batch, windows.output_height, windows.output_width, columns};
  l.add<CopyBoxes>(Io{made, l.out(0, order)}, CopyBox{kept, strides_of(shape), strides_of(kept)});
}

void lower_convolution(Lowering &l) {
  require_float_images(l);
  const Convolution c = grouped_convolution_of(l);
  const auto &[order, is_last, windows, depth, outputs] = c;
  const int64_t groups = c.groups();
  const WeightLayout layout = c.layout();
  const ConvolutionLayer layer{windows,       layout, has_constant_weights(l), l.constant_bytes(),
                               l.fast_math(), l.fast_math().has_bfloat16 && l.may_be_bfloat16(0)};
  const ConvolutionKernel kernel = choose_convolution(layer, l.kernels());
  if (kernel.ow_block > 1) return lower_blocked(l, kernel, order, windows, is_last);
  if (kernel.kind == ConvolutionKernel::direct || kernel.joins_taps) return lower_direct(l, kernel, c);
  const TensorId input = l.in(0, order);
  const TensorId bias = bias_of(l);
  const bool is_depthwise = groups > 1 && depth == 1 && c.columns() == 1;
  const Order order_of_windows = is_last ? Order{1, 2, 0, 3} : Order{2, 3, 0, 1};
  const TensorId weights = is_depthwise ? depthwise_weights(l, order_of_windows) : l.in(1);
  const WeightedTensors tensors{input, weights, bias, l.out(0, order)};
  if (is_depthwise) return l.add(depthwise_convolution(tensors, windows, c.steps()));
  switch (kernel.kind) {
    case ConvolutionKernel::winograd_2d:
      return add_as(l, kernel, winograd_2d_convolution(tensors, windows, layout, kernel.side));
    case ConvolutionKernel::winograd_1d:
      return add_as(l, kernel, winograd_1d_convolution(tensors, windows, layout, kernel.filter));
    default:
      return add_as(l, kernel, gemm_convolution(tensors, windows, layout, kernel.kind, kernel.use_bfloat16, groups,
                                                c.group_stride()));
  }
}

/* Refuses depthwise weights that do not fit into 8 bits when their zero point is taken off. */
void require_narrow(const Int8Params &params) {
  require(params.right_zero_point == (params.right_is_signed ? 0 : 128),
          "the weights of a depthwise convolution must have their zero point in the middle", 1);
}

void lower_int8_depthwise(Lowering &l) {
  const DepthwiseLayer d = depthwise_of(l);
  l.require_constant(1, "the weights of a convolution in 8 bits");
  if (!d.is_single()) l.input(1).read(); /* kept with a stored program: bytes are packed each time */
  Int8Params params = int8_params_of(l, 3, d.outputs, l.has_input(2));
  const TensorId input = l.in(0, d.order);
  const WeightedTensors tensors{input, l.in(1), kNone, l.out(0, d.order)};
  if (d.is_single()) {
    require_narrow(params);
    return l.add(int8_depthwise_convolution(tensors, d.windows, d.steps(), std::move(params), l.kernels()));
  }
  if (d.windows.channels == 1 && suits_int8_direct(d.windows, params)) {
    const WeightLayout direct = single_channel_layout(d.windows, d.outputs);
    return l.add(int8_direct_convolution(tensors, d.windows, direct, std::move(params), l.kernels()));
  }
  l.add(int8_indirect_convolution(tensors, d.windows, d.layout(), d.windows.channels, d.multiplier(),
                                  std::move(params)));
}

void lower_int8_convolution(Lowering &l) {
  const Convolution c = grouped_convolution_of(l);
  const auto &[order, is_last, windows, depth, outputs] = c;
  l.require_constant(1, "the weights of a convolution in 8 bits");
  const int64_t groups = c.groups();
  const bool is_depthwise = groups > 1 && depth == 1 && c.columns() == 1;
  if (!is_depthwise) l.input(1).read(); /* kept with a stored program: bytes are packed each time */
  Int8Params params = int8_params_of(l, 0, outputs, l.has_input(2));
  const TensorId input = l.in(0, order);
  const bool in_tile_registers = 2 * depth > costs::kTileRegisterBytes &&
                                 suits_tile_registers(windows.batch * windows.output_height * windows.output_width,
                                                      c.layout(), l.kernels());
  const bool is_direct = groups == 1 && suits_int8_direct(windows, params) && !in_tile_registers;
  /* Weights with the channels last, in whose rows taps are contiguous as they are in the image. */
  const TensorId right = l.in(1, is_direct && !is_last ? channels_last(4) : plain_order(4));
  const WeightedTensors tensors{input, right, kNone, l.out(0, order)};
  if (is_depthwise) {
    require_narrow(params);
    return l.add(int8_depthwise_convolution(tensors, windows, c.steps(), std::move(params), l.kernels()));
  }
  if (is_direct) {
    const WeightLayout direct = direct_layout(windows, c.columns());
    return l.add(int8_direct_convolution(tensors, windows, direct, std::move(params), l.kernels()));
  }
  l.add(int8_indirect_convolution(tensors, windows, c.layout(), groups, c.group_stride(), std::move(params)));
}

void lower_convolution_integer(Lowering &l) {
  require_integer_operands(l);
  require(l.output().shape.size() == 4, "the rank must be 4");
  const Convolution c = convolution_of(l);
  require(c.depth == c.windows.channels, "groups are not computed here", 1);
  require(in_memory(l.output().shape, c.order).back() == c.outputs, "the output's shape does not fit");
  const WeightLayout layout{c.taps(),  c.is_last ? c.depth : 1, c.depth, c.is_last ? 1 : c.taps(),
                            c.outputs, c.taps() * c.depth};
  lower_integer_gemm(l, c.order, c.order, c.windows, layout);
}

/* Copies the planes of a volume that a plane of the window sees, zeros where it sees padding. */
TensorId seen_planes(Lowering &l, TensorId volume, const Windows &depth, const Shape &plane, int64_t z) {
  const int64_t size = elements(plane);
  const int64_t shift = z * depth.dilation_y - depth.pad_top; /* of the first one */
  const int64_t first = shift >= 0 ? 0 : ratio_up(-shift, depth.stride_y);
  const int64_t beyond = depth.height - shift;
  const int64_t last = beyond <= 0 ? 0 : std::min(depth.output_height, ratio_up(beyond, depth.stride_y));
  const TensorId seen =
      l.temporary(ARMNN_FLOAT32, {depth.batch * depth.output_height, plane[0], plane[1], plane[2]});
  std::vector<TensorId> from;
  std::vector<CopyBox> boxes;
  if (first < last) {
    from.push_back(volume);
    boxes.push_back({{depth.batch, last - first, size},
                     {depth.height * size, depth.stride_y * size, 1},
                     {depth.output_height * size, size, 1},
                     (first * depth.stride_y + shift) * size,
                     first * size});
  }
  l.add<CopyBoxes>(std::move(from), seen, std::move(boxes), std::vector<std::byte>(sizeof(float)));
  return seen;
}

/* The weights of a plane of the window, which are that many numbers. */
TensorId plane_weights(Lowering &l, int64_t z, int64_t count) {
  if (l.input(1).is_constant()) {
    const float *weights = l.constant(1, "the weights") + z * count;
    return l.constant_tensor({count}, std::vector<float>(weights, weights + count));
  }
  const TensorId from = l.in(1);
  const TensorId to = l.temporary(ARMNN_FLOAT32, {count});
  l.add<CopyBoxes>(Io{from, to}, CopyBox{{count}, {1}, {1}, z * count, 0});
  return to;
}

/* The sum of a convolution of images for each plane of the window. */
void lower_volume_convolution(Lowering &l) {
  require_floats(l);
  VolumeWindows v = volume_windows_of(l, ARMNN_CONVOLUTION3D_DATA_LAYOUT_DEFAULT, ARMNN_CONVOLUTION3D_STRIDE_Z_DEFAULT);
  Windows &w = v.plane;
  const Shape &window = l.input(1).shape; /* [KD, KH, KW, I, O] */
  require(window.size() == 5 && window[3] == w.channels, "the weights do not fit to the channels", 1);
  require(elements(window) > 0, "an empty window is not computed here", 1);
  require(v.depth.stride_y > 0, "a stride must be at least 1");
  w.batch = v.depth.batch * v.depth.output_height;
  w.window_height = window[1];
  w.window_width = window[2];
  const int64_t columns = window[4];
  const WeightLayout layout{window[1] * window[2], window[3] * columns, window[3], columns, columns, 1};
  const int64_t count = elements(window, 1, 5); /* of a plane's weights */
  const TensorId volume = l.in(0, v.order);
  const TensorId bias = bias_of(l);
  const Shape shape{w.batch, w.output_height, w.output_width, columns};
  TensorId sum = kNone;
  for (int64_t z = 0; z < window[0]; ++z) {
    const bool is_last = z + 1 == window[0];
    const auto target = [&] { return is_last ? l.out(0, v.order) : l.temporary(ARMNN_FLOAT32, shape); };
    const TensorId planes = seen_planes(l, volume, v.depth, {w.height, w.width, w.channels}, z);
    const TensorId own = plane_weights(l, z, count);
    const TensorId made = z == 0 ? target() : l.temporary(ARMNN_FLOAT32, shape);
    l.add(gemm_convolution(l, {planes, own, z == 0 ? bias : kNone, made}, w, layout));
    const TensorId before = sum;
    sum = z == 0 ? made : target();
    if (z > 0) l.add(combine({before, made, sum, broadcast_of(shape, shape, shape)}, Arithmetic::add));
  }
}

Convolution transposed_of(const Lowering &l) {
  const Convolution c = convolution_of(l, ARMNN_TRANSPOSE_CONVOLUTION2D_STRIDE_Y_DEFAULT);
  const Windows &w = c.windows;
  require(c.depth == w.channels, "groups are not computed here", 1);
  require(w.stride_y > 0 && w.stride_x > 0, "a stride must be at least 1");
  require(elements(l.input(0).shape) > 0, "an empty image is not computed here", 0);
  require(elements(l.input(1).shape) > 0, "an empty window is not computed here", 1);
  return c;
}

Window window_of(const Convolution &c) {
  return {c.windows.window_height, c.windows.window_width, c.depth, c.outputs, c.is_last};
}

void lower_transposed(Lowering &l) {
  require_float_images(l);
  const Convolution c = transposed_of(l);
  const TensorId input = l.in(0, c.order);
  /* Every block is as large as the window if blocks tile the output; else it is one element. */
  const TensorId bias = repeated_bias(l, c.outputs, c.taps());
  l.add(transposed_convolution({input, l.in(1), bias, l.out(0, c.order)}, c.windows, window_of(c)));
}

void lower_int8_transposed(Lowering &l) {
  const Convolution c = transposed_of(l);
  lower_int8_phases(l, c.order, c.windows, window_of(c), int8_params_of(l, 0, c.outputs, l.has_input(2)));
}

}  // namespace

std::vector<LayerType> convolution_layers() {
  return {
      {ARMNN_LAYER_CONVOLUTION2D, lower_convolution, lower_int8_convolution, weighted_bias_steps},
      {ARMNN_LAYER_CONVOLUTION3D, lower_volume_convolution, nullptr, weighted_bias_steps},
      {ARMNN_LAYER_CONVOLUTION_INTEGER, lower_convolution_integer},
      {ARMNN_LAYER_DEPTHWISE_CONVOLUTION2D, lower_depthwise, lower_int8_depthwise, weighted_bias_steps},
      {ARMNN_LAYER_TRANSPOSE_CONVOLUTION2D, lower_transposed, lower_int8_transposed, weighted_bias_steps},
  };
}

}  // namespace cpuacc
