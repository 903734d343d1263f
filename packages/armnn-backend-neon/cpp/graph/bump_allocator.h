/* SPDX-License-Identifier: MIT */
/* Memory of the thousands of small objects that a compilation makes, and a program ends. */
#pragma once

namespace cpuacc {

/* While one exists, what its thread gets by operator new and is small is one piece behind the other, in
 * blocks that go with their last piece, and are used again. A compilation between two runs finds nothing
 * of the C library's lists in the caches: a quarter of its time was malloc and free.
 */
class ScopedBumpAllocator {
 public:
  ScopedBumpAllocator();
  ~ScopedBumpAllocator();
  ScopedBumpAllocator(const ScopedBumpAllocator &) = delete;
  ScopedBumpAllocator &operator=(const ScopedBumpAllocator &) = delete;
};

}  // namespace cpuacc
