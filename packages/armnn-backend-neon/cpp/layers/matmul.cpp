/* SPDX-License-Identifier: MIT */
/* Layers that are a gemm, in floats, bytes and integers; Einsum where it is a gemm or a permutation. */
#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "costs/costs.h"
#include "layers/lowering/int8.h"
#include "layers/lowering/lowering.h"
#include "operations/gemm/gemm.h"
#include "operations/quantized/int8_gemm.h"

namespace cpuacc {
namespace {

/* The facts of a FullyConnected that floats and bytes share. */
struct FullyConnected {
  size_t column_axis; /* of the weights */
  GemmShape shape;
};

FullyConnected fully_connected_of(const Lowering &l) {
  const Shape &weights = l.input(1).shape;
  require(weights.size() == 2, "the weights must be a matrix", 1);
  const bool is_transposed = l.flag(ARMNN_PARAMETER(ARMNN_FULLY_CONNECTED_TRANSPOSE_WEIGHT_MATRIX));
  const size_t column_axis = is_transposed ? 0 : 1;
  const int64_t columns = weights[column_axis];
  const int64_t rows = elements(l.output().shape) / std::max<int64_t>(1, columns);
  return {column_axis, {matrix_layout(weights[1 - column_axis], columns, is_transposed), rows}};
}

void lower_fully_connected(Lowering &l) {
  require_floats(l);
  const FullyConnected f = fully_connected_of(l);
  const TensorId bias = l.has_input(2) ? l.in(2) : kNone;
  const TensorId left = l.in(0);
  const TensorId right = l.in(1);
  l.add(gemm({left, right, bias, l.out()}, f.shape));
}

void lower_int8_fully_connected(Lowering &l) {
  const FullyConnected f = fully_connected_of(l);
  Int8Params params = int8_params_of(l, f.column_axis, f.shape.layout.columns, l.has_input(2));
  const TensorId left = l.in(0);
  const TensorId right = l.in(1);
  l.add(int8_gemm(left, right, l.out(), f.shape, std::move(params)));
}

/* How much further each axis of the output's batch is; 0 where it broadcasts. Args: step: of a matrix. */
Shape batch_steps(const Shape &shape, const Shape &batch, int64_t step) {
  Shape steps(batch.size(), 0);
  for (size_t i = 0; i + 2 < shape.size(); ++i) {
    const size_t axis = shape.size() - 3 - i;
    steps[batch.size() - 1 - i] = shape[axis] == 1 ? 0 : step;
    step *= shape[axis];
  }
  return steps;
}

/* The facts of a BatchMatMul that floats and bytes share. */
struct BatchMatMul {
  Order left_order; /* in which the left matrices are last, and not transposed */
  Order right_order; /* in which the right matrices are last */
  Order output_order;
  size_t column_axis; /* of the right side */
  GemmShape shape;
};

static_assert(ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_X_DEFAULT == ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_Y_DEFAULT);

/* The order in which the matrices of a tensor are last. */
Order matrix_order(const Lowering &l, const char *name, size_t rank) {
  Order order = plain_order(rank);
  const int64_t layout = l.integer(name, ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_X_DEFAULT);
  if (layout == ARMNN_DATA_LAYOUT_NHWC || layout == ARMNN_DATA_LAYOUT_NDHWC) {
    require(rank >= 3, "channels behind a matrix need rank 3");
    std::rotate(order.end() - 3, order.end() - 1, order.end());
  }
  return order;
}

BatchMatMul batch_mat_mul_of(const Lowering &l) {
  const size_t left_rank = l.input(0).shape.size();
  const size_t right_rank = l.input(1).shape.size();
  require(left_rank >= 2 && right_rank >= 2, "both inputs must be matrices");
  Order left_order = matrix_order(l, ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_X, left_rank);
  const Order right_order = matrix_order(l, ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_Y, right_rank);
  const char *output_layout =
      left_rank >= right_rank ? ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_X : ARMNN_BATCH_MAT_MUL_DATA_LAYOUT_Y;
  const Order output_order = matrix_order(l, output_layout, l.output().shape.size());
  const Shape x = in_memory(l.input(0).shape, left_order);
  const Shape y = in_memory(l.input(1).shape, right_order);
  const Shape out = in_memory(l.output().shape, output_order);
  const bool transposes_y = l.flag(ARMNN_PARAMETER(ARMNN_BATCH_MAT_MUL_TRANSPOSE_Y));
  if (l.flag(ARMNN_PARAMETER(ARMNN_BATCH_MAT_MUL_TRANSPOSE_X))) {
    std::swap(left_order[left_rank - 1], left_order[left_rank - 2]);
  }
  const int64_t depth = y[right_rank - (transposes_y ? 1 : 2)];
  const Shape batch(out.begin(), out.end() - 2);
  return {left_order, right_order, output_order,
          static_cast<size_t>(right_order[right_rank - (transposes_y ? 2 : 1)]),
          {matrix_layout(depth, out[out.size() - 1], transposes_y), out[out.size() - 2], batch,
           batch_steps(x, batch, out[out.size() - 2]), batch_steps(y, batch, 1)}};
}

/* From one element to the next along each axis of an input, in memory as it was made. */
Shape steps_as_made(const Lowering &l, size_t i, const Order &order) {
  const Shape in_order = strides_of(in_memory(l.input(i).shape, order));
  Shape steps(order.size());
  for (size_t place = 0; place < order.size(); ++place) steps[static_cast<size_t>(order[place])] = in_order[place];
  return steps;
}

/* The left matrices as they were made, without a copy of them, if the numbers of a row are side by side; else nullopt.
 * Rows so far apart that they share a set of the first cache are copied.
 */
std::optional<Order> read_left_as_made(const Lowering &l, BatchMatMul &m) {
  const Order order = l.order(0);
  const int64_t depth = m.shape.layout.depth;
  const Shape &shape = l.input(0).shape;
  if (order == m.left_order || depth < 2 || elements(shape) == 0) return std::nullopt;
  const Shape steps = steps_as_made(l, 0, order);
  const size_t axes = order.size() - 2; /* of the batch */
  const auto step_of = [&](size_t place) { return steps[static_cast<size_t>(m.left_order[place])]; };
  if (step_of(axes + 1) != 1 || step_of(axes) % costs::kFloatsOfAWay == 0) return std::nullopt;
  m.shape.left_step = step_of(axes) / depth;
  for (size_t i = 0; i < axes; ++i) {
    int64_t &step = m.shape.left_steps[m.shape.batch.size() - axes + i];
    if (step != 0) step = step_of(i) / depth;
  }
  return order;
}

/* Reads the right matrices, which are packed, in the order in which they were made, if the numbers of a row or of a
 * column are side by side.
 */
std::optional<Order> read_right_as_made(const Lowering &l, BatchMatMul &m) {
  const Order order = l.order(1);
  WeightLayout &layout = m.shape.layout;
  const Shape &shape = l.input(1).shape;
  if (order == m.right_order || l.input(1).is_constant() || elements(shape) == 0) return std::nullopt;
  const Shape steps = steps_as_made(l, 1, order);
  const size_t axes = order.size() - 2;
  const int64_t column_step = steps[m.column_axis];
  const bool is_last = static_cast<size_t>(m.right_order.back()) == m.column_axis;
  const int64_t depth_step = steps[static_cast<size_t>(m.right_order[axes + (is_last ? 0 : 1)])];
  if (column_step != 1 && depth_step != 1) return std::nullopt;
  layout.column_stride = column_step;
  layout.depth_stride = depth_step;
  for (size_t i = 0; i < axes; ++i) {
    const auto axis = static_cast<size_t>(m.right_order[i]);
    m.shape.right_offsets.counts.push_back(shape[axis]);
    m.shape.right_offsets.steps.push_back(steps[axis]);
  }
  return order;
}

/* An operand's matrices, adjoint if it is asked for. */
TensorId matrices_of(Lowering &l, size_t i, const Order &order, bool is_adjoint) {
  const TensorId from = l.in(i, order);
  if (!is_adjoint) return from;
  const Shape shape = in_memory(l.input(i).shape, order);
  const int64_t size = shape.back();
  require(shape[shape.size() - 2] == size, "an adjoint is that of a square matrix", static_cast<int32_t>(i));
  const armnn_data_type type = l.input(i).type;
  require(type == ARMNN_FLOAT32 || type == ARMNN_FLOAT64, "adjoints are not computed in integers",
          static_cast<int32_t>(i));
  const TensorId to = l.temporary(type, shape);
  l.add(adjugate({from, to}, type, elements(shape, 0, shape.size() - 2), size));
  return to;
}

bool has_adjoint_left(const Lowering &l) { return l.flag(ARMNN_PARAMETER(ARMNN_BATCH_MAT_MUL_ADJOINT_X)); }
bool has_adjoint_right(const Lowering &l) { return l.flag(ARMNN_PARAMETER(ARMNN_BATCH_MAT_MUL_ADJOINT_Y)); }

/* Integers wrap around, as those of the elementwise layers do. */
void lower_batch_mat_mul(Lowering &l) {
  const armnn_data_type type = l.input(0).type;
  const bool is_float32 = type == ARMNN_FLOAT32;
  if (is_float32) require_floats(l);
  require(l.input(1).type == type && l.output().type == type, "both inputs and the output must have one data type", 1);
  BatchMatMul m = batch_mat_mul_of(l);
  const bool may_be_as_made = is_float32 && !has_adjoint_left(l) && !has_adjoint_right(l);
  const Order left_order = (may_be_as_made ? read_left_as_made(l, m) : std::nullopt).value_or(m.left_order);
  const Order right_order = (may_be_as_made ? read_right_as_made(l, m) : std::nullopt).value_or(m.right_order);
  const TensorId left = matrices_of(l, 0, left_order, has_adjoint_left(l));
  const TensorId right = matrices_of(l, 1, right_order, has_adjoint_right(l));
  const TensorId out = l.out(0, m.output_order);
  if (is_float32) return l.add(gemm({left, right, kNone, out}, m.shape));
  OperationPtr plain = plain_gemm(left, right, out, type, m.shape);
  require(plain != nullptr, std::string(type_name(type)) + " is not computed here", 0);
  l.add(std::move(plain));
}

void lower_int8_batch_mat_mul(Lowering &l) {
  require(!has_adjoint_left(l) && !has_adjoint_right(l), "adjoints are not computed in integers");
  const BatchMatMul m = batch_mat_mul_of(l);
  Int8Params params = int8_params_of(l, m.column_axis, m.shape.layout.columns, false);
  const TensorId left = l.in(0, m.left_order);
  const TensorId right = l.in(1, m.right_order);
  l.add(int8_gemm(left, right, l.out(0, m.output_order), m.shape, std::move(params)));
}

/* The labels of the axes of each operand and of the output. */
struct Equation {
  std::vector<std::string> terms;
  std::string output;
};

bool has(const std::string &term, char label) { return term.find(label) != std::string::npos; }

Equation equation_of(const Lowering &l) {
  std::string text = l.layer().text(ARMNN_EINSUM_EQUATION);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  require(!has(text, '.'), "an ellipsis is not computed here");
  const size_t arrow = text.find("->");
  Equation equation;
  for (const char c : text.substr(0, arrow)) {
    if (c == ',' || equation.terms.empty()) equation.terms.emplace_back();
    if (c != ',') equation.terms.back().push_back(c);
  }
  if (arrow != std::string::npos) {
    equation.output = text.substr(arrow + 2);
  } else {
    for (const char c : text) {
      if (c != ',' && std::count(text.begin(), text.end(), c) == 1) equation.output.push_back(c);
    }
    std::sort(equation.output.begin(), equation.output.end());
  }
  require(equation.terms.size() == l.input_count() && equation.terms.size() <= 2,
          "more than two operands are not computed here");
  return equation;
}

/* The size of each label. Refuses labels that stand twice in a term, and axes that broadcast. */
std::map<char, int64_t> sizes_of(const Lowering &l, const Equation &equation) {
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < equation.terms.size(); ++i) {
    const std::string &term = equation.terms[i];
    const auto number = static_cast<int32_t>(i);
    const Shape &shape = l.input(i).shape;
    require(term.size() == shape.size(), "the equation does not fit to its rank", number);
    for (size_t axis = 0; axis < term.size(); ++axis) {
      require(std::count(term.begin(), term.end(), term[axis]) == 1, "a diagonal is not computed here", number);
      const int64_t size = sizes.emplace(term[axis], shape[axis]).first->second;
      require(size == shape[axis], "axes that broadcast are not computed here", number);
    }
  }
  require(equation.output.size() == l.output().shape.size(), "the equation does not fit to the output");
  for (size_t axis = 0; axis < equation.output.size(); ++axis) {
    const auto found = sizes.find(equation.output[axis]);
    require(found != sizes.end() && found->second == l.output().shape[axis],
            "the equation does not fit to the output");
  }
  return sizes;
}

/* The order in which the axes of a term follow these labels. */
Order order_of(const std::string &term, const std::string &labels) {
  Order order;
  for (const char label : labels) order.push_back(static_cast<int32_t>(term.find(label)));
  return order;
}

/* The labels of an equation by their role. */
struct Roles {
  std::string batch; /* in both operands and the output */
  std::string rows; /* in the left one alone */
  std::string columns; /* in the right one alone */
  std::string depth; /* in both, summed over */
};

Roles roles_of(const Equation &equation) {
  const std::string &left = equation.terms[0];
  const std::string &right = equation.terms[1];
  Roles roles;
  for (const char label : left) {
    const bool stays = has(equation.output, label);
    require(stays || has(right, label), "a sum over one operand is not computed here", 0);
    (!has(right, label) ? roles.rows : stays ? roles.batch : roles.depth).push_back(label);
  }
  for (const char label : right) {
    if (has(left, label)) continue;
    require(has(equation.output, label), "a sum over one operand is not computed here", 1);
    roles.columns.push_back(label);
  }
  return roles;
}

void lower_contraction(Lowering &l, const Equation &equation, const std::map<char, int64_t> &sizes) {
  const Roles roles = roles_of(equation);
  const auto count = [&](const std::string &labels) {
    int64_t product = 1;
    for (const char label : labels) product *= sizes.at(label);
    return product;
  };
  const std::string &right_term = equation.terms[1];
  const bool is_transposed = !right_term.empty() && has(roles.depth, right_term.back());
  const int64_t depth = count(roles.depth);
  const int64_t columns = count(roles.columns);
  const WeightLayout layout = matrix_layout(depth, columns, is_transposed);
  const std::string matrix = is_transposed ? roles.columns + roles.depth : roles.depth + roles.columns;
  const TensorId left = l.in(0, order_of(equation.terms[0], roles.batch + roles.rows + roles.depth));
  const TensorId right = l.in(1, order_of(right_term, roles.batch + matrix));
  const TensorId to = l.out(0, order_of(equation.output, roles.batch + roles.rows + roles.columns));
  l.add(gemm_of_matrices(left, right, to, layout, count(roles.rows), count(roles.batch), false));
}

void lower_einsum(Lowering &l) {
  require_floats(l);
  const Equation equation = equation_of(l);
  const std::map<char, int64_t> sizes = sizes_of(l, equation);
  if (equation.terms.size() == 2) return lower_contraction(l, equation, sizes);
  const std::string &term = equation.terms[0];
  require(term.size() == equation.output.size(), "a sum over one operand is not computed here", 0);
  l.alias(0, l.in(0), order_of(equation.output, term));
}

void lower_mat_mul_integer(Lowering &l) {
  require_integer_operands(l);
  const Shape &left = l.input(0).shape;
  const Shape &right = l.input(1).shape;
  require(left.size() >= 2 && right.size() == 2 && left.back() == right[0],
          "the right side must be one matrix that fits to the left side", 1);
  const int64_t rows = elements(left, 0, left.size() - 1);
  require(elements(l.output().shape) == rows * right[1], "the output's shape does not fit");
  Windows windows{}; /* of one element each */
  windows.batch = windows.height = windows.output_height = 1;
  windows.width = windows.output_width = rows;
  windows.channels = right[0];
  windows.window_height = windows.window_width = windows.stride_y = windows.stride_x = 1;
  lower_integer_gemm(l, plain_order(left.size()), plain_order(l.output().shape.size()), windows,
                     matrix_layout(right[0], right[1], false));
}

void lower_mat_mul_n_bits(Lowering &l) {
  const Value &x = l.input(0);
  const Value &weights = l.input(1);
  require(x.type == ARMNN_FLOAT32 && l.output().type == ARMNN_FLOAT32, "input and output must be Float32", 0);
  require(!x.shape.empty() && weights.type == ARMNN_UNSIGNED8 && weights.shape.size() == 2,
          "the weights must be a matrix of Unsigned8", 1);
  FewBits form{static_cast<int32_t>(l.integer(ARMNN_PARAMETER(ARMNN_MAT_MUL_N_BITS_BITS))),
               l.integer(ARMNN_PARAMETER(ARMNN_MAT_MUL_N_BITS_BLOCK_SIZE)), x.shape.back()};
  require_few_bits(l, form, 1, {weights.shape[0]});
  for (const size_t i : {size_t{1}, size_t{2}, size_t{3}}) {
    if (l.has_input(i)) l.require_constant(i, "the weights");
  }
  require(form.block_size % kFewBitsMultiple == 0, "blocks are not a multiple of 16");
  require(form.block_size <= kFewBitsLargestBlock, "blocks are larger than 4096");
  if (l.has_input(4)) {
    require(l.input(4).type == ARMNN_FLOAT32 && l.input(4).shape == Shape{weights.shape[0]},
            "the bias must be Float32, one of each row of the weights", 4);
  }
  Shape expected = x.shape;
  expected.back() = weights.shape[0];
  require(l.output().shape == expected, "the output's shape does not fit");
  std::vector<TensorId> inputs{l.in(0), l.in(1), l.in(2)};
  for (const size_t i : {size_t{3}, size_t{4}}) inputs.push_back(l.has_input(i) ? l.in(i) : kNone);
  const bool quantizes_rows = l.integer(ARMNN_PARAMETER(ARMNN_MAT_MUL_N_BITS_ACCURACY_LEVEL)) == 4;
  l.add(few_bits_gemm(std::move(inputs), l.out(), form, weights.shape[0], quantizes_rows));
}

}  // namespace

std::vector<LayerType> matmul_layers() {
  return {
      {ARMNN_LAYER_BATCH_MAT_MUL, lower_batch_mat_mul, lower_int8_batch_mat_mul},
      {ARMNN_LAYER_EINSUM, lower_einsum},
      {ARMNN_LAYER_FULLY_CONNECTED, lower_fully_connected, lower_int8_fully_connected, weighted_bias_steps},
      {ARMNN_LAYER_MAT_MUL_INTEGER, lower_mat_mul_integer},
      {ARMNN_LAYER_MAT_MUL_N_BITS, lower_mat_mul_n_bits},
  };
}

}  // namespace cpuacc
