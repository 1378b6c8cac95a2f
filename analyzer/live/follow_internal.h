/* SPDX-License-Identifier: Apache-2.0 */
/* One following: shared by the files of this room that look and that wait. */
#ifndef WO_FOLLOW_INTERNAL_H
#define WO_FOLLOW_INTERNAL_H

#include "analyzer/live/follow.h"
#include "analyzer/live/live_folders.h"
#include "analyzer/live/live_jobs.h"

struct wo__follow {
  const struct wo_pack *pack;
  struct wo_store *store;
  const struct wo_follow_settings *settings;
  const struct wo_scan_hooks *scan_hooks;
  const struct wo_follow_hooks *hooks;
  struct wo_text *errors;
  struct wo_hash_map said; /* messages that were said once */
  struct wo_live_folders folders;
  struct wo_live_jobs jobs;
  struct wo_accounts *accounts;
  uint64_t accounts_mark;
  bool has_new_accounts;       /* a file of accounting changed */
  bool is_lost;                /* something changed unseen: everything is to be looked at */
  bool is_full;                /* more folders than are kept in mind: everything is looked at by time */
  int64_t all_ns;              /* when everything is to be looked at */
  int64_t all_rest_ns;         /* not before */
  int64_t poll_ns;             /* when folders that are not watched are looked at */
  int64_t roots_ns;            /* when roots are looked for */
  bool *is_gone;               /* for each root */
  struct wo_store_scan record; /* of the first look, with the figures of all */
  struct wo_follow_account account;
  enum wo_status status;
  struct wo_err *err;
  /* Of the present look. */
  uint32_t look, root;
  bool is_all;        /* it goes into every folder */
  bool is_first;      /* what it finds is known, not news */
  bool is_accounting; /* accounting changed before it */
  uint64_t jobs_read; /* by all looks */
  uint32_t folder;    /* that is walked, or WO_HASH_MAP_NONE */
  int64_t folder_ns;  /* when that began */
  bool has_read;      /* a job was read, so that the time says nothing */
  bool is_news;       /* the row that is being put is to be reported */
};

int64_t wo__follow_now(const struct wo__follow *follow);

/* Says each line that was not said before. */
void wo__follow_say(struct wo__follow *follow, struct wo_view lines);

/* Looks at the folders that are due (is_all false), or at everything. */
void wo__follow_look(struct wo__follow *follow, bool is_all);

/* Whether a root is a folder now. */
bool wo__follow_has_root(const struct wo__follow *follow, size_t root);

/* Looks for accounting again / whether there is other accounting than before, by names and times. */
void wo__follow_read_accounts(struct wo__follow *follow);
bool wo__follow_accounts_changed(struct wo__follow *follow);

/* How long to rest after something that took so long. `has_read`: jobs were read, so that the time says little. */
int64_t wo__follow_rest(int64_t took_ns, bool has_read);

#endif
