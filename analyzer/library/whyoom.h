/* SPDX-License-Identifier: Apache-2.0 */
/* libwhyoom: why a GPU job ran out of memory, what to change, and whether that fits, as functions.
 *
 * Each of the functions below does what the command of its name does, and takes its options as they are written on a
 * command line (`whyoom help COMMAND`). It returns a result, which holds the exit status, the report and the messages. Nothing
 * is printed, no signal is handled, no variable of the environment is read, no file is written and no thread is started.
 *
 * Threads: the library keeps no state between calls, so that any number of threads may call at the same time. A result may be
 * read by several threads at once; one of them frees it.
 *
 * Memory: a report of one job takes some 10 MiB while it is made, however long its logs are. Where memory runs out, a function
 * returns NULL, or a result with the code WHYOOM_ERROR that says so.
 *
 * The names here, the codes and the kinds stay as they are within version 0 of the library (its SONAME); new ones may come. The
 * keys of the reports are those of the schemas (docs/schema), which change by their own rule: keys may be added. */
#ifndef WO_WHYOOM_H
#define WO_WHYOOM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define WHYOOM_API __attribute__((visibility("default"))) extern
#else
#define WHYOOM_API extern
#endif

/* What a call found: the exit status of the command. */
enum whyoom_code {
  WHYOOM_FINE = 0,          /* nothing wrong was found; it fits */
  WHYOOM_FAILURE_FOUND = 1, /* a failure was diagnosed; it does not fit */
  WHYOOM_ERROR = 2,         /* wrong use, or some input could not be read (the rest is reported); see whyoom_messages */
  WHYOOM_NOT_PROVEN = 3     /* too little is known, or too little is left to spare */
};

struct whyoom_result;

/* The version of the library, as "0.1.0". A text that lives for ever. */
WHYOOM_API const char *whyoom_version(void);

/* In all functions below:
 *   paths    an array of `path_count` names of files, which are opened and read. "-" is standard input of this process.
 *   options  an array that ends with NULL, of options and their values, each an element of its own or joined with '=':
 *            {"--rules", "/etc/whyoom", "--anonymize", NULL}. NULL: none. Without --format a report is JSON. Refused are those
 *            that write files or change the process: --output, --plot, --write, --time-limit, --sandbox, --help.
 * Nothing is kept of the arguments after the call. The result is released with whyoom_free. */

/* Diagnoses jobs from their logs, scripts and settings. Files whose names hold the ids of several jobs give a report for each;
 * other logs of the same job beside them are read too, and a recording is replayed. A folder means the jobs in it. At least one
 * path. */
WHYOOM_API struct whyoom_result *whyoom_diagnose(const char *const *paths, size_t path_count, const char *const *options);

/* Diagnoses one job from a log in memory: `text_bytes` bytes of any content, also compressed. `name` stands for it in the report
 * ("slurm-4711.out" also tells the job's id); NULL: "<text>". No file is opened. */
WHYOOM_API struct whyoom_result *whyoom_diagnose_text(const char *text, size_t text_bytes, const char *name,
                                                      const char *const *options);

/* What uses the memory: from the settings that the options name (--params, --capacity, ...), or from the files of one job. With a
 * card the code says whether it fits. */
WHYOOM_API struct whyoom_result *whyoom_budget(const char *const *paths, size_t path_count, const char *const *options);

/* Replays recordings on the model of the allocator, or on a GPU (--on gpu), with the changes that the options name. One report
 * for each device of each recording. At least one path. */
WHYOOM_API struct whyoom_result *whyoom_replay(const char *const *paths, size_t path_count, const char *const *options);

/* Diagnoses one job and proves its fixes on its recording. At least one path. */
WHYOOM_API struct whyoom_result *whyoom_verify(const char *const *paths, size_t path_count, const char *const *options);

/* How much of a call another thread ends; the call then returns soon. A call that has read its logs has no reading to stop. */
enum whyoom_stop {
  WHYOOM_STOP_READING = 1, /* logs are read no further: WHYOOM_ERROR, and the report of what was read says so */
  WHYOOM_STOP_ALL = 2      /* replays end as well: WHYOOM_ERROR without a report */
};

/* A call with all that it can be given. Members that are 0 or NULL are as if they were not there. */
struct whyoom_request {
  size_t request_bytes; /* sizeof(struct whyoom_request): later versions may have more members at the end; 0: an empty request */
  const char *command;  /* "diagnose", "budget", "replay" or "verify" */
  const char *const *paths;
  size_t path_count;
  const char *const *options;
  const char *text; /* with "diagnose", in place of paths: as for whyoom_diagnose_text */
  size_t text_bytes;
  const char *text_name;
  /* Where another thread, or a handler of a signal, writes an enum whyoom_stop while the call runs; 0 before. A call that waits
   * for a pipe or a lost disk sees it when that answers. */
  const volatile int *stop;
  double (*seconds_now)(void); /* a steady clock, asked on this thread: reports of replays say how long these took */
};

/* A steady clock, in seconds, for seconds_now. */
WHYOOM_API double whyoom_seconds_now(void);

/* Runs a call. The answer does not depend on the locale of the process. */
WHYOOM_API struct whyoom_result *whyoom_run(const struct whyoom_request *request);

/* Frees a result, and every text that was read from it. NULL allowed. */
WHYOOM_API void whyoom_free(struct whyoom_result *result);

/* What the call found. NULL, a call that got no memory: WHYOOM_ERROR. */
WHYOOM_API enum whyoom_code whyoom_result_code(const struct whyoom_result *result);

/* The report in the form of --format: one report after the other where there are several. Ends with a NUL byte, which is not
 * counted in *ret_bytes (may be NULL); "" if there is none. It lives as long as the result. */
WHYOOM_API const char *whyoom_result_text(const struct whyoom_result *result, size_t *ret_bytes);

/* What a command would have written to standard error: lines that begin with "whyoom: "; "" if there is none. */
WHYOOM_API const char *whyoom_result_messages(const struct whyoom_result *result);

/* Reading reports in JSON. */
enum whyoom_kind { WHYOOM_ABSENT, WHYOOM_NULL, WHYOOM_BOOL, WHYOOM_NUMBER, WHYOOM_TEXT, WHYOOM_LIST, WHYOOM_OBJECT };

struct whyoom_value {
  enum whyoom_kind kind;
  double number;    /* of NUMBER (exact to 2^53; sizes are in bytes); 1 or 0 of BOOL; else 0 */
  const char *text; /* of TEXT, UTF-8 without control characters, lives as long as the result; else NULL */
  size_t count;     /* elements of LIST, members of OBJECT; else 0 */
};

/* The number of reports; 0 where they are not JSON. */
WHYOOM_API size_t whyoom_result_count(const struct whyoom_result *result);

/* The value at a JSON pointer (RFC 6901) in the report of that number, from 0: "/findings/0/cause", "/failure/kind". "" is the
 * whole report. WHYOOM_ABSENT where there is no such report or value. */
WHYOOM_API struct whyoom_value whyoom_result_read(const struct whyoom_result *result, size_t report, const char *pointer);

#ifdef __cplusplus
}
#endif

#endif
