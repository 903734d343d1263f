/* SPDX-License-Identifier: MIT */
/* Adjugate matrices, by cofactors. */
#include "operations/gemm/gemm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "costs/costs.h"

namespace cpuacc {
namespace {

/* By elimination with the largest pivot of each column. Args: m: [size, size], overwritten. */
double determinant(double *m, int64_t size) {
  double result = 1.0;
  for (int64_t k = 0; k < size; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < size; ++i) {
      if (std::fabs(m[i * size + k]) > std::fabs(m[pivot * size + k])) pivot = i;
    }
    if (m[pivot * size + k] == 0.0) return 0.0;
    if (pivot != k) {
      std::swap_ranges(m + k * size, m + (k + 1) * size, m + pivot * size);
      result = -result;
    }
    result *= m[k * size + k];
    for (int64_t i = k + 1; i < size; ++i) {
      const double factor = m[i * size + k] / m[k * size + k];
      for (int64_t j = k + 1; j < size; ++j) m[i * size + j] -= factor * m[k * size + j];
    }
  }
  return result;
}

template <typename T>
class Adjugate final : public Operation {
 public:
  Adjugate(Io io, int64_t count, int64_t size) : Operation(io), count_(count), size_(size) {}

  size_t prepare(const Setup &setup) override {
    return minor_bytes() * static_cast<size_t>(setup.threads);
  }

  void run(const Frame &frame) const override {
    const double ns = std::pow(static_cast<double>(size_), 5.0) * frame.element_ns();
    frame.for_each(count_, ns, [&](int64_t i, int32_t thread) {
      const int64_t place = i * size_ * size_;
      compute(frame.in<T>(inputs[0]) + place, frame.out<T>(outputs[0]) + place,
              frame.scratch_of<double>(thread, minor_bytes()));
    });
  }

 private:
  size_t minor_bytes() const { return static_cast<size_t>((size_ - 1) * (size_ - 1)) * sizeof(double); }

  void compute(const T *from, T *to, double *minor) const {
    for (int64_t row = 0; row < size_; ++row) {
      for (int64_t column = 0; column < size_; ++column) {
        double *next = minor;
        for (int64_t i = 0; i < size_; ++i) {
          for (int64_t j = 0; j < size_; ++j) {
            if (i != row && j != column) *next++ = static_cast<double>(from[i * size_ + j]);
          }
        }
        const double cofactor = determinant(minor, size_ - 1);
        to[column * size_ + row] = static_cast<T>((row + column) % 2 == 0 ? cofactor : -cofactor);
      }
    }
  }

  int64_t count_;
  int64_t size_;
};

}  // namespace

OperationPtr adjugate(Io io, armnn_data_type type, int64_t count, int64_t size) {
  if (type == ARMNN_FLOAT64) return std::make_unique<Adjugate<double>>(io, count, size);
  return std::make_unique<Adjugate<float>>(io, count, size);
}

}  // namespace cpuacc
