/* SPDX-License-Identifier: MIT */
/* Which functions lower which layer type; one list per family of the layer table. */
#pragma once

#include <string_view>
#include <vector>

#include "layers/lowering/lowering.h"

namespace cpuacc {

struct LayerType {
  std::string_view name;
  Lower lower;
  Lower int8_lower = nullptr; /* on 8-bit data; what it refuses is lowered as the layer is, then in floats */
};

std::vector<LayerType> activation_layers();
std::vector<LayerType> attention_layers();
std::vector<LayerType> convolution_layers();
std::vector<LayerType> elementwise_layers();
std::vector<LayerType> indexing_layers();
std::vector<LayerType> joining_layers();
std::vector<LayerType> matmul_layers();
std::vector<LayerType> normalization_layers();
std::vector<LayerType> pooling_layers();
std::vector<LayerType> quantizing_layers();
std::vector<LayerType> recurrent_layers();
std::vector<LayerType> reduction_layers();
std::vector<LayerType> reshaping_layers();
std::vector<LayerType> resizing_layers();
std::vector<LayerType> selecting_layers();
std::vector<LayerType> sequence_layers();

}  // namespace cpuacc
