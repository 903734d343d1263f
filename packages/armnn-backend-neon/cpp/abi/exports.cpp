/* SPDX-License-Identifier: MIT */
/* The three exports and the table behind them. */
#include <cstring>
#include <stdexcept>

#include "abi/backend.h"
#include "abi/errors.h"
#include "abi/extensions.h"
#include "costs/machine.h"
#include "kernels/levels.h"
#include "operations/convolution/convolution.h"

#define CPUACC_ID "CpuAcc"

ARMNN_BACKEND_NOTE("{\"id\": \"" CPUACC_ID "\", \"api\": \"1.0\"}");

namespace {

constexpr armnn_string text(const char *data, uint64_t size) { return {data, size}; }

std::string listed(const char *(*name_of)(int)) {
  std::string names;
  for (int i = 0; name_of(i) != nullptr; ++i) names += (i == 0 ? "" : ", ") + std::string(name_of(i));
  return names;
}

/* The levels that this machine has, as a text. */
std::string levels_here() { return listed(cpuacc::level_here); }

std::string reason_without_kernels(const cpuacc::ChosenLevel &chosen) {
  if (chosen.is_refused) {
    return "the system refuses this process the registers of the level " + std::string(chosen.unused) +
           ", which ARMNN_CPUACC_ISA names: leave it empty for the next level";
  }
  if (cpuacc::level_here(0) != nullptr) {
    return "ARMNN_CPUACC_ISA names a level that this CPU or this build lacks, expected one of " + levels_here();
  }
  return "this build has kernels for " + listed(cpuacc::level_built) +
         " only, which this CPU lacks: install CpuAcc's wheel for all processors";
}

armnn_code create(const armnn_host *host, const armnn_option *options, uint64_t count,
                  armnn_backend **backend, armnn_error *error) {
  return cpuacc::guarded(error, [&] {
    cpuacc::Options defaults;
    defaults.read(options, count);
    bool knows_tile_registers = false;
    try {
      knows_tile_registers = cpuacc::costs::knows_tile_registers();
    } catch (const std::runtime_error &error) {
      throw cpuacc::Failure{ARMNN_UNAVAILABLE, error.what(), {}};
    }
    const cpuacc::ChosenLevel chosen = cpuacc::choose_level(knows_tile_registers);
    if (chosen.kernels == nullptr) {
      throw cpuacc::Failure{ARMNN_UNAVAILABLE, reason_without_kernels(chosen), {}};
    }
    *backend = new armnn_backend(host, chosen, defaults);
  });
}

void destroy(armnn_backend *backend) { delete backend; }

armnn_code devices(armnn_backend *backend, const armnn_device *const **devices, uint64_t *count,
                   armnn_error *) {
  *devices = backend->devices;
  *count = 1;
  return ARMNN_OK;
}

armnn_code capabilities(armnn_backend *, const armnn_option **capabilities, uint64_t *count, armnn_error *) {
  static const armnn_option known[] = {
      {text("NonConstWeights", 15), text("true", 4)},
      {text("AsyncExecution", 14), text("true", 4)},
      {text("ProtectedContentAllocation", 26), text("false", 5)},
      {text("ConstantTensorsAsInputs", 23), text("true", 4)},
      {text("PreImportIOTensors", 18), text("true", 4)},
      {text("ExternallyManagedMemory", 23), text("true", 4)},
      {text("MultiAxisPacking", 16), text("true", 4)},
      {text("SingleAxisPacking", 17), text("true", 4)},
      {text("HasFp16", 7), text("true", 4)},
      {text("PropagatesNaN", 13), text("true", 4)},
      {text("ReleasesConstants", 17), text("true", 4)},
  };
  *capabilities = known;
  *count = sizeof known / sizeof known[0];
  return ARMNN_OK;
}

armnn_code use_allocator(armnn_backend *backend, const armnn_allocator *allocator, armnn_error *error) {
  return cpuacc::guarded(error, [&] {
    const bool is_whole = armnn_allocator_has_allocate(allocator) && armnn_allocator_has_free(allocator);
    if (!is_whole || allocator->device_type != ARMNN_DEVICE_CPU) {
      throw cpuacc::Failure{ARMNN_INVALID_ARGUMENT,
                            "the allocator cannot be used, expected one that allocates and frees host "
                            "memory",
                            {}};
    }
    backend->memory.use(*allocator);
  });
}

armnn_code query(armnn_backend *backend, const armnn_device *, const armnn_graph *graph, armnn_support *supports,
                 uint64_t stride, armnn_error *error) {
  return cpuacc::guarded(error, [&] { cpuacc::answer(*backend, *graph, supports, stride); });
}

armnn_code compile(armnn_backend *backend, const armnn_device *, const armnn_graph *graph,
                   const armnn_compile_args *args, armnn_program **program, armnn_error *error) {
  return cpuacc::guarded(error, [&] { *program = cpuacc::compile(*backend, *graph, args); });
}

/* Finds weights that were packed before by the constants' references; lowering refuses the layers that query does. */
armnn_code replan(armnn_program *program, const armnn_graph *graph, const armnn_compile_args *args,
                  armnn_program **replanned, armnn_error *error) {
  return cpuacc::guarded(error, [&] { *replanned = cpuacc::compile(program->backend, *graph, args, program); });
}

armnn_code serialize(armnn_program *program, armnn_write_fn write, void *arg, armnn_error *error) {
  return cpuacc::guarded(error, [&] {
    cpuacc::serialize(*program, [&](const void *data, size_t size) {
      const armnn_code code = write(arg, data, size);
      if (code != ARMNN_OK) throw cpuacc::Failure{code, "the host takes no more bytes", {}};
    });
  });
}

armnn_code deserialize(armnn_backend *backend, const armnn_device *, const void *data, uint64_t size,
                       armnn_program **program, armnn_error *error) {
  return cpuacc::guarded(
      error, [&] { *program = cpuacc::deserialize(*backend, {data, static_cast<size_t>(size), nullptr}); });
}

/* Gives memory back that the host lent. */
struct Loan {
  armnn_release_fn release;
  void *arg;
  ~Loan() { release(arg); }
};

armnn_code deserialize_mapped(armnn_backend *backend, const armnn_device *, const void *data, uint64_t size,
                              armnn_release_fn release, void *arg, armnn_program **program,
                              armnn_error *error) {
  return cpuacc::guarded(error, [&] {
    const std::shared_ptr<const void> mapping(new Loan{release, arg});
    *program = cpuacc::deserialize(*backend, {data, static_cast<size_t>(size), mapping});
  });
}

void program_destroy(armnn_program *program) { delete program; }

armnn_code context_create(armnn_program *program, armnn_context **context, armnn_error *error) {
  return cpuacc::guarded(error, [&] { *context = new armnn_context(*program); });
}

void context_destroy(armnn_context *context) { delete context; }

armnn_code execute(armnn_context *context, const armnn_execute_args *args, armnn_error *error) {
  return cpuacc::guarded(error, [&] { cpuacc::execute(*context, *args); });
}

const void *get_extension(const char *name) {
  if (std::strcmp(name, "armnn.async/1") == 0) return cpuacc::async_extension();
  if (std::strcmp(name, "armnn.memory/1") == 0) return cpuacc::memory_extension();
  if (std::strcmp(name, "armnn.mapped/1") == 0) return cpuacc::mapped_extension();
  if (std::strcmp(name, "armnn.replan/1") == 0) return cpuacc::replan_extension();
  return nullptr;
}

const armnn_backend_api kTable = [] {
  armnn_backend_api table{};
  table.header = ARMNN_HEADER(ARMNN_BACKEND_API);
  table.api_major = ARMNN_BACKEND_API_MAJOR;
  table.api_minor = ARMNN_BACKEND_TARGET_MINOR;
  table.id = text(CPUACC_ID, sizeof CPUACC_ID - 1);
  table.version = text(CPUACC_VERSION, sizeof CPUACC_VERSION - 1);
  table.vendor = text("Armnn-Python contributors", 25);
  table.flags = ARMNN_BACKEND_FORK_SAFE | ARMNN_BACKEND_DETERMINISTIC;
  table.score = 100;
  table.create = create;
  table.destroy = destroy;
  table.devices = devices;
  table.capabilities = capabilities;
  table.use_allocator = use_allocator;
  table.query = query;
  table.compile = compile;
  table.serialize = serialize;
  table.deserialize = deserialize;
  table.program_destroy = program_destroy;
  table.context_create = context_create;
  table.context_destroy = context_destroy;
  table.execute = execute;
  table.get_extension = get_extension;
  return table;
}();

}  // namespace

namespace cpuacc {

const armnn_mapped *mapped_extension() {
  static const armnn_mapped table = {ARMNN_HEADER(ARMNN_MAPPED), deserialize_mapped};
  return &table;
}

const armnn_replan *replan_extension() {
  static const armnn_replan table = {ARMNN_HEADER(ARMNN_REPLAN), replan};
  return &table;
}

}  // namespace cpuacc

namespace {

/* Why a better level is not in use. */
std::string reason_without_tile_registers(const cpuacc::ChosenLevel &chosen) {
  const std::string name = chosen.unused;
  if (chosen.is_refused) return "the system refuses its registers (arch_prctl)";
  return "the time of its tile registers was not measured on this CPU; ARMNN_CPUACC_ISA=" + name + " uses them";
}

/* All that chooses kernels: a program of other ones must not be taken from a cache. */
std::string what_chooses(const cpuacc::Kernels &kernels) {
  const char *wanted = cpuacc::wanted_kernel();
  return std::string(kernels.name) + ", costs " + cpuacc::costs::digest() +
         (wanted == nullptr ? "" : ", kernel " + std::string(wanted));
}

}  // namespace

armnn_backend::armnn_backend(const armnn_host *host, const cpuacc::ChosenLevel &chosen,
                             const cpuacc::Options &defaults)
    : host(host),
      kernels(*chosen.kernels),
      defaults(defaults),
      cpu{},
      levels_(levels_here()),
      fingerprint_(what_chooses(kernels)),
      costs_(cpuacc::costs::origin(kernels.lanes)),
      lanes_(std::to_string(kernels.lanes)) {
  const armnn_string level = text(kernels.name, std::strlen(kernels.name));
  cpu.header = ARMNN_HEADER(ARMNN_DEVICE);
  cpu.id = text("0", 1);
  cpu.name = level;
  cpu.kind = text("cpu", 3);
  cpu.device_type = ARMNN_DEVICE_CPU;
  cpu.fingerprint = text(fingerprint_.data(), fingerprint_.size()); /* weights are packed for both */
  threads_ = std::to_string(threads_of(defaults));
  facts_[0] = {text("NumberOfThreads by default", 26), text(threads_.data(), threads_.size())};
  facts_[1] = {text("ARMNN_CPUACC_ISA may be", 23), text(levels_.data(), levels_.size())};
  facts_[2] = {text("costs", 5), text(costs_.data(), costs_.size())};
  facts_[3] = {text("floats in a register", 20), text(lanes_.data(), lanes_.size())};
  cpu.info = facts_;
  cpu.num_info = 4;
  if (chosen.unused == nullptr) return;
  unused_ = "without " + std::string(chosen.unused);
  reason_ = reason_without_tile_registers(chosen);
  facts_[cpu.num_info++] = {text(unused_.data(), unused_.size()), text(reason_.data(), reason_.size())};
}

ARMNN_EXPORT const char *GetBackendId(void) { return CPUACC_ID; }

ARMNN_EXPORT void GetVersion(uint32_t *outMajor, uint32_t *outMinor) {
  *outMajor = ARMNN_BACKEND_API_MAJOR;
  *outMinor = ARMNN_BACKEND_TARGET_MINOR;
}

ARMNN_EXPORT void *BackendFactory(void) { return const_cast<armnn_backend_api *>(&kTable); }
