/* SPDX-License-Identifier: MIT */
#include "ops/registry.h"

#include <map>

namespace cpuacc {
namespace {

std::map<std::string_view, Lower> collect() {
  std::map<std::string_view, Lower> all;
  for (const auto family :
       {block_layers, casting_layers, comparing_layers, convolution_layers, elementwise_layers,
        indexing_layers, joining_layers, normalization_layers, padding_layers, pooling_layers, product_layers,
        quantizing_layers, reduction_layers, reshaping_layers, resizing_layers, sequence_layers,
        slicing_layers, transposed_convolution_layers}) {
    for (const LayerType &type : family()) all.emplace(type.name, type.lower);
  }
  return all;
}

}  // namespace

Lower lower_of(std::string_view layer_type) {
  static const std::map<std::string_view, Lower> all = collect();
  const auto found = all.find(layer_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace cpuacc
