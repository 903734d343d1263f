/* SPDX-License-Identifier: MIT */
/* The structs behind the handles of the interface. */
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/blob.h"
#include "armnn/backend.h"
#include "graph/program.h"

struct armnn_backend {
  armnn_backend(const armnn_host *host, const cpuacc::ChosenLevel &chosen, const cpuacc::Options &defaults);

  /* How many threads a program of these options uses: at most one for each CPU. A line in the log says so where the
   * options name more.
   */
  int32_t threads_of(const cpuacc::Options &options);

  /* The pool of so many threads, shared by the programs that want as many. */
  std::shared_ptr<cpuacc::Pool> pool(int32_t threads);

  const armnn_host *host;
  const cpuacc::Kernels &kernels;
  const cpuacc::Options defaults; /* of its networks */
  cpuacc::MemorySource memory;
  cpuacc::ArenaPool arenas{memory}; /* of its programs' contexts */
  cpuacc::PackedWeights packed; /* shared by its programs */
  armnn_device cpu; /* the only device; its name is that of the level */
  const armnn_device *const devices[1] = {&cpu};

 private:
  std::string threads_;
  std::string levels_;
  std::string fingerprint_;
  std::string costs_;
  std::string lanes_;
  std::string unused_;
  std::string reason_;
  armnn_option facts_[5]; /* of cpu.info */
  cpuacc::ForkSafeMutex mutex_;
  int32_t refused_threads_ = 0; /* the number that was logged last */
  std::map<int32_t, std::weak_ptr<cpuacc::Pool>> pools_; /* their threads end with the last program */
};

struct armnn_program {
  armnn_backend &backend;
  cpuacc::Program program;
  cpuacc::Options options;
  cpuacc::ImportedGraph graph; /* with the constants that serialize needs */
  std::vector<size_t> input_bytes;
  std::vector<size_t> output_bytes;
};

struct armnn_context {
  explicit armnn_context(const armnn_program &program)
      : program(program),
        context(program.program, program.backend.arenas),
        inputs(program.input_bytes.size()),
        outputs(program.output_bytes.size()) {}

  const armnn_program &program;
  cpuacc::Program::Context context;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
};

namespace cpuacc {

/* How many threads a program uses unless its options name a number. */
int32_t default_threads();
/* Answers about each node, as armnn_backend_api.query. */
void answer(const armnn_backend &backend, const armnn_graph &graph, armnn_support *supports, uint64_t stride);
/* Throws Failure.
 *
 * Args: earlier: a program of the graph for other shapes, whose constants are shared.
 */
armnn_program *compile(armnn_backend &backend, const armnn_graph &graph, const armnn_compile_args *args,
                       const armnn_program *earlier = nullptr);
void serialize(const armnn_program &program, const Write &write);
/* Throws Failure. */
armnn_program *deserialize(armnn_backend &backend, const Blob &blob);
/* Throws Failure.
 *
 * Args: stop: ends the call as if it was cancelled, once it is true.
 */
void execute(armnn_context &context, const armnn_execute_args &args, const std::atomic<bool> *stop = nullptr);

}  // namespace cpuacc
