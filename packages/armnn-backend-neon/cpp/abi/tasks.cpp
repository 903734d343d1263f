/* SPDX-License-Identifier: MIT */
/* The extension armnn.async/1: a thread per task. A task stops between two operations. */
#include "abi/extensions.h"

#include <pthread.h>

#include <atomic>
#include <thread>

#include "abi/backend.h"
#include "abi/clock.h"
#include "abi/errors.h"
#include "threads/forks.h"

namespace {

constexpr uint64_t kNever = 0;

class Lock {
 public:
  explicit Lock(pthread_mutex_t &mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

 private:
  pthread_mutex_t &mutex_;
};

/* So many nanoseconds from now on the clock of pthread_cond_timedwait; a condition that goes by the
 * other clock needs a younger C library.
 */
timespec from_now(uint64_t ns) {
  timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  const uint64_t total = static_cast<uint64_t>(at.tv_nsec) + ns;
  at.tv_sec += static_cast<time_t>(total / 1000000000u);
  at.tv_nsec = static_cast<long>(total % 1000000000u);
  return at;
}

}  // namespace

struct armnn_task {
  armnn_task(armnn_context &context, const armnn_execute_args &args)
      : thread([this, &context, &args] { work(context, args); }) {}
  ~armnn_task() {
    stop = true;
    thread.join();
    pthread_cond_destroy(&end);
    pthread_mutex_destroy(&mutex);
  }
  armnn_task(const armnn_task &) = delete;
  armnn_task &operator=(const armnn_task &) = delete;

  /* Whether its thread is in this process, rather than in the one from which this one was forked. */
  bool is_here() const { return generation == cpuacc::fork_generation(); }

  /* Returns whether it has ended, at until_ns at the latest. */
  bool wait(uint64_t until_ns) {
    if (!is_here()) throw cpuacc::Failure{ARMNN_INVALID_ARGUMENT, "the task runs in the process from which this one was forked", {}};
    const Lock lock(mutex);
    while (!has_ended) {
      if (until_ns == kNever) {
        pthread_cond_wait(&end, &mutex);
        continue;
      }
      const uint64_t now = cpuacc::now_ns();
      if (now >= until_ns) return false;
      const timespec at = from_now(until_ns - now);
      pthread_cond_timedwait(&end, &mutex, &at);
    }
    return true;
  }

  cpuacc::Failure failure{ARMNN_OK, {}, {}}; /* read once it has ended */

 private:
  void work(armnn_context &context, const armnn_execute_args &args) {
    cpuacc::Failure made = cpuacc::caught([&] { cpuacc::execute(context, args, &stop); });
    const Lock lock(mutex);
    failure = std::move(made);
    has_ended = true;
    pthread_cond_broadcast(&end);
  }

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t end = PTHREAD_COND_INITIALIZER;
  std::atomic<bool> stop{false};
  bool has_ended = false;
  const int64_t generation = cpuacc::fork_generation();
  std::thread thread; /* last: it begins with all the others made */
};

namespace {

armnn_code submit(armnn_context *context, const armnn_execute_args *args, armnn_task **task,
                  armnn_error *error) {
  return cpuacc::guarded(error, [&] {
    try {
      *task = new armnn_task(*context, *args);
    } catch (const std::system_error &) {
      throw cpuacc::Failure{ARMNN_RESOURCE_EXHAUSTED, "there is no thread left for a task", {}};
    }
  });
}

armnn_code wait_for(armnn_task *task, uint64_t until_ns, int32_t *has_ended, armnn_error *error) {
  const armnn_code code = cpuacc::guarded(error, [&] { *has_ended = task->wait(until_ns) ? 1 : 0; });
  if (code != ARMNN_OK || *has_ended == 0 || task->failure.code == ARMNN_OK) return code;
  return cpuacc::report(error, task->failure);
}

/* A task of a parent process has no thread here that could be joined: it stays. */
void release(armnn_task *task) {
  if (task->is_here()) delete task;
}

}  // namespace

namespace cpuacc {

const armnn_async *async_extension() {
  static const armnn_async table = {ARMNN_HEADER(ARMNN_ASYNC), submit, wait_for, release};
  return &table;
}

}  // namespace cpuacc
