/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed formats: how each begins, and how its bytes expand. A stream of a format is one member; files may have many. */
#ifndef WO_UNPACK_H
#define WO_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* First bytes of the longest magic. */
enum { WO_UNPACK_MAGIC_MAX = 6 };

enum wo_unpacked {
  WO_UNPACKED_SOME,    /* bytes were taken or given, or more are needed */
  WO_UNPACKED_MEMBER,  /* the member is complete */
  WO_UNPACKED_DAMAGED, /* `reason` says why, if the library does */
  WO_UNPACKED_NO_MEMORY,
  WO_UNPACKED_TOO_LARGE, /* the member asks for more memory than WO_LIMIT_UNPACK_BYTES */
};

/* Bytes in and out; `unpack` moves both forward. */
struct wo_unpack_io {
  const unsigned char *in;
  size_t in_len;
  char *out;
  size_t out_len;
  const char *reason; /* of damage, constant or of the state; NULL without one */
};

/* A format. One state serves all members of an input. */
struct wo_unpacker;

/* A faster way through the members of a format. It settles nothing but that a member is complete: whatever else ends one is told
 * by the usual way, which then goes through the member again. So the result is the same with it and without. */
struct wo_fast_unpacker {
  size_t head_len; /* bytes of a member by which `takes` decides */
  bool (*takes)(const unsigned char *head);
  const struct wo_unpacker *unpacker;
};

struct wo_unpacker {
  const char *name;    /* "gzip" */
  const char *command; /* that expands it to standard output: "gzip -dc" */
  const unsigned char *magic;
  size_t magic_len;
  /* Makes *state for the first member if it is NULL, and resets it for a later one; false without memory. NULL: whyoom was built
   * without the library of this format. */
  bool (*begin)(void **state);
  enum wo_unpacked (*unpack)(void *state, struct wo_unpack_io *io);
  void (*done)(void *state);           /* frees it */
  const struct wo_fast_unpacker *fast; /* NULL: none */
};

/* For gzip; whyoom may be built without its library. */
#ifdef WO_HAS_ISAL
extern const struct wo_fast_unpacker wo_unpack_fast_gzip;
#define WO_UNPACK_FAST_GZIP (&wo_unpack_fast_gzip)
#else
#define WO_UNPACK_FAST_GZIP NULL
#endif

/* The formats that are known, *ret_count of them. */
const struct wo_unpacker *wo_unpackers(size_t *ret_count);

#endif
