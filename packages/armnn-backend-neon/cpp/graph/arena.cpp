/* SPDX-License-Identifier: MIT */
/* The plan of the arena (lifetimes, outputs over inputs, tensors in others, offsets), and the pool of arenas. */
#include "graph/arena.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace cpuacc {
namespace {

/* The first and the last operation that use a tensor or an alias of it, by the tensor that owns the memory. */
struct Lifetimes {
  std::vector<size_t> first;
  std::vector<size_t> last;

  explicit Lifetimes(const Graph &graph)
      : first(graph.tensors.size(), kNowhere), last(graph.tensors.size(), 0) {
    for (size_t i = 0; i < graph.operations.size(); ++i) {
      const auto touch = [&](TensorId id) {
        if (id == kNone) return;
        const auto owner = static_cast<size_t>(graph.owner(id));
        first[owner] = std::min(first[owner], i);
        last[owner] = i;
      };
      for (const TensorId id : graph.operations[i]->inputs) touch(id);
      for (const TensorId id : graph.operations[i]->outputs) touch(id);
    }
  }
};

class Planner {
 public:
  Planner(const Graph &graph, const std::vector<size_t> &scratch_bytes)
      : graph_(graph),
        scratch_bytes_(scratch_bytes),
        lives_(graph),
        is_outside_(outside_tensors(graph)),
        lease_owners_(graph.tensors.size()) {
    std::iota(lease_owners_.begin(), lease_owners_.end(), size_t{0});
  }

  /* Lets outputs overwrite inputs where their operations allow it. */
  void overwrite_inputs() {
    for (size_t i = 0; i < graph_.operations.size(); ++i) {
      const Operation &operation = *graph_.operations[i];
      for (size_t k = 0; k < operation.inputs.size(); ++k) {
        if (let_overwrite(operation, i, k)) break;
      }
    }
  }

  /* A lower bound of the size of an arena in which no output overwrites an input. */
  size_t peak_bytes() const {
    const size_t end = graph_.operations.size();
    std::vector<size_t> begun(end + 1), ended(end + 1);
    for (size_t i = 0; i < lease_owners_.size(); ++i) {
      if (!is_placed(i)) continue;
      begun[lives_.first[i]] += aligned_bytes(graph_.tensors[i].bytes());
      ended[lives_.last[i]] += aligned_bytes(graph_.tensors[i].bytes());
    }
    size_t now = 0, most = 0;
    for (size_t i = 0; i < end; ++i) {
      now += begun[i];
      most = std::max(most, now + aligned_bytes(scratch_bytes_[i]));
      now -= ended[i];
    }
    return most;
  }

  Arena plan(bool shares_nothing) const {
    Arena arena;
    arena.tensors.assign(graph_.tensors.size(), kNowhere);
    std::vector<Lease> leases;
    std::vector<size_t> lease_of(graph_.tensors.size(), kNowhere);
    const size_t end = graph_.operations.size();
    leases.reserve(end + lease_owners_.size());
    const auto lease = [&](size_t bytes, size_t first, size_t last) {
      leases.push_back({aligned_bytes(bytes), shares_nothing ? 0 : first, shares_nothing ? end : last, 0});
      return leases.size() - 1;
    };
    for (size_t i = 0; i < end; ++i) lease(scratch_bytes_[i], i, i);
    for (size_t i = 0; i < lease_owners_.size(); ++i) {
      if (!is_placed(i)) continue;
      size_t &at = lease_of[lease_owners_[i]];
      if (at == kNowhere) at = lease(graph_.tensors[i].bytes(), lives_.first[i], lives_.last[i]);
      leases[at].first = std::min(leases[at].first, lives_.first[i]);
      leases[at].last = std::max(leases[at].last, lives_.last[i]);
    }
    arena.bytes = arrange(leases);
    for (size_t i = 0; i < end; ++i) {
      arena.scratch.push_back(leases[i].offset);
      arena.scratch_bytes = std::max(arena.scratch_bytes, leases[i].bytes);
    }
    for (size_t i = 0; i < lease_owners_.size(); ++i) {
      if (is_placed(i)) arena.tensors[i] = leases[lease_of[lease_owners_[i]]].offset;
    }
    return arena;
  }

 private:
  bool is_placed(size_t tensor) const {
    return lives_.first[tensor] != kNowhere && !is_outside_[tensor];
  }

  /* Lets an operation's output overwrite an input, if it may; returns whether it does. */
  bool let_overwrite(const Operation &operation, size_t position, size_t input) {
    if (operation.inputs[input] == kNone || operation.outputs.empty()) return false;
    const TensorId owner = graph_.owner(operation.inputs[input]);
    const auto from = static_cast<size_t>(owner);
    const auto to = static_cast<size_t>(operation.outputs[0]);
    const bool is_whole = graph_.tensors[to].alias == kNone &&
                          graph_.tensors[from].bytes() == graph_.tensors[to].bytes();
    if (!is_whole || from == to || !is_placed(from) || !is_placed(to)) return false;
    if (lives_.last[from] != position || lives_.first[to] != position) return false;
    for (size_t k = 0; k < operation.inputs.size(); ++k) {
      const TensorId other = operation.inputs[k];
      if (other != kNone && graph_.owner(other) == owner && !operation.may_overwrite(k)) return false;
    }
    lease_owners_[to] = lease_owners_[from];
    return true;
  }

  const Graph &graph_;
  const std::vector<size_t> &scratch_bytes_;
  Lifetimes lives_;
  std::vector<bool> is_outside_;
  std::vector<size_t> lease_owners_; /* of each tensor: the tensor in whose lease it lies */
};

/* The plan in which nothing is overwritten is made only if it could save one part in so many of the arena. */
constexpr size_t kLeastSaving = 16;

Arena plan_in_place(const Graph &graph, const std::vector<size_t> &scratch_bytes) {
  Planner planner(graph, scratch_bytes);
  const size_t least_apart = planner.peak_bytes();
  planner.overwrite_inputs();
  Arena shared = planner.plan(false);
  if (shared.bytes - shared.bytes / kLeastSaving <= least_apart) return shared;
  Arena apart = Planner(graph, scratch_bytes).plan(false);
  return shared.bytes <= apart.bytes ? shared : apart;
}

/* Places tensors inside others, as long as the arena does not grow by it. */
class Nesting {
 public:
  Nesting(Graph &graph, const std::vector<size_t> &scratch_bytes)
      : graph_(graph), scratch_bytes_(scratch_bytes), is_outside_(outside_tensors(graph)) {}

  Arena plan() {
    Arena best = plan_in_place(graph_, scratch_bytes_);
    for (const auto &operation : graph_.operations) place_parts(*operation);
    if (parts_.empty()) return best;
    Arena all = plan_in_place(graph_, scratch_bytes_);
    if (all.bytes <= best.bytes) return all;
    for (const TensorId part : parts_) take_out(part);
    for (const auto &operation : graph_.operations) {
      parts_.clear();
      place_parts(*operation);
      if (parts_.empty()) continue;
      Arena next = plan_in_place(graph_, scratch_bytes_);
      if (next.bytes <= best.bytes) {
        best = std::move(next);
      } else {
        for (const TensorId part : parts_) take_out(part);
      }
    }
    return best;
  }

 private:
  void place_parts(const Operation &operation) {
    for (const CopiedRange &range : operation.copied_ranges()) {
      const TensorId from = operation.inputs[range.input];
      const TensorId to = operation.outputs[0];
      if (graph_[from].constant != nullptr) continue;
      const TensorId source = graph_.owner(from);
      if (source == graph_.owner(to)) continue;
      if (range.from == 0 && fits(source, range.bytes)) {
        put(source, to, range.to);
      } else if (range.to == 0 && fits(to, range.bytes)) {
        put(to, from, range.from);
      }
    }
  }

  bool fits(TensorId part, size_t bytes) const {
    return graph_[part].alias == kNone && !is_outside_[static_cast<size_t>(part)] &&
           graph_[part].bytes() == bytes;
  }

  void put(TensorId part, TensorId whole, size_t offset) {
    graph_[part].alias = whole;
    graph_[part].alias_offset = offset;
    parts_.push_back(part);
  }

  void take_out(TensorId part) {
    graph_[part].alias = kNone;
    graph_[part].alias_offset = 0;
  }

  Graph &graph_;
  const std::vector<size_t> &scratch_bytes_;
  std::vector<bool> is_outside_;
  std::vector<TensorId> parts_; /* the tensors put into others since it was last cleared */
};

}  // namespace

/* From the largest lease to the smallest, each gets the lowest offset that is free during its lifetime. */
size_t arrange(std::vector<Lease> &leases) {
  std::vector<size_t> by_size;
  by_size.reserve(leases.size());
  for (size_t i = 0; i < leases.size(); ++i) {
    if (leases[i].bytes > 0) by_size.push_back(i); /* the others may be anywhere */
  }
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return leases[a].bytes > leases[b].bytes; });
  std::vector<Lease> placed; /* by offset */
  placed.reserve(by_size.size());
  size_t total = 0;
  for (const size_t number : by_size) {
    Lease &next = leases[number];
    size_t offset = 0;
    for (const Lease &other : placed) {
      /* About half of the lifetimes overlap, in no order: a branch on each would often be mispredicted. */
      const bool overlaps = (next.first <= other.last) & (other.first <= next.last);
      if (overlaps & (offset + next.bytes <= other.offset)) break;
      offset = std::max(offset, overlaps ? other.offset + other.bytes : 0);
    }
    next.offset = offset;
    total = std::max(total, next.offset + next.bytes);
    const auto by_offset = [](const Lease &one, const Lease &other) { return one.offset < other.offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), next, by_offset), next);
  }
  return total;
}

std::vector<bool> outside_tensors(const Graph &graph) {
  std::vector<bool> is_outside(graph.tensors.size());
  for (const TensorId id : graph.inputs) is_outside[static_cast<size_t>(graph.owner(id))] = true;
  for (const TensorId id : graph.outputs) is_outside[static_cast<size_t>(graph.owner(id))] = true;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].constant != nullptr) is_outside[i] = true;
  }
  return is_outside;
}

Arena plan_arena(Graph &graph, const std::vector<size_t> &scratch_bytes, Sharing sharing) {
  if (sharing == Sharing::in_place) return Nesting(graph, scratch_bytes).plan();
  return Planner(graph, scratch_bytes).plan(sharing == Sharing::none);
}

namespace {

/* A block is kept while it is at most this many times as large as the largest arena of the contexts that are
 * left. Where programs of many shapes come and go, the largest arena changes all the time, and getting
 * megabytes of new pages takes longer than many a run.
 */
constexpr size_t kSpare = 2;

constexpr int64_t kCrowdNs = 20000000; /* a few times the pause of a server between two calls */

int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void ArenaPool::enter(size_t bytes) {
  Block block = take(bytes);
  const std::lock_guard<ForkSafeMutex> guard(mutex_);
  taken_.fetch_sub(1, std::memory_order_relaxed);
  needs_.push_back(bytes);
  free_.reserve(needs_.size() + 1);
  free_.push_back(std::move(block));
}

void ArenaPool::leave(size_t bytes) {
  std::vector<Block> gone; /* freed after the mutex is released, as that may take long */
  const std::lock_guard<ForkSafeMutex> guard(mutex_);
  needs_.erase(std::find(needs_.begin(), needs_.end(), bytes));
  const size_t most = needs_.empty() ? 0 : *std::max_element(needs_.begin(), needs_.end());
  const auto is_needed = [&](const Block &block) { return !needs_.empty() && block.bytes <= kSpare * most; };
  const auto end = std::stable_partition(free_.begin(), free_.end(), is_needed);
  gone.assign(std::make_move_iterator(end), std::make_move_iterator(free_.end()));
  free_.erase(end, free_.end());
}

Block ArenaPool::take(size_t bytes) {
  Block block;
  {
    const std::lock_guard<ForkSafeMutex> guard(mutex_);
    block = found(bytes);
  }
  if (block.memory == nullptr || block.bytes < bytes) {
    block.memory = source_.grown(std::move(block.memory), bytes);
    block.bytes = bytes;
  }
  taken_.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void ArenaPool::give_back(Block block) {
  const std::lock_guard<ForkSafeMutex> guard(mutex_);
  taken_.fetch_sub(1, std::memory_order_relaxed);
  if (free_.size() < free_.capacity()) free_.push_back(std::move(block));
}

bool ArenaPool::was_crowded() const {
  const int64_t seen = crowded_ns_.load(std::memory_order_relaxed);
  return seen != 0 && now_ns() - seen < kCrowdNs;
}

void ArenaPool::note_crowd() { crowded_ns_.store(now_ns(), std::memory_order_relaxed); }

/* Of the blocks that are large enough the one used last; else the one used last, to be enlarged; else none. */
Block ArenaPool::found(size_t bytes) {
  if (free_.empty()) return {};
  auto place = std::find_if(free_.rbegin(), free_.rend(), [&](const Block &b) { return b.bytes >= bytes; });
  if (place == free_.rend()) place = free_.rbegin();
  Block block = std::move(*place);
  free_.erase(std::next(place).base());
  return block;
}

}  // namespace cpuacc
