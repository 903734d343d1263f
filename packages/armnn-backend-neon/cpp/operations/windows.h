/* SPDX-License-Identifier: MIT */
/* How windows slide over an image, channels last. */
#ifndef CPUACC_OPERATIONS_WINDOWS_H_
#define CPUACC_OPERATIONS_WINDOWS_H_

#include "layers/lowering.h"

namespace cpuacc {

struct Windows {
  int64_t batch, height, width, channels; /* of the input */
  int64_t output_height, output_width;
  int64_t window_height, window_width;
  int64_t stride_y, stride_x;
  int64_t dilation_y, dilation_x;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
};

/* The order in which the layer's data_layout has its channels last. Refuses other layouts. */
Order image_order(const Lowering &lowering, int64_t usual_layout = ARMNN_CONVOLUTION2D_DATA_LAYOUT_DEFAULT);
/* All but the size of the window. */
Windows windows_of(const Lowering &lowering, const Order &order,
                   int64_t usual_stride = ARMNN_CONVOLUTION2D_STRIDE_Y_DEFAULT);
/* Those of Pooling2d, whole: a window of no size is the image. */
Windows pooling_windows_of(const Lowering &lowering, const Order &order);

/* The same windows with height and width exchanged, if all that they see is one column: kernels take
 * outputs of a row side by side.
 */
Windows column_as_row(const Windows &windows);

/* The same windows as kernels of depthwise convolutions take them. */
DepthwiseShape depthwise_shape(const Windows &windows);

/* The layer's third input, which must be constant; kNone without one. */
TensorId bias_of(Lowering &lowering);
/* The same, its columns numbers so many times. */
TensorId repeated_bias(Lowering &lowering, int64_t columns, int64_t times);

}  // namespace cpuacc

#endif
