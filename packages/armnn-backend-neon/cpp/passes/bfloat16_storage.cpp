/* SPDX-License-Identifier: MIT */
/* Tensors of float32 become bfloat16 where their maker can store it and all of their readers can read it. */
#include <algorithm>

#include "passes/passes.h"

namespace cpuacc {
namespace {

class Storage {
 public:
  Storage(Graph &graph, const Kernels &kernels)
      : graph_(graph), kernels_(kernels), is_made_(graph.tensors.size()), fits_(graph.tensors.size(), true) {}

  void run() {
    keep_what_others_see();
    for (const auto &operation : graph_.operations) look_at(*operation);
    while (spread()) continue;
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const size_t owner = place(static_cast<TensorId>(i));
      if (is_made_[owner] && fits_[owner]) graph_.tensors[i].type = ARMNN_BFLOAT16;
    }
  }

 private:
  size_t place(TensorId id) const { return static_cast<size_t>(graph_.owner(id)); }
  void keep(TensorId id) { fits_[place(id)] = false; }

  /* Inputs and outputs of the graph, constants, and what is not float32. */
  void keep_what_others_see() {
    for (const TensorId id : graph_.inputs) keep(id);
    for (const TensorId id : graph_.outputs) keep(id);
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      const Tensor &tensor = graph_.tensors[i];
      if (tensor.type != ARMNN_FLOAT32 || tensor.constant != nullptr) keep(static_cast<TensorId>(i));
    }
  }

  void look_at(const Operation &operation) {
    for (size_t i = 0; i < operation.inputs.size(); ++i) {
      const TensorId id = operation.inputs[i];
      if (id != kNone && !operation.can_read_bfloat16(kernels_, i)) keep(id);
    }
    for (const TensorId id : operation.outputs) {
      is_made_[place(id)] = true;
      if (!operation.can_store_bfloat16(kernels_)) keep(id);
    }
  }

  /* Keeps what is beside a tensor that stays; returns whether there was any. */
  bool spread() {
    bool has_changed = false;
    const auto stays = [&](TensorId id) { return id != kNone && !(is_made_[place(id)] && fits_[place(id)]); };
    const auto keep_all = [&](const std::vector<TensorId> &ids) {
      for (const TensorId id : ids) {
        if (id == kNone || !fits_[place(id)]) continue;
        keep(id);
        has_changed = true;
      }
    };
    for (const auto &operation : graph_.operations) {
      if (!operation->keeps_format()) continue;
      const auto &inputs = operation->inputs;
      const auto &outputs = operation->outputs;
      if (!std::any_of(inputs.begin(), inputs.end(), stays) && !std::any_of(outputs.begin(), outputs.end(), stays)) continue;
      keep_all(inputs);
      keep_all(outputs);
    }
    return has_changed;
  }

  Graph &graph_;
  const Kernels &kernels_;
  std::vector<bool> is_made_; /* of the memory of each tensor: an operation writes it */
  std::vector<bool> fits_; /* and its writers and readers can do with bfloat16 */
};

}  // namespace

void store_in_bfloat16(Graph &graph, const Kernels &kernels) { Storage(graph, kernels).run(); }

}  // namespace cpuacc
