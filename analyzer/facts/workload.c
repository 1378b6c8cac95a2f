/* What one pass works on, and what the run worked on that a monitoring trace shows. */
#include "analyzer/facts/facts.h"

#include "analyzer/files/names.h"
#include "parsers/base/units.h"

/* Longest number in a file's name that is taken for a batch or a length. */
#define NUMBER_MAX 10000000

static double setting_number(const struct wo_facts *facts, const char *knob) {
  const struct wo_setting *const setting = wo_facts_setting(facts, wo_view_of(knob));
  return setting && setting->value.is_known ? setting->value.number.mid : 0;
}

static void set_count(struct wo_facts *facts, const char *name, double count, wo_event_id evidence) {
  wo_facts_set(facts, name, wo_value_exact(WO_UNIT_NUMBER, count), evidence);
}

/* The number of a word such as "mb1": one of the leads, digits, and nothing else. 0 without. */
static double number_of_word(struct wo_view word, const char *const *leads, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct wo_view lead = wo_view_of(leads[i]);
    if (!wo_view_starts_nocase(word, leads[i])) continue;
    struct wo_view digits = wo_view_skip(word, lead.len);
    uint64_t number = 0;
    if (wo_number_u64(&digits, NUMBER_MAX, &number) == WO_OK && digits.len == 0) return (double)number;
  }
  return 0;
}

/* "dmon_mb1_seq1024.txt": people name a trace after what they tried. */
static void read_trace_name(struct wo_facts *facts, struct wo_view path, wo_event_id evidence) {
  static const char *const batches[] = {"mb", "mbs", "bs", "micro", "batch"};
  static const char *const lengths[] = {"seq", "seqlen", "len", "ctx"};
  struct wo_view rest = wo_name_base(path);
  double batch = 0;
  double length = 0;
  while (rest.len > 0) {
    const struct wo_view word = wo_name_word(&rest);
    if (batch == 0) batch = number_of_word(word, batches, sizeof batches / sizeof batches[0]);
    if (length == 0) length = number_of_word(word, lengths, sizeof lengths / sizeof lengths[0]);
  }
  if (batch > 0) set_count(facts, "trace.micro_batch", batch, evidence);
  if (length > 0) set_count(facts, "trace.seq_len", length, evidence);
  if (batch > 0 && length > 0) set_count(facts, "trace.tokens", batch * length, evidence);
}

/* The first trace; of several nobody knows which run a change is to be measured against. */
static void read_trace(struct wo_facts *facts) {
  const struct wo_event *first = NULL;
  for (size_t i = 0; i < facts->job->events.count; i++) {
    const struct wo_event *const event = &facts->job->events.items[i];
    if (event->kind != WO_KIND_MONITOR || event->is_quoted) continue;
    if (first && first->span.file != event->span.file) return;
    first = event;
  }
  if (first) read_trace_name(facts, facts->job->inputs[first->span.file].path, first->id);
}

void wo_facts_read_workload(struct wo_facts *facts) {
  const struct wo_setting *const micro = wo_facts_setting(facts, WO_VIEW("micro_batch"));
  const double batch = setting_number(facts, "micro_batch");
  const double length = setting_number(facts, "seq_len");
  const double steps = setting_number(facts, "grad_accum");
  const double parts = setting_number(facts, "tensor_parallel") + setting_number(facts, "pipeline_parallel");
  const struct wo_value cards = wo_facts_get(facts, WO_VIEW("gpu.count"));
  read_trace(facts);
  if (batch <= 0) return;
  if (steps > 0 && parts == 0 && cards.is_known)
    set_count(facts, "work.batch", batch * steps * cards.number.mid, micro->event->id);
  if (length <= 0) return;
  set_count(facts, "work.tokens", batch * length, micro->event->id);
  const struct wo_value before = wo_facts_get(facts, WO_VIEW("trace.tokens"));
  if (before.is_known) set_count(facts, "trace.growth", batch * length / before.number.mid, before.evidence);
}
