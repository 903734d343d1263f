/* SPDX-License-Identifier: MIT */
/* Convolutions by minimal filtering along one axis. */
#include "operations/winograd/winograd.h"

#include <algorithm>

#include "costs/costs.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {
namespace {

/* The windows as seen along the axis that is filtered, and across it. */
struct Axes {
  int64_t length, breadth; /* of the image */
  int64_t outputs_along, outputs_across;
  int64_t taps; /* of the window, across */
  int64_t dilation; /* across */
  int64_t pad_along, pad_across;
  int64_t step_along, step_across; /* in pixels of the image */
  int64_t output_along, output_across; /* in pixels of the output */

  /* Lines that one line of outputs takes further than its first. */
  int64_t halo() const { return (taps - 1) * dilation; }
};

Axes axes_of(const Windows &w, bool is_along_y) {
  if (is_along_y) {
    return {w.height, w.width, w.output_height, w.output_width, w.window_width, w.dilation_x,
            w.pad_top, w.pad_left, w.width, 1, w.output_width, 1};
  }
  return {w.width, w.height, w.output_width, w.output_height, w.window_height, w.dilation_y,
          w.pad_left, w.pad_top, 1, w.width, 1, w.output_width};
}

constexpr int64_t kMostPoints1d = 8;

/* The filter's transformation, a row per point: powers of the point over the product of its distances
 * to the others; of infinity, the last element.
 */
struct FilterMatrix {
  double rows[kMostPoints1d][kMostPoints1d] = {};

  explicit FilterMatrix(const Winograd1dFilter &filter) {
    constexpr double kPoints[] = {0, 1, -1, 2, -2, 0.5, -0.5};
    const int64_t last = filter.points() - 1;
    for (int64_t p = 0; p < last; ++p) {
      double power = 1.0;
      for (int64_t q = 0; q < last; ++q) {
        if (q != p) power /= kPoints[p] - kPoints[q];
      }
      for (int64_t i = 0; i < filter.window; ++i, power *= kPoints[p]) rows[p][i] = power;
    }
    rows[last][filter.window - 1] = 1.0;
  }
};

/* Tiles and lines of outputs that are computed at a time. */
struct BlockSize {
  int64_t tiles, lines;
};

/* From one transformed element to the next tile's, in numbers. */
int64_t line_of(int64_t depth) { return depth % costs::kCrowdedTransforms == 0 ? depth + costs::kRowFiller : depth; }

/* Whole lines if some fit into the second cache, so that few are transformed twice; blocks for all threads.
 *
 * Args: tiles: along a line; line: that of line_of.
 */
BlockSize block_size(const Axes &axes, int64_t batch, int64_t tiles, int64_t points, int64_t line, int32_t threads,
                     const Kernels &kernels) {
  const int64_t bytes = points * (line + kernels.columns) * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::max<int64_t>(1, costs::machine(kernels.lanes).second_cache_bytes() / bytes);
  const int64_t wanted = threads == 1 ? 1 : 2 * threads;
  const int64_t lines_at_least = std::min(axes.outputs_across, 2 * axes.halo() + 1);
  int64_t block_tiles = std::clamp<int64_t>(most / (lines_at_least + axes.halo()), 1, tiles);
  int64_t block_lines = std::clamp<int64_t>(most / block_tiles - axes.halo(), 1, axes.outputs_across);
  if (axes.outputs_across >= wanted) {
    block_lines = std::min(block_lines, ratio_up(axes.outputs_across, ratio_up(wanted, batch)));
  } else {
    const int64_t parts = ratio_up(wanted, std::max<int64_t>(1, batch * axes.outputs_across));
    block_tiles = std::min(block_tiles, ratio_up(ratio_up(tiles, parts), kernels.rows) * kernels.rows);
  }
  return {std::clamp<int64_t>(block_tiles, 1, std::max<int64_t>(1, tiles)), std::max<int64_t>(1, block_lines)};
}

class Winograd1dConvolution final : public WithEpilogue {
 public:
  Winograd1dConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                        const Winograd1dFilter &filter)
      : WithEpilogue(tensors),
        axes_(axes_of(windows, filter.is_along_y)),
        batch_(windows.batch),
        layout_(layout),
        filter_(filter),
        points_(filter.points()),
        tiles_(ratio_up(axes_.outputs_along, filter.outputs)),
        line_(line_of(layout.depth)) {}

  int64_t bias_count() const override { return layout_.columns; }

  bool can_read_bfloat16(const Kernels &, size_t input) const override { return input == 0 || is_residual(input); }
  bool can_store_bfloat16(const Kernels &) const override { return true; }

  size_t prepare(const Setup &setup) override {
    note_storage(setup);
    is_image_bfloat16_ = setup.is_bfloat16(inputs[0]);
    const Kernels &kernels = setup.kernels;
    const Tensor &weights = setup[inputs[1]];
    const WeightLayout packed{points_ * axes_.taps, 0, layout_.depth, 0, layout_.columns, 0};
    const auto fill = [&](void *memory) {
      pack(weights.read<float>(), setup, static_cast<float *>(memory));
    };
    packed_ = setup.packed.get(weights.source(),
                               weights.recipe("winograd_1d ") + std::to_string(filter_.outputs) +
                                   (filter_.is_along_y ? " down " : " across ") + layout_.recipe() + " " +
                                   std::to_string(axes_.taps) + " " + kernels.name,
                               packed_bytes(packed, kernels), fill);
    inputs[1] = kNone;
    const int64_t all_tiles = batch_ * image_lines() * tiles_;
    const int64_t all_bytes = points_ * all_tiles * line_ * static_cast<int64_t>(sizeof(float));
    /* All lines are transformed before the panels of a group: worth it as long as the second cache keeps them. */
    const bool are_few = all_bytes <= costs::machine(kernels.lanes).second_cache_bytes();
    groups_ = are_few ? panel_groups(batch_ * axes_.outputs_across * tiles_, layout_.columns, setup.threads, kernels) : 1;
    const int64_t parts = groups_ == 1 ? 1 : ratio_up(2 * setup.threads, groups_ * batch_);
    const BlockSize block = groups_ == 1 ? block_size(axes_, batch_, tiles_, points_, line_, setup.threads, kernels)
                                         : BlockSize{tiles_, ratio_up(axes_.outputs_across, parts)};
    block_tiles_ = block.tiles;
    block_lines_ = block.lines;
    const int64_t tiles = block_tiles_ * (block_lines_ + axes_.halo());
    sums_bytes_ = aligned_bytes(points_ * block_lines_ * block_tiles_ * kernels.columns * sizeof(float));
    plane_ = (groups_ == 1 ? tiles : all_tiles) * line_;
    const size_t transformed_bytes = aligned_bytes(points_ * plane_ * sizeof(float));
    thread_bytes_ = sums_bytes_ + (groups_ == 1 ? transformed_bytes : 0);
    return thread_bytes_ * static_cast<size_t>(setup.threads) + (groups_ == 1 ? 0 : transformed_bytes);
  }

  void run(const Frame &frame) const override {
    const int64_t across = ratio_up(axes_.outputs_across, block_lines_);
    const int64_t along = ratio_up(tiles_, block_tiles_);
    const int64_t blocks = batch_ * across * along;
    const auto sums = static_cast<double>(points_ * block_lines_ * block_tiles_ * axes_.taps *
                                          layout_.depth * layout_.columns);
    const double block_ns = sums * frame.ns_of(costs::multiply_add);
    const auto block_of = [&](int64_t i) {
      const int64_t line = i / along % across * block_lines_;
      const int64_t tile = i % along * block_tiles_;
      return Block{i / (along * across), line, std::min(block_lines_, axes_.outputs_across - line), tile,
                   std::min(block_tiles_, tiles_ - tile)};
    };
    if (groups_ == 1) {
      return frame.for_each(blocks, block_ns, [&](int64_t i, int32_t thread) {
        auto *scratch = frame.scratch_of<std::byte>(thread, thread_bytes_);
        auto *planes = reinterpret_cast<float *>(scratch + sums_bytes_);
        const Block block = block_of(i);
        for (int64_t j = 0; j < block.lines + axes_.halo(); ++j) {
          read_line(frame, block, j, planes + j * block.tiles * line_);
        }
        run_panels(frame, scratch, block, planes, panels_of_group(0, 1, layout_.columns, frame.kernels));
      });
    }
    auto *planes = frame.scratch_of<float>(frame.pool.threads(), thread_bytes_);
    const auto numbers = static_cast<double>(points_ * tiles_ * layout_.depth);
    frame.for_each(batch_ * image_lines(), numbers * frame.ns_of(costs::transformed), [&](int64_t i, int32_t) {
      read_line(frame, {i / image_lines(), 0, 0, 0, tiles_}, i % image_lines(), planes + i * tiles_ * line_);
    });
    /* A thread's tasks are those of its panels. */
    frame.for_each(groups_ * blocks, block_ns / static_cast<double>(groups_), [&](int64_t i, int32_t thread) {
      const Block block = block_of(i % blocks);
      run_panels(frame, frame.scratch_of<std::byte>(thread, thread_bytes_), block,
                 planes + (block.image * image_lines() + block.line) * tiles_ * line_,
                 panels_of_group(i / blocks, groups_, layout_.columns, frame.kernels));
    });
  }

 private:
  /* Some lines of outputs across the filtered axis, and some tiles of each. */
  struct Block {
    int64_t image;
    int64_t line, lines;
    int64_t tile, tiles;
  };

  /* Lines of an image that outputs see. */
  int64_t image_lines() const { return axes_.outputs_across + axes_.halo(); }

  /* Panels of kernels.columns columns; in each, for every point, tap and k, one line. */
  void pack(const float *weights, const Setup &setup, float *packed) const {
    const FilterMatrix matrix(filter_);
    const int64_t width = setup.kernels.columns;
    const int64_t numbers = points_ * axes_.taps * layout_.depth * width; /* of a panel */
    const auto panel_ns = static_cast<double>(numbers) * setup.element_ns();
    setup.pool.run(ratio_up(layout_.columns, width), panel_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t first = panel * width;
        pack_panel(matrix, weights + first * layout_.column_stride, std::min(width, layout_.columns - first),
                   panel_row(layout_, first, setup.kernels, packed), packed + panel * numbers);
      }
    });
  }

  void pack_panel(const FilterMatrix &matrix, const float *weights, int64_t count, int64_t width,
                  float *packed) const {
    const int64_t point = axes_.taps * layout_.depth * width;
    if (count < width) std::fill(packed, packed + points_ * point, 0.0f);
    for (int64_t line = 0; line < axes_.taps * layout_.depth; ++line) {
      const float *from = weights + line / layout_.depth * tap_across() * layout_.tap_stride +
                          line % layout_.depth * layout_.depth_stride;
      for (int64_t o = 0; o < count; ++o) {
        pack_filter(matrix, from + o * layout_.column_stride, packed + line * width + o, point);
      }
    }
  }

  void pack_filter(const FilterMatrix &matrix, const float *filter, float *packed, int64_t point) const {
    const int64_t step = (filter_.is_along_y ? axes_.taps : 1) * layout_.tap_stride;
    for (int64_t p = 0; p < points_; ++p) {
      double sum = 0.0;
      for (int64_t i = 0; i < filter_.window; ++i) sum += matrix.rows[p][i] * filter[i * step];
      packed[p * point] = static_cast<float>(sum);
    }
  }

  /* Taps of the window from one to the next across the filtered axis. */
  int64_t tap_across() const { return filter_.is_along_y ? 1 : filter_.window; }

  /* Args: planes: the block's first line, transformed, of the first point. */
  void run_panels(const Frame &frame, std::byte *scratch, const Block &block, const float *planes,
                  const Panels &panels) const {
    auto *sums = reinterpret_cast<float *>(scratch);
    for (int64_t panel = panels.first; panel < panels.last; ++panel) {
      const int64_t column = panel * frame.kernels.columns;
      multiply(frame.kernels, block, planes, column, sums);
      for (int64_t i = 0; i < block.lines; ++i) {
        write_line(frame, block, i, column, sums + i * block.tiles * frame.kernels.columns);
      }
    }
  }

  /* One panel of columns: sums[point][line and tile][column]. */
  void multiply(const Kernels &kernels, const Block &block, const float *planes, int64_t column, float *sums) const {
    const int64_t count = block.lines * block.tiles;
    const int64_t depth = axes_.taps * layout_.depth;
    GemmRows tile{};
    tile.count = count;
    tile.step = line_;
    tile.taps = axes_.taps;
    tile.tap_step = axes_.dilation * block.tiles * line_; /* from one tap's line to the next one's */
    tile.depth = layout_.depth;
    tile.c_stride = kernels.columns;
    tile.column_count = static_cast<int32_t>(std::min<int64_t>(kernels.columns, layout_.columns - column));
    tile.function = {Function::identity, 0.0f, 0.0f};
    const auto *packed = static_cast<const float *>(packed_.get());
    const int64_t row = panel_row(layout_, column, kernels, packed);
    const bool is_last = column + kernels.columns >= layout_.columns;
    const int64_t next_row = is_last ? 0 : panel_row(layout_, column + kernels.columns, kernels, packed);
    tile.b = packed + column * points_ * depth;
    for (int64_t p = 0; p < points_; ++p, tile.b += depth * row) {
      tile.a = planes + p * plane_;
      tile.c = sums + p * count * kernels.columns;
      const bool io = p + 1 == points_; /* then the first of the next columns are behind */
      const NextPanel<float> next(io && is_last ? nullptr : tile.b + depth * row, depth, io ? next_row : row);
      tile.ahead = next.all();
      tile.ahead_bytes = next.bytes();
      kernels.gemm_rows(tile);
    }
  }

  void read_line(const Frame &frame, const Block &block, int64_t number, float *to) const {
    const int64_t kind = points_ / 2 - 3;
    if (is_image_bfloat16_) {
      return read_line_by(frame, block, number, to, frame.kernels.winograd_1d_input_of_bfloat16[kind]);
    }
    read_line_by(frame, block, number, to, frame.kernels.winograd_1d_input[kind]);
  }

  template <typename Number>
  void read_line_by(const Frame &frame, const Block &block, int64_t number, float *to,
                    void (*kernel)(const Winograd1dInputOf<Number> &)) const {
    const int64_t across = block.line + number - axes_.pad_across;
    const bool is_there = across >= 0 && across < axes_.breadth;
    const int64_t image = block.image * axes_.length * axes_.breadth;
    Winograd1dInputOf<Number> line{};
    line.step = axes_.step_along * layout_.depth;
    line.channels = layout_.depth;
    line.stride = plane_;
    for (int64_t i = 0; i < block.tiles; ++i) {
      const int64_t along = (block.tile + i) * filter_.outputs - axes_.pad_along;
      const int64_t pixel = image + (is_there ? across : 0) * axes_.step_across + along * axes_.step_along;
      line.from = frame.in<Number>(inputs[0]) + pixel * layout_.depth;
      line.first = -along;
      line.last = is_there ? axes_.length - along : line.first;
      line.to = to + i * line_;
      kernel(line);
    }
  }

  void write_line(const Frame &frame, const Block &block, int64_t number, int64_t column,
                  const float *sums) const {
    const int64_t channels = layout_.columns;
    const int64_t image = block.image * axes_.outputs_along * axes_.outputs_across;
    Winograd1dOutput line{};
    line.stride = block.lines * block.tiles * frame.kernels.columns;
    line.step = axes_.output_along * channels;
    line.channels = std::min<int64_t>(frame.kernels.columns, channels - column);
    for (int64_t i = 0; i < block.tiles; ++i) {
      const int64_t along = (block.tile + i) * filter_.outputs;
      const int64_t pixel = image + (block.line + number) * axes_.output_across + along * axes_.output_along;
      const int64_t place = pixel * channels + column;
      line.sums = sums + i * frame.kernels.columns;
      line.to = stored(frame) + place;
      line.count = std::min(filter_.outputs, axes_.outputs_along - along);
      static_cast<Epilogue &>(line) = epilogue(frame, column, place);
      frame.kernels.winograd_1d_output[points_ / 2 - 3][filter_.outputs / 2 - 1](line);
    }
  }

  Axes axes_;
  int64_t batch_;
  WeightLayout layout_;
  Winograd1dFilter filter_;
  bool is_image_bfloat16_ = false;
  int64_t points_; /* elements of a transformed tile */
  int64_t tiles_; /* along a line */
  int64_t line_; /* numbers from one transformed element to the next tile's */
  int64_t groups_ = 1; /* of panels: of more than one, all lines are transformed before */
  int64_t block_tiles_ = 1;
  int64_t block_lines_ = 1;
  int64_t plane_ = 0; /* numbers from one point to the next */
  size_t sums_bytes_ = 0;
  size_t thread_bytes_ = 0;
  std::shared_ptr<const void> packed_;
};

}  // namespace

std::vector<Winograd1dFilter> winograd_1d_filters(const Windows &w) {
  std::vector<Winograd1dFilter> filters;
  if (w.stride_y != 1 || w.stride_x != 1) return filters;
  for (const bool is_along_y : {false, true}) {
    const int64_t window = is_along_y ? w.window_height : w.window_width;
    const int64_t dilation = is_along_y ? w.dilation_y : w.dilation_x;
    if (dilation != 1 || window < 3 || window % 2 == 0) continue;
    for (const int64_t points : {int64_t{6}, int64_t{8}}) {
      if (points > window) filters.push_back({is_along_y, points - window + 1, window});
    }
  }
  return filters;
}

costs::Work winograd_1d_work(const Windows &w, const WeightLayout &layout, const Winograd1dFilter &filter,
                             const Kernels &kernels) {
  const Axes axes = axes_of(w, filter.is_along_y);
  const int64_t tiles = ratio_up(axes.outputs_along, filter.outputs);
  const int64_t points = filter.points();
  const BlockSize block = block_size(axes, w.batch, tiles, points, line_of(layout.depth), 1, kernels);
  costs::Work work;
  work.add(costs::operation, 1.0);
  int64_t transformed = 0; /* tiles, those of a halo with each block that needs them */
  bool are_weights_cold = true;
  for (int64_t line = 0; line < w.batch * axes.outputs_across; line += block.lines) {
    const int64_t lines = std::min(block.lines, w.batch * axes.outputs_across - line);
    for (int64_t tile = 0; tile < tiles; tile += block.tiles) {
      const int64_t here = std::min(block.tiles, tiles - tile);
      const Products products{lines * here, axes.taps, layout.depth, layout.columns, points, true, are_weights_cold, false};
      work.add(product_work(products, kernels));
      transformed += (lines + axes.halo()) * here;
      are_weights_cold = false;
    }
  }
  const auto lanes = static_cast<double>(kernels.lanes * points);
  const int64_t written = w.batch * axes.outputs_across * tiles;
  const auto in = static_cast<double>(transformed * ratio_up(layout.depth, kernels.lanes));
  const auto out = static_cast<double>(written * ratio_up(layout.columns, kernels.lanes));
  return work.add(costs::transformed, lanes * (costs::kReadForFiltering1d * in + out));
}

OperationPtr winograd_1d_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, const Winograd1dFilter &filter) {
  return std::make_unique<Winograd1dConvolution>(tensors, windows, layout, filter);
}

}  // namespace cpuacc
