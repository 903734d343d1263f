/* SPDX-License-Identifier: MIT */
/* Texts of the system's files. A stream would set up all that the C++ library knows of languages: 0.5 MiB of its
 * code, in each process.
 */
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace cpuacc {

/* The beginning of a file; nothing: it cannot be opened, and errno says why. */
inline std::optional<std::string> text_of_file(const std::string &path, size_t most = ~size_t{0}) {
  std::FILE *file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return std::nullopt;
  std::string text;
  char piece[4096];
  while (const size_t read = text.size() < most ? std::fread(piece, 1, sizeof piece, file) : 0) text.append(piece, read);
  std::fclose(file);
  return text;
}

/* Takes the first line off a text, without its end; false: there is none. */
inline bool take_line(std::string_view &text, std::string &line) {
  if (text.empty()) return false;
  const size_t end = text.find('\n');
  line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return true;
}

}  // namespace cpuacc
