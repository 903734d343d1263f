/* SPDX-License-Identifier: MIT */
/* Weights in the order that a kernel reads them, shared by all programs of a backend. */
#ifndef CPUACC_GRAPH_PACKED_H_
#define CPUACC_GRAPH_PACKED_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace cpuacc {

/* Memory aligned to 64 bytes; throws std::bad_alloc. */
std::shared_ptr<void> aligned_memory(size_t bytes);

class PackedWeights {
 public:
  /* Returns what fill wrote, or what it wrote earlier for the same source and recipe while somebody
   * still has it.
   *
   * Args: source: the constant; keeper: keeps the source's address from being used anew; recipe: all
   * that the packing depends on.
   */
  std::shared_ptr<const void> get(const void *source, std::shared_ptr<const void> keeper,
                                  const std::string &recipe, size_t bytes,
                                  const std::function<void(void *)> &fill);

 private:
  std::mutex mutex_;
  std::map<std::pair<const void *, std::string>, std::weak_ptr<const void>> entries_;
};

}  // namespace cpuacc

#endif
