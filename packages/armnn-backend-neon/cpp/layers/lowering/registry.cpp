/* SPDX-License-Identifier: MIT */
#include "layers/lowering/registry.h"

#include <map>

namespace cpuacc {
namespace {

using Table = std::map<std::string_view, LayerType>;

const LayerType *find(std::string_view layer_type) {
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
  const auto found = all.find(layer_type);
  return found == all.end() ? nullptr : &found->second;
}

}  // namespace

Lower lower_of(std::string_view layer_type) {
  const LayerType *type = find(layer_type);
  return type == nullptr ? nullptr : type->lower;
}

Lower int8_lower_of(std::string_view layer_type) {
  const LayerType *type = find(layer_type);
  return type == nullptr ? nullptr : type->int8_lower;
}

BiasSteps bias_steps_of(std::string_view layer_type) {
  const LayerType *type = find(layer_type);
  return type == nullptr ? nullptr : type->bias_steps;
}

}  // namespace cpuacc
