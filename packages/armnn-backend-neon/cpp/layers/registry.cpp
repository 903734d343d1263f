/* SPDX-License-Identifier: MIT */
#include "layers/registry.h"

#include <map>

namespace cpuacc {
namespace {

using Family = std::vector<LayerType> (*)();
using Table = std::map<std::string_view, Lower>;

Table collect(std::initializer_list<Family> families) {
  Table all;
  for (const Family family : families) {
    for (const LayerType &type : family()) all.emplace(type.name, type.lower);
  }
  return all;
}

Lower find(const Table &all, std::string_view layer_type) {
  const auto found = all.find(layer_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace

Lower lower_of(std::string_view layer_type) {
  static const Table all = collect({attention_layers,
                                    block_layers,
                                    casting_layers,
                                    comparing_layers,
                                    convolution_layers,
                                    scan_layers,
                                    dynamic_quantise_layers,
                                    einsum_layers,
                                    elementwise_layers,
                                    argminmax_layers,
                                    image_normalization_layers,
                                    indexing_layers,
                                    integer_gemm_layers,
                                    joining_layers,
                                    lstm_layers,
                                    normalization_layers,
                                    padding_layers,
                                    pooling_layers,
                                    gemm_layers,
                                    quantizing_layers,
                                    reduction_layers,
                                    reshaping_layers,
                                    resizing_layers,
                                    selecting_layers,
                                    sequence_layers,
                                    slicing_layers,
                                    transposed_convolution_layers});
  return find(all, layer_type);
}

Lower int8_lower_of(std::string_view layer_type) {
  static const Table all =
      collect({int8_convolution_layers, int8_elementwise_layers, int8_pooling_layers, int8_matmul_layers});
  return find(all, layer_type);
}

}  // namespace cpuacc
