/* SPDX-License-Identifier: MIT */
/* Chaining: pointwise operations become one loop over memory. */
#include <algorithm>

#include "costs/costs.h"
#include "operations/pointwise/chain.h"
#include "operations/pointwise/pointwise.h"
#include "passes/passes.h"

namespace cpuacc {
namespace {

constexpr size_t kNoMaker = ~size_t{0};

class Chaining {
 public:
  explicit Chaining(Graph &graph)
      : graph_(graph),
        users_(graph.tensors.size()),
        makers_(graph.tensors.size(), kNoMaker),
        is_delivered_(graph.tensors.size()),
        groups_(graph.operations.size()) {
    for (size_t i = 0; i < graph.operations.size(); ++i) {
      for (const TensorId id : graph.operations[i]->inputs) {
        if (id != kNone) users_[owner(id)].push_back(i);
      }
      for (const TensorId id : graph.operations[i]->outputs) makers_[owner(id)] = i;
    }
    for (const TensorId id : graph.outputs) is_delivered_[owner(id)] = true;
  }

  void run() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (!can_be_link(graph_, *graph_.operations[i])) continue;
      groups_[i] = {i};
      for (size_t input = 0; input < graph_.operations[i]->inputs.size(); ++input) join(i, input);
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].size() > 1) replace(groups_[i]);
    }
    auto &operations = graph_.operations;
    operations.erase(std::remove(operations.begin(), operations.end(), nullptr), operations.end());
  }

 private:
  size_t owner(TensorId id) const { return static_cast<size_t>(graph_.owner(id)); }
  TensorId made_by(size_t position) const { return graph_.operations[position]->outputs[0]; }
  int64_t count(size_t position) const { return graph_[made_by(position)].count(); }
  /* nullptr if the operation is not pointwise. */
  const Pointwise *pointwise(size_t position) const {
    return dynamic_cast<const Pointwise *>(graph_.operations[position].get());
  }

  /* Merges the group that computes an operand into this operation's group, if it can be computed here. */
  void join(size_t position, size_t input) {
    const Operation &operation = *graph_.operations[position];
    const TensorId id = operation.inputs[input];
    const size_t maker = makers_[owner(id)];
    if (maker == kNoMaker || groups_[maker].empty()) return;
    const size_t last = groups_[maker].back();
    if (last == position || groups_[last].size() + groups_[position].size() > costs::kMostLinks) return;
    if (count(maker) != count(position) || !can_wait(groups_[last], position)) return;
    SmallVector<size_t> both;
    std::merge(groups_[last].begin(), groups_[last].end(), groups_[position].begin(),
               groups_[position].end(), std::back_inserter(both));
    for (const size_t member : both) groups_[member] = {position};
    groups_[position] = std::move(both);
  }

  /* Whether a group can be computed at a later position: before it only members read the group's results, and
   * the operation there reads them element by element.
   */
  bool can_wait(const SmallVector<size_t> &group, size_t position) const {
    const auto is_member = [&](size_t i) { return std::binary_search(group.begin(), group.end(), i); };
    for (const size_t member : group) {
      for (const size_t user : users_[owner(made_by(member))]) {
        if (user < position && !is_member(user)) return false;
      }
    }
    const Pointwise &reader = *pointwise(position);
    for (size_t i = 0; i < reader.inputs.size(); ++i) {
      const size_t maker = makers_[owner(reader.inputs[i])];
      if (maker == kNoMaker || !is_member(maker)) continue;
      if (!reader.access_pattern(graph_, i)->is_dense(count(position))) return false;
    }
    return true;
  }

  void replace(const SmallVector<size_t> &group) {
    const auto is_member = [&](size_t i) { return std::binary_search(group.begin(), group.end(), i); };
    std::vector<std::unique_ptr<Pointwise>> links;
    std::vector<TensorId> outputs;
    for (const size_t member : group) {
      const TensorId made = made_by(member);
      const SmallVector<size_t> &users = users_[owner(made)];
      const bool is_inside = !is_delivered_[owner(made)] && std::all_of(users.begin(), users.end(), is_member);
      if (!is_inside) outputs.push_back(made);
      links.emplace_back(static_cast<Pointwise *>(graph_.operations[member].release()));
    }
    graph_.operations[group.back()] = std::make_unique<Chain>(graph_, std::move(links), std::move(outputs));
  }

  Graph &graph_;
  std::vector<SmallVector<size_t>> users_; /* of the memory of each tensor: the positions of its readers */
  std::vector<size_t> makers_; /* of the memory of each tensor: the position of its writer */
  std::vector<bool> is_delivered_; /* of the memory of each tensor: it is an output of the graph */
  /* By position. The last member of a group has the positions of all members, the others that of the last one. */
  std::vector<SmallVector<size_t>> groups_;
};

}  // namespace

bool can_be_link(const Graph &graph, const Operation &operation) {
  const auto *pointwise = dynamic_cast<const Pointwise *>(&operation);
  if (pointwise == nullptr) return false;
  const Tensor &made = graph[operation.outputs[0]];
  if (made.count() == 0 || made.alias != kNone) return false;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    const std::optional<AccessPattern> pattern = pointwise->access_pattern(graph, i);
    if (!pattern) return false;
    if (pattern->period > 1 && pattern->inner > 1 && pattern->inner < costs::kShortestRun) return false;
  }
  return true;
}

void chain(Graph &graph) { Chaining(graph).run(); }

}  // namespace cpuacc
