/* SPDX-License-Identifier: MIT */
/* Which functions lower which layer type; one list per family of the layer table. */
#pragma once

#include <string_view>
#include <vector>

#include "layers/lowering/lowering.h"

namespace cpuacc {

struct LayerType {
  std::string_view name;
  Lower lower = nullptr; /* nullptr: they are not computed here */
  Lower int8_lower = nullptr; /* on 8-bit data; what it refuses is lowered as the layer is, then in floats */
  BiasSteps bias_steps = nullptr; /* of a layer with biases in integers */
};

/* Those of a family, each list in the file of its name. */
using Family = std::vector<LayerType>();
Family activation_layers, attention_layers, convolution_layers, dimensions_layers, elementwise_layers,
    indexing_layers, joining_layers, matmul_layers, normalization_layers, pooling_layers, quantizing_layers, recurrent_layers,
    reduction_layers, reshaping_layers, resizing_layers, selecting_layers, sequence_layers;

}  // namespace cpuacc
