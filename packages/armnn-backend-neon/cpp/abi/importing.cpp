/* SPDX-License-Identifier: MIT */
#include "abi/importing.h"

#include <algorithm>
#include <cstring>

namespace cpuacc {
namespace {

Quantization import_quantization(const armnn_quantization *from) {
  Quantization result;
  if (from == nullptr) return result;
  const auto count = static_cast<size_t>(from->count);
  result.scales.assign(from->scales, from->scales + count);
  result.zero_points.assign(count, 0);
  if (from->zero_points != nullptr) {
    result.zero_points.assign(from->zero_points, from->zero_points + count);
  }
  result.axis = from->scheme == ARMNN_PER_AXIS ? from->axis : -1;
  return result;
}

/* Constants up to so many bytes are copied: the host may have all of a model's file in memory as long
 * as a bias of it is kept.
 */
constexpr size_t kCopiedBytes = 16384;

Value import_value(const armnn_graph &graph, const armnn_value &from, bool has_constants) {
  Value value;
  value.name = text_of(from.name);
  value.type = from.data_type;
  value.is_static = from.ndim >= 0;
  for (int32_t i = 0; i < from.ndim; ++i) {
    value.is_static = value.is_static && from.shape[i] >= 0;
    value.shape.push_back(from.shape[i]);
  }
  value.quantization = import_quantization(from.quantization);
  if (from.constant == nullptr) return value;
  const armnn_tensor &constant = *from.constant;
  value.address = static_cast<const char *>(constant.data) + constant.byte_offset;
  if (!has_constants) return value;
  const size_t bytes =
      static_cast<size_t>(elements(value.shape)) * static_cast<size_t>((constant.dtype_bits + 7) / 8);
  if (from.constant_ref != nullptr) {
    value.identity = std::to_string(reinterpret_cast<uintptr_t>(from.constant_ref));
  }
  const bool is_lent =
      armnn_graph_has_keep(&graph) && armnn_graph_has_drop(&graph) && from.constant_ref != nullptr;
  if (is_lent && bytes > kCopiedBytes) {
    const auto lent = std::make_shared<LentConstant>(from.constant_ref, graph.keep, graph.drop);
    value.memory = lent;
    value.lent = lent;
  } else {
    /* A constant without elements has an address, too, which marks it as one. */
    const auto copy = std::make_shared<std::vector<char>>(std::max<size_t>(bytes, 1));
    if (bytes > 0) std::memcpy(copy->data(), value.address, bytes);
    value.address = copy->data();
    value.memory = std::shared_ptr<const void>(copy, copy->data());
  }
  return value;
}

Layer import_layer(const armnn_graph &graph, const armnn_node &from, size_t position) {
  Layer layer;
  layer.id = static_cast<int32_t>(position);
  layer.type = text_of(from.type);
  layer.inputs.assign(from.inputs, from.inputs + from.num_inputs);
  layer.outputs.assign(from.outputs, from.outputs + from.num_outputs);
  for (uint64_t i = 0; i < from.num_attributes; ++i) {
    const auto &row = *ARMNN_AT(armnn_attribute, from.attributes, graph.attribute_stride, i);
    Attribute attribute;
    if (row.type == ARMNN_ATTRIBUTE_INT64) {
      const auto *data = static_cast<const int64_t *>(row.data);
      attribute.integers.assign(data, data + row.count);
    } else if (row.type == ARMNN_ATTRIBUTE_FLOAT64) {
      const auto *data = static_cast<const double *>(row.data);
      attribute.reals.assign(data, data + row.count);
    } else if (row.type == ARMNN_ATTRIBUTE_STRING && row.count == 1) {
      const std::string text = text_of(*static_cast<const armnn_string *>(row.data));
      attribute.integers.assign(text.begin(), text.end());
    }
    layer.attributes[text_of(row.name)] = std::move(attribute);
  }
  return layer;
}

}  // namespace

void ImportedGraph::keep_constants() {
  for (Value &value : values) {
    const std::shared_ptr<LentConstant> lent = value.lent.lock();
    if (!lent) continue;
    lent->keep();
    if (!value.is_read) value.memory.reset();
  }
}

/* The name of a parameter that is younger than the version that the backend declares, or "". */
static std::string younger_parameter(const armnn_graph &graph, const armnn_node &from) {
  for (uint64_t i = 0; i < from.num_attributes; ++i) {
    const auto &row = *ARMNN_AT(armnn_attribute, from.attributes, graph.attribute_stride, i);
    if (row.since_minor > ARMNN_BACKEND_TARGET_MINOR) return text_of(row.name);
  }
  return "";
}

ImportedGraph import_graph(const armnn_graph &graph, bool has_constants) {
  ImportedGraph result;
  for (uint64_t i = 0; i < graph.num_values; ++i) {
    const auto &row = *ARMNN_AT(armnn_value, graph.values, graph.value_stride, i);
    result.values.push_back(import_value(graph, row, has_constants));
  }
  for (uint64_t i = 0; i < graph.num_nodes; ++i) {
    const auto &row = *ARMNN_AT(armnn_node, graph.nodes, graph.node_stride, i);
    result.layers.push_back(import_layer(graph, row, static_cast<size_t>(i)));
    result.ids.push_back(row.id);
    const std::string name = younger_parameter(graph, row);
    if (!name.empty()) result.younger[static_cast<int32_t>(i)] = name;
    result.names.push_back(text_of(row.name));
  }
  result.inputs.assign(graph.inputs, graph.inputs + graph.num_inputs);
  result.outputs.assign(graph.outputs, graph.outputs + graph.num_outputs);
  return result;
}

}  // namespace cpuacc
