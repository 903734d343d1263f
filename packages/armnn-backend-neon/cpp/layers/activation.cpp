/* SPDX-License-Identifier: MIT */
/* Activation and Prelu. */
#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "layers/lowering/pointwise.h"
#include "operations/pointwise/functions.h"
#include "operations/quantized/quantized.h"

namespace cpuacc {
namespace {

/* The function of an Activation layer. Refuses functions without a kernel. */
Elementwise activation_function(const Lowering &l) {
  const Elementwise function = activation_of(l.integer(ARMNN_PARAMETER(ARMNN_ACTIVATION_FUNCTION)),
                                             l.real32(ARMNN_PARAMETER(ARMNN_ACTIVATION_A)),
                                             l.real32(ARMNN_PARAMETER(ARMNN_ACTIVATION_B)));
  require(function.function != Function::identity, "this function is not computed here");
  return function;
}

void lower_activation(Lowering &l) { lower_function(l, activation_function(l)); }

void lower_int8_activation(Lowering &l) { lower_int8_function(l, activation_function(l)); }

void lower_prelu(Lowering &l) {
  require_floats(l);
  l.add(prelu(operands_of(l)));
}

void lower_int8_prelu(Lowering &l) {
  const Int8Params params = int8_pair_params_of(l);
  const Quantization &x = l.input(0).quantization;
  const Quantization &slope = l.input(1).quantization;
  const Int8Prelu operation{x.zero_points[0],       slope.zero_points[0],  scale_between(l) * slope.scales[0],
                            scale_between(l),       params.left_is_signed, params.requantization()};
  l.add(int8_binary(operands_of(l), operation));
}

}  // namespace

std::vector<LayerType> activation_layers() {
  return {
      {ARMNN_LAYER_ACTIVATION, lower_activation, lower_int8_activation},
      {ARMNN_LAYER_PRELU, lower_prelu, lower_int8_prelu},
  };
}

}  // namespace cpuacc
