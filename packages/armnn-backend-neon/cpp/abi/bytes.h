/* SPDX-License-Identifier: MIT */
/* Numbers, texts, lists and blocks of data as bytes of this machine, and back with every size checked. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "abi/errors.h"
#include "graph/digest.h"
#include "graph/shape.h"

namespace cpuacc {

/* Takes the next bytes. */
using Write = std::function<void(const void *data, size_t size)>;

constexpr size_t kDataAlignment = 64; /* of data, counted from the first byte */
constexpr size_t kPage = 4096;
constexpr size_t kPaged = 1 << 16; /* bytes of data that begin with a page */
constexpr uint64_t kMostNumbers = 1 << 20; /* of a list; constants are no lists */

[[noreturn]] inline void refuse(const std::string &why) {
  throw Failure{ARMNN_INCOMPATIBLE_BLOB, why, {}};
}

/* Where data begins of that many bytes behind others. Whole pages are the same in all programs with the same
 * weights, so that a file need hold them once, and reading what is no data brings none of them into memory.
 */
constexpr size_t data_begin(size_t at, size_t size) {
  const size_t alignment = size < kPaged ? kDataAlignment : kPage;
  return (at + alignment - 1) / alignment * alignment;
}

/* The sizes of both, then all numbers and texts, then all data. */
class Writer {
 public:
  explicit Writer(const Write &write) : write_(write) {}

  void bytes(const void *data, size_t size) {
    digest_.add(data, size);
    text_.append(static_cast<const char *>(data), size);
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
  /* Data stays where it is until the end. */
  void data(const void *data, size_t size) {
    const size_t begin = data_begin(data_end_, size);
    number<uint64_t>(begin);
    number<uint64_t>(size);
    pieces_.push_back({data, size});
    data_end_ = begin + size;
  }
  /* Writes all, with a digest of all but the data, and so many zeros behind it. */
  void end(size_t room) {
    for (const uint64_t sum : Digest::Sums(digest_.sums())) number(sum);
    const uint64_t sizes[] = {text_.size(), data_end_};
    write_(sizes, sizeof sizes);
    write_(text_.data(), text_.size());
    const size_t end = sizeof sizes + text_.size();
    fill(data_begin(end, data_end_) - end);
    size_t at = 0;
    for (const auto &[data, bytes] : pieces_) {
      fill(data_begin(at, bytes) - at);
      if (bytes > 0) write_(data, bytes);
      at = data_begin(at, bytes) + bytes;
    }
    fill(room);
  }

 private:
  void fill(size_t size) {
    const std::string zeros(size, '\0');
    if (size > 0) write_(zeros.data(), size);
  }

  const Write &write_;
  std::string text_;
  Digest digest_;
  std::vector<std::pair<const void *, size_t>> pieces_;
  size_t data_end_ = 0;
};

class Reader {
 public:
  /* Args: room: the bytes behind the data. */
  Reader(const void *data, size_t size, size_t room) : data_(static_cast<const char *>(data)) {
    uint64_t sizes[2];
    if (size < sizeof sizes + room) refuse("it ends too early");
    std::memcpy(sizes, data_, sizeof sizes);
    size -= room;
    if (sizes[0] > size - sizeof sizes || sizes[1] > size) refuse("it ends too early");
    at_ = sizeof sizes;
    end_ = at_ + static_cast<size_t>(sizes[0]);
    data_size_ = static_cast<size_t>(sizes[1]);
    first_data_ = data_begin(end_, data_size_);
    if (first_data_ + data_size_ > size) refuse("it ends too early");
    if (first_data_ + data_size_ < size) refuse("bytes follow its end");
  }

  const char *bytes(uint64_t count) {
    if (count > end_ - at_) refuse("it ends too early");
    const char *begin = data_ + at_;
    at_ += static_cast<size_t>(count);
    digest_.add(begin, static_cast<size_t>(count));
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
    const auto begin = number<uint64_t>();
    const auto bytes = number<uint64_t>();
    if (begin % kDataAlignment != 0 || begin > data_size_ || bytes > data_size_ - begin) refuse("it ends too early");
    size = static_cast<size_t>(bytes);
    return data_ + first_data_ + begin;
  }
  void check_end() {
    for (const uint64_t sum : Digest::Sums(digest_.sums())) {
      if (number<uint64_t>() != sum) refuse("its digest differs, so it is damaged");
    }
    if (at_ != end_) refuse("bytes follow its end");
  }

 private:
  const char *data_;
  size_t at_;
  size_t end_; /* of numbers and texts */
  size_t first_data_;
  size_t data_size_;
  Digest digest_;
};

}  // namespace cpuacc
