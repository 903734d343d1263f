/* SPDX-License-Identifier: MIT */
/* Loops over rows of numbers as recurrent layers need them: kernels on Float32, plain loops on Float64. */
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "kernels/kernels.h"

namespace cpuacc {

/* Rows, what is added to their products, and where these go. */
template <typename T>
struct GemvOperands {
  const T *const *rows;
  const T *const *x; /* nullptr: none */
  T *const *y;
  int64_t count;
  const T *bias; /* nullptr: none */
};

/* A panel of numbers that are computed in T; only floats may be stored otherwise. */
template <typename T>
struct PanelOf {
  const T *numbers;
  const int8_t *steps;
  const float *scales;
  const Bfloat16 *rounded;
};

template <>
struct PanelOf<float> : GemvPanel {};

/* Members have the meaning of those of Kernels. */
template <typename T>
class Rows;

template <>
class Rows<float> {
 public:
  explicit Rows(const Kernels &kernels)
      : lanes(kernels.lanes), gemv_columns(kernels.gemv_columns), kernels_(kernels) {}

  void gemv(const GemvOperands<float> &all, int64_t depth, const GemvPanel &panel, int64_t first,
            int64_t columns) const {
    const auto gemv = panel.rounded == nullptr ? kernels_.gemv : kernels_.gemv_of_bfloat16;
    gemv({all.rows, all.x, all.y, all.count, depth, panel, all.bias, first, columns});
  }
  void round(const float *x, Bfloat16 *y, int64_t n) const { kernels_.round_to_bfloat16(x, y, n); }
  void elementwise(const Elementwise &function, const float *x, float *y, int64_t n) const {
    kernels_.elementwise(function, x, y, n);
  }
  void clamp(float bound, float *x, int64_t n) const { elementwise({Function::clamp, bound, -bound}, x, x, n); }
  void multiply(const float *x, const float *y, float *z, int64_t n) const {
    kernels_.arithmetic(Arithmetic::multiply, x, 1, y, 1, z, n);
  }
  void add(const float *x, const float *y, float *z, int64_t n) const {
    kernels_.arithmetic(Arithmetic::add, x, 1, y, 1, z, n);
  }
  void multiply_add(const float *x, const float *y, float *z, int64_t n) const { kernels_.multiply_add(x, y, z, n); }
  void transpose(const float *x, int64_t x_stride, float *y, int64_t y_stride, int64_t rows, int64_t columns) const {
    kernels_.transpose(x, x_stride, y, y_stride, rows, columns);
  }
  void normalize(const float *gamma, const float *beta, float *x, int64_t n, float eps) const {
    kernels_.normalize(x, gamma, beta, x, n, eps, true);
  }

  const int64_t lanes;
  const int64_t gemv_columns;

 private:
  const Kernels &kernels_;
};

template <>
class Rows<double> {
 public:
  explicit Rows(const Kernels &) {}

  void gemv(const GemvOperands<double> &all, int64_t depth, const PanelOf<double> &panel, int64_t first,
            int64_t columns) const {
    const int64_t stride = (columns + lanes - 1) / lanes * lanes;
    for (int64_t i = 0; i < all.count; ++i) {
      double sums[gemv_columns] = {};
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t j = 0; j < columns; ++j) sums[j] += all.rows[i][k] * panel.numbers[k * stride + j];
      }
      for (int64_t j = 0; j < columns; ++j) {
        const double x = all.x == nullptr ? 0.0 : all.x[i][first + j];
        all.y[i][first + j] = sums[j] + x + (all.bias == nullptr ? 0.0 : all.bias[first + j]);
      }
    }
  }
  void elementwise(const Elementwise &function, const double *x, double *y, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) y[i] = value_of(function, x[i]);
  }
  void clamp(double bound, double *x, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) x[i] = between(-bound, bound, x[i]);
  }
  void multiply(const double *x, const double *y, double *z, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] * y[i];
  }
  void add(const double *x, const double *y, double *z, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) z[i] = x[i] + y[i];
  }
  void multiply_add(const double *x, const double *y, double *z, int64_t n) const {
    for (int64_t i = 0; i < n; ++i) z[i] += x[i] * y[i];
  }
  void transpose(const double *x, int64_t x_stride, double *y, int64_t y_stride, int64_t rows, int64_t columns) const {
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < rows; ++i) y[j * y_stride + i] = x[i * x_stride + j];
    }
  }
  void normalize(const double *gamma, const double *beta, double *x, int64_t n, double eps) const {
    double mean = 0.0;
    for (int64_t i = 0; i < n; ++i) mean += x[i] / static_cast<double>(n);
    double variance = eps;
    for (int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) x[i] = (x[i] - mean) / std::sqrt(variance) * gamma[i] + beta[i];
  }

  static constexpr int64_t lanes = 8;
  static constexpr int64_t gemv_columns = 32;

 private:
  /* NaN stays NaN. */
  static double between(double low, double high, double x) { return x < low ? low : x > high ? high : x; }

  static double value_of(const Elementwise &function, double x) {
    const double a = function.a;
    const double b = function.b;
    switch (function.function) {
      case Function::identity: return x;
      case Function::clamp: return between(b, a, x);
      case Function::sigmoid: return 1.0 / (1.0 + std::exp(-x));
      case Function::tanh: return a * std::tanh(b * x);
      case Function::linear: return a * x + b;
      default: throw std::logic_error("this function is not computed in Float64");
    }
  }
};

}  // namespace cpuacc
