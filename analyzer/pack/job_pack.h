/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence of a job as bytes to be kept, and back: a job that is restored from them has the report that the job itself has,
 * by whatever rules, without its logs.
 *
 * What is kept are the inputs (path, format, sizes, notes) and all evidence. Kinds, marks and fields are kept by name, so that
 * later versions read it; a kind or field that a version does not know is left out. The bytes are compressed; they are the same
 * for the same job. */
#ifndef WO_JOB_PACK_H
#define WO_JOB_PACK_H

#include "analyzer/story/job.h"
#include "parsers/base/text.h"

/* Appends the packed job to *out. To be called after the last input was read and before wo_job_close, which changes the evidence.
 * WO_E_LIMIT: there is more than WO_LIMIT_PACKED_JOB_BYTES. WO_E_NOMEM. */
enum wo_status wo_job_pack(const struct wo_job *job, struct wo_text *out);

/* Makes a job of packed bytes, which is to be closed like one that was read (wo_job_close) and released with wo_job_free; the
 * pack must outlive it. Any bytes are valid input. WO_E_SYNTAX: they are damaged; WO_E_KIND: a newer version packed them;
 * WO_E_NOMEM. *err (NULL allowed) names the reason. */
enum wo_status wo_job_unpack(struct wo_view packed, const struct wo_pack *pack, struct wo_job **ret_job, struct wo_err *err);

#endif
