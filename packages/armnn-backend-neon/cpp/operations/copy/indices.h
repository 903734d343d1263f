/* SPDX-License-Identifier: MIT */
/* A tensor seen along one axis: [outer, size, inner]. */
#ifndef CPUACC_OPERATIONS_COPY_INDICES_H_
#define CPUACC_OPERATIONS_COPY_INDICES_H_

#include "layers/lowering.h"

namespace cpuacc {

struct Along {
  int64_t outer;
  int64_t size;
  int64_t inner;
};

/* Args: shape: in memory; place: of the axis. */
Along along(const Shape &shape, size_t place);

/* Integers that only a run knows. */
class Indices {
 public:
  /* Refuses a value that is neither Signed32 nor Signed64. */
  static void require_type(const Value &value, int32_t input);

  Indices(const Frame &frame, TensorId id, bool is_wide)
      : memory_(frame.in<std::byte>(id)), is_wide_(is_wide) {}

  int64_t operator[](int64_t i) const {
    return is_wide_ ? reinterpret_cast<const int64_t *>(memory_)[i]
                    : reinterpret_cast<const int32_t *>(memory_)[i];
  }
  /* The same, counted from the end if negative. Throws std::out_of_range. */
  int64_t place(int64_t i, int64_t size) const;

 private:
  const std::byte *memory_;
  bool is_wide_;
};

}  // namespace cpuacc

#endif
