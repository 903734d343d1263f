/* SPDX-License-Identifier: MIT */
/* Numbers, texts, lists and blocks of data as bytes of this machine, and back with every size checked. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "abi/errors.h"
#include "graph/digest.h"
#include "graph/shape.h"

namespace cpuacc {

/* Takes the next bytes. */
using Write = std::function<void(const void *data, size_t size)>;

constexpr size_t kDataAlignment = 64; /* of data, counted from the first byte */
constexpr uint64_t kMostNumbers = 1 << 20; /* of a list; constants are no lists */

[[noreturn]] inline void refuse(const std::string &why) {
  throw Failure{ARMNN_INCOMPATIBLE_BLOB, why, {}};
}

class Writer {
 public:
  explicit Writer(const Write &write) : write_(write) {}

  void bytes(const void *data, size_t size) {
    digest_.add(data, size);
    put(data, size);
  }
  void put(const void *data, size_t size) {
    if (size == 0) return;
    const auto *begin = static_cast<const char *>(data);
    total_ += size;
    if (size < kPiece) {
      waiting_.append(begin, size);
      if (waiting_.size() >= kPiece) flush();
      return;
    }
    flush();
    write_(data, size);
  }
  template <typename T>
  void number(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes(&value, sizeof value);
  }
  void text(const std::string &text) {
    number<uint64_t>(text.size());
    bytes(text.data(), text.size());
  }
  template <typename T>
  void list(const std::vector<T> &numbers) {
    list(numbers.data(), numbers.size());
  }
  void list(const Shape &numbers) { list(numbers.data(), numbers.size()); }
  template <typename T>
  void list(const T *numbers, size_t count) {
    number<uint64_t>(count);
    bytes(numbers, count * sizeof(T));
  }
  void data(const void *data, size_t size) {
    number<uint64_t>(size);
    const std::string padding((kDataAlignment - total_ % kDataAlignment) % kDataAlignment, '\0');
    put(padding.data(), padding.size());
    put(data, size);
  }
  void room(size_t size) {
    const std::string zeros(size, '\0');
    put(zeros.data(), size);
  }
  /* Ends what is written by a digest of all but the data. */
  void seal() {
    for (const uint64_t sum : Digest::Sums(digest_.sums())) number(sum);
  }
  void flush() {
    if (!waiting_.empty()) write_(waiting_.data(), waiting_.size());
    waiting_.clear();
  }

 private:
  static constexpr size_t kPiece = 1 << 16;
  const Write &write_;
  std::string waiting_;
  Digest digest_;
  size_t total_ = 0;
};

class Reader {
 public:
  Reader(const void *data, size_t size) : data_(static_cast<const char *>(data)), size_(size) {}

  const char *bytes(uint64_t count) {
    const char *begin = take(count);
    digest_.add(begin, static_cast<size_t>(count));
    return begin;
  }
  const char *take(uint64_t count) {
    if (count > size_ - at_) refuse("it ends too early");
    const char *begin = data_ + at_;
    at_ += static_cast<size_t>(count);
    return begin;
  }
  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, bytes(sizeof value), sizeof value);
    return value;
  }
  uint64_t count() {
    const auto count = number<uint64_t>();
    if (count > kMostNumbers) refuse("it holds a list of " + std::to_string(count));
    return count;
  }
  std::string text() {
    const uint64_t size = count();
    return std::string(bytes(size), static_cast<size_t>(size));
  }
  template <typename T>
  std::vector<T> list() {
    const uint64_t size = count();
    const char *begin = bytes(size * sizeof(T));
    std::vector<T> numbers(static_cast<size_t>(size));
    if (size > 0) std::memcpy(numbers.data(), begin, numbers.size() * sizeof(T));
    return numbers;
  }
  const void *data(size_t &size) {
    size = static_cast<size_t>(number<uint64_t>());
    take((kDataAlignment - at_ % kDataAlignment) % kDataAlignment);
    return take(size);
  }
  void check_seal() {
    for (const uint64_t sum : Digest::Sums(digest_.sums())) {
      if (number<uint64_t>() != sum) refuse("it is not what was written");
    }
    if (at_ != size_) refuse("something follows its end");
  }

 private:
  const char *data_;
  size_t size_;
  size_t at_ = 0;
  Digest digest_;
};

}  // namespace cpuacc
