/* `whyoom rules why RULE LOG...`: reads the job like a diagnosis, and shows how one rule came to its verdict on it. */
#include "analyzer/command/commands.h"
#include "analyzer/diagnosis/why.h"
#include "parsers/base/limits.h"

/* Explains over the facts of a closed job. */
static enum wo_status explain(const struct wo_call *call, const struct wo_pack *pack, const struct wo_job *job,
                              struct wo_arena *arena) {
  const struct wo_view id = wo_view_of(call->words[1]);
  const struct wo_cause *cause = wo_pack_cause(pack, id);
  const struct wo_fix *fix = wo_pack_fix(pack, id);
  struct wo_facts facts;
  struct wo_why why;
  enum wo_status status = wo_facts_make(job, pack, arena, &facts);
  if (status != WO_OK) return status;
  const struct wo_diagnosis diagnosis = {.facts = &facts, .pack = pack, .source = wo_facts_source(&facts), .arena = arena};
  status = cause ? wo_why_cause(&diagnosis, cause, &why) : wo_why_fix(&diagnosis, fix, &why);
  if (status != WO_OK) return status;
  if (call->format == WO_OUT_JSON) {
    wo_why_json(&why, call->out);
  } else {
    wo_why_text(&why, call->out);
  }
  return WO_OK;
}

static enum wo_exit explain_job(const struct wo_call *call, const struct wo_pack *pack, const struct wo_job *job) {
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  const enum wo_status status = explain(call, pack, job, &arena);
  if (status != WO_OK) wo_message(call->errors, (struct wo_view){0}, "%s", wo_status_text(status));
  wo_arena_done(&arena);
  return status == WO_OK ? WO_EXIT_FINE : WO_EXIT_ERROR;
}

/* Inputs that cannot be read are reported, and the rest is explained, as in a diagnosis. */
enum wo_exit wo_run_rules_why(const struct wo_call *call, const struct wo_pack *pack) {
  if (call->word_count < 3) {
    wo_message(call->errors, (struct wo_view){0}, "rules why needs the id of a cause or a fix, and the files of a job");
    return WO_EXIT_ERROR;
  }
  const struct wo_view id = wo_view_of(call->words[1]);
  if (!wo_pack_cause(pack, id) && !wo_pack_fix(pack, id)) {
    wo_message(call->errors, (struct wo_view){0}, "no cause or fix is called \"%s\"; `whyoom rules list` names them all",
               call->words[1]);
    return WO_EXIT_ERROR;
  }
  struct wo_job *job = NULL;
  const enum wo_exit reading = wo_command_read_job(call, pack, call->words + 2, call->word_count - 2, &job);
  if (!job) return WO_EXIT_ERROR;
  const enum wo_exit code = explain_job(call, pack, job);
  wo_job_free(job);
  return reading == WO_EXIT_FINE ? code : WO_EXIT_ERROR;
}
