/* SPDX-License-Identifier: MIT */
/* Which function lowers which layer type; one list per family. */
#ifndef CPUACC_LAYERS_REGISTRY_H_
#define CPUACC_LAYERS_REGISTRY_H_

#include <string_view>
#include <vector>

#include "layers/lowering.h"

namespace cpuacc {

struct LayerType {
  std::string_view name;
  Lower lower;
};

std::vector<LayerType> attention_layers();
std::vector<LayerType> block_layers();
std::vector<LayerType> casting_layers();
std::vector<LayerType> comparing_layers();
std::vector<LayerType> convolution_layers();
std::vector<LayerType> scan_layers();
std::vector<LayerType> dynamic_quantise_layers();
std::vector<LayerType> einsum_layers();
std::vector<LayerType> elementwise_layers();
std::vector<LayerType> argminmax_layers();
std::vector<LayerType> image_normalization_layers();
std::vector<LayerType> indexing_layers();
std::vector<LayerType> integer_gemm_layers();
std::vector<LayerType> joining_layers();
std::vector<LayerType> lstm_layers();
std::vector<LayerType> normalization_layers();
std::vector<LayerType> padding_layers();
std::vector<LayerType> pooling_layers();
std::vector<LayerType> gemm_layers();
std::vector<LayerType> quantizing_layers();
std::vector<LayerType> reduction_layers();
std::vector<LayerType> reshaping_layers();
std::vector<LayerType> resizing_layers();
std::vector<LayerType> selecting_layers();
std::vector<LayerType> sequence_layers();
std::vector<LayerType> slicing_layers();
std::vector<LayerType> transposed_convolution_layers();

/* Those on 8-bit data. What they refuse is tried as the layer stands, then in floats. */
std::vector<LayerType> int8_convolution_layers();
std::vector<LayerType> int8_elementwise_layers();
std::vector<LayerType> int8_pooling_layers();
std::vector<LayerType> int8_matmul_layers();

}  // namespace cpuacc

#endif
