/* SPDX-License-Identifier: MIT */
/* Lowering: from a layer to operations. The order of each tensor's axes is chosen here, in one walk: a layer
 * that is best in some order makes its output in it, layers that do not care keep the order of their
 * input, and only where another one is needed the tensor is reordered, once.
 */
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "armnn/layers.h"
#include "graph/ir.h"

namespace cpuacc {

/* A constant of the host's that is there until the call ends, or longer once it is kept. */
class LentConstant {
 public:
  LentConstant(void *reference, armnn_constant_fn keep, armnn_constant_fn drop)
      : reference_(reference), keep_(keep), drop_(drop) {}
  LentConstant(const LentConstant &) = delete;
  LentConstant &operator=(const LentConstant &) = delete;
  ~LentConstant() {
    if (is_kept_) drop_(reference_);
  }
  void keep() {
    if (!is_kept_) keep_(reference_);
    is_kept_ = true;
  }

 private:
  void *reference_;
  armnn_constant_fn keep_;
  armnn_constant_fn drop_;
  bool is_kept_ = false;
};

/* A value of the host's graph. */
struct Value {
  std::shared_ptr<const std::string> name; /* shared by the programs of a graph, as all names and layers */
  armnn_data_type type = ARMNN_FLOAT32;
  bool is_static = true; /* rank and dimensions are known */
  Shape shape;
  Quantization quantization;
  armnn_data_type stored_type = ARMNN_FLOAT32; /* its type outside of a layer that is computed in floats */
  Quantization steps; /* in which it is stored there */
  const void *address = nullptr; /* of a constant's elements; nullptr: it is computed */
  std::shared_ptr<const void> memory;
  std::weak_ptr<LentConstant> lent; /* the memory, if it is the host's */
  uintptr_t identity = 0; /* of the constant: no other one ever has it; 0: unknown */
  bool is_left_out = false; /* the constant reads as zeros: a stored program has it only packed */
  mutable bool is_read = false; /* lowering read the constant's elements */
  std::shared_ptr<DecodedConstant> decoded; /* the constant, if it is one */
  const Value *source = nullptr; /* the value that decoded is made of */

  bool is_constant() const { return address != nullptr; }
  /* The elements of a constant, to be read now: only what is read like this, or by a run, is stored
   * with a program.
   */
  const void *read() const {
    is_read = true;
    if (decoded != nullptr) decoded->decode();
    if (source != nullptr) source->is_read = true;
    return address;
  }
};

/* A parameter of a layer, as the host gives it. */
struct Attribute {
  std::vector<int64_t> integers; /* of a text its characters */
  std::vector<double> reals;
};

struct LayerType;

/* A node of the host's graph. */
struct Layer {
  int32_t id = -1; /* its position */
  int32_t node = -1; /* the host's id */
  std::string name;
  std::string type;
  const LayerType *row = nullptr; /* of its type */
  std::vector<int32_t> inputs; /* indices of values; -1: absent */
  std::vector<int32_t> outputs;
  std::vector<std::pair<std::string, Attribute>> attributes; /* few: looked up one by one */
  std::string refusal; /* of a parameter that may mean something else than here; "": there is none */

  /* Derives the facts that follow from type and attributes: once, as programs share layers. */
  void complete();
  /* nullptr: the host gave none of this name. */
  const Attribute *attribute(std::string_view name) const;
  /* A parameter by its name and its default, which ARMNN_PARAMETER gives as a pair. */
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> reals(std::string_view name, std::vector<double> otherwise = {}) const;
  std::string text(std::string_view name) const;
};

/* A parameter of a layer type. */
struct Parameter {
  std::string_view name;
  double otherwise;
};

/* Whether parameters have one name and one default. */
constexpr bool are_alike(std::initializer_list<Parameter> parameters) {
  for (const Parameter &each : parameters) {
    const Parameter &first = *parameters.begin();
    if (each.name != first.name || each.otherwise != first.otherwise) return false;
  }
  return true;
}

/* Layer types that are lowered together read a parameter by the name and default of one of them. */
#define CPUACC_SHARED(parameter, one, other)                                \
  static_assert(are_alike({{ARMNN_PARAMETER(ARMNN_##one##_##parameter)},    \
                           {ARMNN_PARAMETER(ARMNN_##other##_##parameter)}}))

class Lowering;

using Lower = void (*)(Lowering &lowering);
/* The real value of a step of a Signed32 input, one or one for each element; empty: the input is not a bias. */
using BiasSteps = std::vector<double> (*)(const Lowering &lowering, size_t i);

class Lowering {
 public:
  Lowering(const std::vector<Value> &values, Graph &graph, const Kernels &kernels, FastMath fast_math = {})
      : values_(values), graph_(graph), kernels_(kernels), fast_math_(fast_math), forms_(values.size()) {
    graph_.tensors.reserve(values.size());
  }

  /* Makes a value that execute receives. */
  void add_input(int32_t value);
  /* Returns a value in plain order in memory of its own, for execute to write. */
  TensorId add_output(int32_t value);
  /* Lowers a layer; one with quantized data that has no operation for it is computed in floats
   * between conversions. Throws Refusal.
   */
  void lower(const Layer &layer);

  /* -- for the layers --------------------------------------------------------------------------- */

  const Layer &layer() const { return *layer_; }
  /* A parameter, by ARMNN_PARAMETER. */
  int64_t integer(std::string_view name, int64_t otherwise) const { return layer_->integer(name, otherwise); }
  bool flag(std::string_view name, int64_t otherwise) const { return layer_->integer(name, otherwise) != 0; }
  double real(std::string_view name, double otherwise) const { return layer_->real(name, otherwise); }
  float real32(std::string_view name, double otherwise) const { return static_cast<float>(real(name, otherwise)); }
  /* One that names an axis of a tensor of that rank. */
  size_t axis(size_t rank, std::string_view name, int64_t otherwise) const {
    return static_cast<size_t>(whole_axis(layer_->integer(name, otherwise), rank));
  }
  const Kernels &kernels() const { return kernels_; }
  const FastMath &fast_math() const { return fast_math_; }
  /* The bytes of all constants of the graph, as the host gave them. */
  int64_t constant_bytes();
  size_t input_count() const { return layer_->inputs.size(); }
  bool has_input(size_t i) const { return i < layer_->inputs.size() && layer_->inputs[i] >= 0; }
  const Value &input(size_t i) const;
  const Value &output(size_t i = 0) const;

  /* The order of an input that needs no copy, for layers that take any. */
  Order order(size_t i) const;
  /* The order of the first input of the output's rank that is computed; plain if there is none. */
  Order common_order() const;
  /* An input in an order. */
  TensorId in(size_t i, const Order &order);
  TensorId in(size_t i) { return in(i, plain_order(input(i).shape.size())); }
  /* Whether the operation that makes an input may store it in bfloat16, as far as that is known before the passes. */
  bool may_be_bfloat16(size_t i) const;
  /* Refuses an input that is computed. */
  void require_constant(size_t i, std::string_view what) const;
  /* A constant input's memory, in plain order, to be read now. Refuses one that is computed. */
  const float *constant(size_t i, std::string_view what) const;
  /* A new tensor. */
  TensorId temporary(armnn_data_type type, Shape shape);
  /* A constant of this layer's own. */
  TensorId constant_tensor(Shape shape, const std::vector<float> &data) {
    return constant_tensor(ARMNN_FLOAT32, std::move(shape), data.data());
  }
  TensorId constant_tensor(Shape shape, const std::vector<double> &data) {
    return constant_tensor(ARMNN_FLOAT64, std::move(shape), data.data());
  }
  TensorId constant_tensor(Shape shape, armnn_data_type type, const std::vector<uint8_t> &bytes) {
    return constant_tensor(type, std::move(shape), bytes.data());
  }
  /* The tensor of an output, in an order, to be written by an operation. */
  TensorId out(size_t i, const Order &order);
  TensorId out(size_t i = 0) { return out(i, plain_order(output(i).shape.size())); }
  /* The first input in an order, and the first output in another one. */
  Io io(const Order &order, const Order &to) { return {in(0, order), out(0, to)}; }
  Io io(const Order &order) { return io(order, order); }
  Io io() { return {in(0), out()}; }
  /* Says that an output is the memory of a tensor, in an order. */
  void alias(size_t i, TensorId tensor, const Order &order);
  /* Says that the output is the first input, in all of its orders. */
  void forward();

  void add(OperationPtr operation) {
    operation->node = layer_ == nullptr ? -1 : layer_->id;
    graph_.operations.push_back(std::move(operation));
  }
  template <typename T, typename... Args>
  void add(Args &&...args) {
    add(std::make_unique<T>(std::forward<Args>(args)...));
  }

  Graph &graph() { return graph_; }

 private:
  struct Form {
    Order order;
    TensorId tensor;
  };
  const Value &value(int32_t number) const;
  std::vector<Form> &forms_of(int32_t number) { return forms_[static_cast<size_t>(number)]; }
  void lower_as_it_is(const Layer &layer, Lower lower);
  bool lower_if_taken(const Layer &layer, Lower lower);
  void lower_as_floats(const Layer &layer);
  int32_t float_input(const Layer &layer, size_t i);
  int32_t float_constant(const Value &from, const std::vector<double> &scales);
  TensorId decoded(const Value &from, const Form &source);
  TensorId decoded_bias(const Form &source, const std::vector<double> &steps);
  TensorId times(TensorId x, const Shape &shape, const std::vector<float> &factors);
  int32_t add_float_value(Value value);
  TensorId in_order(int32_t value, const Order &order);
  TensorId constant_form(const Value &value, const Order &order);
  TensorId constant_tensor(armnn_data_type type, Shape shape, const void *data);

  const std::vector<Value> &values_;
  Graph &graph_;
  const Kernels &kernels_;
  FastMath fast_math_;
  const Layer *layer_ = nullptr;
  std::optional<int64_t> constant_bytes_;
  std::vector<std::vector<Form>> forms_; /* of each value, the first one as it was made; none: not made yet */
  std::deque<Value> float_values_; /* numbered after values_: quantized values and those of 16 bits as floats */
  std::map<int32_t, int32_t> float_values_of_;
};

/* Refuses unless it holds. Args: reason: becomes a string only then. */
template <typename Text>
void require(bool holds, const Text &reason, int32_t input = -1) {
  if (!holds) throw Refusal{std::string(reason), input};
}
/* Whether values have one data type and quantization. */
bool is_alike(const Value &one, const Value &other);

/* Refuses an output of another data type or quantization than the first input. */
void require_alike(const Lowering &lowering);
/* Refuses indices that are neither Signed32 nor Signed64. */
void require_indices(const Value &value, int32_t input);
void require_index_output(armnn_data_type type);
/* Refuses an input or output of another type. */
void require_all(const Lowering &lowering, armnn_data_type type);
void require_floats(const Lowering &lowering);
const char *type_name(armnn_data_type type);
/* A number as one element of a type: whole and within its range. Refuses types of 16 bits but 0. */
std::vector<std::byte> element_of(armnn_data_type type, double value);

/* How layers of a type are lowered. */
const LayerType &layer_type(std::string_view name);

/* The scales of a value times a factor; floats have one of 1. */
std::vector<double> steps_times(const Value &value, double factor);
/* The steps of the bias of a layer whose first three inputs are data, weights and bias, if data or weights are
 * quantized.
 */
std::vector<double> weighted_bias_steps(const Lowering &lowering, size_t i);

/* Which functions lower which layer type; one list per family of the layer table. */

struct LayerType {
  std::string_view name;
  Lower lower = nullptr; /* nullptr: they are not computed here */
  Lower int8_lower = nullptr; /* on 8-bit data; if it refuses, lower and then the fallback to floats are tried */
  BiasSteps bias_steps = nullptr; /* of a layer with biases in integers */
};

/* The layer types of a family; each list is in the file of its name. */
using Family = std::vector<LayerType>();
Family activation_layers, attention_layers, convolution_layers, dimensions_layers, elementwise_layers,
    indexing_layers, joining_layers, matmul_layers, normalization_layers, pooling_layers, quantizing_layers, recurrent_layers,
    reduction_layers, reshaping_layers, resizing_layers, selecting_layers, sequence_layers;

}  // namespace cpuacc
