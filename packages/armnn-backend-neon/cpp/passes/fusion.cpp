/* SPDX-License-Identifier: MIT */
/* Sums and functions go into the operation whose output they are computed from. */
#include <algorithm>
#include <numeric>

#include "graph/ir.h"
#include "operations/copy/copy.h"

namespace cpuacc {

/* What lowering swapped into something else may have no reader left. */
void drop_unread(Graph &graph) {
  std::vector<bool> is_read(graph.tensors.size());
  const auto read = [&](TensorId id) { is_read[static_cast<size_t>(graph.owner(id))] = true; };
  for (const TensorId id : graph.outputs) read(id);
  auto &operations = graph.operations;
  for (size_t i = operations.size(); i-- > 0;) {
    const auto &made = operations[i]->outputs;
    const auto is_wanted = [&](TensorId id) { return is_read[static_cast<size_t>(graph.owner(id))]; };
    if (std::none_of(made.begin(), made.end(), is_wanted)) {
      operations[i].reset();
      continue;
    }
    for (const TensorId id : operations[i]->inputs) {
      if (id != kNone) read(id);
    }
  }
  operations.erase(std::remove(operations.begin(), operations.end(), nullptr), operations.end());
}

namespace {

/* Who makes and who uses each tensor; an alias counts as a use. */
struct Uses {
  std::vector<int32_t> users;
  std::vector<Operation *> makers;

  explicit Uses(const Graph &graph) : users(graph.tensors.size()), makers(graph.tensors.size()) {
    for (const Tensor &tensor : graph.tensors) {
      if (tensor.alias != kNone) ++users[static_cast<size_t>(tensor.alias)];
    }
    for (const TensorId id : graph.outputs) ++users[static_cast<size_t>(id)];
    for (const auto &operation : graph.operations) {
      for (const TensorId id : operation->inputs) {
        if (id != kNone) ++users[static_cast<size_t>(id)];
      }
      for (const TensorId id : operation->outputs) makers[static_cast<size_t>(id)] = operation.get();
    }
  }

  Operation *only_maker(TensorId id) const {
    return users[static_cast<size_t>(id)] == 1 ? makers[static_cast<size_t>(id)] : nullptr;
  }

  /* The same where the user may see it in another shape. */
  Operation *only_maker_of_memory(const Graph &graph, TensorId id) const {
    while (graph[id].alias != kNone) {
      const Tensor &owner = graph[graph[id].alias];
      if (users[static_cast<size_t>(id)] != 1 || graph[id].bytes() != owner.bytes()) return nullptr;
      id = graph[id].alias;
    }
    return only_maker(id);
  }
};

class Fusion {
 public:
  Fusion(Graph &graph, const Kernels &kernels) : graph_(graph), kernels_(kernels), uses_(graph) {}

  /* Whether the operation at this position went into the maker of one of its inputs. The maker moves
   * to this position, where everything that it reads by now has been computed.
   */
  bool merge(size_t position) {
    Operation &operation = *graph_.operations[position];
    if (const Elementwise *function = operation.as_function()) {
      Operation *maker = uses_.only_maker(operation.inputs[0]);
      if (maker != nullptr && maker->absorb(*function)) return replace(position, *maker);
    }
    if (operation.is_sum()) {
      for (const size_t side : {size_t{0}, size_t{1}}) {
        Operation *maker = uses_.only_maker(operation.inputs[side]);
        const TensorId other = operation.inputs[1 - side];
        if (maker != nullptr && maker->absorb_sum(other)) return replace(position, *maker);
      }
    }
    return merge_bias(operation, position) || merge_dequantise_step(operation, position) ||
           merge_table(operation, position) || merge_pair(operation, position) ||
           merge_int8_addition(operation, position) || merge_reorder(operation, position);
  }

 private:
  bool merge_bias(const Operation &operation, size_t position) {
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const int64_t count = operation.added_row(side);
      Operation *maker = count == 0 ? nullptr : uses_.only_maker(operation.inputs[1 - side]);
      if (maker != nullptr && maker->absorb_bias(operation.inputs[side], count)) {
        return replace(position, *maker);
      }
    }
    return false;
  }

  bool merge_dequantise_step(Operation &operation, size_t position) {
    const DequantiseStep step = operation.as_dequantise_step(graph_);
    if (step.kind == DequantiseStep::Kind::none) return false;
    Operation *maker = uses_.only_maker(operation.inputs[step.data]);
    return maker != nullptr && maker->absorb_dequantise_step(step) && replace(position, *maker);
  }

  bool merge_table(Operation &operation, size_t position) {
    const ByteTable *table = operation.as_table(graph_, kernels_);
    if (table == nullptr) return false;
    Operation *maker = uses_.only_maker(operation.inputs[0]);
    return maker != nullptr && maker->absorb_table(*table) && replace(position, *maker);
  }

  /* A pair of bytes of which one is a function of the other is a function, too. */
  bool merge_pair(Operation &operation, size_t position) {
    if (operation.inputs.size() != 2) return false;
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const TensorId other = operation.inputs[1 - side];
      Operation *maker = uses_.only_maker(operation.inputs[side]);
      if (maker == nullptr || maker->inputs.size() != 1 || maker->inputs[0] != other) continue;
      ByteTable *table = maker->as_table(graph_, kernels_);
      if (table == nullptr) continue;
      ByteTable same;
      std::iota(same.begin(), same.end(), uint8_t{0});
      ByteTable result;
      const bool is_first = side == 0;
      if (!operation.pair_up(kernels_, is_first ? *table : same, is_first ? same : *table, result)) continue;
      *table = result;
      --uses_.users[static_cast<size_t>(other)];
      return replace(position, *maker);
    }
    return false;
  }

  bool merge_int8_addition(const Operation &operation, size_t position) {
    const std::optional<Int8Addition> addition = operation.as_int8_addition();
    if (!addition) return false;
    Int8Addition swapped = *addition;
    std::swap(swapped.x_factor, swapped.y_factor);
    for (const size_t side : {size_t{0}, size_t{1}}) {
      Operation *maker = uses_.only_maker(operation.inputs[side]);
      const TensorId other = operation.inputs[1 - side];
      if (maker != nullptr && maker->absorb_int8_addition(side == 0 ? *addition : swapped, other)) {
        return replace(position, *maker);
      }
    }
    return false;
  }

  bool merge_reorder(Operation &operation, size_t position) {
    const Reorder *later = operation.as_reorder();
    if (later == nullptr) return false;
    Operation *maker = uses_.only_maker_of_memory(graph_, operation.inputs[0]);
    Reorder *first = maker == nullptr ? nullptr : maker->as_reorder();
    return first != nullptr && first->absorb_reorder(graph_, *later) && replace(position, *maker);
  }

  bool replace(size_t position, Operation &maker) {
    maker.outputs[0] = graph_.operations[position]->outputs[0];
    uses_.makers[static_cast<size_t>(maker.outputs[0])] = &maker;
    auto &operations = graph_.operations;
    const auto found = std::find_if(operations.begin(), operations.end(),
                                    [&](const auto &each) { return each.get() == &maker; });
    operations[position] = std::move(*found);
    return true;
  }

  Graph &graph_;
  const Kernels &kernels_;
  Uses uses_;
};

}  // namespace

void fuse(Graph &graph, const Kernels &kernels) {
  drop_unread(graph);
  Fusion fusion(graph, kernels);
  for (size_t i = 0; i < graph.operations.size(); ++i) {
    while (graph.operations[i] != nullptr && fusion.merge(i)) {
    } /* what moved here may go on */
  }
  auto &operations = graph.operations;
  operations.erase(std::remove(operations.begin(), operations.end(), nullptr), operations.end());
}

}  // namespace cpuacc
