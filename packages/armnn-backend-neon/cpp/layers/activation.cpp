/* SPDX-License-Identifier: MIT */
/* Activation and Prelu. */
#include "layers/lowering/int8.h"
#include "layers/lowering/pointwise.h"
#include "layers/lowering/registry.h"
#include "operations/pointwise/elementwise.h"

namespace cpuacc {
namespace {

/* By the parameters of Activation. Refuses what is not computed here. */
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

}  // namespace

std::vector<LayerType> activation_layers() {
  return {
      {ARMNN_LAYER_ACTIVATION, lower_activation, lower_int8_activation},
      {ARMNN_LAYER_PRELU, lower_prelu},
  };
}

}  // namespace cpuacc
