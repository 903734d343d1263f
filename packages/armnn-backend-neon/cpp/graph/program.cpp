/* SPDX-License-Identifier: MIT */
#include "graph/program.h"

#include <algorithm>
#include <numeric>

namespace cpuacc {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kNowhere = ~size_t{0};

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool overlap(const Lease &one, const Lease &other) {
  return one.first <= other.last && other.first <= one.last;
}

}  // namespace

/* Largest first, each at the lowest place that is free for as long as it lasts. */
size_t arrange(std::vector<Lease> &leases) {
  std::vector<size_t> by_size(leases.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return leases[a].bytes > leases[b].bytes; });
  std::vector<size_t> placed; /* by offset */
  size_t total = 0;
  for (const size_t next : by_size) {
    size_t offset = 0;
    for (const size_t other : placed) {
      if (!overlap(leases[next], leases[other])) continue;
      if (offset + leases[next].bytes <= leases[other].offset) break;
      offset = std::max(offset, leases[other].offset + leases[other].bytes);
    }
    leases[next].offset = offset;
    total = std::max(total, offset + leases[next].bytes);
    const auto by_offset = [&](size_t a, size_t b) { return leases[a].offset < leases[b].offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), next, by_offset), next);
  }
  return total;
}

Program::Program(Graph graph, const Kernels &kernels, ProgramWeights weights, std::shared_ptr<Pool> pool)
    : graph_(std::move(graph)),
      kernels_(kernels),
      weights_(std::move(weights)),
      pool_(std::move(pool)) {
  fuse(graph_, kernels_);
  const Setup setup{graph_.tensors, kernels_, weights_, pool_->threads()};
  std::vector<size_t> scratch_bytes;
  for (const auto &operation : graph_.operations) scratch_bytes.push_back(operation->prepare(setup));
  drop_unread_constants();
  place(scratch_bytes);
}

std::set<const void *> Program::read_constants() const {
  std::set<const void *> read;
  for (const auto &operation : graph_.operations) {
    for (const TensorId id : operation->inputs) {
      if (id != kNone && graph_[id].constant != nullptr) read.insert(graph_[id].constant);
    }
  }
  return read;
}

/* What was packed or computed into something else while compiling need not stay in memory twice. */
void Program::drop_unread_constants() {
  std::vector<bool> is_read(graph_.tensors.size());
  for (const auto &operation : graph_.operations) {
    for (TensorId id : operation->inputs) {
      for (; id != kNone; id = graph_[id].alias) is_read[static_cast<size_t>(id)] = true;
    }
  }
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    if (is_read[i]) continue;
    graph_.tensors[i].constant = nullptr;
    graph_.tensors[i].memory.reset();
  }
}

void Program::place(const std::vector<size_t> &scratch_bytes) {
  offsets_.assign(graph_.tensors.size(), kNowhere);
  std::vector<TensorId> input_owners = graph_.inputs;
  std::vector<TensorId> output_owners;
  for (const TensorId id : graph_.outputs) output_owners.push_back(graph_.owner(id));
  for (TensorId id = 0; id < static_cast<TensorId>(graph_.tensors.size()); ++id) {
    const TensorId owner = graph_.owner(id);
    const auto input = std::find(input_owners.begin(), input_owners.end(), owner);
    const auto output = std::find(output_owners.begin(), output_owners.end(), owner);
    if (input != input_owners.end()) {
      inputs_.push_back({id, static_cast<size_t>(input - input_owners.begin())});
    } else if (output != output_owners.end()) {
      outputs_.push_back({id, static_cast<size_t>(output - output_owners.begin())});
    }
  }
  std::vector<Lease> leases;
  std::vector<TensorId> owners;
  lease_tensors(leases, owners);
  for (size_t i = 0; i < scratch_bytes.size(); ++i) {
    leases.push_back({aligned(scratch_bytes[i]), i, i, 0});
  }
  arena_bytes_ = arrange(leases);
  for (size_t i = 0; i < owners.size(); ++i) offsets_[static_cast<size_t>(owners[i])] = leases[i].offset;
  for (size_t i = owners.size(); i < leases.size(); ++i) scratch_.push_back(leases[i].offset);
}

/* One lease per tensor that owns memory of the arena, from its first use to its last. */
void Program::lease_tensors(std::vector<Lease> &leases, std::vector<TensorId> &owners) const {
  std::vector<size_t> first(graph_.tensors.size(), kNowhere);
  std::vector<size_t> last(graph_.tensors.size(), 0);
  for (size_t i = 0; i < graph_.operations.size(); ++i) {
    const auto touch = [&](TensorId id) {
      if (id == kNone) return;
      const auto owner = static_cast<size_t>(graph_.owner(id));
      first[owner] = std::min(first[owner], i);
      last[owner] = i;
    };
    for (const TensorId id : graph_.operations[i]->inputs) touch(id);
    for (const TensorId id : graph_.operations[i]->outputs) touch(id);
  }
  std::vector<bool> is_outside(graph_.tensors.size());
  for (const Port &port : inputs_) is_outside[static_cast<size_t>(port.tensor)] = true;
  for (const Port &port : outputs_) is_outside[static_cast<size_t>(port.tensor)] = true;
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    if (first[i] == kNowhere || is_outside[i] || graph_.tensors[i].constant != nullptr) continue;
    leases.push_back({aligned(graph_.tensors[i].bytes()), first[i], last[i], 0});
    owners.push_back(static_cast<TensorId>(i));
  }
}

Program::Context::Context(const Program &program)
    : program_(program), tensors_(program.graph_.tensors.size(), nullptr) {
  const std::shared_ptr<void> memory = aligned_memory(program.arena_bytes_);
  arena_ = std::shared_ptr<std::byte>(memory, static_cast<std::byte *>(memory.get()));
  const Graph &graph = program.graph_;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const auto owner = static_cast<size_t>(graph.owner(static_cast<TensorId>(i)));
    if (graph.tensors[i].constant != nullptr) {
      /* Operations never write to a constant: it is an input of theirs. */
      tensors_[i] = const_cast<void *>(graph.tensors[i].constant);
    } else if (program.offsets_[owner] != kNowhere) {
      tensors_[i] = arena_.get() + program.offsets_[owner];
    }
  }
}

void Program::Context::bind(const void *const *inputs, void *const *outputs) {
  for (const Port &port : program_.inputs_) {
    tensors_[static_cast<size_t>(port.tensor)] = const_cast<void *>(inputs[port.index]);
  }
  for (const Port &port : program_.outputs_) {
    tensors_[static_cast<size_t>(port.tensor)] = outputs[port.index];
  }
}

}  // namespace cpuacc
