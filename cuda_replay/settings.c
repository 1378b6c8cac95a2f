/* Settings of the caching allocator: defaults and spelling. */
#include "cuda_replay/settings.h"

/* The segment size of mid-sized requests, and since 2.6 the most that a large block may exceed a large request by. */
#define LARGE_BUFFER_BYTES (UINT64_C(20) * 1024 * 1024)

struct wo_alloc_settings wo_alloc_settings_default(uint16_t torch) {
  (void)torch;
  return (struct wo_alloc_settings){
      .max_split_bytes = WO_SPLIT_UNLIMITED,
      .max_non_split_rounding_bytes = LARGE_BUFFER_BYTES,
      .large_segment_bytes = LARGE_BUFFER_BYTES,
      .is_native = true,
  };
}
