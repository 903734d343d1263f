/* SPDX-License-Identifier: MIT */
/* Convolutions in bfloat16 by tile registers, which load rows that are equally far apart: a task copies the lines of the
 * image that it sees, with zeros around them, into a raster in which that is so.
 */
#include <algorithm>
#include <vector>

#include "costs/costs.h"
#include "operations/convolution/convolution.h"
#include "operations/convolution/indirection.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {
namespace {

constexpr int64_t kMostPixels = 256; /* of a task: so many share panels of weights */
constexpr int64_t kMostNumbers = 65536; /* of a raster of several lines: it stays in the second cache beside weights */
constexpr int64_t kLeastPixels = 64; /* of one of many tasks */

/* The extent of a window, in lines or pixels of the image. */
int64_t reach(int64_t size, int64_t dilation) { return (size - 1) * dilation + 1; }

/* Where lines and pixels are in a raster. Each step down is a phase of its own: lines that outputs one below the other
 * see at the same tap are side by side.
 */
struct Raster {
  int64_t outputs; /* of a line */
  int64_t line; /* pixels that are computed of a line: the last ones see beyond it */
  int64_t lines; /* of outputs */
  int64_t phase_lines; /* of the image, of a phase */
  int64_t seen_width, seen_height; /* pixels and lines of the image */
  int64_t pixel; /* numbers from a pixel of the image to the next one */

  int64_t step(const Windows &w) const { return w.stride_x * pixel; }
  int64_t line_numbers(const Windows &w) const { return line * step(w); }
  int64_t phase_numbers(const Windows &w) const { return phase_lines * line_numbers(w); }
  int64_t pixels() const { return (lines - 1) * line + outputs; }
};

Raster raster_of(const Windows &w, int64_t outputs, int64_t lines, int64_t pixel) {
  const int64_t wide = reach(w.window_width, w.dilation_x);
  const int64_t tall = reach(w.window_height, w.dilation_y);
  return {outputs,
          outputs - 1 + ratio_up(wide, w.stride_x),
          lines,
          lines - 1 + ratio_up(tall, w.stride_y),
          (outputs - 1) * w.stride_x + wide,
          (lines - 1) * w.stride_y + tall,
          pixel};
}

/* Whether a tap is a row of the window. */
bool joins_taps(const Windows &w, const WeightLayout &layout) {
  return layout.taps == w.window_height && w.window_width > 1;
}

/* Numbers from a pixel of a raster to the next one: of an even count, and not so many that they crowd a few sets of the
 * nearest cache.
 */
int64_t pixel_numbers(const Windows &w, const WeightLayout &layout) {
  if (joins_taps(w, layout)) return w.channels;
  const int64_t numbers = packed_depth(layout.depth, static_cast<const Bfloat16 *>(nullptr));
  return numbers % costs::kCrowdedFloats == 0 ? numbers + costs::kBfloat16RowFiller : numbers;
}

/* [N, H, W, C] * weights -> [N, H', W', groups * O]. */
class RasterConvolution final : public WithEpilogue {
 public:
  /* Args: layout: of one group; group_stride: from one group's weights to the next one's. */
  RasterConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout, int64_t groups,
                    int64_t group_stride)
      : WithEpilogue(tensors), windows_(windows), layout_(layout), groups_(groups), group_stride_(group_stride) {}

  int64_t bias_count() const override { return groups_ * layout_.columns; }

  bool can_read_bfloat16(const Kernels &, size_t input) const override { return input == 0 || is_residual(input); }
  bool can_store_bfloat16(const Kernels &) const override { return true; }

  size_t prepare(const Setup &setup) override {
    note_storage(setup);
    is_image_bfloat16_ = setup.is_bfloat16(inputs[0]);
    if (!is_image_bfloat16_) work.add(costs::element, static_cast<double>(groups_) * raster_numbers(windows_, layout_));
    divide(setup);
    point_at_taps();
    const int64_t numbers = windows_.stride_y * raster_.phase_numbers(windows_) +
                            setup.kernels.rows_bfloat16 * raster_.step(windows_);
    thread_bytes_ = aligned_bytes(static_cast<size_t>(numbers) * sizeof(Bfloat16));
    const std::string recipe = layout_.recipe() + " " + std::to_string(groups_) + " " + setup.kernels.name;
    const size_t packed =
        packed_.prepare(setup, inputs[1], PanelStorage::bfloat16, layout_, groups_, group_stride_, recipe);
    return thread_bytes_ * static_cast<size_t>(setup.threads) + packed;
  }

  void run(const Frame &frame) const override {
    auto *memory = frame.scratch_of<std::byte>(frame.pool.threads(), thread_bytes_);
    const std::byte *packed = packed_.packed(frame, inputs[1], memory);
    const int64_t down = ratio_up(windows_.output_height, raster_.lines);
    const int64_t panels = ratio_up(layout_.columns, frame.kernels.columns);
    frame.for_each(tasks_, task_ns_, [&](int64_t i, int32_t thread) {
      const int64_t part = i % parts_;
      const int64_t block = i / parts_;
      const Task task{block / across_ / down % windows_.batch,
                      block / across_ % down * raster_.lines,
                      block % across_ * raster_.outputs,
                      block / across_ / down / windows_.batch,
                      panels * part / parts_ * frame.kernels.columns,
                      std::min(panels * (part + 1) / parts_ * frame.kernels.columns, layout_.columns)};
      run_task(frame, task, packed + static_cast<size_t>(task.group) * packed_.bytes(),
               frame.scratch_of<Bfloat16>(thread, thread_bytes_));
    });
  }

 private:
  /* Outputs of an image from a line and a pixel on, in some columns of a group. */
  struct Task {
    int64_t image, y, x;
    int64_t group, first_column, last_column;
  };

  /* Tasks of whole lines, or of parts of one. */
  void divide(const Setup &setup) {
    const Windows &w = windows_;
    costs::Work one_group = raster_work(w, layout_, setup.kernels);
    if (!is_image_bfloat16_) one_group.add(costs::element, raster_numbers(w, layout_));
    const double ns = setup.machine().ns_of(one_group) * static_cast<double>(groups_);
    const int32_t threads = setup.threads_for(ns);
    const int64_t wanted = threads == 1 ? 1 : 8 * threads;
    const int64_t pixel = pixel_numbers(w, layout_);
    const int64_t outputs = ratio_up(w.output_width, ratio_up(w.output_width, kMostPixels));
    across_ = ratio_up(w.output_width, outputs);
    const Raster one = raster_of(w, outputs, 1, pixel);
    const int64_t line = one.line;
    const int64_t most = std::min(kMostPixels / line, kMostNumbers / (w.stride_y * one.line_numbers(w)) - one.phase_lines + 1);
    int64_t lines = across_ > 1 ? 1 : std::clamp<int64_t>(most, 1, w.output_height);
    const auto blocks = [&] { return groups_ * w.batch * across_ * ratio_up(w.output_height, lines); };
    while (lines > 1 && lines * line > kLeastPixels && blocks() < wanted) lines = (lines + 1) / 2;
    raster_ = raster_of(w, outputs, lines, pixel);
    const int64_t panels = std::max<int64_t>(1, ratio_up(layout_.columns, setup.kernels.columns));
    parts_ = std::clamp<int64_t>(ratio_up(wanted, blocks()), 1, panels);
    tasks_ = blocks() * parts_;
    task_ns_ = ns / static_cast<double>(tasks_);
  }

  void point_at_taps() {
    const int64_t columns = layout_.taps / windows_.window_height;
    tap_bytes_.clear();
    for (int64_t i = 0; i < windows_.window_height; ++i) {
      const int64_t down = i * windows_.dilation_y;
      const int64_t place = down % windows_.stride_y * raster_.phase_numbers(windows_) +
                            down / windows_.stride_y * raster_.line_numbers(windows_);
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t numbers = place + j * windows_.dilation_x * raster_.pixel;
        tap_bytes_.push_back(numbers * static_cast<int64_t>(sizeof(Bfloat16)));
      }
    }
  }

  void run_task(const Frame &frame, const Task &task, const std::byte *packed, Bfloat16 *raster) const {
    const Windows &w = windows_;
    const int64_t lines = std::min(raster_.lines, w.output_height - task.y);
    const int64_t outputs = std::min(raster_.outputs, w.output_width - task.x);
    is_image_bfloat16_ ? fill(frame, frame.in<Bfloat16>(inputs[0]), task, lines, raster)
                      : fill(frame, frame.in<float>(inputs[0]), task, lines, raster);
    const Kernels &kernels = frame.kernels;
    const int64_t columns = groups_ * layout_.columns;
    const int64_t pixels = (lines - 1) * raster_.line + outputs;
    const int64_t first = (task.image * w.output_height + task.y) * w.output_width + task.x;
    const TilesOfTask<Bfloat16> tiles(kernels, layout_.depth);
    RasterTile tile{};
    tile.step = raster_.step(w);
    tile.tap_bytes = tap_bytes_.data();
    tile.taps = layout_.taps;
    tile.depth = layout_.depth;
    tile.line = raster_.line;
    tile.outputs = outputs;
    tile.c_stride = tile.residual_stride = columns;
    for (int64_t column = task.first_column; column < task.last_column; column += kernels.columns) {
      tile.b = reinterpret_cast<const Bfloat16 *>(packed) +
               column * layout_.taps * packed_depth(layout_.depth, tile.b);
      tile.column_count = static_cast<int32_t>(std::min<int64_t>(kernels.columns, task.last_column - column));
      const int64_t own = task.group * layout_.columns + column;
      for (int64_t pixel = 0; pixel < pixels; pixel += kernels.rows_bfloat16) {
        const int64_t y = pixel / raster_.line;
        tile.x = pixel % raster_.line;
        const int64_t output = first + (tile.x < outputs ? y * w.output_width + tile.x : (y + 1) * w.output_width);
        const FloatOutput to = stored(frame) + (output * columns + own);
        tile.c = to.float32;
        tile.bfloat16_c = to.bfloat16;
        static_cast<Epilogue &>(tile) = epilogue(frame, own, output * columns + own);
        tile.first = raster + pixel * tile.step;
        tile.row_count = static_cast<int32_t>(std::min<int64_t>(kernels.rows_bfloat16, pixels - pixel));
        kernels.raster_tile_bfloat16(tile);
      }
    }
  }

  /* Copies the lines that a task sees. */
  template <typename Number>
  void fill(const Frame &frame, const Number *image, const Task &task, int64_t lines, Bfloat16 *raster) const {
    const Windows &w = windows_;
    const int64_t left = task.x * w.stride_x - w.pad_left;
    const int64_t begin = std::clamp<int64_t>(left, 0, w.width);
    const int64_t end = std::clamp<int64_t>(left + raster_.seen_width, begin, w.width);
    const int64_t before = std::clamp<int64_t>(begin - left, 0, raster_.seen_width) * raster_.pixel;
    const int64_t numbers = raster_.seen_width * raster_.pixel;
    const int64_t there = before + (end - begin) * raster_.pixel;
    const int64_t seen = raster_.seen_height - (raster_.lines - lines) * w.stride_y;
    for (int64_t l = 0; l < seen; ++l) {
      const int64_t phase = l % w.stride_y;
      if (!is_seen(phase)) continue;
      Bfloat16 *to = raster + phase * raster_.phase_numbers(w) + l / w.stride_y * raster_.line_numbers(w);
      const int64_t y = task.y * w.stride_y - w.pad_top + l;
      if (y < 0 || y >= w.height) {
        std::fill_n(to, numbers, Bfloat16{0});
        continue;
      }
      std::fill_n(to, before, Bfloat16{0});
      const Number *from = image + ((task.image * w.height + y) * w.width + begin) * w.channels + task.group * layout_.depth;
      copy_pixels(frame.kernels, from, end - begin, to + before);
      std::fill(to + there, to + numbers, Bfloat16{0});
    }
  }

  /* Whether a tap sees lines of a phase. */
  bool is_seen(int64_t phase) const {
    for (int64_t i = 0; i < windows_.window_height; ++i) {
      if (i * windows_.dilation_y % windows_.stride_y == phase) return true;
    }
    return false;
  }

  template <typename Number>
  void copy_pixels(const Kernels &kernels, const Number *from, int64_t count, Bfloat16 *to) const {
    if (raster_.pixel == windows_.channels) return copy(kernels, from, count * raster_.pixel, to);
    const bool is_odd = layout_.depth % 2 != 0;
    for (int64_t i = 0; i < count; ++i, from += windows_.channels, to += raster_.pixel) {
      copy(kernels, from, layout_.depth, to);
      if (is_odd) to[layout_.depth] = {0};
    }
  }

  static void copy(const Kernels &kernels, const float *from, int64_t count, Bfloat16 *to) {
    kernels.round_to_bfloat16(from, to, count);
  }

  static void copy(const Kernels &, const Bfloat16 *from, int64_t count, Bfloat16 *to) { std::copy_n(from, count, to); }

  Windows windows_;
  WeightLayout layout_;
  int64_t groups_;
  int64_t group_stride_;
  bool is_image_bfloat16_ = false;
  Raster raster_{};
  std::vector<int64_t> tap_bytes_;
  int64_t across_ = 1; /* tasks beside each other */
  int64_t parts_ = 1; /* tasks of the same outputs, of other columns */
  int64_t tasks_ = 0;
  double task_ns_ = 0.0;
  size_t thread_bytes_ = 0;
  PackedMatrices packed_;
};

}  // namespace

bool suits_raster(const Windows &w, const Kernels &kernels) {
  const bool is_empty = w.window_height * w.window_width * w.channels == 0;
  return kernels.raster_tile_bfloat16 != nullptr && !is_empty && !are_pixels(w) &&
         w.batch * w.output_height * w.output_width >= costs::kTileRegisterRows;
}

costs::Work raster_work(const Windows &w, const WeightLayout &layout, const Kernels &kernels) {
  const int64_t pixel = pixel_numbers(w, layout);
  const Raster raster = raster_of(w, w.output_width, w.output_height, pixel);
  const auto panels = static_cast<double>(ratio_up(layout.columns, kernels.columns));
  return tile_register_work(w.batch * raster.pixels(), layout, sizeof(Bfloat16))
      .add(costs::operation, 1.0)
      .add(costs::weight_row, panels * static_cast<double>(layout.taps * layout.depth) / 2.0);
}

double raster_numbers(const Windows &w, const WeightLayout &layout) {
  const int64_t pixel = pixel_numbers(w, layout);
  const Raster raster = raster_of(w, w.output_width, w.output_height, pixel);
  return static_cast<double>(w.batch * raster.seen_width * raster.seen_height * pixel);
}

OperationPtr raster_convolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                                int64_t groups, int64_t group_stride) {
  return std::make_unique<RasterConvolution>(tensors, windows, layout, groups, group_stride);
}

}  // namespace cpuacc
