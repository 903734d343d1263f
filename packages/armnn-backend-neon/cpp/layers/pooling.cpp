/* SPDX-License-Identifier: MIT */
/* Pooling of images. */
#include "layers/lowering/int8.h"
#include "layers/lowering/registry.h"
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
  return l.layer().integer(ARMNN_PARAMETER(ARMNN_POOLING2D_PADDING_METHOD)) == ARMNN_PADDING_METHOD_IGNORE_VALUE;
}

void lower_pooling(Lowering &l) {
  require_floats(l);
  const Order order = image_order(l);
  const Windows windows = pooling_windows_of(l, order);
  const Pooling pooling = pooling_of(l.layer().integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_TYPE)));
  const TensorId input = l.in(0, order);
  l.add(pool(input, l.out(0, order), windows, pooling, counts_padding(l)));
}

void lower_int8_pooling(Lowering &l) {
  Int8Params params = int8_io_params_of(l);
  const Order order = image_order(l);
  const Windows windows = pooling_windows_of(l, order);
  const int64_t pooling = l.layer().integer(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_TYPE));
  require(pooling == ARMNN_POOLING_ALGORITHM_MAX || pooling == ARMNN_POOLING_ALGORITHM_AVERAGE,
          "this kind of pooling is not computed in integers");
  require_exact_sums(windows.window_height * windows.window_width);
  const Quantization &in = l.input(0).quantization;
  const Quantization &out = l.output().quantization;
  const bool is_alike =
      l.input(0).type == l.output().type && in.scales == out.scales && in.zero_points == out.zero_points;
  const TensorId input = l.in(0, order);
  l.add(int8_pool(
      input, l.out(0, order), windows,
      Int8PoolingKind{pooling == ARMNN_POOLING_ALGORITHM_MAX, counts_padding(l), is_alike && !counts_padding(l)},
      scale_between(l), std::move(params)));
}

}  // namespace

std::vector<LayerType> pooling_layers() {
  return {
      {ARMNN_LAYER_POOLING2D, lower_pooling, lower_int8_pooling},
  };
}

}  // namespace cpuacc
