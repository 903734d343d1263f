/* SPDX-License-Identifier: MIT */
/* Sliding windows from the parameters of a layer, and their bounds. */
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
#define SHARED_BY_VOLUMES(parameter)                      \
  CPUACC_SHARED(parameter, CONVOLUTION2D, CONVOLUTION3D); \
  CPUACC_SHARED(parameter, CONVOLUTION2D, POOLING3D)
SHARED_BY_VOLUMES(PAD_TOP);
SHARED_BY_VOLUMES(PAD_LEFT);
SHARED_BY_VOLUMES(PAD_BOTTOM);
SHARED_BY_VOLUMES(PAD_RIGHT);
SHARED_BY_VOLUMES(DILATION_Y);
SHARED_BY_VOLUMES(DILATION_X);
CPUACC_SHARED(PAD_FRONT, CONVOLUTION3D, POOLING3D);
CPUACC_SHARED(PAD_BACK, CONVOLUTION3D, POOLING3D);
CPUACC_SHARED(DILATION_Z, CONVOLUTION3D, POOLING3D);
CPUACC_SHARED(POOL_HEIGHT, POOLING2D, POOLING3D);
CPUACC_SHARED(POOL_WIDTH, POOLING2D, POOLING3D);
CPUACC_SHARED(STRIDE_Y, POOLING2D, POOLING3D);
CPUACC_SHARED(STRIDE_X, POOLING2D, POOLING3D);
CPUACC_SHARED(POOL_TYPE, POOLING2D, POOLING3D);
CPUACC_SHARED(PADDING_METHOD, POOLING2D, POOLING3D);
static_assert(std::string_view(ARMNN_CONVOLUTION3D_STRIDE_Z) == ARMNN_POOLING3D_STRIDE_Z);
static_assert(std::string_view(ARMNN_CONVOLUTION3D_DATA_LAYOUT) == ARMNN_POOLING3D_DATA_LAYOUT);
CPUACC_SHARED(DATA_LAYOUT, CONVOLUTION2D, RESIZE);

constexpr int64_t kFarthest = int64_t{1} << 24; /* larger than any image; products of such numbers stay exact */

/* Refuses windows so large or far that products of their numbers may not be exact. */
void require_near(const Windows &windows) {
  require(windows.dilation_y > 0 && windows.dilation_x > 0, "a dilation must be at least 1");
  for (const int64_t number : {windows.stride_y, windows.stride_x, windows.dilation_y, windows.dilation_x,
                               windows.pad_top, windows.pad_left, windows.pad_bottom, windows.pad_right}) {
    require(number >= 0 && number < kFarthest, "a padding, stride or dilation is out of range");
  }
}

/* The windows of a layer on images [N, H, W, C]. */
Windows windows_over(const Layer &layer, const Shape &in, const Shape &out, int64_t usual_stride) {
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
  require_near(windows);
  return windows;
}

/* A window of no size is the image. */
Windows with_pooling_window(const Layer &layer, Windows windows) {
  windows.window_height = layer.integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_HEIGHT));
  windows.window_width = layer.integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_WIDTH));
  for (const int64_t number : {windows.window_height, windows.window_width}) {
    require(number >= 0 && number < kFarthest, "a window is out of range");
  }
  if (windows.window_height == 0) windows.window_height = windows.height;
  if (windows.window_width == 0) windows.window_width = windows.width;
  return windows;
}

}  // namespace

Order image_order(const Lowering &lowering, int64_t usual_layout) {
  const int64_t layout = lowering.layer().integer(ARMNN_CONVOLUTION2D_DATA_LAYOUT, usual_layout);
  require(layout == ARMNN_DATA_LAYOUT_NCHW || layout == ARMNN_DATA_LAYOUT_NHWC, "the layout must be NCHW or NHWC");
  require(lowering.input(0).shape.size() == 4, "the rank must be 4", 0);
  return layout == ARMNN_DATA_LAYOUT_NHWC ? plain_order(4) : channels_last(4);
}

Windows windows_of(const Lowering &lowering, const Order &order, int64_t usual_stride) {
  return windows_over(lowering.layer(), in_memory(lowering.input(0).shape, order),
                      in_memory(lowering.output().shape, order), usual_stride);
}

Windows pooling_windows_of(const Lowering &lowering, const Order &order) {
  return with_pooling_window(lowering.layer(), windows_of(lowering, order, ARMNN_POOLING2D_STRIDE_Y_DEFAULT));
}

VolumeWindows volume_windows_of(const Lowering &lowering, int64_t usual_layout, int64_t usual_stride) {
  const Layer &layer = lowering.layer();
  const int64_t layout = layer.integer(ARMNN_CONVOLUTION3D_DATA_LAYOUT, usual_layout);
  require(layout == ARMNN_DATA_LAYOUT_NCDHW || layout == ARMNN_DATA_LAYOUT_NDHWC, "the layout must be NCDHW or NDHWC");
  require(lowering.input(0).shape.size() == 5, "the rank must be 5", 0);
  VolumeWindows v{layout == ARMNN_DATA_LAYOUT_NDHWC ? plain_order(5) : channels_last(5), {}, {}};
  const Shape in = in_memory(lowering.input(0).shape, v.order);
  const Shape out = in_memory(lowering.output().shape, v.order);
  v.plane = windows_over(layer, {in[0] * in[1], in[2], in[3], in[4]}, {in[0] * in[1], out[2], out[3], out[4]},
                         usual_stride);
  Windows &d = v.depth;
  d.batch = in[0];
  d.height = in[1];
  d.output_height = out[1];
  d.width = d.output_width = out[2] * out[3];
  d.channels = in[4];
  d.stride_y = layer.integer(ARMNN_CONVOLUTION3D_STRIDE_Z, usual_stride);
  d.dilation_y = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION3D_DILATION_Z));
  d.pad_top = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION3D_PAD_FRONT));
  d.pad_bottom = layer.integer(ARMNN_PARAMETER(ARMNN_CONVOLUTION3D_PAD_BACK));
  d.stride_x = d.dilation_x = d.window_width = 1;
  require_near(d);
  return v;
}

VolumeWindows pooling_volume_windows_of(const Lowering &lowering) {
  VolumeWindows v =
      volume_windows_of(lowering, ARMNN_POOLING3D_DATA_LAYOUT_DEFAULT, ARMNN_POOLING3D_STRIDE_Z_DEFAULT);
  v.plane = with_pooling_window(lowering.layer(), v.plane);
  const int64_t depth = lowering.integer(ARMNN_PARAMETER(ARMNN_POOLING3D_POOL_DEPTH));
  require(depth >= 0 && depth < kFarthest, "a window is out of range");
  v.depth.window_height = depth == 0 ? v.depth.height : depth;
  return v;
}

}  // namespace cpuacc
