/* SPDX-License-Identifier: Apache-2.0 */
/* Rules in memory: causes, fixes, knobs, patterns and phases, as loaded from the packs. Read-only
 * after loading; all of it lives in the pack's arena. File format: docs/rules.md. */
#ifndef WO_RULE_H
#define WO_RULE_H

#include "parsers/match/pattern.h"
#include "rules/files/rule_file.h"
#include "rules/language/expr.h"
#include "rules/language/template.h"
#include "rules/load/program_kind.h"
#include "rules/load/weights.h"

/* Where a rule is, for messages. */
struct wo_rule_place {
  struct wo_view file;
  uint64_t line;
  bool is_user;      /* from --rules, not built in */
  bool is_replacing; /* the user's, in place of a built-in rule of that id */
  bool is_mistaken;  /* it was not read whole (wo_load_notes.keeps_rest): it must not be used */
};

/* Called with each mistake of a rule file, or complaint of the lint. */
typedef void (*wo_complaint_fn)(void *context, const struct wo_err *complaint);

/* What a load does with the mistakes that it finds. */
struct wo_load_notes {
  wo_complaint_fn fn; /* is given each of them, in the order of reading; NULL: none is told */
  void *context;
  bool
      keeps_rest; /* for the lint: the pack is made in spite of mistakes, without the rules that have them, and keeps the files */
};

/* A rule that is turned off: {"off": id, "why": text}. Patterns are taken out when loading, causes and fixes are left out of
 * diagnoses. */
struct wo_off {
  struct wo_view id;
  struct wo_view why;
  struct wo_rule_place place;
};

/* A named expression for all rules, written def.<id>. */
struct wo_define {
  struct wo_view id;
  struct wo_view means;
  const struct wo_expr *expr;
  struct wo_rule_place place;
};

enum wo_confidence { WO_CONFIDENCE_POSSIBLE, WO_CONFIDENCE_LIKELY, WO_CONFIDENCE_CERTAIN };

/* A text that is shown if a condition holds; condition NULL = always. */
struct wo_clause {
  const struct wo_expr *when;
  enum wo_weight weight;
  const struct wo_template *say;
  struct wo_view between; /* would_tell: the cause that it separates from, asked when both are found; or empty */
  struct wo_view label;   /* show: the word before the text */
};

/* A log that must (or must not) lead to the cause. `log` is the whole text, lines joined by '\n'. */
struct wo_example {
  bool gives;
  struct wo_view log;
  struct wo_view title; /* for gives: the title that the user reads; may be empty */
  struct wo_view why;   /* for !gives: why not */
};

struct wo_cause {
  struct wo_view id;     /* kebab-case, for ever */
  struct wo_view family; /* one of the FAMILY names of docs/schema */
  const struct wo_template *title;
  const struct wo_template *headline; /* the cause in a few words, for the first screen; NULL: the title */
  const struct wo_clause *show;       /* rows of the first screen: the numbers that make this cause visible */
  size_t show_count;
  const struct wo_template *summary; /* its meaning, with this job's numbers */
  struct wo_view means;              /* one sentence, for `explain` */
  struct wo_view details;            /* long text for `explain`; may be empty */
  const struct wo_view *needs;       /* without which `when` cannot hold (wo_need_is_met); not given for the user's own rules */
  size_t need_count;
  const struct wo_expr *when;
  const struct wo_clause *not_when; /* say = why the rule does not apply; weight unused */
  size_t not_when_count;
  enum wo_weight prior;
  enum wo_confidence at_most;
  bool is_failure; /* false: worth knowing, but it is no failure; reported as a note, never before a failure */
  const struct wo_clause *for_;
  size_t for_count;
  const struct wo_clause *against;
  size_t against_count;
  const struct wo_view *excludes; /* ids of causes that are dropped when this one is at least as strong */
  size_t exclude_count;
  const struct wo_clause *would_tell; /* evidence that would settle it */
  size_t would_tell_count;
  const struct wo_view *fixes; /* ids, best first */
  size_t fix_count;
  const struct wo_view *references;
  size_t reference_count;
  const struct wo_example *examples;
  size_t example_count;
  const struct wo_off *off; /* NULL: in force */
  struct wo_rule_place place;
};

/* One changed knob of a fix. */
struct wo_knob_change {
  struct wo_view knob;
  const struct wo_expr *to;   /* new value; unit of the knob */
  const struct wo_expr *when; /* NULL = always */
};

/* The last rank of costs: steps that only find out something. */
#define WO_COST_RANK_MAX 9

struct wo_fix {
  struct wo_view id;
  const struct wo_template *title;
  unsigned for_programs;           /* kinds of programs that it is meant for (WO_PROGRAM_BIT); 0: not given, as all */
  const struct wo_view *stand_ins; /* ids of fixes that are tried in its place where it is not meant for the program */
  size_t stand_in_count;
  const struct wo_expr *when;            /* applicable at all; NULL = always */
  const struct wo_expr *already;         /* true: already set, not proposed; NULL = never */
  const struct wo_template *already_say; /* "gradient checkpointing (already on)" */
  const struct wo_clause *conflicts;     /* any true: not proposed, say = why */
  size_t conflict_count;
  const struct wo_knob_change *changes;
  size_t change_count;
  const struct wo_expr *saves_lo; /* bytes on the failing card; both NULL when nothing can be said */
  const struct wo_expr *saves_hi;
  bool saves_of_others;                    /* the bytes belong to other processes: what this one holds does not bound them */
  const struct wo_template *saves_formula; /* the arithmetic, with the numbers in it */
  const struct wo_expr *saves_enough;      /* true: enough alone, whatever the two bounds say; NULL: they decide */
  const struct wo_expr *saves_too_little;  /* true: not enough alone; NULL: the bounds decide */
  const struct wo_template *enough_say;    /* what shows it, in place of the bounds; NULL: they are shown */
  const struct wo_template *too_little_say;
  unsigned cost_rank; /* 1 costs nothing .. 9 is no cure; 0: not given, as 5 */
  const struct wo_template *cost_speed;
  const struct wo_template *cost_accuracy; /* "none" when results do not change */
  const struct wo_template *cost_effort;
  const struct wo_clause *commands; /* lines to paste, besides the changed knobs */
  size_t command_count;
  const struct wo_clause *notes; /* what the user should know before doing it */
  size_t note_count;
  struct wo_view explain;               /* long text */
  const struct wo_template *replays_as; /* the change as options of `whyoom replay`; NULL: it cannot be replayed */
  const struct wo_off *off;             /* NULL: in force */
  struct wo_rule_place place;
};

/* A spelling of a knob. */
struct wo_alias {
  struct wo_view key;             /* "per_device_train_batch_size"; matched at the end of a dotted key, '-' and '_' alike */
  struct wo_view framework;       /* "hf", "megatron", "deepspeed", "verl", "vllm", ...; may be empty */
  struct wo_view value_map;       /* "true=none,false=full": value translations; may be empty */
  const struct wo_view *literals; /* texts to look for instead of the key; may be none */
  size_t literal_count;
  uint16_t torch_since; /* first release of PyTorch that reads this spelling (parsers/base/exchange/torch_version.h); 0: all do */
};

struct wo_knob {
  struct wo_view id;
  enum wo_unit unit;
  struct wo_view means;
  const struct wo_alias *aliases; /* first one is the default spelling, but for what torch_since says */
  size_t alias_count;
  struct wo_rule_place place;
};

/* How much a sign of a phase says. A sign replaces the phase that was found outside of it unless that says more: whatever the
 * evaluation loop calls is evaluation. */
enum wo_reach {
  WO_REACH_NONE,  /* of a hint without one: it is no phase */
  WO_REACH_NAME,  /* a name that the user chose */
  WO_REACH_WORK,  /* the work that nearly all passes do: forward */
  WO_REACH_PASS,  /* one part of a step: backward, optimizer; a function that is called evaluation */
  WO_REACH_STAGE, /* an operation with an end of its own: weights are loaded, text is generated, a model is wrapped */
  WO_REACH_LOOP,  /* a part of the run, whatever happens in it: evaluation, a checkpoint, the start of an engine */
  WO_REACH_TOLD   /* the message says it */
};

/* A sign of a phase, or of a fact about a traceback. */
struct wo_phase_hint {
  struct wo_view phase; /* its id; several hints may give one */
  struct wo_view fact;  /* not empty: no phase, but the fact that the frames show ("oom.is_attention") */
  bool is_innermost;    /* only the innermost frames count */
  bool is_of_memory;    /* counts only for failures of memory */
  bool is_of_code;      /* its words are those of the code in the frame, not of the function's name */
  bool is_before_work;  /* counts only where no frame outside of it computes: a model is made, not an output of it */
  enum wo_reach reach;
  const struct wo_view *any_of; /* substrings of "path|function|code" */
  size_t any_of_count;
  const struct wo_view *none_of; /* a frame with one of these does not count */
  size_t none_of_count;
  const struct wo_view *functions; /* names of functions, whole */
  size_t function_count;
  const struct wo_view *words; /* words in names of functions that the user wrote: "eval" is one of "run_eval" */
  size_t word_count;
  const struct wo_view *with_words; /* if there are any, the name needs one of these as well: "create" and "model" */
  size_t with_word_count;
  const struct wo_view *not_words; /* a name with one of these as well does not count: "train_eval" */
  size_t not_word_count;
  const struct wo_view *said; /* substrings of the failure's own message */
  size_t said_count;
  const struct wo_view *kinds; /* kinds of failures that happen in this phase alone */
  size_t kind_count;
  struct wo_rule_place place;
};

/* Something in a log that shows what the program does, which program it is, or where it runs. Of the lists of texts any one entry
 * is enough; empty texts show nothing. */
struct wo_sign {
  struct wo_view id;
  enum wo_program_kind kind; /* WO_PROGRAM_UNKNOWN: says nothing of it */
  struct wo_view name;       /* "vllm" */
  struct wo_view platform;   /* "windows" */
  struct wo_view vendor;     /* "amd" */
  struct wo_view manager;    /* "slurm" */
  enum wo_weight weight;
  const struct wo_view *frames; /* substrings of "path|function|code" of a traceback's frame; '/' is '\\' too */
  size_t frame_count;
  const struct wo_view *files; /* substrings of the whole path of the failing frame's file; likewise */
  size_t file_count;
  const struct wo_view *scripts; /* words in the names of the program's scripts, and of the user's function that failed */
  size_t script_count;
  const struct wo_view *patterns; /* ids of patterns that matched a line */
  size_t pattern_count;
  const struct wo_view *knobs; /* settings that the program was given */
  size_t knob_count;
  const struct wo_view *progress; /* substrings of the lines of progress beside the failure */
  size_t progress_count;
  const struct wo_view *kinds; /* kinds of evidence */
  size_t kind_count;
  struct wo_rule_place place;
};

/* A term, myth or fact for `whyoom explain`. */
struct wo_term {
  struct wo_view id;
  struct wo_view title;
  struct wo_view text;
  const struct wo_view *synonyms; /* other words for it that people look up; none is an id */
  size_t synonym_count;
  struct wo_rule_place place;
};

/* The shape of a well-known model, for logs that print its name alone. Counts; 0 = has none or not stated. */
/* Feed-forward blocks of a layer, of which a router picks some for each token. Zero: a layer has one block. */
struct wo_model_experts {
  double count;
  double per_token;
  double width;        /* of one expert */
  double shared_width; /* of those together that every token takes */
  double dense_layers; /* layers with one plain block */
};

/* Attention whose keys and values are made of a narrow vector (DeepSeek). Zero: the usual one. */
struct wo_model_latent {
  double query_rank; /* 0: queries are made directly */
  double rank;       /* of keys and values */
  double plain;      /* width of a head's queries and keys without a position */
  double rotary;     /* and with one; the keys' is shared by all heads */
  double value;      /* width of a head's values */
};

/* A network of images: what a step has of each image at its peak, beside states, in fp32 and under autocast, measured at a side
 * of so many pixels; it grows with the area. Zero: not known. */
struct wo_model_image {
  double side;
  double bytes;
  double bytes_amp;
};

/* A pipeline that makes images or films: parameters of its parts, and bytes of denoising and of decoding one of them, of a side
 * (and a number of frames), in 16 bits; both grow with the area. Zero: none. */
struct wo_model_pipeline {
  double encoders;
  double largest_encoder; /* of them that are on the card at once, where parts are moved there and back */
  double encoder_fp32;    /* of the encoders, what stays in fp32 where the rest is fp16 */
  double other;
  double denoiser;
  double decoder;
  bool is_decoder_fp32;
  double frames;
  double denoise_bytes;
  double decode_bytes;
};

struct wo_model_shape {
  struct wo_view id;
  const struct wo_view *names; /* last parts of published names: "Qwen2.5-7B" (wo_model_shape_find) */
  size_t name_count;
  struct wo_view architecture; /* how the parts add up (wo_model_shape_parameters) */
  double parameters;           /* the published count */
  double layers;               /* of the encoder, and again of the decoder where there are both */
  double hidden;
  double intermediate;
  double heads;
  double kv_heads;
  double head_dim;
  double vocab;
  double positions;  /* rows of a learned position table */
  double window;     /* tokens that layers with a window look back; 0: all layers see everything */
  double full_every; /* one of so many layers sees everything all the same; 0: none */
  struct wo_model_experts experts;
  struct wo_model_latent latent;
  struct wo_model_image image;
  struct wo_model_pipeline pipeline;
  double tower;             /* parameters of an encoder of images beside the layers; 0: none */
  struct wo_view dtype;     /* of the weights in the files of the model; empty: not known */
  struct wo_view quantised; /* how, likewise: awq, gptq, fp8, mxfp4, bitsandbytes */
  bool is_tied;             /* the output projection is the embedding table */
  struct wo_view source;
  struct wo_rule_place place;
};

/* Where a pattern of the packs is, and the lines that it must and must not match. Kept at WO_LOAD_ALL only. */
struct wo_pattern_samples {
  size_t pattern; /* index into the pack's patterns */
  struct wo_rule_place place;
  const struct wo_view *match;
  size_t match_count;
  const struct wo_view *no_match;
  size_t no_match_count;
};

/* Two rules of one sort and id among the built-in files, or among the user's; the later one was kept. */
struct wo_duplicate {
  struct wo_view id;
  struct wo_rule_place place; /* of the later one */
};

struct wo_pack_index; /* finds rules and facts by name */
struct wo_late;       /* what is not read yet */

struct wo_pack {
  struct wo_arena arena;
  struct wo_pack_index *index;
  struct wo_late *late;         /* of WO_LOAD_FOR_ONE_JOB, or NULL */
  struct wo_rule_json *sources; /* of keeps_rest: the files, for places of complaints; or NULL */
  size_t source_count;
  size_t mistake_count;        /* of keeps_rest */
  struct wo_pattern *patterns; /* the packs' own, then one per knob alias (reader "setting", argument = knob id) */
  size_t pattern_count;
  size_t own_pattern_count; /* how many of them the packs wrote */
  struct wo_pattern_samples *samples;
  size_t sample_count;
  struct wo_duplicate *duplicates;
  size_t duplicate_count;
  struct wo_cause *causes;
  size_t cause_count;
  struct wo_fix *fixes;
  size_t fix_count;
  struct wo_knob *knobs;
  size_t knob_count;
  struct wo_phase_hint *phases;
  size_t phase_count;
  struct wo_sign *signs;
  size_t sign_count;
  struct wo_term *terms;
  size_t term_count;
  struct wo_model_shape *models;
  size_t model_count;
  struct wo_define *defines;
  size_t define_count;
  struct wo_off *offs;
  size_t off_count;
  /* for wo_pack_version: hashes of files that are not the user's, unless they are the compiled-in ones, and of those that are */
  uint64_t files_hash, user_files_hash;
  bool is_compiled_in;
};

/* How much to load: diagnosis leaves out examples and long texts, and so starts faster. For one job, built-in causes are read as
 * far as the facts that they need, built-in fixes not at all, until more is wanted (wo_pack_cause_head, wo_pack_cause_at,
 * wo_pack_fix): of some two hundred rules one job needs ten. Such a pack must not be used by two threads. */
enum wo_load_depth { WO_LOAD_FOR_ONE_JOB, WO_LOAD_FOR_DIAGNOSIS, WO_LOAD_ALL };

/* The compiled-in packs at that depth. */
const struct wo_rule_file *wo_rule_embedded(enum wo_load_depth depth, size_t *ret_count);

/* The prefilter's tables for the patterns of the compiled-in packs alone, to be tried on any pack. */
const struct wo_prefilter_tables *wo_rule_prefilter(void);

/* Loads rule files, in order: a later rule with an id that exists replaces the earlier one. WO_E_SYNTAX/WO_E_TYPE/WO_E_UNKNOWN
 * with file, line and column in *err when a file is wrong, those of the first mistake; nothing is loaded then. Unknown keys are
 * errors. *ret_pack must be released with wo_pack_free. */
enum wo_status wo_pack_load(const struct wo_rule_file *files, size_t count, enum wo_load_depth depth, struct wo_pack **ret_pack,
                            struct wo_err *err);

/* Loads the compiled-in packs, then (dir not NULL) every .json file below that folder in the order of their paths, which adds and
 * overrides. */
enum wo_status wo_pack_load_all(const char *dir, enum wo_load_depth depth, struct wo_pack **ret_pack, struct wo_err *err);

/* The same, with all mistakes and not only the first one, up to WO_LIMIT_RULE_MISTAKES of them: one for each value, and one for
 * each unknown name in it. A mistake that only follows from another is not told. Whatever else keeps the rules from loading is
 * handed on in the same way. With keeps_rest there is a pack unless a file cannot be read, memory is out or the mistakes are too
 * many; the status is that of the first mistake all the same. */
enum wo_status wo_pack_load_noting(const struct wo_rule_file *files, size_t count, enum wo_load_depth depth,
                                   struct wo_load_notes notes, struct wo_pack **ret_pack);
enum wo_status wo_pack_load_all_noting(const char *dir, enum wo_load_depth depth, struct wo_load_notes notes,
                                       struct wo_pack **ret_pack);

/* Names the rules of a pack, the same on every machine and at every depth of load: "0123456789abcdef-fedcba9876543210", with a
 * NUL. The first part stands for all that decides about evidence: the patterns, and the version of the program. Where only the
 * second part differs, evidence that was kept can be diagnosed again. It differs when a rule file does, built in or the user's.
 * For packs of wo_pack_load_all. */
enum { WO_PACK_VERSION_BYTES = 34 };
void wo_pack_version(const struct wo_pack *pack, char version[WO_PACK_VERSION_BYTES]);

/* Frees a pack; NULL allowed; returns NULL. */
struct wo_pack *wo_pack_free(struct wo_pack *pack);

/* The cause at that place, with its conditions. NULL when memory is out while they are read (WO_LOAD_FOR_ONE_JOB). */
const struct wo_cause *wo_pack_cause_head(const struct wo_pack *pack, size_t index);

/* The cause at that place, with all its parts. NULL when memory is out while the rest of it is read (WO_LOAD_FOR_ONE_JOB). */
const struct wo_cause *wo_pack_cause_at(const struct wo_pack *pack, size_t index);

/* The rule of that id, or NULL. Causes and fixes have all their parts; memory that is out looks as if there were none. */
const struct wo_cause *wo_pack_cause(const struct wo_pack *pack, struct wo_view id);
const struct wo_fix *wo_pack_fix(const struct wo_pack *pack, struct wo_view id);
const struct wo_define *wo_pack_define(const struct wo_pack *pack, struct wo_view id);
const struct wo_knob *wo_pack_knob(const struct wo_pack *pack, struct wo_view id);

/* The name of a kind in rule files and reports; "unknown" for WO_PROGRAM_UNKNOWN. Static. */
const char *wo_program_kind_name(enum wo_program_kind kind);

/* A fact: a row of rules/language/facts.def, or a column of rules/language/rows.def. */
struct wo_fact {
  struct wo_view name;
  enum wo_unit unit;
  const char *unit_code; /* "BYTES" */
  const char *meaning;
};

/* All of them, in that order / the one of that name, or NULL. */
const struct wo_fact *wo_fact_list(size_t *ret_count);
const struct wo_fact *wo_fact_find(struct wo_view name);

/* The unit of a fact, `config.<knob>` and `count.<kind>` included, or WO_UNIT_NONE. */
enum wo_unit wo_fact_unit(const struct wo_pack *pack, struct wo_view name);

/* The place of a fact among those of rules/language/facts.def, counted from 0, or WO_NOT_FOUND: that of a name that no row there
 * has. */
size_t wo_fact_place(const struct wo_pack *pack, struct wo_view name);

#endif
