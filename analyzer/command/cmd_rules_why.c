/* `whyoom rules why RULE LOG...`: reads the job as a diagnosis would, and shows how one rule came to its verdict on it. */
#include "analyzer/command/command.h"
#include "analyzer/diagnosis/why.h"
#include "parsers/base/limits.h"

/* Explains over the facts of a closed job. */
static enum wo_status explain(const struct wo_cli *cli, const struct wo_pack *pack, const struct wo_job *job,
                              struct wo_arena *arena, struct wo_text *out) {
  const struct wo_view id = wo_view_of(cli->words[1]);
  const struct wo_cause *cause = wo_pack_cause(pack, id);
  const struct wo_fix *fix = wo_pack_fix(pack, id);
  struct wo_facts facts;
  struct wo_why why;
  enum wo_status status = wo_facts_make(job, pack, arena, &facts);
  if (status != WO_OK) return status;
  const struct wo_diagnosis diagnosis = {.facts = &facts, .pack = pack, .source = wo_facts_source(&facts), .arena = arena};
  status = cause ? wo_why_cause(&diagnosis, cause, &why) : wo_why_fix(&diagnosis, fix, &why);
  if (status != WO_OK) return status;
  if (cli->format == WO_OUT_JSON) {
    wo_why_json(&why, out);
  } else {
    wo_why_text(&why, out);
  }
  return WO_OK;
}

static enum wo_exit explain_job(const struct wo_cli *cli, const struct wo_pack *pack, const struct wo_job *job,
                                struct wo_text *out, struct wo_text *errors) {
  struct wo_arena arena;
  wo_arena_init(&arena, WO_LIMIT_REPORT_BYTES);
  const enum wo_status status = explain(cli, pack, job, &arena, out);
  if (status != WO_OK) wo_text_add(errors, "whyoom: %s\n", wo_status_text(status));
  wo_arena_done(&arena);
  return status == WO_OK ? WO_EXIT_FINE : WO_EXIT_ERROR;
}

/* Inputs that cannot be read are told, and the rest is explained: as for a diagnosis. */
enum wo_exit wo_command_rules_why(const struct wo_cli *cli, const struct wo_pack *pack, struct wo_text *out,
                                  struct wo_text *errors) {
  if (cli->word_count < 3) {
    wo_text_add(errors, "whyoom: rules why needs the id of a cause or a fix, and the files of a job\n");
    return WO_EXIT_ERROR;
  }
  const struct wo_view id = wo_view_of(cli->words[1]);
  if (!wo_pack_cause(pack, id) && !wo_pack_fix(pack, id)) {
    wo_text_add(errors, "whyoom: no cause or fix is called \"%.*s\"; `whyoom rules list` names them all\n", (int)id.len, id.ptr);
    return WO_EXIT_ERROR;
  }
  struct wo_job *job = NULL;
  const enum wo_exit reading = wo_command_read_job(cli, pack, cli->words + 2, cli->word_count - 2, &job, errors);
  if (!job) {
    wo_text_add(errors, "whyoom: out of memory\n");
    return WO_EXIT_ERROR;
  }
  const enum wo_exit code = explain_job(cli, pack, job, out, errors);
  wo_job_free(job);
  return reading == WO_EXIT_FINE ? code : WO_EXIT_ERROR;
}
