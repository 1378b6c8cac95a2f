/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a tar archive as bytes, for a store, and back. With it come the files of accounting of many jobs, unless they are
 * large: they are needed at each scan. Of other files no bytes are kept. */
#ifndef WO_TAR_PACK_H
#define WO_TAR_PACK_H

#include "analyzer/archive/tar.h"
#include "parsers/base/text.h"

/* Appends the list to a text. WO_E_LIMIT: it is too long to be kept; WO_E_NOMEM. */
enum wo_status wo_tar_pack(const struct wo_tar *tar, struct wo_text *out);

/* Fills an archive of which nothing is read: its list, and tar->kept. WO_E_SYNTAX: the bytes are damaged, or of another version;
 * WO_E_NOMEM. On failure the archive is as before. */
enum wo_status wo_tar_unpack(struct wo_view packed, struct wo_tar *tar);

#endif
