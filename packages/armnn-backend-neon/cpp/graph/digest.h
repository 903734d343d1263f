/* SPDX-License-Identifier: MIT */
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cpuacc {

/* A digest of bytes: two multiplicative hashes of words of 8 bytes, which find mistakes, not forgeries. */
class Digest {
 public:
  using Sums = std::array<uint64_t, 2>;

  void add(const void *data, size_t size) {
    const auto *bytes = static_cast<const char *>(data);
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + i, std::min(sizeof word, size - i));
      sums_[0] = (sums_[0] ^ word) * 0x9fb21c651e98df25u;
      sums_[0] ^= sums_[0] >> 29;
      sums_[1] = (sums_[1] + word) * 0xd6e8feb86659fd93u;
      sums_[1] ^= sums_[1] >> 32;
    }
  }
  const Sums &sums() const { return sums_; }

  static Sums of(const void *data, size_t size) {
    Digest digest;
    digest.add(&size, sizeof size);
    digest.add(data, size);
    return digest.sums();
  }

 private:
  Sums sums_ = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu};
};

}  // namespace cpuacc
