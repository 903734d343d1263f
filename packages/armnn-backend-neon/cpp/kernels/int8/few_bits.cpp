/* SPDX-License-Identifier: MIT */
/* Multiplies rows by weights of 2, 4 or 8 bits, whose blocks have scales and zero points.
 *
 * A register of weights has one word of 32 bits of each column. A word holds consecutive weights of the column, the
 * first one in the lowest bits, as in model files. A shift and a mask extract a field: four weights as bytes, or two
 * as shorts at levels that multiply shorts. They are multiplied by the elements with the same index k of a row, which
 * was rounded to multiples of a step (quantized) before.
 */
#include <type_traits>

#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kFewVectors = 4; /* registers for the columns of a panel */
constexpr int kFewColumns = kFewVectors * static_cast<int>(kLanes);
constexpr int kFewRows = 4; /* rows that share one unpacked register of weights */

/* Elements of a row that share a quantization step in the forms shorts and two_bytes. If a whole block of 256 shared
 * a step, one outlier would make all of them inexact. 16 is also the number of weights of 2 bits in a word.
 */
constexpr int64_t kNearGroup = 16;

/* The form in which the elements of a row are stored. A term is a rounded element; a second term is the rounded
 * remainder of the first one.
 */
enum class Form {
  shorts,    /* two elements in a word, one term */
  bytes,     /* four elements in a word, one term */
  two_bytes, /* four elements in a word, two terms, each in a row of its own */
  small      /* as bytes, for weights of 4 bits or less: products are added in 16 bits */
};

constexpr int numbers_in_word(Form form) { return form == Form::shorts ? 2 : 4; }
constexpr int terms_of(Form form) { return form == Form::two_bytes ? 2 : 1; }
constexpr bool is_near(Form form) { return form == Form::shorts || form == Form::two_bytes; }

/* The fields of a word of weights: kCount fields of kInWord weights each, kNumbers weights in all.
 * place(k): the index at which element k of a row is stored, so that its word has the elements of one field.
 */
template <int kBits, int kInWord>
struct Fields {
  static constexpr int kCount = 32 / kInWord / kBits;
  static constexpr int kNumbers = 32 / kBits;
  static constexpr int place(int k) {
    const int in_word = k % kNumbers;
    return (k / kNumbers * kCount + in_word % kCount) * kInWord + in_word / kCount;
  }
};

/* Field j of words: a weight in each byte or short. */
template <int kBits, Form kForm, typename Vector>
CPUACC_INLINE Vector field(Vector x, int j) {
  typedef uint16_t Halves __attribute__((vector_size(CPUACC_VECTOR_BYTES)));
  if constexpr (kForm == Form::shorts) {
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

/* Adds the products of one field of weights and a word of a row. A level may lack some of the functions called here:
 * as they depend on template parameters, this is no error unless the branch is used.
 */
template <Form kForm, typename Sum, typename Vector, typename Small = SmallWeights>
CPUACC_INLINE Sum with_products(Sum sum, Vector weights, Vector row) {
  if constexpr (kForm == Form::shorts) {
    typedef typename ShortsOf<Vector>::Type Shorts;
    return sum + pairs_of_products(reinterpret_cast<Shorts>(weights), reinterpret_cast<Shorts>(row));
  } else if constexpr (kForm == Form::small) {
    return sum + Small::pairs(weights, row);
  } else {
    return dot(sum, fours(weights), fours(row));
  }
}

/* Adds the products of some words of weights and R rows to sums[term][row][vector]. weights and steps, which point to
 * the words of each term of each row, advance.
 */
template <int kBits, Form kForm, int R, int V, typename Sum>
CPUACC_INLINE void add_words(Sum (&sums)[terms_of(kForm)][R][V], const int32_t *&weights,
                             const int32_t *(&steps)[terms_of(kForm)][R], int64_t words) {
  constexpr int kCount = Fields<kBits, numbers_in_word(kForm)>::kCount;
  constexpr int kTerms = terms_of(kForm);
  for (int64_t w = 0; w < words; ++w, weights += kFewColumns) {
    Ints x[V];
    CPUACC_UNROLL for (int v = 0; v < V; ++v) x[v] = load_ints(weights + v * kLanes);
    CPUACC_UNROLL for (int j = 0; j < kCount; ++j) {
      Ints part[V];
      CPUACC_UNROLL for (int v = 0; v < V; ++v) part[v] = field<kBits, kForm>(x[v], j);
      CPUACC_UNROLL for (int t = 0; t < kTerms; ++t) {
        CPUACC_UNROLL for (int r = 0; r < R; ++r) {
          const Ints four = splat_int(steps[t][r][j]);
          CPUACC_UNROLL for (int v = 0; v < V; ++v) {
            sums[t][r][v] = in_order(with_products<kForm>(sums[t][r][v], part[v], four));
          }
        }
      }
    }
    CPUACC_UNROLL for (int t = 0; t < kTerms; ++t) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) steps[t][r] += kCount;
    }
  }
}

/* As add_words for bytes, by an instruction that multiplies two rows by two columns, of two words of k each (smmla).
 * It sets the sums instead of adding to them.
 */
template <int kBits, int kTerms, int R, int V, typename Pairs = RowPairs>
CPUACC_INLINE void add_words_by_pairs(Ints (&sums)[kTerms][R][V], const int32_t *&weights, const int32_t *(&steps)[kTerms][R],
                                      int64_t words) {
  constexpr int kCount = Fields<kBits, 4>::kCount;
  constexpr int kWords = kCount == 1 ? 2 : 1; /* words of weights that hold two fields */
  constexpr Ints kFirst = {0, 4, 1, 5}, kSecond = {2, 6, 3, 7};
  Ints blocks[kTerms][R / 2][2 * V];
  CPUACC_UNROLL for (int t = 0; t < kTerms; ++t) {
    CPUACC_UNROLL for (int p = 0; p < R / 2; ++p) {
      CPUACC_UNROLL for (int q = 0; q < 2 * V; ++q) blocks[t][p][q] = Ints{};
    }
  }
  for (int64_t w = 0; w < words; w += kWords, weights += kWords * kFewColumns) {
    CPUACC_UNROLL for (int j = 0; j < kCount * kWords; j += 2) {
      Ints columns[2 * V];
      CPUACC_UNROLL for (int v = 0; v < V; ++v) {
        const Ints word = load_ints(weights + v * kLanes);
        const Ints next = kWords == 1 ? word : load_ints(weights + (kWords - 1) * kFewColumns + v * kLanes);
        const Ints part = field<kBits, Form::bytes>(word, j);
        const Ints other = field<kBits, Form::bytes>(next, kWords == 1 ? j + 1 : 0);
        columns[2 * v] = __builtin_shuffle(part, other, kFirst);
        columns[2 * v + 1] = __builtin_shuffle(part, other, kSecond);
      }
      CPUACC_UNROLL for (int t = 0; t < kTerms; ++t) {
        CPUACC_UNROLL for (int p = 0; p < R / 2; ++p) {
          const Ints rows = Pairs::read(steps[t][2 * p] + j, steps[t][2 * p + 1] + j);
          CPUACC_UNROLL for (int q = 0; q < 2 * V; ++q) blocks[t][p][q] = Pairs::add(blocks[t][p][q], rows, columns[q]);
        }
      }
    }
    CPUACC_UNROLL for (int t = 0; t < kTerms; ++t) {
      CPUACC_UNROLL for (int r = 0; r < R; ++r) steps[t][r] += kCount * kWords;
    }
  }
  constexpr Ints kUpper = {0, 1, 4, 5}, kLower = {2, 3, 6, 7};
  CPUACC_UNROLL for (int t = 0; t < kTerms; ++t) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) {
        const Ints left = blocks[t][r / 2][2 * v], right = blocks[t][r / 2][2 * v + 1];
        sums[t][r][v] = __builtin_shuffle(left, right, r % 2 == 0 ? kUpper : kLower);
      }
    }
  }
}

/* Computes the sums of products of a group: the elements of a row that share a step. */
template <int kBits, Form kForm, int R, int V, typename Vector>
CPUACC_INLINE void sum_group(Vector (&sums)[terms_of(kForm)][R][V], const int32_t *&weights,
                             const int32_t *(&steps)[terms_of(kForm)][R], int64_t words) {
  constexpr int kTerms = terms_of(kForm);
  CPUACC_UNROLL for (int t = 0; t < kTerms; ++t) {
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[t][r][v] = Vector{};
    }
  }
  if constexpr (kForm == Form::small) {
    /* The sum of a pair of products is at most 2 * 15 * 127 for weights of 4 bits: eight such sums, which are four
     * words, fit into 16 bits. Weights of 2 bits have twice as many, but smaller, products in a word.
     */
    constexpr int64_t kWords = 4;
    static_assert(kWords * 16 / kBits * ((1 << kBits) - 1) * 127 <= 32767);
    typedef typename ShortsOf<Vector>::Type Shorts;
    for (int64_t left = words; left > 0; left -= kWords) {
      Shorts pairs[1][R][V];
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        CPUACC_UNROLL for (int v = 0; v < V; ++v) pairs[0][r][v] = Shorts{};
      }
      add_words<kBits, kForm>(pairs, weights, steps, left < kWords ? left : kWords);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        CPUACC_UNROLL for (int v = 0; v < V; ++v) sums[0][r][v] += pairs_of_products(pairs[0][r][v], Shorts{} + 1);
      }
    }
  } else if constexpr (RowPairs::kAreThere && R % 2 == 0) {
    add_words_by_pairs<kBits>(sums, weights, steps, words);
  } else {
    add_words<kBits, kForm>(sums, weights, steps, words);
  }
}

/* Multiplies R rows, the first of which is row, by V vectors of columns, the first of which is vector. */
template <int kBits, Form kForm, int R, int V>
void sum_columns(const FewBitsPanel &p, int64_t row, int64_t vector) {
  constexpr int kTerms = terms_of(kForm);
  const int32_t *weights = p.weights + vector * kLanes;
  const int32_t *steps[kTerms][R];
  const float *group_steps[R];
  Floats totals[R][V];
  CPUACC_UNROLL for (int r = 0; r < R; ++r) {
    steps[0][r] = p.rows[row + r].first;
    if constexpr (kTerms == 2) steps[1][r] = p.rows[row + r].second;
    group_steps[r] = p.rows[row + r].group_steps;
    CPUACC_UNROLL for (int v = 0; v < V; ++v) totals[r][v] = Floats{};
  }
  const int64_t group_words = is_near(kForm) ? kNearGroup * kBits / 32 : p.block_words;
  for (int64_t b = 0; b < p.blocks; ++b) {
    Floats real[R][V];
    CPUACC_UNROLL for (int r = 0; r < R; ++r) {
      CPUACC_UNROLL for (int v = 0; v < V; ++v) real[r][v] = Floats{};
    }
    for (int64_t word = 0; word < p.block_words; word += group_words) {
      Ints sums[kTerms][R][V];
      sum_group<kBits, kForm>(sums, weights, steps, group_words);
      CPUACC_UNROLL for (int r = 0; r < R; ++r) {
        const Floats step = splat(*group_steps[r]++);
        CPUACC_UNROLL for (int v = 0; v < V; ++v) {
          Floats sum = __builtin_convertvector(sums[0][r][v], Floats);
          if constexpr (kTerms == 2) sum += __builtin_convertvector(sums[1][r][v], Floats) * splat(kFewBitsSecond);
          real[r][v] += sum * step;
        }
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
        totals[r][v] += scale * (real[r][v] - zero * splat(p.rows[row + r].block_sums[b]));
      }
    }
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

template <int kBits, Form kForm>
void multiply_panel(const FewBitsPanel &p) {
  int64_t row = 0;
  for (; row + kFewRows <= p.count; row += kFewRows) {
    sum_columns<kBits, kForm, kFewRows, 2>(p, row, 0);
    sum_columns<kBits, kForm, kFewRows, 2>(p, row, 2);
  }
  for (; row < p.count; ++row) sum_columns<kBits, kForm, 1, kFewVectors>(p, row, 0);
}

/* Whether this level uses Form::small for weights of so many bits; products of weights of 8 bits would overflow. */
constexpr bool adds_in_shorts(int32_t bits) { return kReads == Reads::shorts && SmallWeights::kAreThere && bits < 8; }

FewBitsSteps few_bits_steps(int32_t bits, int64_t block_size, bool quantizes_rows) {
  if (quantizes_rows && (kReads != Reads::shorts || adds_in_shorts(bits))) return {4, 1, block_size};
  return kReads == Reads::shorts ? FewBitsSteps{2, 1, kNearGroup} : FewBitsSteps{4, 2, kNearGroup};
}

template <int kBits>
void multiply_few(const FewBitsPanel &p) {
  if constexpr (kReads != Reads::shorts) {
    p.steps.terms == 1 ? multiply_panel<kBits, Form::bytes>(p) : multiply_panel<kBits, Form::two_bytes>(p);
  } else if constexpr (adds_in_shorts(kBits)) {
    p.steps.in_word == 4 ? multiply_panel<kBits, Form::small>(p) : multiply_panel<kBits, Form::shorts>(p);
  } else {
    multiply_panel<kBits, Form::shorts>(p);
  }
}

void few_bits_panel(const FewBitsPanel &p) {
  if (p.count == 0) return;
  p.bits == 2 ? multiply_few<2>(p) : p.bits == 4 ? multiply_few<4>(p) : multiply_few<8>(p);
}

constexpr int kRoundedTogether = 16; /* elements rounded at a time: whole words and whole registers */
typedef int8_t RoundedBytes __attribute__((vector_size(kRoundedTogether)));

/* The lowest bytes of kRoundedTogether integers. They are assembled in general registers: a load of 16 bytes from
 * memory would wait for several smaller stores (no store forwarding).
 */
inline RoundedBytes bytes_together(const Ints (&numbers)[kRoundedTogether / kLanes]) {
  typedef std::conditional_t<kLanes == 4, int32_t, int64_t> Part;
  typedef Part Parts __attribute__((vector_size(kRoundedTogether)));
  constexpr int64_t kPart = kLanes < 8 ? kLanes : 8;
  Parts parts{};
  CPUACC_UNROLL for (int i = 0; i < kRoundedTogether / kLanes; ++i) {
    const Bytes bytes = narrowed(numbers[i]);
    Part some[kLanes / kPart];
    std::memcpy(some, &bytes, sizeof some);
    CPUACC_UNROLL for (int j = 0; j < kLanes / kPart; ++j) parts[i * (kLanes / kPart) + j] = some[j];
  }
  return reinterpret_cast<RoundedBytes>(parts);
}

/* Stores kRoundedTogether integers as bytes or shorts in the order of Fields::place. */
template <int kBits>
CPUACC_INLINE void put_together(const Ints (&numbers)[kRoundedTogether / kLanes], int8_t *to) {
  RoundedBytes places{};
  CPUACC_UNROLL for (int i = 0; i < kRoundedTogether; ++i) places[Fields<kBits, 4>::place(i)] = static_cast<int8_t>(i);
  const RoundedBytes steps = __builtin_shuffle(bytes_together(numbers), places);
  std::memcpy(to, &steps, sizeof steps);
}

template <int kBits>
CPUACC_INLINE void put_together(const Ints (&numbers)[kRoundedTogether / kLanes], int16_t *to) {
  int32_t each[kRoundedTogether];
  std::memcpy(each, numbers, sizeof each);
  CPUACC_UNROLL for (int i = 0; i < kRoundedTogether; ++i) to[Fields<kBits, 2>::place(i)] = static_cast<int16_t>(each[i]);
}

/* Rounds n elements of a group to multiples of step, and stores the multipliers; those after the first n are 0.
 * left gets the remainders unless it is null. Returns the sum of the rounded elements.
 */
template <int kBits, typename Step>
float put_steps(const float *x, int64_t n, int64_t group, float step, float *left, Step *to) {
  constexpr float kLeastStep = 1e-37f; /* a smaller step has no finite inverse */
  const Floats inverse = splat(step < kLeastStep ? 0.0f : 1.0f / step);
  Floats sum{};
  for (int64_t k = 0; k < group; k += kRoundedTogether, to += kRoundedTogether) {
    Ints numbers[kRoundedTogether / kLanes];
    CPUACC_UNROLL for (int i = 0; i < kRoundedTogether; i += kLanes) {
      const int64_t rest = n - k - i;
      const Floats real = rest >= kLanes ? load(x + k + i) : load_part(x + k + i, rest < 0 ? 0 : rest);
      const Floats steps = round_even(real * inverse);
      if (left != nullptr) store(left + k + i, real - steps * splat(step));
      sum += steps;
      numbers[i / kLanes] = __builtin_convertvector(steps, Ints);
    }
    put_together<kBits>(numbers, to);
  }
  return sum_of(sum) * step;
}

/* The bits of the largest absolute value of a group as an integer, at least 0x7f800000 if an element is infinite or
 * NaN.
 */
inline int32_t bits_of_largest(const float *x, int64_t n) {
  const auto larger = [](Floats a, Floats b) { /* bits of nonnegative floats have the same order as integers */
    const auto one = reinterpret_cast<Ints>(a), other = reinterpret_cast<Ints>(b);
    return reinterpret_cast<Floats>(one > other ? one : other);
  };
  Floats most{};
  int64_t k = 0;
  for (; k + kLanes <= n; k += kLanes) most = larger(most, absolute(load(x + k)));
  if (k < n) most = larger(most, absolute(load_part(x + k, n - k)));
  const float largest = folded(most, larger);
  int32_t bits;
  std::memcpy(&bits, &largest, sizeof bits);
  return bits;
}

template <int kBits, typename Step>
void round_row(const FewBitsRounding &r) {
  constexpr float kMostSteps = sizeof(Step) == 2 ? 32767.0f : 127.0f;
  auto *first = reinterpret_cast<Step *>(const_cast<int32_t *>(r.to.first));
  auto *second = reinterpret_cast<Step *>(const_cast<int32_t *>(r.to.second));
  float *steps = const_cast<float *>(r.to.group_steps);
  float *sums = const_cast<float *>(r.to.block_sums);
  const int64_t group = r.steps.group;
  for (int64_t begin = 0; begin < r.size; begin += r.block_size, ++sums) {
    *sums = 0.0f;
    for (int64_t at = begin; at < begin + r.block_size; at += group, ++steps) {
      const int64_t left = r.size - at;
      const int64_t n = left < 0 ? 0 : left < group ? left : group;
      const float *x = r.x + at;
      constexpr int32_t kInfinity = 0x7f800000;
      const int32_t bits = bits_of_largest(x, n);
      if (bits >= kInfinity) { /* a block sum of NaN makes the result NaN */
        std::memset(first + at, 0, static_cast<size_t>(group) * sizeof(Step));
        if (second != nullptr) std::memset(second + at, 0, static_cast<size_t>(group) * sizeof(Step));
        *steps = 0.0f;
        *sums = __builtin_nanf("");
        continue;
      }
      float largest;
      std::memcpy(&largest, &bits, sizeof largest);
      *steps = largest / kMostSteps;
      if (second == nullptr) {
        *sums += put_steps<kBits>(x, n, group, *steps, nullptr, first + at);
      } else {
        float rest[kNearGroup];
        *sums += put_steps<kBits>(x, n, group, *steps, rest, first + at);
        *sums += put_steps<kBits>(rest, n, group, *steps * kFewBitsSecond, nullptr, second + at);
      }
    }
  }
}

template <int kBits>
void round_few(const FewBitsRounding &r) {
  r.steps.in_word == 2 ? round_row<kBits, int16_t>(r) : round_row<kBits, int8_t>(r);
}

void round_few_bits(const FewBitsRounding &r) {
  r.bits == 2 ? round_few<2>(r) : r.bits == 4 ? round_few<4>(r) : round_few<8>(r);
}

}  // namespace

void fill_int8_few_bits(Kernels &table) {
  table.int8.few_bits_columns = kFewColumns;
  table.int8.few_bits_steps = few_bits_steps;
  table.int8.few_bits_turned = kReads == Reads::signed_bytes;
  table.int8.few_bits_panel = few_bits_panel;
  table.int8.round_few_bits = round_few_bits;
}

}  // namespace cpuacc::CPUACC_LEVEL
