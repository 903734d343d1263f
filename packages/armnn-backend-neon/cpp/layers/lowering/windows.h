/* SPDX-License-Identifier: MIT */
/* The sliding windows of layers on images and volumes, from their parameters. */
#pragma once

#include "layers/lowering/lowering.h"
#include "operations/windows.h"

namespace cpuacc {

/* The order in which the layer's data_layout has its channels last. Refuses other layouts. */
Order image_order(const Lowering &lowering, int64_t usual_layout = ARMNN_CONVOLUTION2D_DATA_LAYOUT_DEFAULT);

/* All but the size of the window. */
Windows windows_of(const Lowering &lowering, const Order &order,
                   int64_t usual_stride = ARMNN_CONVOLUTION2D_STRIDE_Y_DEFAULT);

/* The windows of a Pooling2d; one without a size is the whole image. */
Windows pooling_windows_of(const Lowering &lowering, const Order &order);

/* The windows of layers on volumes [N, D, H, W, C]. */
struct VolumeWindows {
  Order order; /* in which the layer's data_layout has its channels last */
  Windows plane; /* over each of the planes [N * D, H, W, C] */
  Windows depth; /* over planes: [N, D, H' * W', C] with D in the place of the height */
};

/* All but the sizes of the windows. Refuses other layouts. */
VolumeWindows volume_windows_of(const Lowering &lowering, int64_t usual_layout, int64_t usual_stride);

/* The windows of a Pooling3d; one without a size is the whole volume. */
VolumeWindows pooling_volume_windows_of(const Lowering &lowering);

}  // namespace cpuacc
