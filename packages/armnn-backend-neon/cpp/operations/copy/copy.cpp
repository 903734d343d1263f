/* SPDX-License-Identifier: MIT */
/* Boxes of elements copied by strides: fills, rows, transpositions. */
#include "operations/copy/copy.h"

#include <algorithm>
#include <cstring>

#include "costs/costs.h"
#include "graph/data_types.h"

namespace cpuacc {
namespace {

template <typename T>
void fill_row(const std::byte *from, std::byte *to, int64_t n) {
  T number;
  std::memcpy(&number, from, sizeof number);
  std::fill_n(reinterpret_cast<T *>(to), n, number);
}

template <size_t Bytes>
void copy_row(const std::byte *from, int64_t from_step, std::byte *to, int64_t to_step, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * to_step * static_cast<int64_t>(Bytes),
                from + i * from_step * static_cast<int64_t>(Bytes), Bytes);
  }
}

void copy_row(const std::byte *from, int64_t from_step, std::byte *to, int64_t to_step, int64_t n,
              size_t bytes) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * bytes);
    return;
  }
  visit_width(bytes, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    from_step == 0 && to_step == 1 ? fill_row<T>(from, to, n) : copy_row<sizeof(T)>(from, from_step, to, to_step, n);
  });
}

/* Whether all elements of a box are among the first count. */
bool is_inside(const Shape &shape, const Shape &steps, int64_t offset, int64_t count) {
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

Corner corner(const CopyBox &box, size_t outer_axes, int64_t number) {
  Corner result{box.from_offset, box.to_offset};
  for (size_t axis = outer_axes; axis-- > 0;) {
    const int64_t index = number % box.shape[axis];
    number /= box.shape[axis];
    result.from += index * box.from[axis];
    result.to += index * box.to[axis];
  }
  return result;
}

/* Whether its elements are contiguous in both tensors; it is simplified. */
bool is_contiguous(const CopyBox &box) { return box.shape.size() == 1 && box.from[0] == 1 && box.to[0] == 1; }

/* Whether the last two axes are a transposition. */
bool is_transposition(const CopyBox &box) {
  const size_t rank = box.shape.size();
  return rank >= 2 && box.to[rank - 1] == 1 && box.from[rank - 2] == 1 && box.from[rank - 1] != 0;
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

/* A box as items for threads: boxes along the outer axes, and slices along the next one. */
struct Split {
  size_t outer_axes;
  int64_t slice; /* elements along the axis that is sliced */
  int64_t slices;
  int64_t items;
};

Split split_of(const CopyBox &box) {
  const size_t rank = box.shape.size();
  const bool is_transposed = is_transposition(box);
  const size_t outer_axes = rank - (is_transposed ? 2 : 1);
  const int64_t length = box.shape[outer_axes];
  const int64_t slice = is_transposed ? costs::kTransposedRows : costs::kCopiedElements;
  const int64_t slices = ratio_up(length, slice);
  return {outer_axes, slice, slices, elements(box.shape, 0, outer_axes) * slices};
}

/* Some slices of transpositions. */
void copy_tiles(const Kernels *kernels, const CopyBox &box, const Split &split, const std::byte *from,
                std::byte *to, size_t bytes, int64_t begin, int64_t end) {
  const size_t axis = split.outer_axes;
  const size_t last = axis + 1;
  const auto size = static_cast<int64_t>(bytes);
  for (int64_t i = begin; i < end; ++i) {
    Corner at = corner(box, axis, i / split.slices);
    const int64_t first = i % split.slices * split.slice;
    const int64_t count = std::min(split.slice, box.shape[axis] - first);
    at.from += first; /* side by side there */
    at.to += first * box.to[axis];
    if (kernels != nullptr && bytes == 4) {
      kernels->transpose(reinterpret_cast<const float *>(from) + at.from, box.from[last],
                         reinterpret_cast<float *>(to) + at.to, box.to[axis], box.shape[last], count);
    } else {
      visit_width(bytes, [&](auto tag) {
        transpose<sizeof(typename decltype(tag)::Type)>(from + at.from * size, box.from[last], to + at.to * size,
                                                        box.to[axis], count, box.shape[last]);
      });
    }
  }
}

/* Some slices of rows. */
void copy_rows(const CopyBox &box, const Split &split, const std::byte *from, std::byte *to, size_t bytes,
               int64_t begin, int64_t end) {
  const size_t axis = split.outer_axes;
  const auto size = static_cast<int64_t>(bytes);
  const int64_t side = axis > 0 ? box.shape[axis - 1] * split.slices : split.slices;
  for (int64_t i = begin; i < end;) {
    Corner at = corner(box, axis, i / split.slices); /* divides, which takes longer than a short row */
    for (const int64_t last = std::min(end, (i / side + 1) * side); i < last; ++i) {
      const int64_t first = split.slices == 1 ? 0 : i % split.slices * split.slice;
      const int64_t count = std::min(split.slice, box.shape[axis] - first);
      copy_row(from + (at.from + first * box.from[axis]) * size, box.from[axis],
               to + (at.to + first * box.to[axis]) * size, box.to[axis], count, bytes);
      if (axis == 0 || first + count < box.shape[axis]) continue;
      at.from += box.from[axis - 1];
      at.to += box.to[axis - 1];
    }
  }
}

void copy_box(const Kernels *kernels, const CopyBox &box, const Split &split, const std::byte *from,
              std::byte *to, size_t bytes, int64_t begin, int64_t end) {
  if (split.outer_axes + 1 < box.shape.size()) {
    copy_tiles(kernels, box, split, from, to, bytes, begin, end);
  } else {
    copy_rows(box, split, from, to, bytes, begin, end);
  }
}

/* How many elements side by side a box copies together, if they fit into a register; it is simplified. */
int64_t elements_together(const CopyBox &box, size_t bytes) {
  const size_t rank = box.shape.size();
  const int64_t size = box.shape.back();
  const int64_t wide = size * static_cast<int64_t>(bytes);
  if (rank < 2 || box.from.back() != 1 || box.to.back() != 1 || (wide != 2 && wide != 4 && wide != 8)) return 1;
  bool fits = box.from_offset % size == 0 && box.to_offset % size == 0;
  for (size_t i = 0; i + 1 < rank; ++i) fits = fits && box.from[i] % size == 0 && box.to[i] % size == 0;
  return fits ? size : 1;
}

/* The box of elements that are `times` as wide: each of them is a whole last axis. */
CopyBox widened(CopyBox box, int64_t times) {
  box.shape.pop_back();
  box.from.pop_back();
  box.to.pop_back();
  for (int64_t &step : box.from) step /= times;
  for (int64_t &step : box.to) step /= times;
  box.from_offset /= times;
  box.to_offset /= times;
  return simplified(std::move(box));
}

/* Whether the bytes are a float32 that bfloat16 holds, and those of that. */
bool is_bfloat16(const std::vector<std::byte> &bytes) {
  uint32_t bits;
  std::memcpy(&bits, bytes.data(), sizeof bits);
  return (bits & 0xffff) == 0;
}

std::vector<std::byte> bfloat16_of(const std::vector<std::byte> &bytes) {
  uint32_t bits;
  std::memcpy(&bits, bytes.data(), sizeof bits);
  const auto upper = static_cast<uint16_t>(bits >> 16);
  std::vector<std::byte> result(sizeof upper);
  std::memcpy(result.data(), &upper, sizeof upper);
  return result;
}

}  // namespace

bool is_fast(const CopyBox &box) {
  return is_transposition(box) || (box.from.back() == 1 && box.to.back() == 1);
}

CopyBox simplified(CopyBox box) {
  std::vector<size_t> axes;
  for (size_t i = 0; i < box.shape.size(); ++i) {
    if (box.shape[i] != 1) axes.push_back(i);
  }
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return box.to[a] > box.to[b]; });
  CopyBox result{{}, {}, {}, box.from_offset, box.to_offset};
  for (const size_t axis : axes) {
    const int64_t size = box.shape[axis];
    if (!result.shape.empty() && result.from.back() == box.from[axis] * size &&
        result.to.back() == box.to[axis] * size) {
      result.shape.back() *= size;
      result.from.back() = box.from[axis];
      result.to.back() = box.to[axis];
    } else {
      result.shape.push_back(size);
      result.from.push_back(box.from[axis]);
      result.to.push_back(box.to[axis]);
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
    if (result.from[i] == 1 && result.to[rank - 1] == 1 && result.from[rank - 1] != 0 &&
        result.from[rank - 1] != 1) {
      std::swap(result.shape[i], result.shape[rank - 2]);
      std::swap(result.from[i], result.from[rank - 2]);
      std::swap(result.to[i], result.to[rank - 2]);
      break;
    }
  }
  return result;
}

CopyBoxes::CopyBoxes(std::vector<TensorId> from, TensorId to, std::vector<CopyBox> boxes,
                     std::vector<std::byte> filler)
    : Operation(std::move(from), {to}), boxes_(std::move(boxes)), filler_(std::move(filler)) {}

void CopyBoxes::check(const Graph &graph) const {
  const int64_t room = graph[outputs[0]].count();
  for (size_t i = 0; i < boxes_.size(); ++i) {
    const CopyBox &box = boxes_[i];
    if (!is_inside(box.shape, box.from, box.from_offset, graph[inputs[i]].count()) ||
        !is_inside(box.shape, box.to, box.to_offset, room)) {
      throw Refusal{"the shape of the output does not fit to the parameters"};
    }
  }
}

/* Transpositions have a kernel for four bytes. */
bool CopyBoxes::can_store_bfloat16(const Kernels &) const {
  if (!filler_.empty() && (filler_.size() != sizeof(float) || !is_bfloat16(filler_))) return false;
  return std::none_of(boxes_.begin(), boxes_.end(), [](const CopyBox &box) { return is_transposition(simplified(box)); });
}

size_t CopyBoxes::prepare(const Setup &setup) {
  element_bytes_ = element_bytes(setup[outputs[0]].type);
  if (filler_.size() > element_bytes_) filler_ = bfloat16_of(filler_);
  output_count_ = static_cast<size_t>(setup[outputs[0]].count());
  for (CopyBox &box : boxes_) box = simplified(std::move(box));
  if (!filler_.empty() || boxes_.empty()) return 0;
  const int64_t together = elements_together(boxes_[0], element_bytes_);
  const bool fit = std::all_of(boxes_.begin(), boxes_.end(), [&](const CopyBox &box) {
    return elements_together(box, element_bytes_) == together;
  });
  if (!fit || together == 1) return 0;
  for (CopyBox &box : boxes_) box = widened(std::move(box), together);
  element_bytes_ *= static_cast<size_t>(together);
  return 0;
}

void CopyBoxes::fill(const Frame &frame, std::byte *to) const {
  const auto count = static_cast<int64_t>(output_count_);
  const int64_t pieces = ratio_up(count, costs::kCopiedElements);
  frame.pool.run(pieces, costs::kCopiedElements * frame.element_ns(), [&](int64_t begin, int64_t end, int32_t) {
    const auto first = static_cast<size_t>(begin * costs::kCopiedElements);
    const size_t size = static_cast<size_t>(std::min(end * costs::kCopiedElements, count)) - first;
    std::byte *piece = to + first * element_bytes_;
    std::memcpy(piece, filler_.data(), element_bytes_);
    for (size_t done = 1; done < size; done *= 2) {
      std::memcpy(piece + done * element_bytes_, piece, std::min(done, size - done) * element_bytes_);
    }
  });
}

void CopyBoxes::run(const Frame &frame) const {
  std::byte *to = frame.out<std::byte>(outputs[0]);
  const auto size = static_cast<int64_t>(element_bytes_);
  if (!filler_.empty()) fill(frame, to);
  for (size_t i = 0; i < boxes_.size(); ++i) {
    const CopyBox &box = boxes_[i];
    if (elements(box.shape) == 0) continue;
    const std::byte *from = frame.in<std::byte>(inputs[i]);
    if (is_contiguous(box) && from + box.from_offset * size == to + box.to_offset * size) continue;
    const Split split = split_of(box);
    const double item_ns = static_cast<double>(elements(box.shape) / split.items) * frame.element_ns();
    frame.pool.run(split.items, item_ns, [&](int64_t begin, int64_t end, int32_t) {
      copy_box(&frame.kernels, box, split, from, to, element_bytes_, begin, end);
    });
  }
}

std::vector<CopiedRange> CopyBoxes::copied_ranges() const {
  std::vector<CopiedRange> result;
  if (!filler_.empty()) return result;
  for (size_t i = 0; i < boxes_.size(); ++i) {
    const CopyBox &box = boxes_[i];
    if (!is_contiguous(box) || box.shape[0] == 0) continue;
    result.push_back({i, static_cast<size_t>(box.from_offset) * element_bytes_,
                      static_cast<size_t>(box.to_offset) * element_bytes_,
                      static_cast<size_t>(box.shape[0]) * element_bytes_});
  }
  return result;
}

size_t Copy::prepare(const Setup &setup) {
  bytes_ = setup[outputs[0]].bytes();
  return 0;
}

void Copy::run(const Frame &frame) const {
  if (bytes_ > 0) std::memcpy(frame.out<void>(outputs[0]), frame.in<void>(inputs[0]), bytes_);
}

CopyBox reorder_box(const Shape &from, const Order &steps) {
  const Shape strides = strides_of(from);
  CopyBox box;
  for (const int32_t axis : steps) {
    box.shape.push_back(from[static_cast<size_t>(axis)]);
    box.from.push_back(strides[static_cast<size_t>(axis)]);
  }
  box.to = strides_of(box.shape);
  return box;
}

bool keeps_memory(const Shape &from, const Order &steps) {
  const CopyBox box = simplified(reorder_box(from, steps));
  return elements(from) == 0 || (box.shape.size() == 1 && box.from[0] == box.to[0]);
}

void reorder(const void *from, void *to, const Shape &shape, const Order &steps, size_t element_bytes) {
  if (elements(shape) == 0) return;
  const CopyBox box = simplified(reorder_box(shape, steps));
  const Split split = split_of(box);
  copy_box(nullptr, box, split, static_cast<const std::byte *>(from), static_cast<std::byte *>(to),
           element_bytes, 0, split.items);
}

namespace {

class Trilu final : public Operation {
 public:
  Trilu(Io io, int64_t rows, int64_t columns, int64_t diagonal, bool is_upper)
      : Operation(io), rows_(rows), columns_(columns), diagonal_(diagonal), is_upper_(is_upper) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = element_bytes(setup[inputs[0]].type);
    all_rows_ = columns_ == 0 ? 0 : setup[inputs[0]].count() / columns_;
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    auto *to = frame.out<std::byte>(outputs[0]);
    const size_t row_bytes = static_cast<size_t>(columns_) * bytes_;
    for (int64_t i = 0; i < all_rows_; ++i) {
      /* The upper triangle begins at the diagonal, the lower one ends behind it. */
      const int64_t column = i % rows_ + (is_upper_ ? diagonal_ : diagonal_ + 1);
      const size_t edge = static_cast<size_t>(std::clamp<int64_t>(column, 0, columns_)) * bytes_;
      const size_t at = static_cast<size_t>(i) * row_bytes;
      std::memset(to + at, 0, row_bytes);
      if (is_upper_) {
        std::memcpy(to + at + edge, from + at + edge, row_bytes - edge);
      } else {
        std::memcpy(to + at, from + at, edge);
      }
    }
  }

 private:
  int64_t rows_, columns_, diagonal_;
  bool is_upper_;
  size_t bytes_ = 0;
  int64_t all_rows_ = 0;
};

}  // namespace

OperationPtr trilu(Io io, int64_t rows, int64_t columns, int64_t diagonal, bool is_upper) {
  return std::make_unique<Trilu>(io, rows, columns, diagonal, is_upper);
}

}  // namespace cpuacc
