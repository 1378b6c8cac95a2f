/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a reconstruction: which states existed, what remains for activations, where the holes are. See reconstruct.h. */
#include "cuda_replay/verify/reconstruct.h"

#include <assert.h>

#include "cuda_replay/recording/recording_valid.h"
#include "parsers/base/units.h"
#include "parsers/base/vec.h"

/* Larger than any card; sums of a few such sizes are far from overflow. */
#define SIZE_MOST ((double)(UINT64_C(1) << 50))
#define MIB (UINT64_C(1) << 20)

/* A segment with a hole and a block that pins it. If the request is large, the hole has whole handles of expandable segments,
 * which can then give it back, as they do in a job; it stays far too small for the request, and for half of it. */
#define SEGMENT_LEAST (20 * MIB)
#define SEGMENT_MOST (64 * MIB)
#define SEGMENTS_IN_REQUEST 8
#define PIN_BYTES (2 * MIB)

/* The number of layers if the log does not show it, and the most that are made: more would only make smaller pieces. */
enum { LAYERS_USUAL = 24, LAYERS_MOST = 512, SEGMENTS_MOST = 20000, STATES_BYTES = 200 };

/* Tensors of a layer beside its output. */
enum { TENSORS_LEAST = 2, TENSORS_MOST = 7 };

#define HELP "`whyoom record -- COMMAND` makes a recording, which --trace takes"

/* The purpose of a block, expressed by stacks like PyTorch's own (stack_facts.h). */
enum role { ROLE_WEIGHT, ROLE_GRADIENT, ROLE_STATE, ROLE_ACTIVATION, ROLE_LOSS, ROLE_FIXED, ROLE_COUNT_ };

static const struct {
  const char *function, *file;
} role_frames[ROLE_COUNT_][2] = {
    [ROLE_WEIGHT] = {{"_apply", "torch/nn/modules/module.py"}, {"main", "train.py"}},
    [ROLE_GRADIENT] = {{"torch::autograd::generated::MmBackward0::apply(", "??"},
                       {"torch::autograd::Engine::evaluate_function(", "??"}},
    [ROLE_STATE] = {{"step", "torch/optim/adamw.py"}, {"main", "train.py"}},
    [ROLE_ACTIVATION] = {{"at::_ops::mm::call(", "??"}, {"forward", "model.py"}},
    [ROLE_LOSS] = {{"at::_ops::_log_softmax::call(", "??"}, {"cross_entropy", "loss.py"}},
    [ROLE_FIXED] = {{"at::cuda::getCurrentCUDABlasHandle()", "??"}, {"main", "train.py"}}, /* which no change makes smaller */
};

struct maker {
  const struct wo_job_sizes *sizes;
  struct wo_recording *recording;
  struct wo_trace *trace;
  uint64_t next_id;
  uint64_t layers;
  bool is_failed; /* memory is out */
  struct wo_err *err;
};

static bool is_size(double value) {
  return value >= 0 && value <= SIZE_MOST; /* false for NaN */
}

static double known_or_zero(double value) {
  return is_size(value) ? value : 0;
}

/* ---- Entries ---- */

static void add_stacks(struct maker *maker) {
  struct wo_recording *const recording = maker->recording;
  for (uint32_t role = 0; role < ROLE_COUNT_ && !maker->is_failed; role++) {
    if (!WO_VEC_RESERVE(&recording->stacks, 1, SIZE_MAX) || !WO_VEC_RESERVE(&recording->frames, 2, SIZE_MAX) ||
        !WO_VEC_RESERVE(&recording->stack_frames, 2, SIZE_MAX)) {
      maker->is_failed = true;
      return;
    }
    recording->stacks.items[recording->stacks.count++] = (struct wo_stack){(uint32_t)recording->stack_frames.count, 2};
    for (uint32_t i = 0; i < 2; i++) {
      recording->stack_frames.items[recording->stack_frames.count++] = (uint32_t)recording->frames.count;
      const struct wo_view file = wo_view_of(role_frames[role][i].file);
      const uint32_t line = wo_view_is(file, "??") ? 0 : 1; /* C++ frames have none */
      recording->frames.items[recording->frames.count++] =
          (struct wo_frame){wo_view_of(role_frames[role][i].function), file, line};
    }
  }
}

static void add_entry(struct maker *maker, enum wo_action action, uint64_t address, uint64_t bytes, enum role role) {
  const struct wo_trace_entry entry = {
      .address = address, .size_bytes = bytes, .time_us = WO_NO_TIME, .stack = role, .action = action & 31u};
  if (maker->is_failed) return;
  if (wo_trace_add(maker->trace, entry) != WO_OK) maker->is_failed = true;
}

/* Returns the block's number; a block of 0 bytes is left out, so that numbers count blocks. */
static uint64_t add_block(struct maker *maker, uint64_t bytes, enum role role) {
  if (bytes == 0) return 0;
  add_entry(maker, WO_ACTION_ALLOC, ++maker->next_id, bytes, role);
  return maker->next_id;
}

static void drop_block(struct maker *maker, uint64_t id, uint64_t bytes) {
  add_entry(maker, WO_ACTION_FREE_REQUESTED, id, bytes, ROLE_ACTIVATION);
  add_entry(maker, WO_ACTION_FREE_COMPLETED, id, bytes, ROLE_ACTIVATION);
}

/* A component, divided into layers of whole units; the remainder is a block of its own. */
static void add_layers(struct maker *maker, uint64_t bytes, uint64_t unit, enum role role) {
  assert(unit > 0 && maker->layers > 0);
  const uint64_t each = bytes / maker->layers / unit * unit;
  if (each > 0) {
    for (uint64_t i = 0; i < maker->layers; i++) add_block(maker, each, role);
  }
  add_block(maker, bytes - each * maker->layers, role);
}

/* The tensors that one layer keeps for backward if its width is known: a few tensors and its output, each of a different size, so
 * that layers are recognised by repetition. 0 if the layer is too small for that, or if checkpointing keeps the output only. */
static uint64_t tensors_of_layer(const struct wo_job_sizes *sizes, uint64_t each, uint64_t output) {
  const bool is_narrow = !(sizes->hidden > (double)TENSORS_MOST); /* sizes that differ by a unit would not all be positive */
  if (sizes->has_checkpointing || output == 0 || is_narrow || each < output) return 0;
  const uint64_t count = (each - output) / (2 * output);
  if (count < TENSORS_LEAST) return 0;
  return count < TENSORS_MOST ? count : TENSORS_MOST;
}

/* Sizes that grow with the batch and the length are multiples of both. */
static uint64_t unit_of(const struct wo_job_sizes *sizes) {
  const double batch = sizes->micro_batch >= 1 && sizes->micro_batch <= 1e6 ? sizes->micro_batch : 1;
  const double length = sizes->seq_len >= 1 && sizes->seq_len <= 1e8 ? sizes->seq_len : 1;
  const uint64_t unit = (uint64_t)batch * (uint64_t)length * 2;
  return unit > 0 ? unit : 1;
}

/* A 16-bit number for each token and each element of the width; 0 if one of these is not known. */
static uint64_t output_of(const struct wo_job_sizes *sizes) {
  const double bytes = sizes->micro_batch * sizes->seq_len * sizes->hidden * 2;
  const bool is_known = sizes->micro_batch >= 1 && sizes->seq_len >= 1 && sizes->hidden >= 1;
  return is_known && is_size(bytes) ? (uint64_t)bytes : 0;
}

/* The activations of a forward pass, layer by layer. If the tensors of a layer are unknown, no two layers are alike: then no
 * replay can show the effect of checkpointing. The remainder is a block of its own. */
static void add_activations(struct maker *maker, uint64_t bytes) {
  const uint64_t unit = unit_of(maker->sizes), output = output_of(maker->sizes);
  const uint64_t each = bytes / maker->layers / unit * unit;
  const uint64_t tensors = tensors_of_layer(maker->sizes, each, output);
  uint64_t left = bytes;
  for (uint64_t i = 0; i < maker->layers && each > 0; i++) {
    for (uint64_t k = 0; k < tensors; k++) {
      const uint64_t size = ((each - output) / tensors / unit - tensors + k) * unit;
      add_block(maker, size, ROLE_ACTIVATION);
      left -= size;
    }
    const bool is_wider = each / unit > 2 * maker->layers;
    const uint64_t last = tensors > 0 ? output : is_wider ? each - i * unit : each;
    add_block(maker, last, ROLE_ACTIVATION);
    left -= last;
  }
  add_block(maker, left, ROLE_ACTIVATION);
}

/* ---- The recorded state ---- */

struct parts {
  uint64_t weights, gradients, states; /* of the model */
  uint64_t fixed;                      /* buffers of sharding */
  uint64_t activations;
  uint64_t holes;
};

static enum wo_status refuse(struct maker *maker, const char *why) {
  return wo_err_set(maker->err, WO_E_RANGE, "%s; %s", why, HELP);
}

/* States are allocated one after the other: those that do not fit into the allocated bytes did not exist yet. */
static enum wo_status split(struct maker *maker, struct parts *parts) {
  const struct wo_job_sizes *const sizes = maker->sizes;
  if (!is_size(sizes->allocated_bytes) || sizes->allocated_bytes < 1)
    return refuse(maker, "the log does not show how much was allocated");
  uint64_t left = (uint64_t)sizes->allocated_bytes;
  if (parts->weights > left) {
    return wo_err_set(maker->err, WO_E_RANGE,
                      "the weights alone (%s) exceed what was allocated (%s), so one of them is wrong; %s",
                      WO_BYTES_TEXT(parts->weights), WO_BYTES_TEXT(left), HELP);
  }
  left -= parts->weights;
  if (parts->gradients > left) parts->gradients = 0;
  left -= parts->gradients;
  if (parts->states > left) parts->states = 0;
  left -= parts->states;
  if (parts->fixed > left) parts->fixed = 0;
  left -= parts->fixed;
  parts->activations = left;
  parts->holes = (uint64_t)known_or_zero(sizes->unallocated_bytes);
  return WO_OK;
}

/* Reasons why a pattern is impossible, or shows nothing. */
static enum wo_status look(struct maker *maker, struct parts *parts, bool *ret_lacks_activations) {
  const struct wo_job_sizes *const sizes = maker->sizes;
  if (sizes->is_other_allocator)
    return wo_err_set(maker->err, WO_E_RANGE,
                      "another allocator than PyTorch's for CUDA refused the memory, and only PyTorch's is replayed");
  if (sizes->are_contradicting)
    return refuse(maker, "the figures in the log contradict each other, as `whyoom` on the same files shows");
  if (!is_size(sizes->weights_bytes) || sizes->weights_bytes < 1) {
    char why[STATES_BYTES];
    snprintf(why, sizeof why, "%.*s", (int)sizes->states.len, sizes->states.len > 0 ? sizes->states.ptr : "");
    return refuse(maker, sizes->states.len > 0 ? why : "the log does not show how large the model is");
  }
  *parts = (struct parts){.weights = (uint64_t)sizes->weights_bytes,
                          .gradients = (uint64_t)known_or_zero(sizes->gradients_bytes),
                          .states = (uint64_t)known_or_zero(sizes->optimizer_bytes),
                          .fixed = (uint64_t)known_or_zero(sizes->fixed_bytes)};
  const double states = (double)(parts->weights + parts->gradients + parts->states);
  *ret_lacks_activations = is_size(sizes->capacity_bytes) && sizes->capacity_bytes > 0 && states > sizes->capacity_bytes;
  if (*ret_lacks_activations) return WO_OK;
  if (wo_view_is(sizes->phase, "load") || wo_view_is(sizes->phase, "startup"))
    return refuse(maker, "it failed before the first step, so that nothing is known of activations");
  if (!is_size(sizes->tried_bytes) || sizes->tried_bytes < 1)
    return refuse(maker, "the log does not show the size of the refused request");
  return split(maker, parts);
}

/* ---- The pattern ---- */

/* A whole number of MiB. */
static uint64_t segment_bytes(const struct maker *maker) {
  const uint64_t share = (uint64_t)maker->sizes->tried_bytes / SEGMENTS_IN_REQUEST / (2 * MIB) * (2 * MIB);
  if (share < SEGMENT_LEAST) return SEGMENT_LEAST;
  return share < SEGMENT_MOST ? share : SEGMENT_MOST;
}

/* Repeats a hole with the block that pins its segment; the pins are activations, so their bytes are subtracted from these.
 * Returns the number of segments. The holes must be too small for the request. */
static uint64_t count_segments(const struct maker *maker, const struct parts *parts) {
  const uint64_t hole_bytes = segment_bytes(maker) - PIN_BYTES;
  uint64_t count = parts->holes / hole_bytes;
  if (maker->sizes->tried_bytes <= (double)hole_bytes || maker->recording->settings.expandable_segments) return 0;
  if (count > parts->activations / 2 / PIN_BYTES) count = parts->activations / 2 / PIN_BYTES;
  return count < SEGMENTS_MOST ? count : SEGMENTS_MOST;
}

/* Each segment is requested as a whole and freed, so that the pin and the hole are inside it. */
static void add_holes(struct maker *maker, uint64_t segments) {
  const uint64_t bytes = segment_bytes(maker), first = maker->next_id + 1;
  for (uint64_t i = 0; i < segments; i++) {
    drop_block(maker, add_block(maker, bytes, ROLE_FIXED), bytes);
    add_block(maker, PIN_BYTES, ROLE_FIXED);
    add_block(maker, bytes - PIN_BYTES, ROLE_FIXED);
  }
  for (uint64_t i = 0; i < segments; i++) drop_block(maker, first + 3 * i + 2, bytes - PIN_BYTES);
}

/* The logits have one row of numbers for each position of the vocabulary. */
static enum role role_of_request(const struct wo_job_sizes *sizes) {
  const double row = sizes->micro_batch * sizes->seq_len * sizes->vocabulary;
  if (!(sizes->micro_batch > 0 && sizes->seq_len > 0 && sizes->vocabulary > 0)) return ROLE_ACTIVATION;
  const double bytes = sizes->tried_bytes / row;
  const bool is_row = (bytes > 1.98 && bytes < 2.02) || (bytes > 3.96 && bytes < 4.04);
  return is_row ? ROLE_LOSS : ROLE_ACTIVATION;
}

/* A printed size is rounded; the program requested the next whole unit. */
static uint64_t request_bytes(const struct wo_job_sizes *sizes, uint64_t unit) {
  const uint64_t tried = (uint64_t)sizes->tried_bytes;
  return tried > unit ? tried / unit * unit + unit : tried;
}

/* The rest of a successful step: the gradient of the refused tensor, with the same size, if the tensor belongs to the forward
 * pass; then backward frees what forward kept, the newest first. Without it the blocks would look permanent. */
static void add_backward(struct maker *maker, size_t begin, size_t end) {
  const uint64_t scratch = add_block(maker, 512, ROLE_GRADIENT);
  drop_block(maker, scratch, 512);
  const uint64_t wanted = maker->is_failed ? 0 : maker->trace->entries.items[end - 1].size_bytes;
  const bool is_forward = maker->sizes->phase.len == 0 || wo_view_is(maker->sizes->phase, "forward");
  if (is_forward && wanted > 0) drop_block(maker, add_block(maker, wanted, ROLE_GRADIENT), wanted);
  for (size_t i = end; i > begin && !maker->is_failed; i--) {
    const struct wo_trace_entry entry = maker->trace->entries.items[i - 1];
    const bool is_hole = entry.stack == ROLE_FIXED && entry.size_bytes != PIN_BYTES; /* freed already */
    if (entry.action == WO_ACTION_ALLOC && !is_hole) drop_block(maker, entry.address, entry.size_bytes);
  }
}

static void add_all(struct maker *maker, const struct parts *parts, bool lacks_activations) {
  const uint64_t unit = unit_of(maker->sizes);
  const uint64_t segments = lacks_activations ? 0 : count_segments(maker, parts);
  add_stacks(maker);
  add_layers(maker, parts->weights, 512, ROLE_WEIGHT);
  add_layers(maker, parts->gradients, 512, ROLE_GRADIENT);
  add_layers(maker, parts->states / 2, 512, ROLE_STATE);
  add_layers(maker, parts->states - parts->states / 2, 512, ROLE_STATE);
  if (lacks_activations) return;
  add_block(maker, parts->fixed, ROLE_FIXED);
  const size_t forward = maker->trace->entries.count;
  add_activations(maker, parts->activations - segments * PIN_BYTES);
  add_holes(maker, segments);
  add_block(maker, request_bytes(maker->sizes, unit), role_of_request(maker->sizes));
  add_backward(maker, forward, maker->trace->entries.count);
}

/* As far as the log shows them; an invalid settings string leaves the defaults. */
static void take_settings(struct maker *maker) {
  struct wo_recording *const recording = maker->recording;
  uint16_t torch = 0;
  struct wo_err ignored;
  if (wo_torch_version_parse(maker->sizes->torch, &torch)) recording->torch_from = recording->torch_to = torch;
  recording->settings = wo_alloc_settings_default(torch > 0 ? torch : WO_TORCH_DEFAULT);
  if (wo_alloc_settings_parse(maker->sizes->alloc_conf, torch > 0 ? torch : WO_TORCH_DEFAULT, &recording->settings, &ignored) ==
      WO_OK)
    recording->has_settings = maker->sizes->alloc_conf.len > 0;
  if (!recording->settings.is_native) recording->settings = wo_alloc_settings_default(WO_TORCH_DEFAULT);
}

static enum wo_status make(struct maker *maker, const struct parts *parts, bool lacks_activations) {
  maker->recording = wo_recording_new();
  if (!maker->recording) return WO_E_NOMEM;
  maker->recording->format = WO_TRACE_FORMAT_RECONSTRUCTED;
  maker->recording->has_only_ids = true;
  take_settings(maker);
  maker->trace = wo_recording_trace(maker->recording, 0);
  if (maker->trace) add_all(maker, parts, lacks_activations);
  if (maker->trace && !maker->is_failed) return WO_OK;
  maker->recording = wo_recording_free(maker->recording);
  return WO_E_NOMEM;
}

enum wo_status wo_reconstruct(const struct wo_job_sizes *sizes, struct wo_recording **ret_recording, bool *ret_lacks_activations,
                              struct wo_err *err) {
  struct maker maker = {.sizes = sizes, .layers = LAYERS_USUAL, .err = err};
  struct parts parts = {0};
  bool lacks_activations = false;
  assert(sizes && ret_recording && ret_lacks_activations && err);
  if (sizes->layers >= 1) maker.layers = sizes->layers < (double)LAYERS_MOST ? (uint64_t)sizes->layers : LAYERS_MOST;
  enum wo_status status = look(&maker, &parts, &lacks_activations);
  if (status == WO_OK && make(&maker, &parts, lacks_activations) != WO_OK) status = wo_err_nomem(err);
  if (status != WO_OK) return status;
  assert(wo_recording_is_valid(maker.recording));
  *ret_recording = maker.recording;
  *ret_lacks_activations = lacks_activations;
  return WO_OK;
}
