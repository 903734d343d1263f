/* SPDX-License-Identifier: MIT */
#include "layers/lowering/windows.h"

namespace cpuacc {
namespace {

#define SHARED_BY_CONVOLUTIONS(parameter)                           \
  CPUACC_SHARED(parameter, CONVOLUTION2D, DEPTHWISE_CONVOLUTION2D); \
  CPUACC_SHARED(parameter, CONVOLUTION2D, CONVOLUTION_INTEGER)
#define SHARED_BY_WINDOWS(parameter)                                \
  SHARED_BY_CONVOLUTIONS(parameter);                                \
  CPUACC_SHARED(parameter, CONVOLUTION2D, TRANSPOSE_CONVOLUTION2D); \
  CPUACC_SHARED(parameter, CONVOLUTION2D, POOLING2D)

SHARED_BY_WINDOWS(PAD_TOP);
SHARED_BY_WINDOWS(PAD_LEFT);
SHARED_BY_WINDOWS(PAD_BOTTOM);
SHARED_BY_WINDOWS(PAD_RIGHT);
SHARED_BY_CONVOLUTIONS(STRIDE_Y);
SHARED_BY_CONVOLUTIONS(STRIDE_X);
SHARED_BY_CONVOLUTIONS(DILATION_Y); /* a transposed convolution has none */
SHARED_BY_CONVOLUTIONS(DILATION_X);
CPUACC_SHARED(DILATION_Y, CONVOLUTION2D, POOLING2D);
CPUACC_SHARED(DILATION_X, CONVOLUTION2D, POOLING2D);
CPUACC_SHARED(STRIDE_Y, POOLING2D, TRANSPOSE_CONVOLUTION2D);
CPUACC_SHARED(STRIDE_X, POOLING2D, TRANSPOSE_CONVOLUTION2D);
SHARED_BY_WINDOWS(DATA_LAYOUT);
CPUACC_SHARED(DATA_LAYOUT, CONVOLUTION2D, RESIZE);

constexpr int64_t kFarthest = int64_t{1} << 24; /* what no image reaches; products stay exact */

}  // namespace

Order image_order(const Lowering &lowering, int64_t usual_layout) {
  const int64_t layout = lowering.layer().integer(ARMNN_CONVOLUTION2D_DATA_LAYOUT, usual_layout);
  require(layout == ARMNN_DATA_LAYOUT_NCHW || layout == ARMNN_DATA_LAYOUT_NHWC, "the layout must be NCHW or NHWC");
  require(lowering.input(0).shape.size() == 4, "the rank must be 4", 0);
  return layout == ARMNN_DATA_LAYOUT_NHWC ? plain_order(4) : channels_last(4);
}

Windows windows_of(const Lowering &lowering, const Order &order, int64_t usual_stride) {
  const Layer &layer = lowering.layer();
  const Shape in = in_memory(lowering.input(0).shape, order);
  const Shape out = in_memory(lowering.output().shape, order);
  Windows windows{};
  windows.batch = in[0];
  windows.height = in[1];
  windows.width = in[2];
  windows.channels = in[3];
  windows.output_height = out[1];
  windows.output_width = out[2];
  windows.stride_y = layer.integer(ARMNN_CONVOLUTION2D_STRIDE_Y, usual_stride);
  windows.stride_x = layer.integer(ARMNN_CONVOLUTION2D_STRIDE_X, usual_stride);
  windows.dilation_y = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION2D_DILATION_Y));
  windows.dilation_x = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION2D_DILATION_X));
  windows.pad_top = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION2D_PAD_TOP));
  windows.pad_left = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION2D_PAD_LEFT));
  windows.pad_bottom = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION2D_PAD_BOTTOM));
  windows.pad_right = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION2D_PAD_RIGHT));
  require(windows.dilation_y > 0 && windows.dilation_x > 0, "a dilation must be at least 1");
  for (const int64_t number : {windows.stride_y, windows.stride_x, windows.dilation_y, windows.dilation_x,
                               windows.pad_top, windows.pad_left, windows.pad_bottom, windows.pad_right}) {
    require(number >= 0 && number < kFarthest, "a padding, stride or dilation is out of range");
  }
  return windows;
}

Windows pooling_windows_of(const Lowering &lowering, const Order &order) {
  const Layer &layer = lowering.layer();
  Windows windows = windows_of(lowering, order, ARMNN_POOLING2D_STRIDE_Y_DEFAULT);
  windows.window_height = layer.integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_HEIGHT));
  windows.window_width = layer.integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_WIDTH));
  for (const int64_t number : {windows.window_height, windows.window_width}) {
    require(number >= 0 && number < kFarthest, "a window is out of range");
  }
  if (windows.window_height == 0) windows.window_height = windows.height;
  if (windows.window_width == 0) windows.window_width = windows.width;
  return windows;
}

}  // namespace cpuacc
