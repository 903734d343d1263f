/* SPDX-License-Identifier: MIT */
/* Einsum where it is a product of matrices, or moves axes. */
#include <algorithm>
#include <map>
#include <string>

#include "layers/lowering.h"
#include "layers/registry.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {
namespace {

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

/* The order in which the axes of a term lie as these labels name them. */
Order order_of(const std::string &term, const std::string &labels) {
  Order order;
  for (const char label : labels) order.push_back(static_cast<int32_t>(term.find(label)));
  return order;
}

/* What a label is for. */
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

void lower_product(Lowering &l, const Equation &equation, const std::map<char, int64_t> &sizes) {
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
  const WeightLayout layout = is_transposed ? WeightLayout{1, 0, depth, 1, columns, depth}
                                            : WeightLayout{1, 0, depth, columns, columns, 1};
  const std::string matrix = is_transposed ? roles.columns + roles.depth : roles.depth + roles.columns;
  const TensorId left = l.in(0, order_of(equation.terms[0], roles.batch + roles.rows + roles.depth));
  const TensorId right = l.in(1, order_of(right_term, roles.batch + matrix));
  const TensorId to = l.out(0, order_of(equation.output, roles.batch + roles.rows + roles.columns));
  add_gemm(l, left, right, to, layout, count(roles.rows), count(roles.batch), false);
}

void lower_einsum(Lowering &l) {
  require_floats(l);
  const Equation equation = equation_of(l);
  const std::map<char, int64_t> sizes = sizes_of(l, equation);
  if (equation.terms.size() == 2) return lower_product(l, equation, sizes);
  const std::string &term = equation.terms[0];
  require(term.size() == equation.output.size(), "a sum over one operand is not computed here", 0);
  l.share(0, l.in(0), order_of(equation.output, term));
}

}  // namespace

std::vector<LayerType> einsum_layers() { return {{ARMNN_LAYER_EINSUM, lower_einsum}}; }

}  // namespace cpuacc
