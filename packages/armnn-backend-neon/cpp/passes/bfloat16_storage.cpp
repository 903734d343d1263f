/* SPDX-License-Identifier: MIT */
/* Tensors of float32 become bfloat16 where their maker can store it and all of their readers can read it. */
#include <algorithm>

#include "operations/pointwise/chain.h"
#include "passes/passes.h"

namespace cpuacc {
namespace {

/* Whether an operation reads or writes quantized numbers of 16 bits. bfloat16 has half of their digits, and what
 * only moves such numbers must not lose the others.
 */
bool has_fine_steps(const Graph &graph, const Operation &operation) {
  const auto is_fine = [&](TensorId id) { return id != kNone && graph[id].type == ARMNN_QSYMM_S16; };
  return std::any_of(operation.inputs.begin(), operation.inputs.end(), is_fine) ||
         std::any_of(operation.outputs.begin(), operation.outputs.end(), is_fine);
}

class Storage {
 public:
  Storage(Graph &graph, const Kernels &kernels)
      : graph_(graph), kernels_(kernels), is_made_(graph.tensors.size()), fits_(graph.tensors.size(), true) {}

  void run() {
    keep_what_others_see();
    for (const auto &operation : graph_.operations) look_at(*operation);
    while (spread()) continue;
    for (auto &operation : graph_.operations) {
      const bool converts = operation->can_store_bfloat16(kernels_);
      if (!converts && can_be_link(graph_, *operation) && has_bfloat16(*operation)) make_chain(operation);
    }
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (is_bfloat16(static_cast<TensorId>(i))) graph_.tensors[i].type = ARMNN_BFLOAT16;
    }
  }

 private:
  size_t place(TensorId id) const { return static_cast<size_t>(graph_.owner(id)); }
  void keep(TensorId id) { fits_[place(id)] = false; }
  bool is_bfloat16(TensorId id) const { return is_made_[place(id)] && fits_[place(id)]; }

  bool has_bfloat16(const Operation &operation) const {
    const auto is = [&](TensorId id) { return id != kNone && is_bfloat16(id); };
    return std::any_of(operation.inputs.begin(), operation.inputs.end(), is) || is(operation.outputs[0]);
  }

  /* Most pointwise operations do not convert bfloat16 themselves: a chain of one link does it for them. */
  void make_chain(OperationPtr &operation) {
    std::vector<std::unique_ptr<Pointwise>> links;
    links.emplace_back(static_cast<Pointwise *>(operation.release()));
    std::vector<TensorId> outputs = links[0]->outputs;
    operation = std::make_unique<Chain>(graph_, std::move(links), std::move(outputs));
  }

  bool can_read(const Operation &operation, size_t input) const {
    if (!can_be_link(graph_, operation)) return operation.can_read_bfloat16(kernels_, input);
    const auto &pointwise = static_cast<const Pointwise &>(operation);
    return pointwise.access_pattern(graph_, input)->is_dense(graph_[operation.outputs[0]].count());
  }

  /* Keeps inputs and outputs of the graph, constants, and tensors that are not float32 as they are. */
  void keep_what_others_see() {
    for (const TensorId id : graph_.inputs) keep(id);
    for (const TensorId id : graph_.outputs) keep(id);
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor &tensor = graph_.tensors[i];
      if (tensor.type != ARMNN_FLOAT32 || tensor.constant != nullptr) keep(static_cast<TensorId>(i));
    }
  }

  void look_at(const Operation &operation) {
    const bool is_exact = has_fine_steps(graph_, operation);
    for (size_t i = 0; i < operation.inputs.size(); ++i) {
      const TensorId id = operation.inputs[i];
      if (id != kNone && (is_exact || !can_read(operation, i))) keep(id);
    }
    for (const TensorId id : operation.outputs) {
      is_made_[place(id)] = true;
      const bool can_store = operation.can_store_bfloat16(kernels_) || can_be_link(graph_, operation);
      if (is_exact || !can_store) keep(id);
    }
  }

  /* Keeps all tensors of a format-keeping operation in float32 if one of them is; returns whether any changed. */
  bool spread() {
    bool has_changed = false;
    const auto stays = [&](TensorId id) { return id != kNone && !is_bfloat16(id); };
    const auto keep_all = [&](const std::vector<TensorId> &ids) {
      for (const TensorId id : ids) {
        if (id == kNone || !fits_[place(id)]) continue;
        keep(id);
        has_changed = true;
      }
    };
    for (const auto &operation : graph_.operations) {
      if (!operation->keeps_format()) continue;
      std::vector<TensorId> all = operation->inputs;
      all.insert(all.end(), operation->outputs.begin(), operation->outputs.end());
      if (std::any_of(all.begin(), all.end(), stays)) keep_all(all);
    }
    return has_changed;
  }

  Graph &graph_;
  const Kernels &kernels_;
  std::vector<bool> is_made_; /* by the tensor that owns the memory: an operation writes it */
  std::vector<bool> fits_; /* likewise: its writers and readers can use bfloat16 */
};

constexpr int kMostMakers = 6; /* in a row: a branching graph has many ways back */

const Operation *maker_of(const Graph &graph, TensorId id) {
  const TensorId owner = graph.owner(id);
  const auto &operations = graph.operations;
  const auto found = std::find_if(operations.rbegin(), operations.rend(), [&](const OperationPtr &operation) {
    return graph.owner(operation->outputs[0]) == owner;
  });
  return found == operations.rend() ? nullptr : found->get();
}

bool may_be_stored(const Graph &graph, const Kernels &kernels, TensorId id, int makers) {
  const Operation *maker = id == kNone || makers == 0 ? nullptr : maker_of(graph, id);
  if (maker == nullptr || has_fine_steps(graph, *maker)) return false;
  const auto is_stored = [&](TensorId input) { return may_be_stored(graph, kernels, input, makers - 1); };
  const auto is_made = [&](TensorId input) { return input != kNone && maker_of(graph, input) != nullptr; };
  const auto &inputs = maker->inputs;
  if (can_be_link(graph, *maker)) {
    return std::any_of(inputs.begin(), inputs.end(), is_stored) || std::none_of(inputs.begin(), inputs.end(), is_made);
  }
  if (maker->keeps_format()) return std::all_of(inputs.begin(), inputs.end(), is_stored);
  return maker->can_store_bfloat16(kernels);
}

}  // namespace

bool may_be_stored_in_bfloat16(const Graph &graph, const Kernels &kernels, TensorId id) {
  return may_be_stored(graph, kernels, id, kMostMakers);
}

void store_in_bfloat16(Graph &graph, const Kernels &kernels) { Storage(graph, kernels).run(); }

}  // namespace cpuacc
