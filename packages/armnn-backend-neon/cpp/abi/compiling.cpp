/* SPDX-License-Identifier: MIT */
/* The functions compile, serialize and deserialize of the table: options, lowering and the program. */
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

#include "abi/backend.h"
#include "abi/clock.h"
#include "abi/errors.h"
#include "abi/importing.h"
#include "graph/bump_allocator.h"
#include "passes/passes.h"
#include "costs/costs.h"
#include "costs/machine.h"
#include "threads/cpus.h"

namespace cpuacc {
namespace {

/* For tests: the number of threads unless the options name one; all loops are split. */
const char *threads_of_tests() { return std::getenv("ARMNN_CPUACC_THREADS"); }

/* More would take turns on the CPUs, and wait for each other in every loop. */
int32_t most_threads() {
  const char *wanted = std::getenv("ARMNN_CPUACC_MOST_THREADS"); /* for tests of more threads than there are CPUs */
  return wanted == nullptr ? usable_cpus() : std::max(1, std::atoi(wanted));
}

/* For tests: which tensors may share memory. */
Sharing sharing() {
  const char *wanted = std::getenv("ARMNN_CPUACC_SHARING");
  if (wanted == nullptr) return Sharing::in_place;
  return std::string_view(wanted) == "none" ? Sharing::none : Sharing::by_lifetime;
}

/* Lowers all layers; names all that cannot be. */
Graph lower_all(const ImportedGraph &from, const Kernels &kernels, const FastMath &fast_math) {
  Graph graph;
  Lowering lowering(from.values, graph, kernels, fast_math);
  for (const int32_t value : from.inputs) lowering.add_input(value);
  for (const auto &each : from.layers) {
    const Layer &layer = *each;
    const auto newer = from.newer_than_api.find(layer.id);
    if (newer != from.newer_than_api.end()) {
      throw Failure{ARMNN_UNSUPPORTED_NODE, "the parameter '" + newer->second + "' is not known",
                    {layer.node}};
    }
    try {
      lowering.lower(layer);
    } catch (const Refusal &refusal) {
      throw Failure{ARMNN_UNSUPPORTED_NODE, refusal.reason, {layer.node}};
    }
  }
  for (const int32_t value : from.outputs) lowering.add_output(value);
  return graph;
}

std::vector<size_t> bytes_of(const ImportedGraph &from, const std::vector<int32_t> &values) {
  std::vector<size_t> result;
  for (const int32_t id : values) {
    result.push_back(bytes_of(from.values[static_cast<size_t>(id)]));
  }
  return result;
}

std::vector<ProgramWeights::Source> sources_of(const ImportedGraph &graph) {
  std::vector<ProgramWeights::Source> sources;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value &value = graph.values[i];
    if (!value.is_constant()) continue;
    sources.push_back({value.address, bytes_of(value), i, value.identity, value.is_left_out});
  }
  return sources;
}

bool is_among(const std::vector<const void *> &ordered, const void *address) {
  return std::binary_search(ordered.begin(), ordered.end(), address, std::less<const void *>());
}

/* Args: has_packed: another program has the weights packed, so that few constants are kept at all. */
armnn_program *build(armnn_backend &backend, const Options &options, ImportedGraph imported,
                     ProgramWeights weights, bool has_packed) {
  const bool is_fast = options.allows_fast_math;
  const FastMath fast_math{is_fast, is_fast && backend.kernels.gemm_tile_bfloat16 != nullptr};
  Graph lowered = lower_all(imported, backend.kernels, fast_math);
  has_packed ? imported.release_unused() : imported.keep_constants();
  run_passes(lowered, backend.kernels, fast_math.has_bfloat16);
  const int32_t threads = backend.threads_of(options);
  const std::vector<size_t> inputs = bytes_of(imported, imported.inputs);
  const std::vector<size_t> outputs = bytes_of(imported, imported.outputs);
  std::unique_ptr<armnn_program> program(new armnn_program{
      backend,
      Program(std::move(lowered), backend.kernels, std::move(weights), backend.pool(threads),
              sharing(), fast_math.has_bfloat16),
      options, std::move(imported), inputs, outputs});
  if (has_packed) program->graph.keep_constants();
  return program.release();
}

/* The fingerprint of the CPU that a stored program was compiled for. */
std::string fingerprint_of(const armnn_backend &backend) {
  return {backend.cpu.fingerprint.data, backend.cpu.fingerprint.size};
}

/* Reports to a profiler how long it took, and how much memory the program takes. */
void announce(const armnn_program &program, uint64_t call_id, uint64_t began_ns) {
  const armnn_host &host = *program.backend.host;
  const bool is_read = armnn_host_has_profiling(&host) && armnn_host_has_event(&host) &&
                       host.profiling(host.ctx) != 0;
  if (!is_read) return;
  const Arena &arena = program.program.arena();
  const std::string args = "{\"arena_bytes\": " + std::to_string(arena.bytes) +
                           ", \"scratch_bytes\": " + std::to_string(arena.scratch_bytes) +
                           ", \"weight_bytes\": " + std::to_string(program.program.weight_bytes()) +
                           ", \"pack_ns\": " + std::to_string(program.program.weights().pack_ns()) + "}";
  const std::string name = program.graph.layers.empty() ? "" : program.graph.layers.front()->name;
  host.event(host.ctx, call_id, ARMNN_PROFILE_COMPILE, {name.c_str(), name.size()}, began_ns, now_ns(),
             {args.c_str(), args.size()});
}

}  // namespace

int32_t default_threads() {
  const char *wanted = threads_of_tests();
  return wanted == nullptr ? usable_cpus() : std::max(1, std::atoi(wanted));
}

armnn_program *compile(armnn_backend &backend, const armnn_graph &graph, const armnn_compile_args *args,
                       const armnn_program *earlier) {
  const uint64_t began_ns = now_ns();
  const ScopedBumpAllocator memory;
  Options options = backend.defaults;
  if (args != nullptr) options.read(args->options, args->num_options);
  ImportedGraph imported = import_graph(graph, true, earlier == nullptr ? nullptr : &earlier->graph);
  ProgramWeights weights(backend.packed, graph.fingerprint.size > 0, sources_of(imported));
  armnn_program *program = build(backend, options, std::move(imported), std::move(weights), earlier != nullptr);
  const std::vector<const void *> read = program->program.read_constants();
  for (Value &value : program->graph.values) {
    if (!value.is_constant() || value.is_read || is_among(read, value.address)) continue;
    value.is_left_out = true;
    value.memory.reset(); /* of a copy: lent memory was given back before */
  }
  announce(*program, args == nullptr ? 0 : args->call_id, began_ns);
  return program;
}

void serialize(const armnn_program &program, const Write &write) {
  write_blob(program.options, program.graph, program.program.weights(), fingerprint_of(program.backend),
             write);
}

armnn_program *deserialize(armnn_backend &backend, const Blob &blob) {
  const uint64_t began_ns = now_ns();
  StoredProgram stored = read_blob(blob, fingerprint_of(backend), backend.packed);
  ProgramWeights weights(backend.packed, false, sources_of(stored.graph));
  for (ProgramWeights::Entry &entry : stored.packed) weights.add_stored(std::move(entry));
  std::unique_ptr<armnn_program> program(
      build(backend, stored.options, std::move(stored.graph), std::move(weights), false));
  const std::vector<const void *> read = program->program.read_constants();
  for (const Value &value : program->graph.values) {
    if (value.is_left_out && (value.is_read || is_among(read, value.address))) {
      refuse("the constant '" + *value.name + "' is missing");
    }
  }
  announce(*program, 0, began_ns);
  return program.release();
}

}  // namespace cpuacc

int32_t armnn_backend::threads_of(const cpuacc::Options &options) {
  if (options.threads == 0) return cpuacc::default_threads();
  const int32_t most = cpuacc::most_threads();
  if (options.threads <= most) return options.threads;
  bool is_new = false;
  {
    const std::lock_guard<cpuacc::ForkSafeMutex> guard(mutex_);
    is_new = std::exchange(refused_threads_, options.threads) != options.threads;
  }
  if (is_new && armnn_host_has_log(host)) { /* without the lock: the host may take long */
    const std::string line = "NumberOfThreads is " + std::to_string(options.threads) + ", but there are " +
                             std::to_string(most) + " CPUs to use: it takes " + std::to_string(most);
    host->log(host->ctx, ARMNN_LOG_WARNING, {"", 0}, {line.c_str(), line.size()});
  }
  return most;
}

std::shared_ptr<cpuacc::Pool> armnn_backend::pool(int32_t threads) {
  const std::lock_guard<cpuacc::ForkSafeMutex> guard(mutex_);
  std::shared_ptr<cpuacc::Pool> pool = pools_[threads].lock();
  if (!pool) {
    const double least_ns = cpuacc::threads_of_tests() == nullptr
                                ? cpuacc::costs::kForksWorthSplitting * cpuacc::costs::machine(kernels.lanes).ns[cpuacc::costs::fork]
                                : 0.0;
    pools_[threads] = pool = std::make_shared<cpuacc::Pool>(threads, least_ns);
  }
  return pool;
}
