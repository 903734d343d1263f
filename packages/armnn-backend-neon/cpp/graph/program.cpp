/* SPDX-License-Identifier: MIT */
/* Preparing the operations of a program, and running them. */
#include "graph/program.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

namespace cpuacc {
namespace {

constexpr size_t kLargeShare = 4; /* constants of more than a quarter of all bytes are large */

}  // namespace

Program::Program(Graph graph, const Kernels &kernels, ProgramWeights weights, std::shared_ptr<Pool> pool,
                 Sharing sharing, bool multiplies_bfloat16)
    : graph_(std::move(graph)),
      kernels_(kernels),
      weights_(std::move(weights)),
      pool_(std::move(pool)) {
  const Setup setup{graph_.tensors,    kernels_,           weights_, *pool_,
                    pool_->threads(), pool_->least_ns(), multiplies_bfloat16};
  const std::vector<size_t> scratch_bytes = prepare_all(setup);
  weights_.end();
  drop_unread_constants();
  arena_ = plan_arena(graph_, scratch_bytes, sharing);
  find_ports();
  find_arena_tensors();
}

std::vector<const void *> Program::read_constants() const {
  std::vector<const void *> read;
  for (const auto &operation : graph_.operations) {
    for (const TensorId id : operation->inputs) {
      if (id != kNone && graph_[id].constant != nullptr) read.push_back(graph_[id].source());
    }
  }
  std::sort(read.begin(), read.end(), std::less<const void *>());
  return read;
}

size_t Program::weight_bytes() const {
  size_t bytes = weights_.bytes();
  std::set<const void *> counted;
  for (const Tensor &tensor : graph_.tensors) {
    if (tensor.constant != nullptr && counted.insert(tensor.constant).second) bytes += tensor.bytes();
  }
  return bytes;
}

/* The order in which operations pack: those with the largest constants first. A constant's plain and packed form
 * are in memory together for a while, and at first little else is packed.
 */
std::vector<size_t> Program::packing_order() const {
  std::vector<size_t> bytes;
  size_t all = 0;
  for (const auto &operation : graph_.operations) {
    bytes.push_back(0);
    for (const TensorId id : operation->inputs) {
      if (id != kNone && graph_[id].constant != nullptr) bytes.back() += graph_[id].bytes();
    }
    all += bytes.back();
  }
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return bytes[i] > all / kLargeShare; });
  return order;
}

/* Frees a constant as soon as its last reader packed it, so that not all are in memory twice. */
std::vector<size_t> Program::prepare_all(const Setup &setup) {
  std::vector<size_t> scratch_bytes(graph_.operations.size());
  std::vector<int32_t> readers(graph_.tensors.size());
  const auto count = [&](TensorId id, int32_t step) {
    for (; id != kNone; id = graph_[id].alias) {
      readers[static_cast<size_t>(id)] += step;
      if (readers[static_cast<size_t>(id)] == 0) drop_constant(id);
    }
  };
  for (const auto &operation : graph_.operations) {
    for (const TensorId id : operation->inputs) count(id, 1);
  }
  for (const size_t number : packing_order()) {
    Operation &operation = *graph_.operations[number];
    const std::vector<TensorId> read = operation.inputs;
    scratch_bytes[number] = operation.prepare(setup);
    for (size_t i = 0; i < read.size(); ++i) {
      if (operation.inputs[i] == kNone) {
        count(read[i], -1);
      } else {
        graph_[read[i]].read<void>(); /* by runs */
      }
    }
  }
  return scratch_bytes;
}

void Program::drop_constant(TensorId id) {
  graph_[id].constant = nullptr;
  graph_[id].memory.reset();
  graph_[id].decoded.reset();
}

/* Frees constants that no operation reads now, as they were packed or folded into others while compiling. */
void Program::drop_unread_constants() {
  std::vector<bool> is_read(graph_.tensors.size());
  for (const auto &operation : graph_.operations) {
    for (TensorId id : operation->inputs) {
      for (; id != kNone; id = graph_[id].alias) is_read[static_cast<size_t>(id)] = true;
    }
  }
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    if (!is_read[i]) drop_constant(static_cast<TensorId>(i));
  }
}

void Program::find_arena_tensors() {
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const size_t offset = arena_.tensors[static_cast<size_t>(graph_.owner(id))];
    if (graph_.tensors[i].constant == nullptr && offset != kNowhere) {
      arena_tensors_.push_back({id, offset + graph_.offset(id)});
    }
  }
}

void Program::find_ports() {
  std::vector<TensorId> input_owners = graph_.inputs;
  std::vector<TensorId> output_owners;
  for (const TensorId id : graph_.outputs) output_owners.push_back(graph_.owner(id));
  for (TensorId id = 0; id < static_cast<TensorId>(graph_.tensors.size()); ++id) {
    const TensorId owner = graph_.owner(id);
    const size_t offset = graph_.offset(id);
    const auto input = std::find(input_owners.begin(), input_owners.end(), owner);
    const auto output = std::find(output_owners.begin(), output_owners.end(), owner);
    if (input != input_owners.end()) {
      inputs_.push_back({id, static_cast<size_t>(input - input_owners.begin()), offset});
    } else if (output != output_owners.end()) {
      outputs_.push_back({id, static_cast<size_t>(output - output_owners.begin()), offset});
    }
  }
}

Program::Context::Context(const Program &program, ArenaPool &arenas)
    : program_(program), arenas_(arenas), tensors_(program.graph_.tensors.size(), nullptr) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    /* Operations never write to a constant: it is an input of theirs. */
    tensors_[i] = const_cast<void *>(program.graph_.tensors[i].constant);
  }
  arenas_.enter(program.arena_.bytes);
}

void Program::Context::set_arena(std::byte *arena) {
  for (const ArenaTensor &placed : program_.arena_tensors_) {
    tensors_[static_cast<size_t>(placed.tensor)] = arena + placed.offset;
  }
  arena_ = arena;
}

void Program::Context::bind(const void *const *inputs, void *const *outputs) {
  for (const Port &port : program_.inputs_) {
    const auto *memory = static_cast<const std::byte *>(inputs[port.index]);
    tensors_[static_cast<size_t>(port.tensor)] = const_cast<std::byte *>(memory) + port.offset;
  }
  for (const Port &port : program_.outputs_) {
    tensors_[static_cast<size_t>(port.tensor)] =
        static_cast<std::byte *>(outputs[port.index]) + port.offset;
  }
}

}  // namespace cpuacc
