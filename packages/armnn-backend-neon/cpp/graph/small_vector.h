/* SPDX-License-Identifier: MIT */
/* A vector of some numbers, which are in the object itself if they are few. */
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace cpuacc {

/* As std::vector, for shapes and orders: a compilation makes thousands of them, of which hardly one has
 * more than six axes, and getting memory for each took a quarter of its time.
 */
template <typename T>
class SmallVector {
  static_assert(std::is_arithmetic_v<T>, "numbers are copied as they are");

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;
  using reference = T &;
  using const_reference = const T &;
  using iterator = T *;
  using const_iterator = const T *;
  using reverse_iterator = std::reverse_iterator<iterator>;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;

  SmallVector() = default;
  explicit SmallVector(size_t count, T number = T()) { assign(count, number); }
  SmallVector(std::initializer_list<T> numbers) : SmallVector(numbers.begin(), numbers.end()) {}
  template <typename Iterator, typename = typename std::iterator_traits<Iterator>::iterator_category>
  SmallVector(Iterator first, Iterator last) {
    assign(first, last);
  }
  SmallVector(const SmallVector &other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector &&other) noexcept { take(other); }
  SmallVector &operator=(const SmallVector &other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  SmallVector &operator=(SmallVector &&other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~SmallVector() = default;

  template <typename Iterator, typename = typename std::iterator_traits<Iterator>::iterator_category>
  void assign(Iterator first, Iterator last) {
    clear();
    reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) data()[size_++] = static_cast<T>(*first);
  }
  void assign(size_t count, T number) {
    clear();
    resize(count, number);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T *data() { return many_ == nullptr ? few_ : many_.get(); }
  const T *data() const { return many_ == nullptr ? few_ : many_.get(); }
  T *begin() { return data(); }
  T *end() { return data() + size_; }
  const T *begin() const { return data(); }
  const T *end() const { return data() + size_; }
  reverse_iterator rbegin() { return reverse_iterator(end()); }
  reverse_iterator rend() { return reverse_iterator(begin()); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  T &operator[](size_t i) { return data()[i]; }
  const T &operator[](size_t i) const { return data()[i]; }
  T &front() { return data()[0]; }
  T &back() { return data()[size_ - 1]; }
  const T &front() const { return data()[0]; }
  const T &back() const { return data()[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(size_t count) {
    if (count <= room_) return;
    std::unique_ptr<T[]> made(new T[count]);
    std::copy(begin(), end(), made.get());
    many_ = std::move(made);
    room_ = count;
  }
  void resize(size_t count, T number = T()) {
    reserve(count);
    if (count > size_) std::fill(data() + size_, data() + count, number);
    size_ = count;
  }
  void push_back(T number) {
    if (size_ == room_) reserve(2 * room_);
    data()[size_++] = number;
  }
  void pop_back() { --size_; }
  T *insert(const T *at, T number) {
    const std::ptrdiff_t place = at - begin();
    push_back(number);
    std::rotate(begin() + place, end() - 1, end());
    return begin() + place;
  }
  template <typename Iterator, typename = typename std::iterator_traits<Iterator>::iterator_category>
  T *insert(const T *at, Iterator first, Iterator last) {
    const std::ptrdiff_t place = at - begin();
    const auto before = static_cast<std::ptrdiff_t>(size_);
    for (; first != last; ++first) push_back(static_cast<T>(*first));
    std::rotate(begin() + place, begin() + before, end());
    return begin() + place;
  }
  T *insert(const T *at, std::initializer_list<T> numbers) { return insert(at, numbers.begin(), numbers.end()); }
  T *erase(const T *at) { return erase(at, at + 1); }
  T *erase(const T *first, const T *last) {
    T *to = begin() + (first - begin());
    std::copy(last, const_cast<const T *>(end()), to);
    size_ -= static_cast<size_t>(last - first);
    return to;
  }

  friend bool operator==(const SmallVector &one, const SmallVector &other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
  }
  friend bool operator!=(const SmallVector &one, const SmallVector &other) { return !(one == other); }
  friend bool operator<(const SmallVector &one, const SmallVector &other) {
    return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end());
  }

 private:
  static constexpr size_t kFew = 6;

  /* Moves the numbers of another vector here, which is empty then. */
  void take(SmallVector &other) {
    many_ = std::move(other.many_);
    if (many_ == nullptr) std::copy(other.few_, other.few_ + other.size_, few_);
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, kFew);
  }

  size_t size_ = 0;
  size_t room_ = kFew;
  std::unique_ptr<T[]> many_; /* the numbers; nullptr: they are in few_ */
  T few_[kFew];
};

}  // namespace cpuacc
