/* SPDX-License-Identifier: MIT */
#include "operations/copy/copy.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "layers/lowering.h"

namespace cpuacc {
namespace {

constexpr int64_t kFilledElements = 16384; /* that are worth a thread's while */
constexpr int64_t kSlicedLines = 256; /* of a transposition, as above */

template <size_t Bytes>
void move_line(const std::byte *from, int64_t from_step, std::byte *to, int64_t to_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * to_step * static_cast<int64_t>(Bytes),
                from + i * from_step * static_cast<int64_t>(Bytes), Bytes);
  }
}

void move_line(const std::byte *from, int64_t from_step, std::byte *to, int64_t to_step, int64_t n,
               size_t bytes) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * bytes);
    return;
  }
  switch (bytes) {
    case 1: return move_line<1>(from, from_step, to, to_step, n);
    case 2: return move_line<2>(from, from_step, to, to_step, n);
    case 4: return move_line<4>(from, from_step, to, to_step, n);
    default: return move_line<8>(from, from_step, to, to_step, n);
  }
}

/* Whether all elements of a box are among the first count. */
bool lies_inside(const Shape &shape, const Shape &steps, int64_t offset, int64_t count) {
  __extension__ typedef __int128 Wide;
  Wide lowest = offset;
  Wide highest = offset;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return true;
    const Wide reach = static_cast<Wide>(shape[i] - 1) * steps[i];
    (reach < 0 ? lowest : highest) += reach;
  }
  return lowest >= 0 && highest < count;
}

/* Where the box of the outer axes at this number begins. */
struct Corner {
  int64_t from;
  int64_t to;
};

Corner corner(const Move &move, size_t outer_axes, int64_t number) {
  Corner result{move.from_offset, move.to_offset};
  for (size_t axis = outer_axes; axis-- > 0;) {
    const int64_t index = number % move.shape[axis];
    number /= move.shape[axis];
    result.from += index * move.from[axis];
    result.to += index * move.to[axis];
  }
  return result;
}

/* Whether its elements lie side by side, here and there; it is simplified. */
bool is_stretch(const Move &move) {
  return move.shape.size() == 1 && move.from[0] == 1 && move.to[0] == 1;
}

/* Whether the last two axes are a transposition. */
bool is_transposition(const Move &move) {
  const size_t rank = move.shape.size();
  return rank >= 2 && move.to[rank - 1] == 1 && move.from[rank - 2] == 1;
}

/* to[i, j] = from[j, i], square by square: both sides stay in the cache. */
template <size_t Bytes>
void transpose(const std::byte *from, int64_t from_step, std::byte *to, int64_t to_step, int64_t rows,
               int64_t columns) {
  constexpr int64_t kSide = 64;
  constexpr auto kBytes = static_cast<int64_t>(Bytes);
  for (int64_t top = 0; top < rows; top += kSide) {
    const int64_t bottom = std::min(top + kSide, rows);
    for (int64_t left = 0; left < columns; left += kSide) {
      const int64_t right = std::min(left + kSide, columns);
      for (int64_t j = left; j < right; ++j) {
        for (int64_t i = top; i < bottom; ++i) {
          std::memcpy(to + (i * to_step + j) * kBytes, from + (j * from_step + i) * kBytes, Bytes);
        }
      }
    }
  }
}

void transpose(const std::byte *from, int64_t from_step, std::byte *to, int64_t to_step, int64_t rows,
               int64_t columns, size_t bytes) {
  switch (bytes) {
    case 1: return transpose<1>(from, from_step, to, to_step, rows, columns);
    case 2: return transpose<2>(from, from_step, to, to_step, rows, columns);
    case 4: return transpose<4>(from, from_step, to, to_step, rows, columns);
    default: return transpose<8>(from, from_step, to, to_step, rows, columns);
  }
}

/* Whether kernels carry it line by line or square by square; it is simplified. */
bool is_fast(const Move &move) {
  return is_transposition(move) || (move.from.back() == 1 && move.to.back() == 1);
}

/* One reordering and then another, whose axes may be cut otherwise; nullopt: they do not fit together.
 * Axes of the memory in between, from the densest one on, are split where the other has a border.
 */
std::optional<Move> joined(const Move &first, const Move &second) {
  if (elements(first.shape) == 0) return std::nullopt;
  std::vector<size_t> made(first.shape.size()), read(second.shape.size());
  std::iota(made.begin(), made.end(), size_t{0});
  std::iota(read.begin(), read.end(), size_t{0});
  std::sort(made.begin(), made.end(), [&](size_t a, size_t b) { return first.to[a] < first.to[b]; });
  std::sort(read.begin(), read.end(), [&](size_t a, size_t b) { return second.from[a] < second.from[b]; });
  Move result;
  int64_t made_left = 1, read_left = 1, from = 0, to = 0;
  for (size_t i = 0, j = 0;;) {
    if (made_left == 1 && i < made.size()) {
      made_left = first.shape[made[i]];
      from = first.from[made[i++]];
    }
    if (read_left == 1 && j < read.size()) {
      read_left = second.shape[read[j]];
      to = second.to[read[j++]];
    }
    const int64_t size = std::min(made_left, read_left);
    if (made_left % size != 0 || read_left % size != 0) return std::nullopt;
    result.shape.push_back(size);
    result.from.push_back(from);
    result.to.push_back(to);
    made_left /= size;
    read_left /= size;
    from *= size;
    to *= size;
    if (made_left == 1 && read_left == 1 && i == made.size() && j == read.size()) return simplified(result);
  }
}

/* A move as items for threads: boxes along the outer axes, and slices along the next one. */
struct Cut {
  size_t outer_axes;
  int64_t slice; /* elements along the axis that is sliced */
  int64_t slices;
  int64_t items;
};

Cut cut_of(const Move &move) {
  const size_t rank = move.shape.size();
  const bool is_transposed = is_transposition(move);
  const size_t outer_axes = rank - (is_transposed ? 2 : 1);
  const int64_t length = move.shape[outer_axes];
  const int64_t slice = is_transposed ? kSlicedLines : kFilledElements;
  const int64_t slices = (length + slice - 1) / slice;
  return {outer_axes, slice, slices, elements(move.shape, 0, outer_axes) * slices};
}

/* Some slices of transpositions. */
void carry_squares(const Kernels *kernels, const Move &move, const Cut &cut, const std::byte *from,
                   std::byte *to, size_t bytes, int64_t begin, int64_t end) {
  const size_t axis = cut.outer_axes;
  const size_t last = axis + 1;
  const auto size = static_cast<int64_t>(bytes);
  for (int64_t i = begin; i < end; ++i) {
    Corner at = corner(move, axis, i / cut.slices);
    const int64_t first = i % cut.slices * cut.slice;
    const int64_t count = std::min(cut.slice, move.shape[axis] - first);
    at.from += first; /* side by side there */
    at.to += first * move.to[axis];
    if (kernels != nullptr && bytes == 4) {
      kernels->transpose(reinterpret_cast<const float *>(from) + at.from, move.from[last],
                         reinterpret_cast<float *>(to) + at.to, move.to[axis], move.shape[last], count);
    } else {
      transpose(from + at.from * size, move.from[last], to + at.to * size, move.to[axis], count,
                move.shape[last], bytes);
    }
  }
}

/* Some slices of lines. */
void carry_lines(const Move &move, const Cut &cut, const std::byte *from, std::byte *to, size_t bytes,
                 int64_t begin, int64_t end) {
  const size_t axis = cut.outer_axes;
  const auto size = static_cast<int64_t>(bytes);
  const int64_t side = axis > 0 ? move.shape[axis - 1] * cut.slices : cut.slices;
  for (int64_t i = begin; i < end;) {
    Corner at = corner(move, axis, i / cut.slices); /* divides, which takes longer than a short line */
    for (const int64_t last = std::min(end, (i / side + 1) * side); i < last; ++i) {
      const int64_t first = cut.slices == 1 ? 0 : i % cut.slices * cut.slice;
      const int64_t count = std::min(cut.slice, move.shape[axis] - first);
      move_line(from + (at.from + first * move.from[axis]) * size, move.from[axis],
                to + (at.to + first * move.to[axis]) * size, move.to[axis], count, bytes);
      if (axis == 0 || first + count < move.shape[axis]) continue;
      at.from += move.from[axis - 1];
      at.to += move.to[axis - 1];
    }
  }
}

void carry(const Kernels *kernels, const Move &move, const Cut &cut, const std::byte *from, std::byte *to,
           size_t bytes, int64_t begin, int64_t end) {
  if (cut.outer_axes + 1 < move.shape.size()) {
    carry_squares(kernels, move, cut, from, to, bytes, begin, end);
  } else {
    carry_lines(move, cut, from, to, bytes, begin, end);
  }
}

}  // namespace

Shape strides_of(const Shape &shape) {
  Shape strides(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

Move simplified(Move move) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < move.shape.size(); ++i) {
    if (move.shape[i] != 1) axes.push_back(i);
  }
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return move.to[a] > move.to[b]; });
  Move result{{}, {}, {}, move.from_offset, move.to_offset};
  for (const size_t axis : axes) {
    const int64_t size = move.shape[axis];
    if (!result.shape.empty() && result.from.back() == move.from[axis] * size &&
        result.to.back() == move.to[axis] * size) {
      result.shape.back() *= size;
      result.from.back() = move.from[axis];
      result.to.back() = move.to[axis];
    } else {
      result.shape.push_back(size);
      result.from.push_back(move.from[axis]);
      result.to.push_back(move.to[axis]);
    }
  }
  if (result.shape.empty()) {
    result.shape = {1};
    result.from = {1};
    result.to = {1};
  }
  /* A transposition is fastest as the last two axes. */
  const size_t rank = result.shape.size();
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (result.from[i] == 1 && result.to[rank - 1] == 1 && result.from[rank - 1] != 1) {
      std::swap(result.shape[i], result.shape[rank - 2]);
      std::swap(result.from[i], result.from[rank - 2]);
      std::swap(result.to[i], result.to[rank - 2]);
      break;
    }
  }
  return result;
}

Moves::Moves(std::vector<TensorId> from, TensorId to, std::vector<Move> moves)
    : Moves(std::move(from), to, std::move(moves), {}) {}

Moves::Moves(std::vector<TensorId> from, TensorId to, std::vector<Move> moves,
             std::vector<std::byte> filler)
    : Operation(std::move(from), {to}), moves_(std::move(moves)), filler_(std::move(filler)) {}

void Moves::check(const Graph &graph) const {
  const int64_t room = graph[outputs[0]].count();
  for (size_t i = 0; i < moves_.size(); ++i) {
    const Move &move = moves_[i];
    if (!lies_inside(move.shape, move.from, move.from_offset, graph[inputs[i]].count()) ||
        !lies_inside(move.shape, move.to, move.to_offset, room)) {
      throw Refusal{"the shape of the output does not fit to the parameters"};
    }
  }
}

size_t Moves::prepare(const Setup &setup) {
  element_bytes_ = element_bytes(setup[outputs[0]].type);
  output_count_ = static_cast<size_t>(setup[outputs[0]].count());
  for (Move &move : moves_) move = simplified(std::move(move));
  return 0;
}

void Moves::fill(const Frame &frame, std::byte *to) const {
  const auto count = static_cast<int64_t>(output_count_);
  const int64_t pieces = (count + kFilledElements - 1) / kFilledElements;
  frame.pool.run(pieces, kFilledElements * kElementNs, [&](int64_t begin, int64_t end, int32_t) {
    const auto first = static_cast<size_t>(begin * kFilledElements);
    const size_t size = static_cast<size_t>(std::min(end * kFilledElements, count)) - first;
    std::byte *piece = to + first * element_bytes_;
    std::memcpy(piece, filler_.data(), element_bytes_);
    for (size_t done = 1; done < size; done *= 2) {
      std::memcpy(piece + done * element_bytes_, piece, std::min(done, size - done) * element_bytes_);
    }
  });
}

void Moves::run(const Frame &frame) const {
  std::byte *to = frame.out<std::byte>(outputs[0]);
  const auto size = static_cast<int64_t>(element_bytes_);
  if (!filler_.empty()) fill(frame, to);
  for (size_t i = 0; i < moves_.size(); ++i) {
    const Move &move = moves_[i];
    if (elements(move.shape) == 0) continue;
    const std::byte *from = frame.in<std::byte>(inputs[i]);
    if (is_stretch(move) && from + move.from_offset * size == to + move.to_offset * size) continue;
    const Cut cut = cut_of(move);
    const double item_ns = static_cast<double>(elements(move.shape) / cut.items) * kElementNs;
    frame.pool.run(cut.items, item_ns, [&](int64_t begin, int64_t end, int32_t) {
      carry(&frame.kernels, move, cut, from, to, element_bytes_, begin, end);
    });
  }
}

std::vector<Stretch> Moves::stretches() const {
  std::vector<Stretch> result;
  if (!filler_.empty()) return result;
  for (size_t i = 0; i < moves_.size(); ++i) {
    const Move &move = moves_[i];
    if (!is_stretch(move) || move.shape[0] == 0) continue;
    result.push_back({i, static_cast<size_t>(move.from_offset) * element_bytes_,
                      static_cast<size_t>(move.to_offset) * element_bytes_,
                      static_cast<size_t>(move.shape[0]) * element_bytes_});
  }
  return result;
}

Reorder::Reorder(TensorId from, TensorId to, Order steps)
    : Moves({from}, to, {Move{}}), steps_(std::move(steps)) {}

Move Reorder::move(const std::vector<Tensor> &tensors) const {
  if (joined_) return *joined_;
  return simplified(reordering(tensors[static_cast<size_t>(inputs[0])].shape, steps_));
}

bool Reorder::absorb_reorder(const Graph &graph, const Reorder &later) {
  std::optional<Move> both = joined(move(graph.tensors), later.move(graph.tensors));
  if (!both || !is_fast(*both)) return false;
  joined_ = std::move(both);
  return true;
}

size_t Reorder::prepare(const Setup &setup) {
  set_move(move(setup.tensors));
  return Moves::prepare(setup);
}

size_t Copy::prepare(const Setup &setup) {
  bytes_ = setup[outputs[0]].bytes();
  return 0;
}

void Copy::run(const Frame &frame) const {
  if (bytes_ > 0) std::memcpy(frame.out<void>(outputs[0]), frame.in<void>(inputs[0]), bytes_);
}

void require_alike(const Lowering &l) {
  const Quantization &in = l.input(0).quantization;
  const Quantization &out = l.output().quantization;
  require(l.input(0).type == l.output().type && in.scales == out.scales &&
              in.zero_points == out.zero_points,
          "input and output must have the same data type and quantisation");
  require(in.axis < 0 && out.axis < 0, "scales per axis are not carried here", 0);
}

Move reordering(const Shape &from, const Order &steps) {
  const Shape strides = strides_of(from);
  Move move;
  for (const int32_t axis : steps) {
    move.shape.push_back(from[static_cast<size_t>(axis)]);
    move.from.push_back(strides[static_cast<size_t>(axis)]);
  }
  move.to = strides_of(move.shape);
  return move;
}

bool keeps_memory(const Shape &from, const Order &steps) {
  const Move move = simplified(reordering(from, steps));
  return elements(from) == 0 || (move.shape.size() == 1 && move.from[0] == move.to[0]);
}

void reorder(const void *from, void *to, const Shape &shape, const Order &steps, size_t element_bytes) {
  if (elements(shape) == 0) return;
  const Move move = simplified(reordering(shape, steps));
  const Cut cut = cut_of(move);
  carry(nullptr, move, cut, static_cast<const std::byte *>(from), static_cast<std::byte *>(to),
        element_bytes, 0, cut.items);
}

}  // namespace cpuacc
