/* SPDX-License-Identifier: MIT */
#include "layers/lowering/registry.h"

#include <map>

namespace cpuacc {

const LayerType &layer_type(std::string_view name) {
  using Table = std::map<std::string_view, LayerType>;
  static const Table all = [] {
    Table table;
    for (const auto &family :
         {activation_layers, attention_layers, convolution_layers, dimensions_layers, elementwise_layers,
          indexing_layers, joining_layers, matmul_layers, normalization_layers, pooling_layers, quantizing_layers, recurrent_layers,
          reduction_layers, reshaping_layers, resizing_layers, selecting_layers, sequence_layers}) {
      for (const LayerType &type : family()) table.emplace(type.name, type);
    }
    return table;
  }();
  static const LayerType none{};
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

}  // namespace cpuacc
