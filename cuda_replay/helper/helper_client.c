/* SPDX-License-Identifier: Apache-2.0 */
/* Starts whyoom-gpu and asks it. See helper_client.h. */
#include "cuda_replay/helper/helper_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_replay/helper/helper_wire.h"

/* The helper is loaded, perhaps over a slow network, and greets before it loads anything itself. */
enum { GREETING_MS = 60 * 1000, PATH_BYTES = 4096 };

/* The result of a call without an answer; no driver has a negative one. */
enum { GONE = -1 };

static struct {
  pid_t process; /* 0: none */
  int fd;
  bool is_gone;
  char end[64]; /* how it ended */
  char words[2][160];
  char path[PATH_BYTES];
  struct wo_helper_request request;
  struct wo_helper_answer answer;
} the;

/* ---- The process ---- */

/* Notes how the process ended, for which it is waited; the driver frees what it held. A signal does not change the end of one
 * that has closed its side, and ends one that writes something else. */
static void note_end(void) {
  int status = 0;
  pid_t ended;
  close(the.fd);
  the.is_gone = true;
  kill(the.process, SIGKILL);
  do ended = waitpid(the.process, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended == the.process && WIFEXITED(status))
    snprintf(the.end, sizeof the.end, "ended with exit code %d", WEXITSTATUS(status));
  else if (ended == the.process && WIFSIGNALED(status))
    snprintf(the.end, sizeof the.end, "was ended by signal %d", WTERMSIG(status));
  else
    snprintf(the.end, sizeof the.end, "has ended");
}

static bool send_request(size_t len) {
  ssize_t sent;
  do sent = send(the.fd, &the.request, len, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)len;
}

static bool receive_answer(void) {
  const size_t head = offsetof(struct wo_helper_answer, bytes);
  ssize_t got;
  do got = recv(the.fd, &the.answer, sizeof the.answer, MSG_TRUNC); /* the whole length of a message that is too long */
  while (got < 0 && errno == EINTR);
  return got >= (ssize_t)head && (size_t)got <= sizeof the.answer && the.answer.len == (size_t)got - head;
}

/* Sends a request with `len` bytes and waits for its answer, in which the bytes behind those that came are 0. */
static int ask_with(enum wo_helper_call call, const void *bytes, size_t len) {
  const size_t head = offsetof(struct wo_helper_request, bytes);
  if (the.is_gone) return GONE;
  the.request.call = (uint32_t)call;
  the.request.len = (uint32_t)len;
  if (len > 0) memcpy(the.request.bytes, bytes, len);
  if (!send_request(head + len) || !receive_answer()) {
    note_end();
    return GONE;
  }
  memset(the.answer.bytes + the.answer.len, 0, sizeof the.answer.bytes - the.answer.len);
  return the.answer.result;
}

static int ask(enum wo_helper_call call, const uint64_t *numbers, size_t count) {
  memcpy(the.request.numbers, numbers, count * sizeof numbers[0]);
  return ask_with(call, NULL, 0);
}

#define ASK(call, ...)                                                                                                           \
  ask(WO_HELPER_##call, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* The same for a call that gives something back. */
#define GIVE_BACK(call, ...) (the.is_gone ? WO_CUDA_SUCCESS : ASK(call, __VA_ARGS__))

static uint64_t of_int(int value) {
  return (uint64_t)(int64_t)value;
}

static uint64_t of_pointer(const void *value) {
  return (uint64_t)(uintptr_t)value;
}

/* The int of the answer, if the call succeeded. */
static int take_int(int result, int *ret_value) {
  if (result == WO_CUDA_SUCCESS) *ret_value = (int)(int64_t)the.answer.numbers[0];
  return result;
}

static int take_u64(int result, uint64_t *ret_value) {
  if (result == WO_CUDA_SUCCESS) *ret_value = the.answer.numbers[0];
  return result;
}

static int take_pointer(int result, void **ret_value) {
  if (result == WO_CUDA_SUCCESS) *ret_value = (void *)(uintptr_t)the.answer.numbers[0];
  return result;
}

static int take_bytes(int result, void *ret_bytes, size_t len) {
  if (result == WO_CUDA_SUCCESS) memcpy(ret_bytes, the.answer.bytes, len);
  return result;
}

/* A text of at most cap - 1 bytes. */
static int take_text(int result, char *ret_text, size_t cap) {
  if (result != WO_CUDA_SUCCESS || cap == 0) return result;
  const size_t len = the.answer.len < cap ? the.answer.len : cap - 1;
  memcpy(ret_text, the.answer.bytes, len);
  ret_text[len] = '\0';
  return result;
}

/* ---- Starting it ---- */

#if defined(__x86_64__)
#define PROCESSOR "x86_64"
#elif defined(__aarch64__)
#define PROCESSOR "aarch64"
#else
#define PROCESSOR "unknown"
#endif

bool wo_helper_is_needed(void) {
#ifdef WO_STATIC
  return true;
#else
  return false;
#endif
}

/* Puts the path of the helper beside this program's file into the.path: by its plain name, or by the one that a release gives it.
 */
static enum wo_status find_beside(struct wo_err *err) {
  static const char *const names[] = {WO_HELPER_NAME, WO_HELPER_NAME "-" WHYOOM_VERSION "-linux-" PROCESSOR};
  const size_t room = sizeof the.path - 64;
  const ssize_t got = readlink("/proc/self/exe", the.path, room);
  size_t folder = got > 0 && (size_t)got < room ? (size_t)got : 0;
  while (folder > 0 && the.path[folder - 1] != '/') folder--;
  for (size_t i = 0; folder > 0 && i < sizeof names / sizeof names[0]; i++) {
    snprintf(the.path + folder, sizeof the.path - folder, "%s", names[i]);
    if (access(the.path, F_OK) == 0) return WO_OK;
  }
  return wo_err_set(err, WO_E_UNKNOWN,
                    "for a GPU, this static program needs " WO_HELPER_NAME
                    " of the same release: put it beside it%s%.*s (or name "
                    "it by WHYOOM_GPU_HELPER), or use --on model",
                    folder > 0 ? ", into " : "", (int)(folder < 120 ? folder : 120), the.path);
}

/* A path ends with its end in a message, which has little room. */
static const char *shown(const char *path) {
  const size_t len = strlen(path);
  return len > 100 ? path + len - 100 : path;
}

/* The same side, where it is no descriptor of the standard streams, which may be closed. */
static int move_up(int side) {
  const int moved = fcntl(side, F_DUPFD_CLOEXEC, 4);
  close(side);
  return moved;
}

/* The helper's side of the socket is its descriptor 3. Its output is that of messages: the report is not its own. */
static int spawn(const char *path, int side, char *const *environment) {
  static char *const nothing[] = {NULL};
  char *const words[] = {(char *)(uintptr_t)WO_HELPER_NAME, (char *)(uintptr_t) "3", NULL};
  posix_spawn_file_actions_t actions;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure != 0) return failure;
  failure = posix_spawn_file_actions_adddup2(&actions, side, 3);
  if (failure == 0) failure = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (failure == 0 && fcntl(2, F_GETFD) < 0) failure = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  if (failure == 0) failure = posix_spawn_file_actions_adddup2(&actions, 2, 1);
  if (failure == 0) failure = posix_spawn(&the.process, path, &actions, NULL, words, environment ? environment : nothing);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

/* The greeting, or nothing within a time. */
static bool receive_greeting(struct wo_helper_greeting *ret_greeting) {
  struct pollfd wait = {.fd = the.fd, .events = POLLIN};
  int ready;
  do ready = poll(&wait, 1, GREETING_MS);
  while (ready < 0 && errno == EINTR);
  return ready == 1 && recv(the.fd, ret_greeting, sizeof *ret_greeting, 0) == (ssize_t)sizeof *ret_greeting &&
         memcmp(ret_greeting->name, WO_HELPER_NAME, sizeof WO_HELPER_NAME) == 0 &&
         memchr(ret_greeting->version, '\0', sizeof ret_greeting->version) != NULL;
}

static enum wo_status greet(const char *path, struct wo_err *err) {
  const struct wo_helper_greeting mine = wo_helper_greet();
  struct wo_helper_greeting greeting;
  if (!receive_greeting(&greeting)) {
    note_end();
    return wo_err_set(err, WO_E_UNKNOWN, "%s is no " WO_HELPER_NAME " that runs here: it %s; or use --on model", shown(path),
                      the.end);
  }
  if (memcmp(&greeting, &mine, sizeof mine) == 0) return WO_OK;
  note_end(); /* another program may not end by itself */
  return wo_err_set(
      err, WO_E_UNKNOWN, "%s is of whyoom %s, and this is whyoom %s%s: take both files from one release, or use --on model",
      shown(path), greeting.version, mine.version, strcmp(greeting.version, mine.version) == 0 ? " of another build" : "");
}

/* It ends when this side is closed. */
static void close_helper(void) {
  pid_t ended;
  if (the.process == 0) return;
  if (!the.is_gone) {
    close(the.fd);
    do ended = waitpid(the.process, NULL, 0);
    while (ended < 0 && errno == EINTR);
  }
  the.process = 0;
}

static enum wo_status open_helper(const void *state, struct wo_err *err) {
  const struct wo_helper_place *const place = state;
  int sides[2];
  if (the.process > 0) return wo_err_set(err, WO_E_USAGE, WO_HELPER_NAME " serves one replay at a time");
  enum wo_status status = place->path ? WO_OK : find_beside(err);
  if (status != WO_OK) return status;
  const char *const path = place->path ? place->path : the.path;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sides) != 0)
    return wo_err_set(err, WO_E_IO, "no socket for " WO_HELPER_NAME ": %s", strerror(errno));
  sides[0] = move_up(sides[0]);
  sides[1] = move_up(sides[1]);
  if (sides[0] < 0 || sides[1] < 0) {
    close(sides[0]);
    close(sides[1]);
    return wo_err_set(err, WO_E_IO, "no socket for " WO_HELPER_NAME ": %s", strerror(errno));
  }
  const int failure = spawn(path, sides[1], place->environment);
  close(sides[1]);
  if (failure != 0) {
    const bool lacks_loader = failure == ENOENT && access(path, F_OK) == 0;
    close(sides[0]);
    the.process = 0;
    return wo_err_set(err, WO_E_UNKNOWN, "%s does not start: %s; or use --on model", shown(path),
                      lacks_loader ? "it needs glibc, as the driver does, and this system has none" : strerror(failure));
  }
  the.fd = sides[0];
  the.is_gone = false;
  status = greet(path, err);
  if (status != WO_OK) close_helper();
  return status;
}

/* ---- Functions of CUDA ---- */

static int cuda_init(unsigned flags) {
  return ASK(CUDA_init, flags);
}

static int cuda_driver_version(int *ret_version) {
  return take_int(ASK(CUDA_driver_version, 0), ret_version);
}

/* The names and texts of a driver live as long as it; here until the next is asked for. A call that got no answer has words of
 * its own. */
static int cuda_error_name(int error, const char **ret_name) {
  if (error == GONE)
    snprintf(the.words[0], sizeof the.words[0], "the helper is gone");
  else if (take_text(ASK(CUDA_error_name, of_int(error)), the.words[0], sizeof the.words[0]) != WO_CUDA_SUCCESS)
    return WO_CUDA_INVALID_VALUE;
  *ret_name = the.words[0];
  return WO_CUDA_SUCCESS;
}

static int cuda_error_text(int error, const char **ret_text) {
  if (error == GONE)
    snprintf(the.words[1], sizeof the.words[1], WO_HELPER_NAME " %s", the.end);
  else if (take_text(ASK(CUDA_error_text, of_int(error)), the.words[1], sizeof the.words[1]) != WO_CUDA_SUCCESS)
    return WO_CUDA_INVALID_VALUE;
  *ret_text = the.words[1];
  return WO_CUDA_SUCCESS;
}

static int cuda_device_count(int *ret_count) {
  return take_int(ASK(CUDA_device_count, 0), ret_count);
}

static int cuda_device_get(int *ret_device, int ordinal) {
  return take_int(ASK(CUDA_device_get, of_int(ordinal)), ret_device);
}

static int cuda_device_name(char *name, int size, int device) {
  return take_text(ASK(CUDA_device_name, of_int(size), of_int(device)), name, (size_t)size);
}

static int cuda_device_total(size_t *ret_bytes, int device) {
  return take_u64(ASK(CUDA_device_total, of_int(device)), ret_bytes);
}

static int cuda_device_attribute(int *ret_value, int attribute, int device) {
  return take_int(ASK(CUDA_device_attribute, of_int(attribute), of_int(device)), ret_value);
}

static int cuda_device_uuid(struct wo_cuda_uuid *ret_uuid, int device) {
  return take_bytes(ASK(CUDA_device_uuid, of_int(device)), ret_uuid, sizeof *ret_uuid);
}

static int cuda_context_retain(void **ret_context, int device) {
  return take_pointer(ASK(CUDA_context_retain, of_int(device)), ret_context);
}

static int cuda_context_release(int device) {
  return GIVE_BACK(CUDA_context_release, of_int(device));
}

static int cuda_context_set(void *context) {
  return ASK(CUDA_context_set, of_pointer(context));
}

static int cuda_context_synchronize(void) {
  return ASK(CUDA_context_synchronize, 0);
}

static int cuda_memory_info(size_t *ret_free, size_t *ret_total) {
  const int result = take_u64(ASK(CUDA_memory_info, 0), ret_free);
  if (result == WO_CUDA_SUCCESS) *ret_total = the.answer.numbers[1];
  return result;
}

static int cuda_memory_alloc(uint64_t *ret_address, size_t bytes) {
  return take_u64(ASK(CUDA_memory_alloc, bytes), ret_address);
}

static int cuda_memory_free(uint64_t address) {
  return GIVE_BACK(CUDA_memory_free, address);
}

static int cuda_memory_set(uint64_t address, unsigned char value, size_t bytes) {
  return ASK(CUDA_memory_set, address, value, bytes);
}

static int cuda_address_reserve(uint64_t *ret_address, size_t bytes, size_t alignment, uint64_t wanted,
                                unsigned long long flags) {
  return take_u64(ASK(CUDA_address_reserve, bytes, alignment, wanted, flags), ret_address);
}

static int cuda_address_free(uint64_t address, size_t bytes) {
  return GIVE_BACK(CUDA_address_free, address, bytes);
}

static int cuda_granularity(size_t *ret_bytes, const struct wo_cuda_memory_kind *kind, int option) {
  the.request.numbers[0] = of_int(option);
  return take_u64(ask_with(WO_HELPER_CUDA_granularity, kind, sizeof *kind), ret_bytes);
}

static int cuda_handle_create(uint64_t *ret_handle, size_t bytes, const struct wo_cuda_memory_kind *kind,
                              unsigned long long flags) {
  the.request.numbers[0] = bytes;
  the.request.numbers[1] = flags;
  return take_u64(ask_with(WO_HELPER_CUDA_handle_create, kind, sizeof *kind), ret_handle);
}

static int cuda_handle_release(uint64_t handle) {
  return GIVE_BACK(CUDA_handle_release, handle);
}

static int cuda_map(uint64_t address, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags) {
  return ASK(CUDA_map, address, bytes, offset, handle, flags);
}

static int cuda_unmap(uint64_t address, size_t bytes) {
  return GIVE_BACK(CUDA_unmap, address, bytes);
}

/* whyoom sets the access of one card at a time. */
static int cuda_set_access(uint64_t address, size_t bytes, const struct wo_cuda_access *access, size_t count) {
  if (count != 1) return WO_CUDA_INVALID_VALUE;
  the.request.numbers[0] = address;
  the.request.numbers[1] = bytes;
  return ask_with(WO_HELPER_CUDA_set_access, access, sizeof *access);
}

/* ---- Functions of NVML: 0 is success there, too ---- */

static int nvml_init(void) {
  return ASK(NVML_init, 0);
}

static int nvml_shutdown(void) {
  return GIVE_BACK(NVML_shutdown, 0);
}

static int nvml_handle_by_uuid(const char *uuid, void **ret_handle) {
  const size_t len = strnlen(uuid, WO_HELPER_BYTES);
  if (len == WO_HELPER_BYTES) return WO_CUDA_INVALID_VALUE;
  return take_pointer(ask_with(WO_HELPER_NVML_handle_by_uuid, uuid, len + 1), ret_handle);
}

static int nvml_processes(void *handle, unsigned *count, struct wo_nvml_process *rows) {
  const unsigned most = *count;
  const int result = ASK(NVML_processes, of_pointer(handle), most);
  if (result != WO_CUDA_SUCCESS) return result;
  const size_t come = the.answer.len / sizeof rows[0];
  *count = (unsigned)(come < most ? come : most);
  return take_bytes(result, rows, *count * sizeof rows[0]);
}

static int nvml_process_name(unsigned pid, char *name, unsigned size) {
  return take_text(ASK(NVML_process_name, pid, size), name, size);
}

static int nvml_mig_mode(void *handle, unsigned *ret_current, unsigned *ret_pending) {
  const int result = ASK(NVML_mig_mode, of_pointer(handle));
  if (result != WO_CUDA_SUCCESS) return result;
  *ret_current = (unsigned)the.answer.numbers[0];
  *ret_pending = (unsigned)the.answer.numbers[1];
  return result;
}

static int nvml_memory(void *handle, struct wo_nvml_memory *ret_memory) {
  return take_bytes(ASK(NVML_memory, of_pointer(handle)), ret_memory, sizeof *ret_memory);
}

/* ---- The libraries ---- */

/* Asks for a library by its path. */
static int open_library(enum wo_helper_call call, const char *library) {
  const size_t len = library ? strnlen(library, WO_HELPER_BYTES) : 0;
  return ask_with(call, library, len < WO_HELPER_BYTES ? len : WO_HELPER_BYTES - 1);
}

static enum wo_status open_cuda(const char *library, struct wo_cuda_driver *ret_driver, struct wo_err *err) {
  struct wo_cuda_driver driver = {.library = &the, .is_elsewhere = true};
  const int status = open_library(WO_HELPER_OPEN_CUDA, library);
  if (status == GONE)
    return wo_err_set(err, WO_E_UNKNOWN, WO_HELPER_NAME " %s while it loaded the driver; --on model needs none", the.end);
  if (status != WO_OK) return wo_err_set(err, (enum wo_status)status, "%.*s", (int)the.answer.len, (char *)the.answer.bytes);
#define WO_CUDA(member, symbol, older, is_needed, type, parameters)                                                              \
  if (the.answer.numbers[0] & wo_helper_bit(WO_HELPER_CUDA_##member)) driver.member = cuda_##member;
#include "cuda_replay/device/cuda_symbols.def"
#undef WO_CUDA
  driver.version = (int)the.answer.numbers[1];
  /* Words for a missing answer are needed of every driver. */
  driver.error_name = cuda_error_name;
  driver.error_text = cuda_error_text;
#define WO_CUDA(member, symbol, older, is_needed, type, parameters)                                                              \
  if (is_needed && driver.member == NULL)                                                                                        \
    return wo_err_set(err, WO_E_UNKNOWN, "the driver has no %s, says " WO_HELPER_NAME, symbol);
#include "cuda_replay/device/cuda_symbols.def"
#undef WO_CUDA
  *ret_driver = driver;
  return WO_OK;
}

static bool open_nvml(const char *library, struct wo_nvml *ret_nvml) {
  *ret_nvml = (struct wo_nvml){0};
  if (open_library(WO_HELPER_OPEN_NVML, library) != 1) return false;
  ret_nvml->library = &the;
  ret_nvml->is_elsewhere = true;
  ret_nvml->process = (unsigned)the.process;
#define WO_NVML(member, symbol, older, type, parameters)                                                                         \
  if (the.answer.numbers[0] & wo_helper_bit(WO_HELPER_NVML_##member)) ret_nvml->member = nvml_##member;
#include "cuda_replay/device/nvml_symbols.def"
#undef WO_NVML
  return true;
}

struct wo_elsewhere wo_helper_at(const struct wo_helper_place *place) {
  return (struct wo_elsewhere){.state = place, .open = open_helper, .cuda = open_cuda, .nvml = open_nvml, .close = close_helper};
}
