/* Drives the caching allocator of a published torch wheel through programs of requests and prints what it did.
 *
 * Usage: driver PROGRAM > ANSWERS. Compiled for each version against that wheel's headers (WO_TORCH: 206 = 2.6). Every sequence
 * runs in a process of its own, forked before the allocator was first used, so that each begins empty and with its own settings.
 * Programs and answers are described in README.md. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#if WO_TORCH >= 202
#include <c10/cuda/CUDAAllocatorConfig.h>
#endif
#if WO_HAS_PEER_CACHE
#include <c10/cuda/PeerToPeerAccess.h>
#endif
#if WO_TORCH >= 210
#include <c10/core/AllocatorConfig.h>
#endif

#include "tests/stand_in/standin.h"

#if WO_ASKS_PRIMARY_CONTEXT
/* Exported for libtorch_cuda, which is not loaded here; no header declares it. */
namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*function)(c10::DeviceIndex));
}
#endif

struct wo_standin wo_oracle_standin;

namespace {

namespace cca = c10::cuda::CUDACachingAllocator;

enum { SLOTS = 4096, OUTPUT_BYTES = 1 << 16 };

char output[OUTPUT_BYTES];
size_t output_size;
void *slots[SLOTS];
std::map<uint64_t, uint64_t> captures; /* pool -> stream */
std::vector<uint64_t> capture_order;   /* pools, the last begun at the end */

void flush() {
  for (size_t at = 0; at < output_size;) {
    const ssize_t written = write(1, output + at, output_size - at);
    if (written <= 0) _exit(3);
    at += size_t(written);
  }
  output_size = 0;
}

void put(char c) {
  if (output_size == OUTPUT_BYTES) flush();
  output[output_size++] = c;
}

void put_text(const char *text) {
  for (; *text; text++) put(*text == '\n' ? ' ' : *text);
}

void put_number(uint64_t value) {
  char digits[20];
  size_t count = 0;
  do {
    digits[count++] = char('0' + value % 10);
    value /= 10;
  } while (value);
  put(' ');
  while (count) put(digits[--count]);
}

void on_call(void *, enum wo_standin_call call, uint64_t address, uint64_t size_bytes) {
  put(char(call));
  put_number(address);
  put_number(size_bytes);
  put('\n');
}

/* The letters of trace entries, by meaning; actions of other kinds do not concern the allocator's state. */
void put_entry(const cca::TraceEntry &entry) {
  char letter = 0;
  switch (entry.action_) {
  case cca::TraceEntry::ALLOC:
    letter = 'a';
    break;
  case cca::TraceEntry::FREE_REQUESTED:
    letter = 'q';
    break;
  case cca::TraceEntry::FREE_COMPLETED:
    letter = 'c';
    break;
  case cca::TraceEntry::SEGMENT_ALLOC:
    letter = 's';
    break;
  case cca::TraceEntry::SEGMENT_FREE:
    letter = 'f';
    break;
#if WO_TORCH >= 201
  case cca::TraceEntry::SEGMENT_MAP:
    letter = 'm';
    break;
  case cca::TraceEntry::SEGMENT_UNMAP:
    letter = 'u';
    break;
#endif
  case cca::TraceEntry::SNAPSHOT:
    letter = 0;
    break;
  case cca::TraceEntry::OOM:
    letter = 'o';
    break;
  default:
    break;
  }
  if (!letter) return;
  put('t');
  put(letter);
  put_number(uint64_t(entry.addr_));
  put_number(uint64_t(entry.size_));
  put_number(uint64_t(entry.stream_));
#if WO_NAMES_POOLS
  put_number(entry.mempool_.second);
#endif
  put('\n');
}

#if WO_TORCH >= 202
void on_entry(const cca::TraceEntry &entry) {
  put_entry(entry);
}
#endif

template <typename S> void put_stat(const S &stat) {
  put_number(uint64_t(stat.current));
  put_number(uint64_t(stat.peak));
  put_number(uint64_t(stat.allocated));
  put_number(uint64_t(stat.freed));
}

template <typename A> void put_stats(const A &array) {
  for (const auto &stat : array) put_stat(stat);
}

/* "P" and all of struct wo_allocator_stats, in its order; what a version does not count is 0. */
void put_statistics() {
#if WO_TORCH >= 200
  const auto stats = cca::get()->getDeviceStats(0);
#else
  const auto stats = cca::getDeviceStats(0);
#endif
  put('P');
  put_stats(stats.allocation);
  put_stats(stats.segment);
  put_stats(stats.active);
  put_stats(stats.inactive_split);
  put_stats(stats.allocated_bytes);
  put_stats(stats.reserved_bytes);
  put_stats(stats.active_bytes);
  put_stats(stats.inactive_split_bytes);
#if WO_TORCH >= 200
  put_stats(stats.requested_bytes);
#else
  for (int i = 0; i < 12; i++) put_number(0);
#endif
  put_stat(stats.oversize_allocations);
  put_stat(stats.oversize_segments);
  put_number(uint64_t(stats.num_alloc_retries));
  put_number(uint64_t(stats.num_ooms));
#if WO_TORCH >= 203
  put_number(uint64_t(stats.num_sync_all_streams));
  put_number(uint64_t(stats.num_device_alloc));
  put_number(uint64_t(stats.num_device_free));
#else
  put_number(0);
  put_number(0);
  put_number(0);
#endif
  put('\n');
}

/* "G address bytes stream is_small is_expandable pool", each followed by its "B bytes requested state" (0 free, 1 allocated, 2
 * pending). */
void put_layout(const std::vector<cca::SegmentInfo> &segments) {
  for (const auto &segment : segments) {
    put('G');
    put_number(uint64_t(segment.address));
    put_number(uint64_t(segment.total_size));
    put_number(uint64_t(segment.stream));
    put_number(segment.is_large ? 0 : 1);
#if WO_TORCH >= 201
    put_number(segment.is_expandable ? 1 : 0);
#else
    put_number(0);
#endif
#if WO_TORCH >= 201
    put_number(segment.owner_private_pool_id.second);
#else
    put_number(0);
#endif
    put('\n');
    for (const auto &block : segment.blocks) {
      put('B');
      put_number(uint64_t(block.size));
#if WO_TORCH >= 200
      put_number(block.active ? uint64_t(block.requested_size) : 0);
#else
      put_number(0);
#endif
      put_number(block.allocated ? 1 : block.active ? 2 : 0);
      put('\n');
    }
  }
}

void put_snapshot() {
#if WO_TORCH >= 200
  const auto snapshot = cca::get()->snapshot();
  put_layout(snapshot.segments);
#if WO_TORCH < 202
  for (const auto &trace : snapshot.device_traces)
    for (const auto &entry : trace) put_entry(entry);
#endif
#else
  put_layout(cca::snapshot());
#endif
}

/* ---- Requests ---- */

struct words {
  const char *at;
  const char *end;
  uint64_t number() {
    while (at < end && *at == ' ') at++;
    uint64_t value = 0;
    while (at < end && *at >= '0' && *at <= '9') value = value * 10 + uint64_t(*at++ - '0');
    return value;
  }
  std::string rest() {
    while (at < end && *at == ' ') at++;
    return std::string(at, size_t(end - at));
  }
};

cudaStream_t raw_stream(uint64_t raw) {
  return reinterpret_cast<cudaStream_t>(raw);
}

void *allocate(size_t size, uint64_t stream) {
#if WO_TORCH >= 200
  return cca::get()->raw_alloc_with_stream(size, raw_stream(stream));
#else
  return cca::raw_alloc_with_stream(size, raw_stream(stream));
#endif
}

void release(void *block) {
#if WO_TORCH >= 200
  cca::get()->raw_delete(block);
#else
  cca::raw_delete(block);
#endif
}

void record_stream(void *block, uint64_t stream) {
  const auto used = c10::cuda::getStreamFromExternal(raw_stream(stream), 0);
#if WO_TORCH >= 200
  auto *allocator = cca::get();
  c10::DataPtr pointer(block, block, allocator->raw_deleter(), c10::Device(c10::DeviceType::CUDA, 0));
  allocator->recordStream(pointer, used);
#else
  c10::DataPtr pointer(block, block, cca::get()->raw_deleter(), c10::Device(c10::DeviceType::CUDA, 0));
  cca::recordStream(pointer, used);
#endif
  pointer.release_context();
}

void set_settings(const std::string &text) {
#if WO_TORCH >= 210
  c10::CachingAllocator::setAllocatorSettings(text);
#elif WO_TORCH >= 200
  cca::setAllocatorSettings(text);
#else
  (void)text; /* 1.13 reads its environment once; sequences begin with theirs */
#endif
}

void set_fraction(uint64_t parts_per_million) {
  const double fraction = double(parts_per_million) / 1e6;
#if WO_TORCH >= 200
  cca::get()->setMemoryFraction(fraction, 0);
#else
  cca::setMemoryFraction(fraction, 0);
#endif
}

void empty_cache() {
#if WO_TORCH >= 200
  cca::get()->emptyCache();
#else
  cca::emptyCache();
#endif
}

/* What the runtime says of the stream: the allocator asks up to 2.0 (whose graph?) and from 2.13 on (a capture at all?). */
void mark_stream(uint64_t pool, bool is_capturing) {
  const size_t at = wo_standin_stream(&wo_oracle_standin, captures[pool]);
  wo_oracle_standin.streams[at].is_capturing = is_capturing;
  wo_oracle_standin.streams[at].capture_id = pool;
}

/* From 2.13 on a call is part of a capture when the thread's current stream captures. As programs do: a request is made on the
 * current stream, everything else by the thread that captures (the capture that began last). */
void set_current_stream(uint64_t raw) {
#if WO_MARKS_CAPTURES
  c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromExternal(raw_stream(raw), 0));
#else
  (void)raw;
#endif
}

void set_capturing_stream() {
  set_current_stream(capture_order.empty() ? 0 : captures[capture_order.back()]);
}

/* Up to 2.0 there is no pool without a capture. */
void capture_begin(uint64_t pool, uint64_t stream, bool is_capture) {
  is_capture = is_capture || WO_TORCH <= 200;
  captures[pool] = stream;
  if (is_capture) capture_order.push_back(pool);
#if WO_TORCH >= 203
  const cudaStream_t captured = raw_stream(stream);
  cca::get()->beginAllocateToPool(0, {0, pool}, [captured](cudaStream_t asked) { return asked == captured; });
#elif WO_TORCH >= 201
  cca::get()->beginAllocateStreamToPool(0, raw_stream(stream), {0, pool});
#elif WO_TORCH >= 200
  cca::get()->notifyCaptureBegin(0, pool, {0, pool});
#else
  cca::notifyCaptureBegin(0, pool, {0, pool});
#endif
#if WO_MARKS_CAPTURES
  if (is_capture) cca::get()->markCaptureBegin(0);
#endif
  if (is_capture) mark_stream(pool, true);
}

void capture_end(uint64_t pool) {
  const auto place = std::find(capture_order.begin(), capture_order.end(), pool);
  const bool is_capture = place != capture_order.end();
  if (is_capture) {
    mark_stream(pool, false);
    capture_order.erase(place);
  }
#if WO_MARKS_CAPTURES
  if (is_capture) cca::get()->markCaptureEnd(0);
#endif
#if WO_TORCH >= 203
  cca::get()->endAllocateToPool(0, {0, pool});
#elif WO_TORCH >= 201
  cca::get()->endAllocateStreamToPool(0, raw_stream(captures[pool]));
#elif WO_TORCH >= 200
  cca::get()->notifyCaptureAboutToEnd(0, pool);
  cca::get()->notifyCaptureEnded(0, pool);
#else
  cca::notifyCaptureAboutToEnd(0, pool);
  cca::notifyCaptureEnded(0, pool);
#endif
  captures.erase(pool);
}

void pool_release(uint64_t pool) {
#if WO_TORCH >= 201
  cca::get()->releasePool(0, {0, pool});
#elif WO_TORCH >= 200
  cca::get()->notifyCaptureDestroy(0, {0, pool});
#else
  cca::notifyCaptureDestroy(0, {0, pool});
#endif
}

/* "= address"; 0 when out of memory. */
void run_malloc(words &line) {
  void *&slot = slots[line.number() % SLOTS];
  const size_t size = line.number();
  const uint64_t stream = line.number();
  slot = nullptr;
  set_current_stream(stream);
  try {
    slot = allocate(size, stream);
  } catch (const c10::OutOfMemoryError &) {
    cudaGetLastError();
  }
  put('=');
  put_number(reinterpret_cast<uint64_t>(slot));
  put('\n');
}

void run_request(words line) {
  set_capturing_stream();
  const bool is_capture = *line.at == 'b';
  switch (*line.at++) {
  case 'm':
    run_malloc(line);
    return;
  case 'f': {
    void *&slot = slots[line.number() % SLOTS];
    if (slot) release(slot);
    slot = nullptr;
    break;
  }
  case 'r': {
    void *slot = slots[line.number() % SLOTS];
    if (slot) record_stream(slot, line.number());
    break;
  }
  case 'c':
    wo_standin_complete(&wo_oracle_standin, line.number());
    break;
  case 'x':
    empty_cache();
    break;
  case 's':
    set_settings(line.rest());
    break;
  case 'p':
    set_fraction(line.number());
    break;
  case 'k':
    wo_oracle_standin.capacity_bytes = line.number();
    break;
  case 'b':
  case 'u': {
    const uint64_t pool = line.number();
    capture_begin(pool, line.number(), is_capture);
    break;
  }
  case 'e':
    capture_end(line.number());
    break;
  case 'd':
    pool_release(line.number());
    break;
  case 'n':
    put_statistics();
    break;
  default:
    put_text("! unknown request\n");
    break;
  }
  put_text("=");
  put('\n');
}

#if WO_ASKS_PRIMARY_CONTEXT
bool has_primary_context(c10::DeviceIndex) {
  return true;
}
#endif

/* "S index total policy seed settings": the header of a sequence. */
void begin_sequence(words line) {
  (void)line.number();
  const uint64_t total = line.number();
  const auto policy = static_cast<enum wo_standin_policy>(line.number());
  const uint64_t seed = line.number();
  wo_standin_reset(&wo_oracle_standin, total, policy, seed);
  const std::string settings = line.rest();
  if (!settings.empty()) {
    setenv("PYTORCH_CUDA_ALLOC_CONF", settings.c_str(), 1);
    setenv("PYTORCH_ALLOC_CONF", settings.c_str(), 1);
  }
#if WO_ASKS_PRIMARY_CONTEXT
  c10::cuda::_internal::setHasPrimaryContext(has_primary_context);
#endif
#if WO_HAS_PEER_CACHE
  c10::cuda::detail::init_p2p_access_cache(1);
#endif
#if WO_TORCH >= 200
  cca::get()->init(1);
#else
  cca::init(1);
#endif
#if WO_TORCH >= 202
  cca::get()->attachAllocatorTraceTracker(on_entry);
#elif WO_TORCH == 201
  cca::get()->recordHistory(true, nullptr, 1 << 20, cca::RecordContext::NEVER);
#elif WO_TORCH == 200
  cca::get()->recordHistory(true, nullptr, 1 << 20, false);
#endif
}

/* The allocator crashed: what it did until then still counts. */
void on_crash(int signal) {
  put_text("! the allocator crashed with signal");
  put_number(uint64_t(signal));
  put('\n');
  flush();
  _exit(0);
}

void run_sequence(const char *at, const char *end) {
  wo_oracle_standin.on_call = on_call;
  signal(SIGSEGV, on_crash);
  signal(SIGABRT, on_crash);
  try {
    while (at < end) {
      const char *line_end = static_cast<const char *>(memchr(at, '\n', size_t(end - at)));
      if (*at == 'S')
        begin_sequence(words{at + 1, line_end});
      else
        run_request(words{at, line_end});
      at = line_end + 1;
    }
    put_text("L");
    put('\n');
    put_statistics();
    put_snapshot();
  } catch (const std::exception &error) {
    put_text("! ");
    put_text(std::string(error.what()).substr(0, 300).c_str());
    put('\n');
  }
  flush();
}

const char *sequence_end(const char *at, const char *end) {
  for (at++; at < end; at++)
    if (at[-1] == '\n' && *at == 'S') return at;
  return end;
}

} // namespace

int main(int argc, char **argv) {
  const int file = argc == 2 ? open(argv[1], O_RDONLY) : -1;
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0 || about.st_size == 0) {
    fprintf(stderr, "usage: driver PROGRAM\n");
    return 2;
  }
  const size_t size = size_t(about.st_size);
  const char *text = static_cast<const char *>(mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0));
  int crashes = 0;
  for (const char *at = text; at < text + size;) {
    const char *end = sequence_end(at, text + size);
    printf("%.*s\n", int(strcspn(at, "\n")), at);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      run_sequence(at, end);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
      printf("! the process ended with status %d\n", status);
      crashes++;
    }
    at = end;
  }
  return crashes != 0;
}
