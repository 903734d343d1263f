/* SPDX-License-Identifier: MIT */
/* Threads that share a loop. */
#ifndef CPUACC_THREADS_POOL_H_
#define CPUACC_THREADS_POOL_H_

#include <cstdint>
#include <memory>

namespace cpuacc {

/* The CPUs that this process may use: its affinity mask, bounded by the quota of its cgroup. */
int32_t usable_cpus();

/* Starts its threads with the first loop that has work for them. A thread waits spinning for some
 * microseconds, then sleeps. After a fork the child starts threads of its own. While one call uses
 * the pool, loops of other calls run on their own thread.
 */
class Pool {
 public:
  explicit Pool(int32_t threads);
  ~Pool();
  Pool(const Pool &) = delete;
  Pool &operator=(const Pool &) = delete;

  int32_t threads() const { return threads_; }

  /* Calls body(begin, end, thread) for parts of 0 .. count - 1; thread < threads(). Returns when all
   * are done. Must not throw.
   */
  template <typename Body>
  void run(int64_t count, const Body &body) {
    if (count <= 0) return;
    if (threads_ == 1 || count == 1) return body(int64_t{0}, count, 0);
    run_parts(
        count,
        [](const void *arg, int64_t begin, int64_t end, int32_t thread) {
          (*static_cast<const Body *>(arg))(begin, end, thread);
        },
        &body);
  }

 private:
  using Part = void (*)(const void *arg, int64_t begin, int64_t end, int32_t thread);
  void run_parts(int64_t count, Part part, const void *arg);

  struct Team;
  int32_t threads_;
  std::unique_ptr<Team> team_;
};

}  // namespace cpuacc

#endif
