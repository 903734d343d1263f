/* SPDX-License-Identifier: MIT */
/* Stored programs: writing the imported graph and packed weights as bytes, and reading them back. */
#include "abi/blob.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "abi/bytes.h"
#include "build.h" /* made by hatch_build.py */

namespace cpuacc {
namespace {

/* A stored program is of one build only, so that neither format nor packing needs a version. */
constexpr char kMagic[] = "CpuAcc program of " CPUACC_BUILD;
constexpr uint64_t kMostBytes = uint64_t{1} << 40;

/* Kernels read whole registers, so a little beyond the end of packed weights: as aligned_memory. */
constexpr size_t kReadBeyond = 2 * kDataAlignment;

enum class Constant : uint8_t { none, stored, left_out };

/* The first value of a graph that stands for the constant of each address and size that is left out. */
using LeftOut = std::map<std::pair<const void *, size_t>, uint64_t>;

void write_value(Writer &writer, const Value &value, uint64_t place, LeftOut &left_out) {
  writer.text(*value.name);
  writer.number<int32_t>(value.type);
  writer.number<uint8_t>(value.is_static ? 1 : 0);
  writer.list(value.shape);
  writer.list(value.quantization.scales);
  writer.list(value.quantization.zero_points);
  writer.number<int32_t>(value.quantization.axis);
  const Constant kind = value.is_left_out ? Constant::left_out
                                          : value.is_constant() ? Constant::stored : Constant::none;
  writer.number(static_cast<uint8_t>(kind));
  if (kind == Constant::stored) writer.data(value.address, bytes_of(value));
  if (kind == Constant::left_out) {
    writer.number(left_out.emplace(std::make_pair(value.address, bytes_of(value)), place).first->second);
  }
}

void check_shape(const Value &value) {
  if (value.shape.size() > 8) refuse("a tensor has rank " + std::to_string(value.shape.size()));
  uint64_t bytes = 16; /* of the largest element */
  for (const int64_t dimension : value.shape) {
    const auto count = static_cast<uint64_t>(std::max<int64_t>(dimension, 0));
    if ((value.is_static && dimension < 0) || count > kMostBytes || bytes * count > kMostBytes) {
      refuse("a tensor has a dimension of " + std::to_string(dimension));
    }
    bytes *= std::max<uint64_t>(count, 1);
  }
}

/* Args: twins: gets the number of the value at whose address a constant is, if it was left out. */
Value read_value(Reader &reader, const Blob &blob, std::vector<uint64_t> &twins) {
  Value value;
  value.name = std::make_shared<const std::string>(reader.text());
  value.type = reader.number<int32_t>();
  value.is_static = reader.number<uint8_t>() != 0;
  const std::vector<int64_t> shape = reader.list<int64_t>();
  value.shape.assign(shape.begin(), shape.end());
  check_shape(value);
  value.quantization.scales = reader.list<float>();
  value.quantization.zero_points = reader.list<int32_t>();
  value.quantization.axis = reader.number<int32_t>();
  if (value.quantization.zero_points.size() != value.quantization.scales.size() ||
      value.quantization.axis >= static_cast<int32_t>(value.shape.size())) {
    refuse("a tensor's quantization does not fit");
  }
  const auto kind = static_cast<Constant>(reader.number<uint8_t>());
  value.is_left_out = kind == Constant::left_out;
  if (kind == Constant::none) return value;
  if (!value.is_static || element_bytes(value.type) == 0) refuse("a constant has no size");
  if (value.is_left_out) twins.back() = reader.number<uint64_t>();
  if (kind != Constant::stored) return value;
  size_t size = 0;
  const void *data = reader.data(size);
  if (size != bytes_of(value)) refuse("a constant has another size than its tensor");
  value.memory = blob.keep(data, size);
  value.address = value.memory.get();
  return value;
}

void write_layer(Writer &writer, const Layer &layer) {
  writer.number(layer.id);
  writer.text(layer.type);
  writer.list(layer.inputs);
  writer.list(layer.outputs);
  writer.number<uint64_t>(layer.attributes.size());
  for (const auto &[name, attribute] : layer.attributes) {
    writer.text(name);
    writer.list(attribute.integers);
    writer.list(attribute.reals);
  }
}

std::vector<int32_t> read_indices(Reader &reader, int32_t least, size_t count) {
  const std::vector<int32_t> indices = reader.list<int32_t>();
  for (const int32_t index : indices) {
    if (index < least || index >= static_cast<int64_t>(count)) {
      refuse("a layer names tensor " + std::to_string(index) + " of " + std::to_string(count));
    }
  }
  return indices;
}

std::shared_ptr<const Layer> read_layer(Reader &reader, size_t position, size_t values) {
  const auto made = std::make_shared<Layer>();
  Layer &layer = *made;
  layer.id = layer.node = reader.number<int32_t>();
  if (layer.id != static_cast<int32_t>(position)) refuse("the layers are not numbered in order");
  layer.type = reader.text();
  layer.inputs = read_indices(reader, -1, values);
  layer.outputs = read_indices(reader, 0, values);
  for (uint64_t left = reader.count(); left > 0; --left) {
    auto &[name, attribute] = layer.attributes.emplace_back();
    name = reader.text();
    attribute.integers = reader.list<int64_t>();
    attribute.reals = reader.list<double>();
  }
  layer.name = reader.text();
  layer.complete();
  return made;
}

ImportedGraph read_graph(Reader &reader, const Blob &blob, std::vector<uint64_t> &twins) {
  ImportedGraph graph;
  for (uint64_t left = reader.count(); left > 0; --left) {
    twins.push_back(graph.values.size());
    graph.values.push_back(read_value(reader, blob, twins));
  }
  const size_t values = graph.values.size();
  for (uint64_t left = reader.count(); left > 0; --left) {
    graph.layers.push_back(read_layer(reader, graph.layers.size(), values));
  }
  graph.inputs = read_indices(reader, 0, values);
  graph.outputs = read_indices(reader, 0, values);
  return graph;
}

/* Gives each constant that was left out a stretch of zeros as large as it was, and of its own; those that were at
 * one address share it.
 */
std::shared_ptr<const void> stand_in(ImportedGraph &graph, const std::vector<uint64_t> &twins) {
  size_t total = 0;
  const auto room = [](const Value &value) {
    return (bytes_of(value) + kDataAlignment) / kDataAlignment * kDataAlignment;
  };
  for (const Value &value : graph.values) {
    if (value.is_left_out) total += room(value);
    if (total > kMostBytes) refuse("its constants are too large");
  }
  if (total == 0) return nullptr;
  void *memory = mmap(nullptr, total, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  const auto *next = static_cast<const char *>(memory);
  for (size_t i = 0; i < graph.values.size(); ++i) {
    Value &value = graph.values[i];
    if (!value.is_left_out) continue;
    const auto twin = static_cast<size_t>(twins[i]);
    if (twin > i) refuse("a constant is named before it is there");
    const Value &first = graph.values[twin];
    const bool is_shared = twin < i && first.is_left_out && bytes_of(first) == bytes_of(value);
    if (twin < i && !is_shared) refuse("a constant is at the address of another one");
    value.address = is_shared ? first.address : next;
    next += room(value);
  }
  return std::shared_ptr<const void>(memory, [total](const void *mapped) {
    munmap(const_cast<void *>(mapped), total);
  });
}

ProgramWeights::Entry read_packed(Reader &reader, const Blob &blob, size_t values, PackedWeights &shared) {
  ProgramWeights::Entry entry;
  entry.value = static_cast<size_t>(reader.number<uint64_t>());
  if (entry.value >= values) refuse("packed weights belong to no tensor");
  entry.recipe = reader.text();
  for (uint64_t &sum : entry.digest) sum = reader.number<uint64_t>();
  const void *data = reader.data(entry.bytes);
  entry.memory = shared.get(key_of(entry.digest, entry.recipe), entry.bytes,
                            [&] { return blob.keep(data, entry.bytes); });
  return entry;
}

}  // namespace

std::shared_ptr<const void> Blob::keep(const void *found, size_t bytes) const {
  if (mapping != nullptr && reinterpret_cast<uintptr_t>(found) % kDataAlignment == 0) {
    return std::shared_ptr<const void>(mapping, found);
  }
  const std::shared_ptr<void> memory = aligned_memory(bytes);
  if (bytes > 0) std::memcpy(memory.get(), found, bytes);
  return memory;
}

void write_blob(const Options &options, const ImportedGraph &graph, const ProgramWeights &weights,
                const std::string &level, const Write &write) {
  Writer writer(write);
  writer.text(kMagic);
  writer.text(level);
  writer.number(options.threads);
  writer.number<uint8_t>(options.allows_fast_math ? 1 : 0);
  writer.number<uint64_t>(graph.values.size());
  LeftOut left_out;
  for (size_t i = 0; i < graph.values.size(); ++i) write_value(writer, graph.values[i], i, left_out);
  writer.number<uint64_t>(graph.layers.size());
  for (const auto &layer : graph.layers) {
    write_layer(writer, *layer);
    writer.text(layer->name);
  }
  writer.list(graph.inputs);
  writer.list(graph.outputs);
  std::map<std::pair<size_t, std::string>, const ProgramWeights::Entry *> entries;
  for (const auto &entry : weights.entries()) entries[{entry.value, entry.recipe}] = &entry;
  writer.number<uint64_t>(entries.size());
  for (const auto &[key, entry] : entries) {
    writer.number<uint64_t>(entry->value);
    writer.text(entry->recipe);
    /* The host did not say that it would store the program: the constant may be gone. */
    const bool has_digest = entry->digest != Digest::Sums{};
    for (const uint64_t sum : has_digest ? entry->digest : Digest::of(entry->memory.get(), entry->bytes)) writer.number(sum);
    writer.data(entry->memory.get(), entry->bytes);
  }
  writer.end(kReadBeyond);
}

StoredProgram read_blob(const Blob &blob, const std::string &level, PackedWeights &shared) {
  Reader reader(blob.data, blob.size, kReadBeyond);
  StoredProgram stored;
  if (reader.text() != kMagic) refuse("another build of CpuAcc wrote it");
  const std::string written = reader.text();
  if (written != level) refuse("it is for the level " + written + ", expected " + level);
  stored.options.threads = reader.number<int32_t>();
  stored.options.allows_fast_math = reader.number<uint8_t>() != 0;
  if (stored.options.threads < 0) refuse("it is for less than one thread");
  std::vector<uint64_t> twins;
  stored.graph = read_graph(reader, blob, twins);
  stored.zeros = stand_in(stored.graph, twins);
  for (uint64_t left = reader.count(); left > 0; --left) {
    stored.packed.push_back(read_packed(reader, blob, stored.graph.values.size(), shared));
  }
  reader.check_end();
  return stored;
}

}  // namespace cpuacc
