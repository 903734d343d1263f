/* SPDX-License-Identifier: MIT */
/* The tensors of values in the orders that layers ask for, and the list of layer types. */
#include "layers/lowering/lowering.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "graph/packed.h"
#include "operations/copy/copy.h"
#include "passes/passes.h"

namespace cpuacc {

int64_t Layer::integer(std::string_view name, int64_t otherwise) const {
  const Attribute *found = attribute(name);
  return found == nullptr || found->integers.empty() ? otherwise : found->integers[0];
}

double Layer::real(std::string_view name, double otherwise) const {
  const Attribute *found = attribute(name);
  return found == nullptr || found->reals.empty() ? otherwise : found->reals[0];
}

const Attribute *Layer::attribute(std::string_view name) const {
  const auto is_it = [&](const auto &each) { return each.first == name; };
  const auto found = std::find_if(attributes.begin(), attributes.end(), is_it);
  return found == attributes.end() ? nullptr : &found->second;
}

std::vector<int64_t> Layer::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  const Attribute *found = attribute(name);
  return found == nullptr ? otherwise : found->integers;
}

std::vector<double> Layer::reals(std::string_view name, std::vector<double> otherwise) const {
  const Attribute *found = attribute(name);
  return found == nullptr ? otherwise : found->reals;
}

std::string Layer::text(std::string_view name) const {
  std::string result;
  for (const int64_t character : integers(name)) result.push_back(static_cast<char>(character));
  return result;
}

namespace {

Tensor tensor_of(const Value &value, const Order &order) {
  Tensor tensor;
  tensor.type = value.type;
  tensor.shape = in_memory(value.shape, order);
  tensor.quantization = value.quantization;
  return tensor;
}

}  // namespace

int64_t Lowering::constant_bytes() {
  if (constant_bytes_) return *constant_bytes_; /* each convolution asks */
  size_t bytes = 0;
  for (const Value &value : values_) {
    if (value.is_constant()) bytes += static_cast<size_t>(elements(value.shape)) * element_bytes(value.type);
  }
  constant_bytes_ = static_cast<int64_t>(bytes);
  return *constant_bytes_;
}

void Lowering::add_input(int32_t value) {
  const Order order = plain_order(this->value(value).shape.size());
  const TensorId id = graph_.add(tensor_of(this->value(value), order));
  graph_.inputs.push_back(id);
  forms_of(value) = {{order, id}};
}

TensorId Lowering::add_output(int32_t value) {
  layer_ = nullptr;
  const Value &from = this->value(value);
  const TensorId made = in_order(value, plain_order(from.shape.size()));
  const TensorId owner = graph_.owner(made);
  const auto is_owner = [&](TensorId id) { return graph_.owner(id) == owner; };
  const auto holds = [&](const std::vector<TensorId> &ids) {
    return std::any_of(ids.begin(), ids.end(), is_owner);
  };
  const bool is_free = graph_[owner].constant == nullptr && !holds(graph_.inputs) &&
                       !holds(graph_.outputs) && graph_[owner].bytes() == graph_[made].bytes();
  TensorId result = made;
  if (!is_free) {
    Tensor copy = graph_[made];
    copy.alias = kNone;
    copy.constant = nullptr;
    copy.decoded = nullptr;
    result = graph_.add(std::move(copy));
    add<Copy>(made, result);
  }
  graph_.outputs.push_back(result);
  return result;
}

const Value &Lowering::value(int32_t number) const {
  const auto at = static_cast<size_t>(number);
  return at < values_.size() ? values_[at] : float_values_[at - values_.size()];
}

namespace {

/* Parameters that are enumerators, with the least and the highest number: a number that is none of
   them may mean something else to a younger host. Activation and ArgMinMax look up their functions
   themselves. */
struct Enumeration {
  std::string_view parameter;
  int64_t least, highest;
};
constexpr Enumeration kEnumerations[] = {
    {ARMNN_POOLING2D_DATA_LAYOUT, ARMNN_DATA_LAYOUT_NCHW, ARMNN_DATA_LAYOUT_NCDHW},
    {ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_X, ARMNN_DATA_LAYOUT_NCHW, ARMNN_DATA_LAYOUT_NCDHW},
    {ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_Y, ARMNN_DATA_LAYOUT_NCHW, ARMNN_DATA_LAYOUT_NCDHW},
    {ARMNN_POOLING2D_OUTPUT_SHAPE_ROUNDING, ARMNN_OUTPUT_SHAPE_ROUNDING_FLOOR,
     ARMNN_OUTPUT_SHAPE_ROUNDING_CEILING},
    {ARMNN_POOLING2D_PADDING_METHOD, ARMNN_PADDING_METHOD_IGNORE_VALUE, ARMNN_PADDING_METHOD_EXCLUDE},
    {ARMNN_NORMALIZATION_NORM_CHANNEL_TYPE, ARMNN_NORMALIZATION_ALGORITHM_CHANNEL_ACROSS,
     ARMNN_NORMALIZATION_ALGORITHM_CHANNEL_WITHIN},
    {ARMNN_NORMALIZATION_NORM_METHOD_TYPE, ARMNN_NORMALIZATION_ALGORITHM_METHOD_LOCAL_BRIGHTNESS,
     ARMNN_NORMALIZATION_ALGORITHM_METHOD_LOCAL_CONTRAST},
    {ARMNN_RESIZE_ROUNDING, ARMNN_RESIZE_ROUNDING_TENSORFLOW, ARMNN_RESIZE_ROUNDING_CEIL},
    {ARMNN_SEQUENCE_LSTM_DIRECTION, ARMNN_SEQUENCE_DIRECTION_FORWARD,
     ARMNN_SEQUENCE_DIRECTION_BIDIRECTIONAL},
};

std::string refused_enumerator(const Layer &layer) {
  for (const auto &[name, attribute] : layer.attributes) {
    for (const Enumeration &each : kEnumerations) {
      if (each.parameter != name) continue;
      for (const int64_t number : attribute.integers) {
        if (number >= each.least && number <= each.highest) continue;
        return name + " has the unknown number " + std::to_string(number);
      }
    }
  }
  return "";
}

}  // namespace

void Layer::complete() {
  row = &layer_type(type);
  refusal = refused_enumerator(*this);
}

void Lowering::lower_as_it_is(const Layer &layer, Lower lower) {
  layer_ = &layer;
  if (lower == nullptr) throw Refusal{"layers of type " + layer.type + " are not computed here"};
  if (!layer.refusal.empty()) throw Refusal{layer.refusal};
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    if (!has_input(i)) continue;
    require(input(i).is_static, "the shape must be known", static_cast<int32_t>(i));
    if (element_bytes(input(i).type) == 0) {
      throw Refusal{std::string(type_name(input(i).type)) + " is not computed here", static_cast<int32_t>(i)};
    }
  }
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    require(output(i).is_static, "the shape of the output must be known");
    if (element_bytes(output(i).type) > 0) continue;
    throw Refusal{"the output's type " + std::string(type_name(output(i).type)) + " is not computed here"};
  }
  const size_t before = graph_.operations.size();
  lower(*this);
  for (size_t i = before; i < graph_.operations.size(); ++i) graph_.operations[i]->check(graph_);
}

const Value &Lowering::input(size_t i) const {
  return value(layer_->inputs.at(i));
}

const Value &Lowering::output(size_t i) const {
  return value(layer_->outputs.at(i));
}

Order Lowering::order(size_t i) const {
  const std::vector<Form> &forms = forms_[static_cast<size_t>(layer_->inputs.at(i))];
  return forms.empty() ? plain_order(input(i).shape.size()) : forms.front().order;
}

Order Lowering::common_order() const {
  const size_t rank = output().shape.size();
  for (size_t i = 0; i < input_count(); ++i) {
    if (has_input(i) && input(i).shape.size() == rank && !input(i).is_constant() &&
        !is_plain(order(i))) {
      return order(i);
    }
  }
  return plain_order(rank);
}

bool Lowering::may_be_bfloat16(size_t i) const {
  const std::vector<Form> &forms = forms_.at(static_cast<size_t>(layer_->inputs.at(i)));
  return !forms.empty() && may_be_stored_in_bfloat16(graph_, kernels_, forms.front().tensor);
}

TensorId Lowering::in(size_t i, const Order &order) { return in_order(layer_->inputs.at(i), order); }

void Lowering::require_constant(size_t i, std::string_view what) const {
  require(input(i).is_constant(), std::string(what) + " must be constant", static_cast<int32_t>(i));
}

const float *Lowering::constant(size_t i, std::string_view what) const {
  require_constant(i, what);
  return static_cast<const float *>(input(i).read());
}

TensorId Lowering::temporary(armnn_data_type type, Shape shape) {
  Tensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  return graph_.add(std::move(tensor));
}

TensorId Lowering::constant_tensor(armnn_data_type type, Shape shape, const void *data) {
  Tensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  const size_t bytes = tensor.bytes();
  tensor.memory = aligned_memory(bytes);
  if (bytes > 0) std::memcpy(const_cast<void *>(tensor.memory.get()), data, bytes);
  tensor.constant = tensor.memory.get();
  return graph_.add(std::move(tensor));
}

TensorId Lowering::out(size_t i, const Order &order) {
  const TensorId id = graph_.add(tensor_of(output(i), order));
  forms_of(layer_->outputs[i]) = {{order, id}};
  return id;
}

void Lowering::alias(size_t i, TensorId shared, const Order &order) {
  Tensor tensor = tensor_of(output(i), order);
  tensor.alias = shared;
  tensor.constant = graph_[shared].constant;
  tensor.decoded = graph_[shared].decoded;
  forms_of(layer_->outputs[i]) = {{order, graph_.add(std::move(tensor))}};
}

void Lowering::forward() {
  in(0, order(0));
  forms_of(layer_->outputs[0]) = forms_of(layer_->inputs[0]);
}

TensorId Lowering::in_order(int32_t number, const Order &order) {
  const Value &value = this->value(number);
  std::vector<Form> &forms = forms_of(number);
  for (const Form &form : forms) {
    if (form.order == order) return form.tensor;
  }
  if (forms.empty() || value.is_constant()) {
    const TensorId made = constant_form(value, order);
    forms.push_back({order, made});
    return made;
  }
  const Form first = forms.front();
  Tensor tensor = graph_[first.tensor];
  tensor.shape = in_memory(value.shape, order);
  tensor.alias = kNone;
  Order steps(order.size()); /* axis i of the new one is axis steps[i] of the old one, in memory */
  for (size_t i = 0; i < order.size(); ++i) {
    steps[i] = static_cast<int32_t>(place_of(first.order, order[i]));
  }
  const bool is_shared = keeps_memory(graph_[first.tensor].shape, steps);
  if (is_shared) tensor.alias = first.tensor;
  const TensorId made = graph_.add(std::move(tensor));
  if (!is_shared) add<Reorder>(first.tensor, made, reorder_box(graph_[first.tensor].shape, steps));
  forms.push_back({order, made});
  return made;
}

TensorId Lowering::constant_form(const Value &value, const Order &order) {
  if (!value.is_constant()) throw Refusal{"value '" + *value.name + "' is used before it is made"};
  Tensor tensor = tensor_of(value, order);
  tensor.constant = value.address;
  tensor.memory = value.memory;
  tensor.decoded = value.decoded;
  if (!is_plain(order)) {
    const std::shared_ptr<void> memory = aligned_memory(tensor.bytes());
    reorder(value.read(), memory.get(), value.shape, order, element_bytes(value.type));
    tensor.constant = memory.get();
    tensor.memory = memory;
    tensor.decoded = nullptr;
  }
  return graph_.add(std::move(tensor));
}

namespace {

template <typename T>
std::vector<std::byte> bytes_of(T number) {
  std::vector<std::byte> result(sizeof number);
  std::memcpy(result.data(), &number, sizeof number);
  return result;
}

/* Whole and within the range of a type; NaN is 0. */
template <typename T>
std::vector<std::byte> whole(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return bytes_of(T{0});
  if (value <= static_cast<double>(Limits::min())) return bytes_of(Limits::min());
  if (value >= static_cast<double>(Limits::max())) return bytes_of(Limits::max());
  return bytes_of(static_cast<T>(value));
}

}  // namespace

std::vector<std::byte> element_of(armnn_data_type type, double value) {
  switch (type) {
    case ARMNN_FLOAT32: return bytes_of(static_cast<float>(value));
    case ARMNN_FLOAT64: return bytes_of(value);
    case ARMNN_BOOLEAN: return bytes_of(static_cast<uint8_t>(value != 0.0));
    case ARMNN_SIGNED8: return whole<int8_t>(value);
    case ARMNN_SIGNED16: return whole<int16_t>(value);
    case ARMNN_SIGNED32: return whole<int32_t>(value);
    case ARMNN_SIGNED64: return whole<int64_t>(value);
    case ARMNN_UNSIGNED8: return whole<uint8_t>(value);
    case ARMNN_UNSIGNED16: return whole<uint16_t>(value);
    case ARMNN_UNSIGNED32: return whole<uint32_t>(value);
    case ARMNN_UNSIGNED64: return whole<uint64_t>(value);
    default:
      require(value == 0.0, std::string(type_name(type)) + " is filled with 0 only here");
      return std::vector<std::byte>(element_bytes(type));
  }
}

const char *type_name(armnn_data_type type) {
  switch (type) {
    case ARMNN_FLOAT16: return "Float16";
    case ARMNN_FLOAT32: return "Float32";
    case ARMNN_QASYMM_U8: return "QAsymmU8";
    case ARMNN_SIGNED32: return "Signed32";
    case ARMNN_BOOLEAN: return "Boolean";
    case ARMNN_QSYMM_S16: return "QSymmS16";
    case ARMNN_QSYMM_S8: return "QSymmS8";
    case ARMNN_QASYMM_S8: return "QAsymmS8";
    case ARMNN_BFLOAT16: return "BFloat16";
    case ARMNN_SIGNED64: return "Signed64";
    case ARMNN_FLOAT64: return "Float64";
    case ARMNN_SIGNED8: return "Signed8";
    case ARMNN_SIGNED16: return "Signed16";
    case ARMNN_UNSIGNED8: return "Unsigned8";
    case ARMNN_UNSIGNED16: return "Unsigned16";
    case ARMNN_UNSIGNED32: return "Unsigned32";
    case ARMNN_UNSIGNED64: return "Unsigned64";
    case ARMNN_INT4: return "Int4";
    case ARMNN_UINT4: return "UInt4";
    case ARMNN_INT2: return "Int2";
    case ARMNN_UINT2: return "UInt2";
    case ARMNN_FLOAT8_E4M3FN: return "Float8E4M3FN";
    case ARMNN_FLOAT8_E4M3FNUZ: return "Float8E4M3FNUZ";
    case ARMNN_FLOAT8_E5M2: return "Float8E5M2";
    case ARMNN_FLOAT8_E5M2FNUZ: return "Float8E5M2FNUZ";
    case ARMNN_FLOAT8_E8M0FNU: return "Float8E8M0FNU";
    case ARMNN_FLOAT4_E2M1FN: return "Float4E2M1FN";
    default: return "this data type";
  }
}

bool is_alike(const Value &one, const Value &other) {
  return one.type == other.type && one.quantization.scales == other.quantization.scales &&
         one.quantization.zero_points == other.quantization.zero_points;
}

void require_alike(const Lowering &l) {
  require(is_alike(l.input(0), l.output()), "input and output must have the same data type and quantization");
  require(l.input(0).quantization.axis < 0 && l.output().quantization.axis < 0,
          "scales per axis are not carried here", 0);
}

void require_indices(const Value &value, int32_t input) {
  require(value.type == ARMNN_SIGNED32 || value.type == ARMNN_SIGNED64, "the indices must be Signed32 or Signed64",
          input);
}

void require_index_output(armnn_data_type type) {
  require(type == ARMNN_SIGNED32 || type == ARMNN_SIGNED64, "the indices must be Signed32 or Signed64");
}

void require_all(const Lowering &lowering, armnn_data_type type) {
  for (size_t i = 0; i < lowering.input_count(); ++i) {
    if (!lowering.has_input(i) || lowering.input(i).type == type) continue;
    throw Refusal{std::string(type_name(lowering.input(i).type)) + " is not computed here, " + type_name(type) + " is",
                  static_cast<int32_t>(i)};
  }
  for (size_t i = 0; i < lowering.layer().outputs.size(); ++i) {
    if (lowering.output(i).type != type) throw Refusal{std::string("the output must be ") + type_name(type)};
  }
}

void require_floats(const Lowering &lowering) { require_all(lowering, ARMNN_FLOAT32); }

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
