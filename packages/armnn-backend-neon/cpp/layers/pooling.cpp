/* SPDX-License-Identifier: MIT */
/* Pooling of images and volumes. */
#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "layers/lowering/windows.h"
#include "operations/reduction/reduction.h"

namespace cpuacc {
namespace {

Pooling pooling_of(int64_t number) {
  switch (number) {
    case ARMNN_POOLING_ALGORITHM_MAX: return Pooling::maximum;
    case ARMNN_POOLING_ALGORITHM_AVERAGE: return Pooling::average;
    case ARMNN_POOLING_ALGORITHM_L2: return Pooling::l2;
    default: throw Refusal{"this kind of pooling is not computed here"};
  }
}

bool counts_padding(const Lowering &l) {
  return l.integer(ARMNN_PARAMETER(ARMNN_POOLING2D_PADDING_METHOD)) == ARMNN_PADDING_METHOD_IGNORE_VALUE;
}

void lower_pooling(Lowering &l) {
  require_floats(l);
  const Order order = image_order(l);
  const Windows windows = pooling_windows_of(l, order);
  const Pooling pooling = pooling_of(l.integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_TYPE)));
  l.add(pool(l.io(order), windows, pooling, counts_padding(l)));
}

/* In two steps: a maximum, mean or norm of the planes' ones is that of the box. */
void lower_volume_pooling(Lowering &l) {
  require_floats(l);
  const VolumeWindows v = pooling_volume_windows_of(l);
  const Pooling pooling = pooling_of(l.integer(ARMNN_PARAMETER(ARMNN_POOLING3D_POOL_TYPE)));
  const TensorId from = l.in(0, v.order);
  const TensorId planes =
      l.temporary(ARMNN_FLOAT32, {v.plane.batch, v.plane.output_height, v.plane.output_width, v.plane.channels});
  l.add(pool({from, planes}, v.plane, pooling, counts_padding(l)));
  l.add(pool({planes, l.out(0, v.order)}, v.depth, pooling, counts_padding(l)));
}

void lower_int8_pooling(Lowering &l) {
  Int8Params params = int8_io_params_of(l);
  const Order order = image_order(l);
  const Windows windows = pooling_windows_of(l, order);
  const int64_t pooling = l.integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_TYPE));
  require(pooling == ARMNN_POOLING_ALGORITHM_MAX || pooling == ARMNN_POOLING_ALGORITHM_AVERAGE,
          "this kind of pooling is not computed in integers");
  require_exact_sums(windows.window_height * windows.window_width);
  const bool rounds_stored = is_alike(l.input(0), l.output()) && !counts_padding(l);
  const Int8PoolingKind kind{pooling == ARMNN_POOLING_ALGORITHM_MAX, counts_padding(l), rounds_stored};
  l.add(int8_pool(l.io(order), windows, kind, scale_between(l), std::move(params)));
}

}  // namespace

std::vector<LayerType> pooling_layers() {
  return {
      {ARMNN_LAYER_POOLING2D, lower_pooling, lower_int8_pooling},
      {ARMNN_LAYER_POOLING3D, lower_volume_pooling},
  };
}

}  // namespace cpuacc
