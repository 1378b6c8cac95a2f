/* SPDX-License-Identifier: Apache-2.0 */
/* `whyoom record -- CMD...`: makes the Python processes of a command write memory snapshots.
 *
 * It writes a sitecustomize.py (record_sitecustomize.py, compiled in) to a folder of its own, and puts that folder at the front
 * of PYTHONPATH. The caller then becomes the command, so that exit status, signals, standard streams and job control are the
 * command's own. Running the command is more important than the recording: a problem that prevents the recording is reported and
 * is no error. */
#ifndef WO_RECORD_H
#define WO_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "parsers/base/command/command.h"

/* Entries that torch keeps for each card by default. Snapshots take 160 to 250 bytes for an entry with its stack (pickles of
 * torch 2.1 to 2.11): 15 to 30 MB. */
#define WO_RECORD_ENTRIES_DEFAULT 100000

/* The recorded part of each entry's stack. Python's alone is the default: C++ frames are resolved at each dump, which can take
 * minutes. */
enum wo_record_stacks { WO_RECORD_STACKS_PYTHON, WO_RECORD_STACKS_ALL, WO_RECORD_STACKS_NONE };

/* When a process that used CUDA writes a snapshot at its end: always, only if an allocation failed, never. */
enum wo_record_at_exit { WO_RECORD_EXIT_ALWAYS, WO_RECORD_EXIT_OOM, WO_RECORD_EXIT_NEVER };

struct wo_record_settings {
  const char *output; /* folder for snapshots, made if it does not exist; NULL = ./whyoom-traces; borrowed */
  size_t entries;     /* ring of each card: 1 to WO_LIMIT_TRACE_ENTRIES */
  enum wo_record_stacks stacks;
  enum wo_record_at_exit at_exit;
  bool is_verbose; /* the Python side reports its actions on stderr */
};

extern const struct wo_command wo_command_record;

/* The settings of a call. WO_E_USAGE with the expected value. */
enum wo_status wo_record_settings_read(const struct wo_call *call, struct wo_record_settings *ret_settings, struct wo_err *err);

/* Makes the folders, writes sitecustomize.py and sets the environment of this process: PYTHONPATH and WHYOOM_RECORD_*.
 *
 * The caller must be able to write to the output folder. Python runs what is in the folder .whyoom-record, so it is below the
 * output folder only if nobody else can exchange it there (private_folder.h), else below the user's cache folder
 * ($XDG_CACHE_HOME/whyoom, ~/.cache/whyoom), under the same condition. Several processes may do this at the same time, on one
 * file system. An error (WO_E_IO, WO_E_NOMEM, described in *err, which must not be NULL) leaves PYTHONPATH as it was: the command
 * can still be run, unrecorded. Not for programs with threads (setenv). */
enum wo_status wo_record_arm(const struct wo_record_settings *settings, struct wo_err *err);

/* Adds a line to notes for a word of command (NULL-terminated) that keeps Python from reading sitecustomize: python -I, -E, -S.
 */
void wo_record_notes(char *const *command, struct wo_text *notes);

/* Becomes the command (NULL-terminated, at least one word), found in PATH. Returns only on failure: WO_EXIT_NOT_FOUND or
 * WO_EXIT_CANNOT_RUN, with a message in *err. */
enum wo_exit wo_record_become(char *const *command, struct wo_err *err);

#endif
