/* SPDX-License-Identifier: MIT */
/* Constants that were quantised or are halves, as floats. */
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace cpuacc {

/* The floats are computed when they are first read: operations pack theirs one after the other, and all floats
 * together take up to four times the memory of the file. Not for several threads at once.
 */
class DecodedConstant {
 public:
  using Decode = std::function<void(float *)>;

  /* Args: source: the host's; memory: keeps it; recipe: all that the floats depend on but the source's bytes. */
  DecodedConstant(const void *source, std::shared_ptr<const void> memory, std::string recipe, size_t bytes,
                  Decode decode);

  const void *source() const { return source_; }
  const std::string &recipe() const { return recipe_; }
  /* Where the floats are, or will be. */
  const void *address() const { return floats_.get(); }
  void decode();

 private:
  const void *source_;
  std::shared_ptr<const void> memory_;
  std::string recipe_;
  std::shared_ptr<void> floats_;
  Decode decode_; /* empty: they are there */
};

}  // namespace cpuacc
