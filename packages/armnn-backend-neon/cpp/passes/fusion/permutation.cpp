/* SPDX-License-Identifier: MIT */
/* A permutation of axes behind another one, where the memory in between may be read in another shape. */
#include <algorithm>
#include <numeric>

#include "operations/copy/copy.h"
#include "passes/fusion/rules.h"

namespace cpuacc {
namespace {

/* One permutation and then another, whose axes may be cut otherwise; nullopt: they do not fit together.
 * Axes of the memory in between, from the densest one on, are split where the other has a border.
 */
std::optional<CopyBox> composed(const CopyBox &first, const CopyBox &second) {
  if (elements(first.shape) == 0) return std::nullopt;
  std::vector<size_t> written(first.shape.size()), read(second.shape.size());
  std::iota(written.begin(), written.end(), size_t{0});
  std::iota(read.begin(), read.end(), size_t{0});
  std::sort(written.begin(), written.end(), [&](size_t a, size_t b) { return first.to[a] < first.to[b]; });
  std::sort(read.begin(), read.end(), [&](size_t a, size_t b) { return second.from[a] < second.from[b]; });
  CopyBox result;
  int64_t made_left = 1, read_left = 1, from = 0, to = 0;
  for (size_t i = 0, j = 0;;) {
    if (made_left == 1 && i < written.size()) {
      made_left = first.shape[written[i]];
      from = first.from[written[i++]];
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
    if (made_left == 1 && read_left == 1 && i == written.size() && j == read.size()) return simplified(result);
  }
}

/* Lets matrices, which are dense, go where the axes of theirs are permuted to, if rows stay side by side. */
bool permute(OutputMatrices &matrices, const CopyBox &box) {
  if (matrices.row_step != matrices.columns) return false; /* they are permuted by now */
  const auto axis_of = [&](int64_t count, int64_t step) {
    size_t axis = 0;
    while (axis < box.shape.size() && (box.shape[axis] != count || box.from[axis] != step)) ++axis;
    return axis;
  };
  const size_t none = box.shape.size();
  const size_t column = axis_of(matrices.columns, 1), row = axis_of(matrices.rows, matrices.columns);
  if (column == none || row == none || column == row || box.to[column] != 1) return false;
  Places places = matrices.places;
  size_t found = 2;
  for (size_t i = places.counts.size(); i-- > 0;) {
    if (places.counts[i] == 1) continue;
    const size_t axis = axis_of(places.counts[i], places.steps[i]);
    if (axis == none || axis == column || axis == row) return false;
    places.steps[i] = box.to[axis];
    ++found;
  }
  if (found != none) return false;
  matrices.places = std::move(places);
  matrices.row_step = box.to[row];
  return true;
}

}  // namespace

Operation *fuse_permutation(const Candidate &candidate) {
  const auto *later = candidate.computes<CopyBox>();
  if (later == nullptr) return nullptr;
  const auto [producer, slots] = candidate.producer_of_memory(0);
  if (slots.matrices != nullptr) return permute(*slots.matrices, *later) ? producer : nullptr;
  if (slots.box == nullptr) return nullptr;
  std::optional<CopyBox> both = composed(*slots.box, *later);
  if (!both || !is_fast(*both)) return nullptr;
  *slots.box = std::move(*both);
  return producer;
}

}  // namespace cpuacc
