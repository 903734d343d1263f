/* SPDX-License-Identifier: MIT */
/* The costs in use, of a file or built in, and this machine's CPU as the system describes it. */
#include "costs/machine.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "costs/tables.h"
#include "costs/text_file.h"

namespace cpuacc {
namespace costs {
namespace {

constexpr Caches kUnknown{32 * 1024, 512 * 1024, 4 * 1024 * 1024};
constexpr int kMostCaches = 8;
constexpr size_t kOfFirstCpu = 8192; /* bytes of the system's text: with hundreds of CPUs, all of it takes long */

std::string line_of(const std::string &path) {
  const std::string text = text_of_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

/* "48K", "2048K" or "32M" in bytes. */
int64_t bytes_of(const std::string &size) {
  char *end = nullptr;
  const int64_t number = std::strtoll(size.c_str(), &end, 10);
  return number * (*end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1);
}

/* As /proc/cpuinfo has it, with family and model, since CPUs of several generations may have one name:
 * "AMD EPYC, family 26, model 2". Empty: unknown.
 */
std::string cpu_name() {
  const std::string text = text_of_file("/proc/cpuinfo", kOfFirstCpu).value_or("");
  std::string_view lines = text;
  std::string name, family, model;
  for (std::string line; take_line(lines, line) && !line.empty();) {
    const size_t key = line.find_first_of("\t:"), colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string field = line.substr(0, key), value = line.substr(colon + 2);
    if (field == "model name") name = value;
    if (field == "cpu family") family = ", family " + value;
    if (field == "model") model = ", model " + value;
  }
  return name.empty() ? "" : name + family + model;
}

/* The caches as /sys has them; the size of an unknown one is that of a small core. */
Caches cpu_caches() {
  Caches caches = kUnknown;
  for (int i = 0; i < kMostCaches; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i);
    const std::string level = line_of(folder + "/level");
    if (level.empty()) break; /* the caches are numbered without gaps */
    const int64_t bytes = bytes_of(line_of(folder + "/size"));
    if (bytes <= 0 || line_of(folder + "/type") == "Instruction") continue;
    (level == "1" ? caches.first : level == "2" ? caches.second : caches.third) = bytes;
  }
  return caches;
}

constexpr const char *kFormat = "armnn CpuAcc costs ";
constexpr const char *kHeader = "armnn CpuAcc costs 2";
constexpr double kOtherGeneration = 3.0; /* as far as one cache of eight times the size */
constexpr int64_t kLanes[] = {16, 8, 4};

[[noreturn]] void refuse(size_t line, const std::string &reason) {
  throw std::runtime_error("line " + std::to_string(line) + ": " + reason);
}

double number_of(const std::string &text, size_t line) {
  char *end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(number) || number < 0.0) {
    refuse(line, "got '" + text + "', expected a number from 0 on");
  }
  return number;
}

/* Where a name of a file belongs; nullptr: nowhere. */
double *unit_of(Machine &machine, const std::string &name) {
  for (size_t i = 0; i < kUnits; ++i) {
    if (name == kUnitNames[i]) return &machine.ns[i];
  }
  return nullptr;
}

int64_t *cache_of(Machine &machine, const std::string &name) {
  if (name == "first_cache") return &machine.caches.first;
  if (name == "second_cache") return &machine.caches.second;
  return name == "third_cache" ? &machine.caches.third : nullptr;
}

/* Each value that every machine has is there: a time that is missing would count as none. */
void require_whole(const Machine &machine, size_t line) {
  for (size_t i = 0; i < kUnits; ++i) {
    if (machine.ns[i] < 0.0) refuse(line, std::string("'") + kUnitNames[i] + "' is missing before");
  }
  const Caches &caches = machine.caches;
  if (caches.first <= 0 || caches.second <= 0 || caches.third <= 0) refuse(line, "a cache is missing before");
}

/* "AMD EPYC 9B45, family 26, model 2" -> "AMD family 26": CPUs of one maker and family are much alike. */
std::string generation_of(const std::string &cpu) {
  const size_t family = cpu.find(", family "), model = cpu.find(", model ");
  if (family == std::string::npos) return cpu;
  return cpu.substr(0, cpu.find(' ')) + cpu.substr(family + 1, model - family - 1);
}

double distance(const Caches &a, const Caches &b) {
  const auto ratio = [](int64_t x, int64_t y) { return std::fabs(std::log2(static_cast<double>(x) / static_cast<double>(y))); };
  return ratio(a.first, b.first) + ratio(a.second, b.second) + 0.25 * ratio(a.third, b.third);
}

std::string whole_file(const std::string &path) {
  std::optional<std::string> text = text_of_file(path);
  if (!text) throw std::runtime_error(std::strerror(errno));
  return *std::move(text);
}

/* Where `armnn tune --machine` writes; empty: nowhere, as in a process with the rights of another user. */
std::string kept_path() {
  const char *folder = secure_getenv("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder != '\0') return std::string(folder) + "/armnn/CpuAcc.costs";
  const char *home = secure_getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.config/armnn/CpuAcc.costs";
}

/* The costs that this process uses. */
class Chosen {
 public:
  Chosen() {
    const char *named = secure_getenv("ARMNN_CPUACC_COSTS");
    if (named != nullptr && *named != '\0') {
      use(named, "ARMNN_CPUACC_COSTS=" + std::string(named));
    } else if (!use_kept()) {
      use_built_in();
    }
    for (const Machine &machine : machines_) write(machine);
  }

  const Machine &of(int64_t lanes) const {
    return machines_[lanes >= kLanes[0] ? 0 : lanes >= kLanes[1] ? 1 : 2];
  }

  std::string origin_of(int64_t lanes) const {
    if (!file_.empty()) return file_;
    return "built in, of " + of(lanes).cpu + (old_.empty() ? "" : "; " + old_ + " is of another version of CpuAcc: run `armnn tune --machine` again");
  }

  uint64_t hash = 14695981039346656037u; /* FNV-1a */

 private:
  void use(const std::string &path, const std::string &called) {
    try {
      take(read_machines(whole_file(path)), nullptr);
    } catch (const std::exception &error) {
      throw std::runtime_error("the costs of " + called + " cannot be used: " + error.what() +
                               "; `armnn tune --machine -o FILE` writes such a file");
    }
    file_ = called;
  }

  /* A home may be shared by machines of several kinds: a file of costs is for one of them, and for one set of units. */
  bool use_kept() {
    const std::string path = kept_path();
    if (path.empty()) return false;
    const std::optional<std::string> text = text_of_file(path);
    if (!text) return false;
    if (text->rfind(kFormat, 0) == 0 && text->substr(0, text->find('\n')) != kHeader) {
      old_ = path;
      return false;
    }
    std::vector<Machine> kept;
    try {
      kept = read_machines(*text);
    } catch (const std::exception &error) {
      throw std::runtime_error("the costs of " + path + " cannot be used: " + error.what() +
                               "; remove the file, or run `armnn tune --machine` again");
    }
    if (kept.empty() || kept.front().cpu != cpu_name()) return false;
    take(kept, nullptr);
    file_ = path;
    return true;
  }

  void use_built_in() {
    const Caches caches = cpu_caches();
    std::vector<Machine> built_in;
    for (const Table &table : kTables) built_in.push_back({table.cpu, table.lanes, table.caches, table.ns});
    take(built_in, &caches);
  }

  void take(const std::vector<Machine> &machines, const Caches *caches) {
    const Caches own = caches == nullptr ? cpu_caches() : *caches;
    const std::string name = cpu_name();
    for (const int64_t lanes : kLanes) {
      machines_.push_back(nearest(machines, lanes, name, own));
      if (caches != nullptr) machines_.back().caches = own;
    }
  }

  void write(const Machine &machine) {
    for (const double ns : machine.ns) write(ns);
    for (const int64_t bytes : {machine.caches.first, machine.caches.second, machine.caches.third}) {
      write(static_cast<double>(bytes));
    }
  }

  void write(double number) {
    unsigned char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  }

  std::vector<Machine> machines_; /* by kLanes */
  std::string file_; /* the file of the costs; empty: built in */
  std::string old_; /* a kept file of another version, which is not used */
};

const Chosen &chosen() {
  static const Chosen once;
  return once;
}

}  // namespace

double Machine::ns_of(const Work &work) const {
  double sum = 0.0;
  for (size_t i = 0; i < kUnits; ++i) sum += work.counts[i] * ns[i];
  return sum;
}

std::vector<Machine> read_machines(const std::string &text) {
  std::string_view lines = text;
  std::vector<Machine> machines;
  std::string line, cpu;
  size_t number = 0;
  while (take_line(lines, line)) {
    ++number;
    if (number == 1) {
      if (line != kHeader) refuse(1, "expected '" + std::string(kHeader) + "'");
      continue;
    }
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string value = space == std::string::npos ? "" : line.substr(space + 1);
    if (name == "cpu") {
      cpu = value;
    } else if (name == "lanes") {
      if (!machines.empty()) require_whole(machines.back(), number);
      machines.push_back({cpu, static_cast<int64_t>(number_of(value, number)), {}, {}});
      if (machines.back().lanes < 1) refuse(number, "got '" + value + "', expected lanes from 1 on");
      machines.back().ns.fill(-1.0);
      machines.back().ns[tile_register_product] = 0.0;
    } else if (machines.empty()) {
      refuse(number, "expected cpu or lanes, got '" + name + "'");
    } else if (double *ns = unit_of(machines.back(), name)) {
      *ns = number_of(value, number);
    } else if (int64_t *bytes = cache_of(machines.back(), name)) {
      *bytes = static_cast<int64_t>(number_of(value, number));
    } else {
      refuse(number, "'" + name + "' is not known");
    }
  }
  if (machines.empty()) refuse(number + 1, "there are no costs");
  require_whole(machines.back(), number + 1);
  return machines;
}

const Machine &nearest(const std::vector<Machine> &machines, int64_t lanes, const std::string &cpu, const Caches &caches) {
  const auto away = [&](const Machine &machine) {
    const double width = std::fabs(std::log2(static_cast<double>(lanes) / static_cast<double>(machine.lanes)));
    const double other = generation_of(machine.cpu) == generation_of(cpu) ? 0.0 : kOtherGeneration;
    return 100.0 * width + other + distance(machine.caches, caches);
  };
  return *std::min_element(machines.begin(), machines.end(),
                           [&](const Machine &a, const Machine &b) { return away(a) < away(b); });
}

const Machine &machine(int64_t lanes) { return chosen().of(lanes); }

bool knows_tile_registers() { return machine(kLanes[0]).ns[tile_register_product] > 0.0; }

std::string origin(int64_t lanes) { return chosen().origin_of(lanes); }

std::string digest() {
  char text[2 * sizeof(uint64_t) + 1];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(chosen().hash));
  return text;
}

}  // namespace costs
}  // namespace cpuacc
