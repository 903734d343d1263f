/* SPDX-License-Identifier: MIT */
/* Memory of the thousands of small objects that a compilation makes, and that last as long as its program. */
#pragma once

namespace cpuacc {

/* While one exists, operator new of its thread takes small objects one behind the other from blocks. A block
 * is used again once its last object is deleted. For a compilation between two runs the lists of the C
 * library's allocator are not in the caches: malloc and free took a quarter of its time.
 */
class ScopedBumpAllocator {
 public:
  ScopedBumpAllocator();
  ~ScopedBumpAllocator();
  ScopedBumpAllocator(const ScopedBumpAllocator &) = delete;
  ScopedBumpAllocator &operator=(const ScopedBumpAllocator &) = delete;
};

}  // namespace cpuacc
