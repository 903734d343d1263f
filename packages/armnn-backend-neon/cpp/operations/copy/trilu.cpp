/* SPDX-License-Identifier: MIT */
#include "operations/copy/copy.h"

#include <algorithm>
#include <cstring>

namespace cpuacc {
namespace {

class Trilu final : public Operation {
 public:
  Trilu(Ends ends, int64_t rows, int64_t columns, int64_t diagonal, bool is_upper)
      : Operation(ends), rows_(rows), columns_(columns), diagonal_(diagonal), is_upper_(is_upper) {}

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

OperationPtr trilu(Ends ends, int64_t rows, int64_t columns, int64_t diagonal, bool is_upper) {
  return std::make_unique<Trilu>(ends, rows, columns, diagonal, is_upper);
}

}  // namespace cpuacc
