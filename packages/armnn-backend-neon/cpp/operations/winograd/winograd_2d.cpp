/* SPDX-License-Identifier: MIT */
/* Convolutions of 3 x 3 windows by Winograd's minimal filtering. */
#include "operations/winograd/winograd.h"

#include <algorithm>
#include <cmath>

#include "costs/costs.h"
#include "operations/gemm/gemm.h"

namespace cpuacc {
namespace {

constexpr int64_t kWindow = 3;

/* G of F(m x m, 3 x 3), (m + 2) rows. */
const double *filter_matrix(int64_t side) {
  static constexpr double kTwo[] = {1, 0, 0, 0.5, 0.5, 0.5, 0.5, -0.5, 0.5, 0, 0, 1};
  static constexpr double kFour[] = {1.0 / 4,  0,         0,        -1.0 / 6, -1.0 / 6, -1.0 / 6,
                                     -1.0 / 6, 1.0 / 6,   -1.0 / 6, 1.0 / 24, 1.0 / 12, 1.0 / 6,
                                     1.0 / 24, -1.0 / 12, 1.0 / 6,  0,        0,        1};
  static constexpr double kSix[] = {1.0,       0,         0,        -2.0 / 9,  -2.0 / 9,  -2.0 / 9,
                                    -2.0 / 9,  2.0 / 9,   -2.0 / 9, 1.0 / 90,  1.0 / 45,  2.0 / 45,
                                    1.0 / 90,  -1.0 / 45, 2.0 / 45, 32.0 / 45, 16.0 / 45, 8.0 / 45,
                                    32.0 / 45, -16.0 / 45, 8.0 / 45, 0,        0,         1};
  return side == 2 ? kTwo : side == 4 ? kFour : kSix;
}

/* Tiles of which one block stays in the second cache. Args: stride: numbers of a point of a tile. */
int64_t most_tiles(int64_t points, int64_t stride, const Kernels &kernels) {
  const int64_t bytes = points * stride * static_cast<int64_t>(sizeof(float));
  return std::max<int64_t>(kernels.rows, costs::machine(kernels.lanes).second_cache_bytes() / bytes);
}

class Winograd2dConvolution final : public WithEpilogue {
 public:
  Winograd2dConvolution(const WeightedTensors &tensors, const Windows &windows, const WeightLayout &layout,
                        int64_t side)
      : WithEpilogue(tensors),
        windows_(windows),
        layout_(layout),
        side_(side),
        points_((side + 2) * (side + 2)),
        tiles_y_(ratio_up(windows.output_height, side)),
        tiles_x_(ratio_up(windows.output_width, side)),
        tiles_(windows.batch * tiles_y_ * tiles_x_),
        tile_stride_(layout.depth + costs::kRowFiller) {}

  int64_t bias_count() const override { return layout_.columns; }

  bool can_read_bfloat16(const Kernels &, size_t input) const override { return input == 0 || is_residual(input); }
  bool can_store_bfloat16(const Kernels &) const override { return true; }

  size_t prepare(const Setup &setup) override {
    note_storage(setup);
    is_image_bfloat16_ = setup.is_bfloat16(inputs[0]);
    const Tensor &weights = setup[inputs[1]];
    const Kernels &kernels = setup.kernels;
    const WeightLayout packed{points_, 0, layout_.depth, 0, layout_.columns, 0};
    const auto fill = [&](void *memory) {
      pack(weights.read<float>(), setup, static_cast<float *>(memory));
    };
    packed_ = setup.packed.get(
        weights.source(),
        weights.recipe("winograd_2d ") + std::to_string(side_) + " " + layout_.recipe() + " " + kernels.name,
        packed_bytes(packed, kernels), fill);
    inputs[1] = kNone;
    /* All tiles are transformed before the panels of a group: worth it as long as the second cache keeps them. */
    const bool are_few = tiles_ <= most_tiles(points_, tile_stride_, kernels);
    groups_ = are_few ? panel_groups(tiles_, layout_.columns, setup.threads, kernels) : 1;
    block_ = block_size(setup);
    const int64_t transformed = groups_ == 1 ? block_ : tiles_; /* at a time */
    plane_ = transformed * tile_stride_ + costs::kRowFiller;
    sums_plane_ = block_ * kernels.columns + costs::kRowFiller;
    sums_bytes_ = aligned_bytes(static_cast<size_t>(points_ * sums_plane_) * sizeof(float));
    const size_t transformed_bytes = aligned_bytes(static_cast<size_t>(points_ * plane_) * sizeof(float));
    thread_bytes_ = sums_bytes_ + (groups_ == 1 ? transformed_bytes : 0);
    return thread_bytes_ * static_cast<size_t>(setup.threads) + (groups_ == 1 ? 0 : transformed_bytes);
  }

  void run(const Frame &frame) const override {
    const int64_t blocks = ratio_up(tiles_, block_);
    const auto sums = static_cast<double>(points_ * block_ * layout_.depth * layout_.columns);
    const double block_ns = sums * frame.ns_of(costs::multiply_add);
    if (groups_ == 1) {
      return frame.for_each(blocks, block_ns, [&](int64_t i, int32_t thread) {
        auto *scratch = frame.scratch_of<std::byte>(thread, thread_bytes_);
        auto *transformed = reinterpret_cast<float *>(scratch + sums_bytes_);
        const Tiles tiles{i * block_, std::min(block_, tiles_ - i * block_), transformed};
        read_tiles(frame, tiles);
        run_panels(frame, scratch, tiles, panels_of_group(0, 1, layout_.columns, frame.kernels));
      });
    }
    auto *transformed = frame.scratch_of<float>(frame.pool.threads(), thread_bytes_);
    const auto numbers = static_cast<double>(points_ * layout_.depth);
    frame.for_each(tiles_, numbers * frame.ns_of(costs::transformed), [&](int64_t i, int32_t) {
      read_tiles(frame, {i, 1, transformed + i * tile_stride_});
    });
    /* A thread's tasks are those of its panels. */
    frame.for_each(groups_ * blocks, block_ns / static_cast<double>(groups_), [&](int64_t i, int32_t thread) {
      const int64_t first = i % blocks * block_;
      const Tiles tiles{first, std::min(block_, tiles_ - first), transformed + first * tile_stride_};
      run_panels(frame, frame.scratch_of<std::byte>(thread, thread_bytes_), tiles,
                 panels_of_group(i / blocks, groups_, layout_.columns, frame.kernels));
    });
  }

 private:
  /* Tiles side by side, transformed. */
  struct Tiles {
    int64_t first, count;
    float *transformed; /* the first one's, of the first point */
  };

  /* Tiles of a block. */
  int64_t block_size(const Setup &setup) const {
    const Kernels &kernels = setup.kernels;
    const int64_t most = most_tiles(points_, tile_stride_, kernels);
    if (groups_ > 1) {
      const int64_t blocks = ratio_up(2 * setup.threads, groups_);
      return std::clamp<int64_t>(ratio_up(ratio_up(tiles_, blocks), kernels.rows) * kernels.rows, 1, std::min(most, tiles_));
    }
    /* As many blocks for each thread; two if their rows still make whole tiles of the product. */
    const bool has_plenty = tiles_ >= 4 * setup.threads * kernels.rows;
    const int64_t wanted = setup.threads == 1 ? 1 : (has_plenty ? 2 : 1) * setup.threads;
    const int64_t rounds = ratio_up(tiles_, most * wanted);
    const int64_t blocks = std::max<int64_t>(1, rounds * wanted);
    return std::max<int64_t>(1, ratio_up(tiles_, blocks));
  }

  /* Panels of kernels.columns columns; in each, for every point and k, one line. */
  void pack(const float *weights, const Setup &setup, float *packed) const {
    const int64_t width = setup.kernels.columns;
    const int64_t numbers = points_ * layout_.depth * width; /* of a panel */
    const auto panel_ns = static_cast<double>(numbers) * setup.element_ns();
    setup.pool.run(ratio_up(layout_.columns, width), panel_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t panel = begin; panel < end; ++panel) {
        const int64_t column = panel * width;
        Winograd2dFilters filters{};
        filters.matrix = filter_matrix(side_);
        filters.weights = weights + column * layout_.column_stride;
        filters.tap_stride = layout_.tap_stride;
        filters.depth_stride = layout_.depth_stride;
        filters.column_stride = layout_.column_stride;
        filters.depth = layout_.depth;
        filters.columns = std::min(width, layout_.columns - column);
        filters.to = packed + panel * numbers;
        setup.kernels.winograd_2d_filters[side_ / 2 - 1](filters);
      }
    });
  }

  void read_tiles(const Frame &frame, const Tiles &tiles) const {
    for (int64_t i = 0; i < tiles.count; ++i) read_tile(frame, tiles.first + i, tiles.transformed + i * tile_stride_);
  }

  void run_panels(const Frame &frame, std::byte *scratch, const Tiles &tiles, const Panels &panels) const {
    auto *sums = reinterpret_cast<float *>(scratch);
    for (int64_t panel = panels.first; panel < panels.last; ++panel) {
      const int64_t column = panel * frame.kernels.columns;
      multiply(frame.kernels, tiles.transformed, column, tiles.count, sums);
      for (int64_t i = 0; i < tiles.count; ++i) {
        write_tile(frame, tiles.first + i, column, sums + i * frame.kernels.columns);
      }
    }
  }

  /* One panel of columns: sums[point][tile][column]. */
  void multiply(const Kernels &kernels, const float *transformed, int64_t column, int64_t count, float *sums) const {
    const int64_t depth = layout_.depth;
    GemmRows tile{};
    tile.count = count;
    tile.step = tile_stride_;
    tile.taps = 1;
    tile.depth = depth;
    tile.c_stride = kernels.columns;
    tile.column_count = static_cast<int32_t>(std::min<int64_t>(kernels.columns, layout_.columns - column));
    tile.function = {Function::identity, 0.0f, 0.0f};
    const auto *packed = static_cast<const float *>(packed_.get());
    const int64_t row = panel_row(layout_, column, kernels, packed);
    const bool is_last = column + kernels.columns >= layout_.columns;
    const int64_t next_row = is_last ? 0 : panel_row(layout_, column + kernels.columns, kernels, packed);
    for (int64_t p = 0; p < points_; ++p) {
      tile.a = transformed + p * plane_;
      tile.b = packed + (column * points_ + p * row) * depth;
      tile.c = sums + p * sums_plane_;
      const bool io = p + 1 == points_; /* then the first of the next columns are behind */
      const NextPanel<float> next(io && is_last ? nullptr : tile.b + depth * row, depth, io ? next_row : row);
      tile.ahead = next.all();
      tile.ahead_bytes = next.bytes();
      kernels.gemm_rows(tile);
    }
  }

  struct TileOrigin { /* the first output of a tile */
    int64_t image, y, x;
  };

  TileOrigin origin_of_tile(int64_t tile) const {
    return {tile / (tiles_x_ * tiles_y_), tile / tiles_x_ % tiles_y_ * side_, tile % tiles_x_ * side_};
  }

  void read_tile(const Frame &frame, int64_t number, float *to) const {
    const int64_t kind = side_ / 2 - 1;
    if (is_image_bfloat16_) return read_tile_by(frame, number, to, frame.kernels.winograd_2d_input_of_bfloat16[kind]);
    read_tile_by(frame, number, to, frame.kernels.winograd_2d_input[kind]);
  }

  template <typename Number>
  void read_tile_by(const Frame &frame, int64_t number, float *to,
                    void (*kernel)(const Winograd2dInputOf<Number> &)) const {
    const Windows &w = windows_;
    const TileOrigin at = origin_of_tile(number);
    const Number *image = frame.in<Number>(inputs[0]) + at.image * w.height * w.width * w.channels;
    kernel({image, w.height, w.width, w.channels, at.y - w.pad_top, at.x - w.pad_left, to, plane_});
  }

  void write_tile(const Frame &frame, int64_t number, int64_t column, const float *sums) const {
    const Windows &w = windows_;
    const TileOrigin at = origin_of_tile(number);
    const int64_t channels = layout_.columns;
    const int64_t row_stride = w.output_width * channels;
    const int64_t offset =
        (at.image * w.output_height + at.y) * row_stride + at.x * channels + column;
    Winograd2dOutput tile{};
    tile.sums = sums;
    tile.stride = sums_plane_;
    tile.to = stored(frame) + offset;
    tile.rows = std::min(side_, w.output_height - at.y);
    tile.columns = std::min(side_, w.output_width - at.x);
    tile.count = std::min<int64_t>(frame.kernels.columns, channels - column);
    tile.row_stride = row_stride;
    tile.column_stride = channels;
    static_cast<Epilogue &>(tile) = epilogue(frame, column, offset);
    frame.kernels.winograd_2d_output[side_ / 2 - 1](tile);
  }

  Windows windows_;
  WeightLayout layout_;
  bool is_image_bfloat16_ = false;
  int64_t side_;
  int64_t points_; /* elements of a transformed tile */
  int64_t tiles_y_, tiles_x_, tiles_;
  int64_t tile_stride_; /* numbers from one transformed tile's element to the next tile's */
  int64_t groups_ = 1; /* of panels: of more than one, all tiles are transformed before */
  int64_t block_ = 1; /* tiles at a time */
  /* Numbers from one point to the next, of the image and of sums; 36 lines a multiple of 1024 apart share a set of the
   * first cache, which keeps 8 to 12.
   */
  int64_t plane_ = 0, sums_plane_ = 0;
  size_t sums_bytes_ = 0;
  size_t thread_bytes_ = 0;
  std::shared_ptr<const void> packed_;
};

}  // namespace

int64_t panel_groups(int64_t tiles, int64_t columns, int32_t threads, const Kernels &kernels) {
  if (threads == 1 || tiles == 0) return 1;
  const int64_t wanted = 2 * threads;
  const double equal = std::sqrt(static_cast<double>(wanted * columns) / static_cast<double>(tiles));
  return std::clamp<int64_t>(std::llround(equal), 1, std::min(wanted, ratio_up(columns, kernels.columns)));
}

Panels panels_of_group(int64_t group, int64_t groups, int64_t columns, const Kernels &kernels) {
  const int64_t panels = ratio_up(columns, kernels.columns);
  return {panels * group / groups, panels * (group + 1) / groups};
}

bool suits_winograd_2d(const Windows &w, const WeightLayout &layout) {
  return w.window_height == kWindow && w.window_width == kWindow && w.stride_y == 1 && w.stride_x == 1 &&
         w.dilation_y == 1 && w.dilation_x == 1 && layout.depth >= costs::kLeastWinogradChannels &&
         layout.columns >= costs::kLeastWinogradChannels;
}

costs::Work winograd_2d_work(const Windows &w, const WeightLayout &layout, int64_t side, const Kernels &kernels) {
  const int64_t points = (side + 2) * (side + 2);
  const int64_t tiles = w.batch * ratio_up(w.output_height, side) * ratio_up(w.output_width, side);
  const int64_t most = most_tiles(points, layout.depth + costs::kRowFiller, kernels);
  const int64_t block = std::max<int64_t>(1, ratio_up(tiles, std::max<int64_t>(1, ratio_up(tiles, most))));
  const Products first{std::min(block, tiles), 1, layout.depth, layout.columns, points, true, true, false};
  Products others = first, last = first;
  others.are_weights_cold = last.are_weights_cold = false;
  others.count = points * std::max<int64_t>(0, tiles / block - 1);
  last.rows = tiles < block ? 0 : tiles % block;
  const int64_t vectors = ratio_up(layout.columns, kernels.lanes);
  const auto numbers = static_cast<double>(points * tiles * kernels.lanes);
  costs::Work work = product_work(first, kernels);
  return work.add(product_work(others, kernels))
      .add(product_work(last, kernels))
      .add(costs::operation, 1.0)
      .add(costs::transformed, numbers * static_cast<double>(ratio_up(layout.depth, kernels.lanes) + vectors));
}

OperationPtr winograd_2d_convolution(const WeightedTensors &tensors, const Windows &windows,
                                     const WeightLayout &layout, int64_t side) {
  return std::make_unique<Winograd2dConvolution>(tensors, windows, layout, side);
}

}  // namespace cpuacc
