/* SPDX-License-Identifier: MIT */
/* Rows times weights of 2, 4 or 8 bits, whose blocks have scales and zero points.
 *
 * A register of weights has a word of 32 bits of each column: neighbouring numbers of its row, the first one in the lowest
 * bits, as model files have them. A shift and a mask make four bytes of it (or two shorts, at levels that multiply such),
 * which the same numbers of a rounded row meet.
 */
#include <type_traits>

#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kFewVectors = 4; /* of a panel's columns */
constexpr int kFewColumns = kFewVectors * static_cast<int>(kLanes);
constexpr int kFewRows = 4; /* that one unpacked register meets */
constexpr bool kHasShorts = kReads == Reads::shorts;
constexpr int kInWord = kHasShorts ? 2 : 4; /* numbers of a row that meet a register at once */

/* The fields of a word: how many a lane's parts have, and which number of a word is part i of field j. */
template <int kBits>
struct Fields {
  static constexpr int kCount = (kHasShorts ? 16 : 8) / kBits;
  static constexpr int kNumbers = 32 / kBits;
  static int64_t place(int64_t k) {
    const int64_t in_word = k % kNumbers;
    return (k / kNumbers * kCount + in_word % kCount) * kInWord + in_word / kCount;
  }
};

/* All parts of a field. The weights of a level that reads shorts are shorts. */
template <int kBits, typename Vector>
CPUACC_INLINE Vector field(Vector x, int j) {
  typedef uint16_t Halves __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
  if constexpr (kHasShorts) {
    constexpr auto kMask = static_cast<uint16_t>((1 << kBits) - 1);
    return reinterpret_cast<Vector>(reinterpret_cast<Halves>(x) >> static_cast<uint16_t>(kBits * j) & kMask);
  } else {
    constexpr auto kMask = static_cast<int32_t>(((1u << kBits) - 1u) * 0x01010101u);
    return reinterpret_cast<Vector>(reinterpret_cast<Words>(x) >> static_cast<uint32_t>(kBits * j)) & kMask;
  }
}

template <typename Vector>
struct ShortsOf {
  typedef int16_t Type __attribute__((vector_size(sizeof(Vector))));
};

/* A level has either function: their arguments depend on the template's, so that the other one is not looked up. */
template <typename Vector>
CPUACC_INLINE Vector with_products(Vector sum, Vector weights, Vector row) {
  if constexpr (kHasShorts) {
    typedef typename ShortsOf<Vector>::Type Numbers;
    return sum + pairs_of_products(reinterpret_cast<Numbers>(weights), reinterpret_cast<Numbers>(row));
  } else {
    return dot(sum, fours(weights), fours(row));
  }
}

/* Some rows, from one on, times some vectors of a panel's columns. */
template <int kBits, int R, int V, bool kHasSecond>
void sum_columns(const FewBitsPanel &p, int64_t row, int64_t vector) {
  constexpr int kCount = Fields<kBits>::kCount;
  const int32_t *weights = p.weights + vector * kLanes;
  const int32_t *first[R], *second[R];
  const float *factors[R];
  Floats totals[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    first[r] = p.rows[row + r].first;
    second[r] = p.rows[row + r].second;
    factors[r] = p.rows[row + r].factors;
    CPUACC_UNROLL for (int v = 0; v < V; ++v) totals[r][v] = Floats{};
  }
  for (int64_t b = 0; b < p.blocks; ++b) {
    Ints sums[R][V], rests[R][V];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = rests[r][v] = Ints{};
    }
    for (int64_t w = 0; w < p.block_words; ++w, weights += kFewColumns) {
      Ints x[V];
      CPUACC_UNROLL for (int v = 0; v < V; ++v) x[v] = load_ints(weights + v * kLanes);
      CPUACC_UNROLL for (int j = 0; j < kCount; ++j) {
        Ints part[V];
        CPUACC_UNROLL for (int v = 0; v < V; ++v) part[v] = field<kBits>(x[v], j);
        CPUACC_UNROLL for (int r = 0; r < R; ++r) {
          const Ints steps = splat_int(first[r][j]);
          CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[r][v] = with_products(sums[r][v], part[v], steps);
          if constexpr (kHasSecond) {
            const Ints rest = splat_int(second[r][j]);
            CPUACC_UNROLL for (int v = 0; v < V; ++v) rests[r][v] = with_products(rests[r][v], part[v], rest);
          }
        }
      }
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        first[r] += kCount;
        if constexpr (kHasSecond) second[r] += kCount;
      }
    }
    CPUACC_UNROLL for (int v = 0; v < V; ++v) {
      const int64_t place = b * kFewColumns + (vector + v) * kLanes;
      const Floats scale = load(p.scales + place);
      Floats zero = splat(p.zero);
      if (p.real_points != nullptr) {
        zero += load(p.real_points + place);
      } else if (p.points != nullptr) {
        zero += __builtin_convertvector(widened<uint8_t>(p.points + place), Floats);
      }
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        Floats real = __builtin_convertvector(sums[r][v], Floats) * splat(factors[r][0]);
        if constexpr (kHasSecond) real += __builtin_convertvector(rests[r][v], Floats) * splat(factors[r][1]);
        totals[r][v] += scale * (real - zero * splat(factors[r][2]));
      }
    }
    CPUACC_UNROLL for (int r = 0; r < R; ++r) factors[r] += kFewBitsFactors;
  }
  CPUACC_UNROLL for (int v = 0; v < V; ++v) {
    const int64_t column = (vector + v) * kLanes;
    const int64_t left = p.columns - column;
    if (left <= 0) continue;
    const int64_t n = left < kLanes ? left : kLanes;
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      Floats total = totals[r][v];
      if (p.bias != nullptr) total += load_part(p.bias + column, n);
      store_part(p.y + (row + r) * p.y_step + column, total, n);
    }
  }
}

template <int kBits, bool kHasSecond>
void multiply_panel(const FewBitsPanel &p) {
  int64_t row = 0;
  for (; row + kFewRows <= p.count; row += kFewRows) {
    sum_columns<kBits, kFewRows, 2, kHasSecond>(p, row, 0);
    sum_columns<kBits, kFewRows, 2, kHasSecond>(p, row, 2);
  }
  for (; row < p.count; ++row) sum_columns<kBits, 1, kFewVectors, kHasSecond>(p, row, 0);
}

template <int kBits>
void multiply_few(const FewBitsPanel &p) {
  p.rows[0].second == nullptr ? multiply_panel<kBits, false>(p) : multiply_panel<kBits, true>(p);
}

void few_bits_panel(const FewBitsPanel &p) {
  if (p.count == 0) return;
  p.bits == 2 ? multiply_few<2>(p) : p.bits == 4 ? multiply_few<4>(p) : multiply_few<8>(p);
}

/* Numbers as steps of a size, and what is left of them. */
template <typename Put>
float put_steps(const float *x, int64_t n, float step, float *left, const Put &put) {
  constexpr float kLeastStep = 1e-37f; /* of which the inverse is a number */
  const Floats inverse = splat(step < kLeastStep ? 0.0f : 1.0f / step);
  int32_t sum = 0;
  for (int64_t k = 0; k < n; k += kLanes) {
    const int64_t some = n - k < kLanes ? n - k : kLanes;
    const Floats real = load_part(x + k, some);
    const Floats steps = round_even(real * inverse);
    if (left != nullptr) store_part(left + k, real - steps * splat(step), some);
    int32_t whole[kLanes];
    const Ints numbers = __builtin_convertvector(steps, Ints);
    std::memcpy(whole, &numbers, sizeof whole);
    for (int64_t i = 0; i < some; ++i) {
      put(k + i, whole[i]);
      sum += whole[i];
    }
  }
  return static_cast<float>(sum) * step;
}

template <int kBits>
void round_row(const FewBitsRounding &r) {
  typedef std::conditional_t<kHasShorts, int16_t, int8_t> Step;
  auto *first = reinterpret_cast<Step *>(const_cast<int32_t *>(r.to.first));
  auto *second = reinterpret_cast<Step *>(const_cast<int32_t *>(r.to.second));
  const int64_t blocks = (r.size + r.block_size - 1) / r.block_size;
  const auto padded = static_cast<size_t>(blocks * r.block_size) * sizeof(Step);
  std::memset(first, 0, padded);
  if (second != nullptr) std::memset(second, 0, padded);
  float *factors = const_cast<float *>(r.to.factors);
  for (int64_t b = 0; b < blocks; ++b, factors += kFewBitsFactors) {
    const int64_t begin = b * r.block_size;
    const int64_t n = r.size - begin < r.block_size ? r.size - begin : r.block_size;
    const float *x = r.x + begin;
    Floats most = Floats{};
    Floats nothing = Floats{}; /* NaN if any number is none, or infinite */
    for (int64_t k = 0; k < n; k += kLanes) {
      const Floats real = load_part(x + k, n - k < kLanes ? n - k : kLanes);
      most = maximum(most, absolute(real));
      nothing += real * 0.0f;
    }
    const float bad = sum_of(nothing);
    float largest = 0.0f;
    for (int64_t i = 0; i < kLanes; ++i) largest = most[i] > largest ? most[i] : largest;
    factors[0] = factors[1] = 0.0f;
    factors[2] = bad;
    if (bad != 0.0f || bad != bad) continue;
    const float step = largest / r.most_steps;
    factors[0] = step;
    const auto put_into = [begin](Step *to) {
      return [to, begin](int64_t k, int32_t number) { to[Fields<kBits>::place(begin + k)] = static_cast<Step>(number); };
    };
    factors[2] = put_steps(x, n, step, second == nullptr ? nullptr : r.left, put_into(first));
    if (second == nullptr) continue;
    factors[1] = step / (2.0f * r.most_steps);
    factors[2] += put_steps(r.left, n, factors[1], nullptr, put_into(second));
  }
}

void round_few_bits(const FewBitsRounding &r) {
  r.bits == 2 ? round_row<2>(r) : r.bits == 4 ? round_row<4>(r) : round_row<8>(r);
}

}  // namespace

void fill_int8_few_bits(Kernels &table) {
  table.int8.few_bits_columns = kFewColumns;
  table.int8.few_bits_steps = kInWord;
  table.int8.few_bits_turned = kReads == Reads::signed_bytes;
  table.int8.few_bits_panel = few_bits_panel;
  table.int8.round_few_bits = round_few_bits;
}

}  // namespace cpuacc::CPUACC_LEVEL
