/* SPDX-License-Identifier: MIT */
/* Chains: blocks, their buffers, and operands that are broadcast. */
#include "operations/pointwise/chain.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"
#include "graph/data_types.h"

namespace cpuacc {
namespace {

template <typename T>
void fill_runs(const void *from, void *to, const AccessPattern &pattern, int64_t first, int64_t n) {
  const auto *x = static_cast<const T *>(from);
  auto *y = static_cast<T *>(to);
  int64_t run = first / pattern.inner % pattern.period;
  int64_t end = pattern.inner - first % pattern.inner;
  for (int64_t i = 0; i < n; i = end, end += pattern.inner) {
    std::fill(y + i, y + std::min(end, n), x[run]);
    run = run + 1 == pattern.period ? 0 : run + 1;
  }
}

/* Copies one period, beginning at a byte within it, again and again. */
void copy_periods(const std::byte *from, std::byte *to, int64_t period, int64_t at, int64_t bytes) {
  const auto put = [&](int64_t place, const std::byte *source, int64_t most) {
    const int64_t size = std::min(most, bytes - place);
    std::memcpy(to + place, source, static_cast<size_t>(size));
    return place + size;
  };
  int64_t done = put(0, from + at, period - at);
  if (done < bytes) done = put(done, from, at);
  while (done < bytes) done = put(done, to, done);
}

/* Copies n elements as the output reads them from its element first on. */
void copy_repeated(const std::byte *from, std::byte *to, const AccessPattern &pattern, int64_t bytes,
                   int64_t first, int64_t n) {
  if (pattern.inner == 1) {
    return copy_periods(from, to, pattern.period * bytes, first % pattern.period * bytes, n * bytes);
  }
  visit_width(static_cast<size_t>(bytes), [&](auto tag) {
    fill_runs<typename decltype(tag)::Type>(from, to, pattern, first, n);
  });
}

/* The largest equal part of a row that fits; else as many numbers as fit. */
int64_t part_of(int64_t length, int64_t most) {
  for (int64_t parts = ratio_up(length, most); parts <= 2 * ratio_up(length, most); ++parts) {
    if (length % parts == 0) return length / parts;
  }
  return most;
}

}  // namespace

Chain::Chain(const Graph &graph, std::vector<std::unique_ptr<Pointwise>> links,
             std::vector<TensorId> outputs)
    : Operation({}, std::move(outputs)), count_(graph[links.front()->outputs[0]].count()) {
  std::vector<TensorId> made;
  for (std::unique_ptr<Pointwise> &operation : links) {
    const TensorId to = operation->outputs[0];
    Link link{std::move(operation), {}, Location::buffer, 0, 0};
    link.bytes = static_cast<int64_t>(element_bytes(graph[to].type));
    const auto output = std::find(this->outputs.begin(), this->outputs.end(), to);
    if (output != this->outputs.end()) {
      link.location = Location::output;
      link.index = static_cast<size_t>(output - this->outputs.begin());
    }
    connect(graph, link, made);
    elements_ += link.operation->in_elements();
    links_.push_back(std::move(link));
    made.push_back(to);
  }
  node = links_.back().operation->node;
  choose_buffers();
}

/* Notes where the operands of a link are: of an earlier link's result its number, until buffers are chosen. */
void Chain::connect(const Graph &graph, Link &link, const std::vector<TensorId> &made) {
  for (size_t i = 0; i < link.operation->inputs.size(); ++i) {
    const TensorId id = link.operation->inputs[i];
    const auto bytes = static_cast<int64_t>(element_bytes(graph[id].type));
    const auto maker = std::find(made.begin(), made.end(), graph.owner(id));
    if (maker != made.end()) {
      const auto number = static_cast<size_t>(maker - made.begin());
      const bool is_output = links_[number].location == Location::output;
      link.operands.push_back({links_[number].location, is_output ? links_[number].index : number,
                               {1, count_}, bytes, false});
      continue;
    }
    auto input = std::find(inputs.begin(), inputs.end(), id);
    if (input == inputs.end()) input = inputs.insert(inputs.end(), id);
    const auto number = static_cast<size_t>(input - inputs.begin());
    const AccessPattern pattern = *link.operation->access_pattern(graph, i);
    const bool is_repeated = pattern.period > 1 && !pattern.is_dense(count_);
    link.operands.push_back({Location::input, number, pattern, bytes, is_repeated});
  }
}

/* A buffer is free again after the last link that reads it; copies have buffers of their own. */
void Chain::choose_buffers() {
  std::vector<size_t> last(links_.size());
  for (size_t i = 0; i < links_.size(); ++i) {
    for (const Operand &operand : links_[i].operands) {
      if (operand.location == Location::buffer) last[operand.index] = i;
    }
  }
  std::vector<size_t> users; /* of each buffer: until which link */
  for (size_t i = 0; i < links_.size(); ++i) {
    for (Operand &operand : links_[i].operands) {
      if (operand.location == Location::buffer) operand.index = links_[operand.index].index;
    }
    const auto is_free = [&](size_t until) { return until < i; };
    auto found = std::find_if(users.begin(), users.end(), is_free);
    if (links_[i].location != Location::buffer) {
      if (found != users.end()) links_[i].wide = static_cast<size_t>(found - users.begin());
      continue;
    }
    if (found == users.end()) found = users.insert(users.end(), 0);
    *found = last[i];
    links_[i].index = static_cast<size_t>(found - users.begin());
  }
  buffers_ = users.size();
  for (Link &link : links_) {
    for (Operand &operand : link.operands) {
      if (operand.is_repeated) operand.copy = buffers_++;
    }
  }
}

/* Makes a block as large as all buffers together fit into the cache; but a multiple of a short operand that is
 * repeated, so that its copy serves all blocks, or an equal part of a longer repeated row, which is read in place.
 */
void Chain::choose_block(int64_t cache_bytes) {
  const auto buffers = static_cast<int64_t>(std::max<size_t>(buffers_, 1));
  buffer_bytes_ =
      std::clamp(cache_bytes / buffers / 64 * 64, costs::kLeastChainBytes, costs::kMostChainBytes);
  int64_t widest = 1;
  int64_t longest = 1;
  for (const Link &link : links_) {
    widest = std::max(widest, link.bytes);
    for (const Operand &operand : link.operands) widest = std::max(widest, operand.bytes);
  }
  block_ = std::min(buffer_bytes_ / widest, count_);
  for (const Link &link : links_) {
    for (const Operand &operand : link.operands) {
      const int64_t length = operand.pattern.inner * operand.pattern.period;
      if (operand.is_repeated && length <= block_) longest = std::max(longest, length);
    }
  }
  if (longest == 1) {
    for (const Link &link : links_) {
      for (const Operand &operand : link.operands) {
        const bool is_row = operand.is_repeated && operand.pattern.inner == 1;
        if (is_row && operand.pattern.period > block_) block_ = part_of(operand.pattern.period, block_);
      }
    }
  }
  block_ -= block_ % longest;
  buffer_bytes_ = aligned_bytes(block_ * widest);
  for (Link &link : links_) {
    for (Operand &operand : link.operands) {
      const int64_t length = operand.pattern.inner * operand.pattern.period;
      operand.is_lasting = operand.is_repeated && block_ % length == 0;
    }
  }
}

bool Chain::can_read_bfloat16(const Kernels &, size_t input) const {
  for (const Link &link : links_) {
    for (const Operand &operand : link.operands) {
      if (operand.location == Location::input && operand.index == input && !operand.pattern.is_dense(count_)) return false;
    }
  }
  return true;
}

/* An operand in bfloat16 gets a buffer for its float32 block, unless the link reads bfloat16. */
void Chain::note_storage(const Setup &setup) {
  const auto is_bfloat16 = [&](TensorId id, int64_t bytes) { return bytes == sizeof(float) && setup.is_bfloat16(id); };
  for (Link &link : links_) {
    link.is_bfloat16 = link.location == Location::output && is_bfloat16(outputs[link.index], link.bytes);
    const bool converts = link.operation->takes_bfloat16();
    link.takes_bfloat16 = converts && link.is_bfloat16;
    if (!converts && link.is_bfloat16 && link.wide == kNone) link.wide = buffers_++;
    for (Operand &operand : link.operands) {
      if (operand.location == Location::buffer) continue;
      const TensorId id = operand.location == Location::input ? inputs[operand.index] : outputs[operand.index];
      operand.is_bfloat16 = is_bfloat16(id, operand.bytes);
      link.takes_bfloat16 = link.takes_bfloat16 || (converts && operand.is_bfloat16);
      if (!converts && operand.is_bfloat16) operand.copy = buffers_++;
    }
  }
}

size_t Chain::prepare(const Setup &setup) {
  note_storage(setup);
  choose_block(setup.machine().first_cache_bytes());
  for (const Link &link : links_) link.operation->prepare(setup);
  return buffers_ * static_cast<size_t>(buffer_bytes_) * static_cast<size_t>(setup.threads);
}

const void *Chain::read(const Blocks &blocks, const Operand &operand, bool takes_bfloat16, int64_t first, int64_t n,
                        int64_t &step) const {
  const auto buffer = [&](size_t index) {
    return blocks.own + static_cast<int64_t>(index) * buffer_bytes_;
  };
  step = 1;
  if (operand.location == Location::buffer) return buffer(operand.index);
  const bool is_made = operand.location == Location::output;
  const TensorId id = is_made ? outputs[operand.index] : inputs[operand.index];
  if (operand.is_bfloat16 && !takes_bfloat16) {
    auto *wide = reinterpret_cast<float *>(buffer(operand.copy));
    blocks.frame.kernels.half_to_float32[static_cast<int>(HalfFormat::bfloat16)](
        blocks.frame.in<uint16_t>(id) + first, wide, n);
    return wide;
  }
  const auto *from = blocks.frame.in<std::byte>(id);
  if (operand.is_bfloat16) return from + first * static_cast<int64_t>(sizeof(Bfloat16));
  if (is_made) return from + first * operand.bytes;
  if (!operand.is_repeated) {
    step = operand.pattern.period > 1 ? 1 : 0;
    return from + step * first * operand.bytes;
  }
  const AccessPattern &pattern = operand.pattern;
  if (pattern.inner == 1 && first % pattern.period + n <= pattern.period) {
    return from + first % pattern.period * operand.bytes;
  }
  if (first % pattern.inner + n <= pattern.inner) {
    step = 0;
    return from + first / pattern.inner % pattern.period * operand.bytes;
  }
  std::byte *copy = buffer(operand.copy);
  if (!operand.is_lasting || first == blocks.first) {
    copy_repeated(from, copy, operand.pattern, operand.bytes, first, n);
  }
  return copy;
}

void Chain::compute_numbers(const Blocks &blocks, const Link &link, const void *const *operands,
                            const int64_t *steps, int64_t first, int64_t n) const {
  FloatInput numbers[Pointwise::kMostOperands];
  for (size_t i = 0; i < link.operands.size(); ++i) {
    numbers[i] = {static_cast<const float *>(operands[i]), nullptr, steps[i]};
    if (link.operands[i].is_bfloat16) numbers[i] = {nullptr, static_cast<const Bfloat16 *>(operands[i]), 1};
  }
  FloatOutput to{nullptr};
  if (link.is_bfloat16) {
    to.bfloat16 = blocks.frame.out<Bfloat16>(outputs[link.index]) + first;
  } else if (link.location == Location::buffer) {
    to.float32 = reinterpret_cast<float *>(blocks.own + static_cast<int64_t>(link.index) * buffer_bytes_);
  } else {
    to.float32 = blocks.frame.out<float>(outputs[link.index]) + first;
  }
  link.operation->compute_numbers(blocks.frame.kernels, numbers, to, n);
}

void Chain::compute(const Blocks &blocks, int64_t first, int64_t n) const {
  for (const Link &link : links_) {
    const void *operands[Pointwise::kMostOperands];
    int64_t steps[Pointwise::kMostOperands];
    for (size_t i = 0; i < link.operands.size(); ++i) {
      operands[i] = read(blocks, link.operands[i], link.takes_bfloat16, first, n, steps[i]);
    }
    const auto buffer = [&](size_t index) { return blocks.own + static_cast<int64_t>(index) * buffer_bytes_; };
    const Kernels &kernels = blocks.frame.kernels;
    if (link.takes_bfloat16) {
      compute_numbers(blocks, link, operands, steps, first, n);
      continue;
    }
    if (link.is_bfloat16) {
      std::byte *wide = buffer(link.wide);
      link.operation->compute_span(kernels, operands, steps, wide, n);
      kernels.round_to_bfloat16(reinterpret_cast<const float *>(wide),
                                blocks.frame.out<Bfloat16>(outputs[link.index]) + first, n);
      continue;
    }
    std::byte *to = link.location == Location::buffer
                        ? buffer(link.index)
                        : blocks.frame.out<std::byte>(outputs[link.index]) + first * link.bytes;
    link.operation->compute_span(kernels, operands, steps, to, n);
  }
}

bool Chain::may_overwrite(size_t input) const {
  bool is_written = false;
  for (const Link &link : links_) {
    for (const Operand &operand : link.operands) {
      if (operand.location != Location::input || operand.index != input) continue;
      if (is_written || !operand.pattern.is_dense(count_)) return false;
    }
    is_written = is_written || (link.location == Location::output && link.index == 0);
  }
  return true;
}

void Chain::run(const Frame &frame) const {
  const double item_ns = static_cast<double>(block_) * elements_ * frame.element_ns();
  const int64_t count = ratio_up(count_, block_);
  const size_t own_bytes = buffers_ * static_cast<size_t>(buffer_bytes_);
  frame.pool.run(count, item_ns, [&](int64_t begin, int64_t end, int32_t thread) {
    const Blocks blocks{frame, frame.scratch_of<std::byte>(thread, own_bytes), begin * block_};
    for (int64_t i = begin; i < end; ++i) {
      compute(blocks, i * block_, std::min(block_, count_ - i * block_));
    }
  });
}

}  // namespace cpuacc
