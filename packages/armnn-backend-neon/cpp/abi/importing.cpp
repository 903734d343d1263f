/* SPDX-License-Identifier: MIT */
/* The host's graph copied into values and layers. */
#include "abi/importing.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

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
/* Larger constants that lowering read are copied, too, if they are a small part of all that was lent; they are kept for
 * a stored program, such as the weights of convolutions of volumes.
 */
constexpr size_t kLeastLentShare = 4;

/* Has a constant from now on in memory of its own. */
void copy_constant(Value &value, size_t bytes) {
  /* A constant without elements has an address, too, which marks it as one. */
  const auto copy = std::make_shared<std::vector<char>>(std::max<size_t>(bytes, 1));
  if (bytes > 0) std::memcpy(copy->data(), value.address, bytes);
  value.address = copy->data();
  value.memory = std::shared_ptr<const void>(copy, copy->data());
}

/* Gives a constant the memory that it has in an earlier program; returns whether it has any there. */
bool take_memory(Value &value, const Value &earlier) {
  if (value.identity == 0 || value.identity != earlier.identity || value.shape != earlier.shape) return false;
  const std::shared_ptr<LentConstant> lent = earlier.lent.lock();
  if (lent) {
    value.memory = lent;
    value.lent = lent;
  } else if (earlier.memory) {
    value.address = earlier.address;
    value.memory = earlier.memory;
  }
  return value.memory != nullptr;
}

Value import_value(const armnn_graph &graph, const armnn_value &from, bool has_constants, const Value *earlier) {
  Value value;
  value.name = earlier == nullptr ? std::make_shared<const std::string>(text_of(from.name)) : earlier->name;
  value.type = from.data_type;
  value.is_static = from.ndim >= 0;
  value.shape.assign(from.shape, from.shape + std::max(from.ndim, 0));
  for (const int64_t size : value.shape) value.is_static = value.is_static && size >= 0;
  value.quantization = import_quantization(from.quantization);
  if (from.constant == nullptr) return value;
  const armnn_tensor &constant = *from.constant;
  value.address = static_cast<const char *>(constant.data) + constant.byte_offset;
  if (!has_constants) return value;
  const size_t bytes =
      static_cast<size_t>(elements(value.shape)) * static_cast<size_t>((constant.dtype_bits + 7) / 8);
  value.identity = reinterpret_cast<uintptr_t>(from.constant_ref);
  if (earlier != nullptr && take_memory(value, *earlier)) return value;
  const bool is_lent =
      armnn_graph_has_keep(&graph) && armnn_graph_has_drop(&graph) && from.constant_ref != nullptr;
  /* A constant that an earlier program dropped once it was compiled is not copied: that would only take time. */
  const bool is_only_packed = earlier != nullptr && earlier->is_left_out;
  if (is_lent && (bytes > kCopiedBytes || is_only_packed)) {
    const auto lent = std::make_shared<LentConstant>(from.constant_ref, graph.keep, graph.drop);
    value.memory = lent;
    value.lent = lent;
  } else {
    copy_constant(value, bytes);
  }
  return value;
}

bool is_same(const armnn_attribute &row, const Attribute &known) {
  const auto holds = [&](const auto *data, size_t count, const auto &numbers) {
    return std::equal(data, data + count, numbers.begin(), numbers.end());
  };
  switch (row.type) {
    case ARMNN_ATTRIBUTE_INT64: return holds(static_cast<const int64_t *>(row.data), row.count, known.integers);
    case ARMNN_ATTRIBUTE_FLOAT64: return holds(static_cast<const double *>(row.data), row.count, known.reals);
    default: return false;
  }
}

/* Whether a layer of an earlier program is this one, whose graph differs in dimensions, attributes and
 * constants only: names are the same.
 */
bool is_same(const armnn_graph &graph, const armnn_node &from, const Layer &earlier) {
  if (from.id != earlier.node || from.num_attributes != earlier.attributes.size()) return false;
  for (size_t i = 0; i < earlier.attributes.size(); ++i) {
    const auto &row = *ARMNN_AT(armnn_attribute, from.attributes, graph.attribute_stride, i);
    if (!is_same(row, earlier.attributes[i].second)) return false;
  }
  return true;
}

std::shared_ptr<const Layer> import_layer(const armnn_graph &graph, const armnn_node &from, size_t position) {
  const auto made = std::make_shared<Layer>();
  Layer &layer = *made;
  layer.id = static_cast<int32_t>(position);
  layer.node = from.id;
  layer.name = text_of(from.name);
  layer.type = text_of(from.type);
  layer.inputs.assign(from.inputs, from.inputs + from.num_inputs);
  layer.outputs.assign(from.outputs, from.outputs + from.num_outputs);
  layer.attributes.reserve(from.num_attributes);
  for (uint64_t i = 0; i < from.num_attributes; ++i) {
    const auto &row = *ARMNN_AT(armnn_attribute, from.attributes, graph.attribute_stride, i);
    Attribute &attribute = layer.attributes.emplace_back(text_of(row.name), Attribute()).second;
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
  }
  layer.complete();
  return made;
}

}  // namespace

void ImportedGraph::keep_constants() {
  size_t all = 0;
  size_t read = 0;
  for (const Value &value : values) {
    if (value.lent.expired()) continue;
    all += bytes_of(value);
    if (value.is_read) read += bytes_of(value);
  }
  for (Value &value : values) {
    const std::shared_ptr<LentConstant> lent = value.lent.lock();
    if (!lent) continue;
    lent->keep();
    if (!value.is_read) {
      value.memory.reset();
    } else if (read * kLeastLentShare <= all) {
      copy_constant(value, bytes_of(value));
    }
  }
}

void ImportedGraph::release_unused() {
  for (Value &value : values) {
    if (!value.lent.expired() && !value.is_read) value.memory.reset();
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

ImportedGraph import_graph(const armnn_graph &graph, bool has_constants, const ImportedGraph *earlier) {
  ImportedGraph result;
  result.values.reserve(graph.num_values);
  result.layers.reserve(graph.num_nodes);
  for (uint64_t i = 0; i < graph.num_values; ++i) {
    const auto &row = *ARMNN_AT(armnn_value, graph.values, graph.value_stride, i);
    const Value *before = earlier != nullptr && i < earlier->values.size() ? &earlier->values[i] : nullptr;
    result.values.push_back(import_value(graph, row, has_constants, before));
  }
  for (uint64_t i = 0; i < graph.num_nodes; ++i) {
    const auto &row = *ARMNN_AT(armnn_node, graph.nodes, graph.node_stride, i);
    const bool is_known = earlier != nullptr && i < earlier->layers.size() && is_same(graph, row, *earlier->layers[i]);
    result.layers.push_back(is_known ? earlier->layers[i] : import_layer(graph, row, static_cast<size_t>(i)));
    if (is_known) continue;
    const std::string name = younger_parameter(graph, row);
    if (!name.empty()) result.newer_than_api[static_cast<int32_t>(i)] = name;
  }
  result.inputs.assign(graph.inputs, graph.inputs + graph.num_inputs);
  result.outputs.assign(graph.outputs, graph.outputs + graph.num_outputs);
  return result;
}

}  // namespace cpuacc
