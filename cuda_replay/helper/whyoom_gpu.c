/* SPDX-License-Identifier: Apache-2.0 */
/* whyoom-gpu: loads the libraries of the driver for a whyoom that cannot, and calls them as that one says (helper_wire.h).
 *
 * All memory of a card is this process's, so that the driver frees it when either process ends, in whatever way: this one is
 * killed with the one that started it. Signals that ask a program to end are left to the other, which gives everything back
 * first. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "cuda_replay/helper/helper_wire.h"

static struct wo_helper_request request;
static struct wo_helper_answer answer;
static struct wo_cuda_driver driver;
static struct wo_nvml nvml;

/* ---- Values ---- */

/* A text of the answer; NULL stays out. */
static void put_text(const char *text) {
  const size_t len = text ? strlen(text) : 0;
  answer.len = len < sizeof answer.bytes ? (uint32_t)len : (uint32_t)sizeof answer.bytes - 1;
  if (answer.len > 0) memcpy(answer.bytes, text, answer.len);
}

/* The text of the request, or NULL for an empty one. */
static const char *get_text(void) {
  request.bytes[request.len < sizeof request.bytes ? request.len : sizeof request.bytes - 1] = '\0';
  return request.len > 0 ? (const char *)request.bytes : NULL;
}

static int number(size_t index) {
  return (int)(int64_t)request.numbers[index];
}

static void *pointer(size_t index) {
  return (void *)(uintptr_t)request.numbers[index];
}

static void put_pointer(void *value) {
  answer.numbers[0] = (uint64_t)(uintptr_t)value;
}

/* How many bytes of the answer an array may have. */
static size_t room_for(uint64_t wanted) {
  return wanted < sizeof answer.bytes ? (size_t)wanted : sizeof answer.bytes;
}

/* ---- The libraries ---- */

static void open_cuda(void) {
  struct wo_err err = {0};
  wo_cuda_close(&driver);
  answer.result = (int32_t)wo_cuda_open(get_text(), &driver, &err);
  if (answer.result != WO_OK) put_text(err.message);
#define WO_CUDA(member, symbol, older, is_needed, type, parameters)                                                              \
  if (driver.member) answer.numbers[0] |= wo_helper_bit(WO_HELPER_CUDA_##member);
#include "cuda_replay/device/cuda_symbols.def"
#undef WO_CUDA
  answer.numbers[1] = (uint64_t)driver.version;
}

static void open_nvml(void) {
  wo_nvml_close(&nvml);
  answer.result = wo_nvml_open(get_text(), &nvml);
#define WO_NVML(member, symbol, older, type, parameters)                                                                         \
  if (nvml.member) answer.numbers[0] |= wo_helper_bit(WO_HELPER_NVML_##member);
#include "cuda_replay/device/nvml_symbols.def"
#undef WO_NVML
}

/* ---- Functions of CUDA ---- */

static void cuda_init(void) {
  answer.result = driver.init((unsigned)request.numbers[0]);
}

static void cuda_driver_version(void) {
  int version = 0;
  answer.result = driver.driver_version(&version);
  answer.numbers[0] = (uint64_t)version;
}

static void cuda_error_name(void) {
  const char *text = NULL;
  answer.result = driver.error_name ? driver.error_name(number(0), &text) : WO_CUDA_INVALID_VALUE;
  put_text(text);
}

static void cuda_error_text(void) {
  const char *text = NULL;
  answer.result = driver.error_text ? driver.error_text(number(0), &text) : WO_CUDA_INVALID_VALUE;
  put_text(text);
}

static void cuda_device_count(void) {
  int count = 0;
  answer.result = driver.device_count(&count);
  answer.numbers[0] = (uint64_t)(int64_t)count;
}

static void cuda_device_get(void) {
  int device = 0;
  answer.result = driver.device_get(&device, number(0));
  answer.numbers[0] = (uint64_t)(int64_t)device;
}

static void cuda_device_name(void) {
  answer.len = (uint32_t)room_for(request.numbers[0]);
  answer.result = driver.device_name((char *)answer.bytes, (int)answer.len, number(1));
}

static void cuda_device_total(void) {
  answer.result = driver.device_total(&answer.numbers[0], number(0));
}

static void cuda_device_attribute(void) {
  int value = 0;
  answer.result = driver.device_attribute(&value, number(0), number(1));
  answer.numbers[0] = (uint64_t)(int64_t)value;
}

static void cuda_device_uuid(void) {
  struct wo_cuda_uuid uuid = {{0}};
  answer.result = driver.device_uuid(&uuid, number(0));
  answer.len = sizeof uuid;
  memcpy(answer.bytes, &uuid, sizeof uuid);
}

static void cuda_context_retain(void) {
  void *context = NULL;
  answer.result = driver.context_retain(&context, number(0));
  put_pointer(context);
}

static void cuda_context_release(void) {
  answer.result = driver.context_release(number(0));
}

static void cuda_context_set(void) {
  answer.result = driver.context_set(pointer(0));
}

static void cuda_context_synchronize(void) {
  answer.result = driver.context_synchronize();
}

static void cuda_memory_info(void) {
  answer.result = driver.memory_info(&answer.numbers[0], &answer.numbers[1]);
}

static void cuda_memory_alloc(void) {
  answer.result = driver.memory_alloc(&answer.numbers[0], request.numbers[0]);
}

static void cuda_memory_free(void) {
  answer.result = driver.memory_free(request.numbers[0]);
}

static void cuda_memory_set(void) {
  answer.result = driver.memory_set(request.numbers[0], (unsigned char)request.numbers[1], request.numbers[2]);
}

static void cuda_address_reserve(void) {
  const uint64_t *const numbers = request.numbers;
  answer.result = driver.address_reserve(&answer.numbers[0], numbers[0], numbers[1], numbers[2], numbers[3]);
}

static void cuda_address_free(void) {
  answer.result = driver.address_free(request.numbers[0], request.numbers[1]);
}

static void cuda_granularity(void) {
  struct wo_cuda_memory_kind kind;
  memcpy(&kind, request.bytes, sizeof kind);
  answer.result = driver.granularity(&answer.numbers[0], &kind, number(0));
}

static void cuda_handle_create(void) {
  struct wo_cuda_memory_kind kind;
  memcpy(&kind, request.bytes, sizeof kind);
  answer.result = driver.handle_create(&answer.numbers[0], request.numbers[0], &kind, request.numbers[1]);
}

static void cuda_handle_release(void) {
  answer.result = driver.handle_release(request.numbers[0]);
}

static void cuda_map(void) {
  const uint64_t *const numbers = request.numbers;
  answer.result = driver.map(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
}

static void cuda_unmap(void) {
  answer.result = driver.unmap(request.numbers[0], request.numbers[1]);
}

static void cuda_set_access(void) {
  struct wo_cuda_access access;
  memcpy(&access, request.bytes, sizeof access);
  answer.result = driver.set_access(request.numbers[0], request.numbers[1], &access, 1);
}

/* ---- Functions of NVML ---- */

static void nvml_init(void) {
  answer.result = nvml.init();
}

static void nvml_shutdown(void) {
  answer.result = nvml.shutdown();
}

static void nvml_handle_by_uuid(void) {
  void *handle = NULL;
  answer.result = nvml.handle_by_uuid((const char *)request.bytes, &handle);
  put_pointer(handle);
}

/* The library may write rows that are longer than these, so that there is room for more than are sent. */
static void nvml_processes(void) {
  static struct wo_nvml_process rows[2 * WO_HELPER_BYTES / sizeof(struct wo_nvml_process)];
  const uint64_t most = WO_HELPER_BYTES / sizeof rows[0];
  unsigned count = request.numbers[1] < most ? (unsigned)request.numbers[1] : (unsigned)most;
  const unsigned asked = count;
  answer.result = nvml.processes(pointer(0), &count, rows);
  answer.numbers[0] = count;
  answer.len = (count < asked ? count : asked) * (uint32_t)sizeof rows[0];
  memcpy(answer.bytes, rows, answer.len);
}

static void nvml_process_name(void) {
  answer.len = (uint32_t)room_for(request.numbers[1]);
  answer.result = nvml.process_name((unsigned)request.numbers[0], (char *)answer.bytes, answer.len);
}

static void nvml_mig_mode(void) {
  unsigned current = 0;
  unsigned pending = 0;
  answer.result = nvml.mig_mode(pointer(0), &current, &pending);
  answer.numbers[0] = current;
  answer.numbers[1] = pending;
}

static void nvml_memory(void) {
  struct wo_nvml_memory memory = {0};
  answer.result = nvml.memory(pointer(0), &memory);
  answer.len = sizeof memory;
  memcpy(answer.bytes, &memory, sizeof memory);
}

/* ---- The loop ---- */

static void (*const calls[WO_HELPER_CALL_COUNT_])(void) = {
    [WO_HELPER_OPEN_CUDA] = open_cuda,
    [WO_HELPER_OPEN_NVML] = open_nvml,
#define WO_CUDA(member, symbol, older, is_needed, type, parameters) [WO_HELPER_CUDA_##member] = cuda_##member,
#include "cuda_replay/device/cuda_symbols.def"
#undef WO_CUDA
#define WO_NVML(member, symbol, older, type, parameters) [WO_HELPER_NVML_##member] = nvml_##member,
#include "cuda_replay/device/nvml_symbols.def"
#undef WO_NVML
};

/* False when the other process has ended, or something else than it writes here. */
static bool receive(int fd) {
  ssize_t got;
  do got = recv(fd, &request, sizeof request, 0);
  while (got < 0 && errno == EINTR);
  const size_t head = offsetof(struct wo_helper_request, bytes);
  return got >= (ssize_t)head && request.len == (size_t)got - head && request.call < WO_HELPER_CALL_COUNT_;
}

static bool send_all(int fd, const void *message, size_t len) {
  ssize_t sent;
  do sent = send(fd, message, len, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)len;
}

/* A key on the terminal and the end of a job come to all processes: the one that started this one answers. */
static void leave_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) signal(numbers[i], SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int serve(int fd) {
  const struct wo_helper_greeting greeting = wo_helper_greet();
  fcntl(fd, F_SETFD, FD_CLOEXEC); /* a program that the driver starts would keep it open */
  leave_signals();
  if (!send_all(fd, &greeting, sizeof greeting)) return EXIT_FAILURE;
  while (receive(fd)) {
    memset(&answer, 0, offsetof(struct wo_helper_answer, bytes));
    calls[request.call]();
    if (!send_all(fd, &answer, offsetof(struct wo_helper_answer, bytes) + answer.len)) break;
  }
  return EXIT_SUCCESS;
}

/* The number of a socket: digits and nothing else; -1: none. */
static int read_descriptor(const char *text) {
  int fd = 0;
  if (text[0] == '\0') return -1;
  for (; *text >= '0' && *text <= '9' && fd < 1000; text++) fd = 10 * fd + (*text - '0');
  return *text == '\0' ? fd : -1;
}

int main(int argc, char **argv) {
  const int fd = argc == 2 ? read_descriptor(argv[1]) : -1;
  if (fd > STDERR_FILENO) return serve(fd);
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    puts(WO_HELPER_NAME " " WHYOOM_VERSION);
    return EXIT_SUCCESS;
  }
  fputs(WO_HELPER_NAME ": whyoom starts this for `replay --on gpu` and `verify --on gpu`; it has no use of its own\n", stderr);
  return 2;
}
