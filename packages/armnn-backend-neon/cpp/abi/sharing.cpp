/* SPDX-License-Identifier: MIT */
/* The extension armnn.memory/1: host memory by file descriptor. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "abi/errors.h"
#include "abi/extensions.h"

/* Bytes of a file, mapped, with a descriptor of its own. */
struct armnn_buffer {
  armnn_buffer(int descriptor, uint64_t begin, uint64_t bytes)
      : fd(descriptor),
        offset(begin),
        size(bytes),
        address(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(begin))) {}
  ~armnn_buffer() {
    if (address != MAP_FAILED) munmap(address, size);
    close(fd);
  }
  armnn_buffer(const armnn_buffer &) = delete;
  armnn_buffer &operator=(const armnn_buffer &) = delete;

  const int fd;
  const uint64_t offset;
  const uint64_t size;
  void *const address;
};

namespace {

[[noreturn]] void fail(armnn_code code, const std::string &what) {
  throw cpuacc::Failure{code, what + ": " + std::strerror(errno), {}};
}

armnn_code allocate(armnn_backend *, uint64_t size, armnn_buffer **buffer, armnn_error *error) {
  return cpuacc::guarded(error, [&] {
    const int fd = memfd_create("CpuAcc", MFD_CLOEXEC);
    if (fd < 0) fail(ARMNN_RESOURCE_EXHAUSTED, "memfd_create");
    if (ftruncate(fd, static_cast<off_t>(size)) != 0) {
      const int reason = errno;
      close(fd);
      errno = reason;
      fail(ARMNN_RESOURCE_EXHAUSTED, "ftruncate");
    }
    auto made = std::make_unique<armnn_buffer>(fd, 0, size);
    if (made->address == MAP_FAILED) fail(ARMNN_RESOURCE_EXHAUSTED, "mmap");
    *buffer = made.release();
  });
}

armnn_code import_fd(armnn_backend *, int32_t fd, uint64_t offset, uint64_t size, armnn_buffer **buffer,
                     armnn_error *error) {
  return cpuacc::guarded(error, [&] {
    struct stat64 file;
    if (fstat64(fd, &file) != 0) fail(ARMNN_INVALID_ARGUMENT, "fstat");
    /* A dma-buf has no file size; mmap refuses memory beyond its end. */
    const auto bytes = static_cast<uint64_t>(file.st_size);
    if (S_ISREG(file.st_mode) && (offset > bytes || size > bytes - offset)) {
      throw cpuacc::Failure{ARMNN_INVALID_ARGUMENT,
                            "the file has " + std::to_string(bytes) + " bytes, expected " +
                                std::to_string(size) + " from " + std::to_string(offset),
                            {}};
    }
    const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0) fail(ARMNN_RESOURCE_EXHAUSTED, "fcntl");
    auto made = std::make_unique<armnn_buffer>(own, offset, size);
    if (made->address == MAP_FAILED) fail(ARMNN_INVALID_ARGUMENT, "mmap");
    *buffer = made.release();
  });
}

armnn_code export_fd(armnn_buffer *buffer, int32_t *fd, uint64_t *offset, armnn_error *error) {
  return cpuacc::guarded(error, [&] {
    *fd = fcntl(buffer->fd, F_DUPFD_CLOEXEC, 0);
    if (*fd < 0) fail(ARMNN_RESOURCE_EXHAUSTED, "fcntl");
    *offset = buffer->offset;
  });
}

void *address(armnn_buffer *buffer) { return buffer->address; }

void buffer_destroy(armnn_buffer *buffer) { delete buffer; }

}  // namespace

namespace cpuacc {

const armnn_memory *memory_extension() {
  static const armnn_memory table = {
      ARMNN_HEADER(ARMNN_MEMORY), allocate, import_fd, export_fd, address, buffer_destroy};
  return &table;
}

}  // namespace cpuacc
