/* SPDX-License-Identifier: Apache-2.0 */
/* First bytes of files that are no logs. See file_kind.h. */
#include "parsers/base/input/file_kind.h"

#include <string.h>

#include "parsers/base/clean.h"

struct signature {
  const char *bytes;
  size_t len;
  struct wo_file_kind kind;
};

/* The bytes are a literal, whose NUL at the end is no part of them. */
#define SIGNATURE(literal, what, instead)                                                                                        \
  {                                                                                                                              \
    literal, sizeof literal - 1, {                                                                                               \
      what, instead                                                                                                              \
    }                                                                                                                            \
  }

#define COMPRESSED(literal, program, command)                                                                                    \
  SIGNATURE(literal, "compressed with " program ", which whyoom does not expand", "`" command " FILE | whyoom`")

#define NAME_THE_LOG "name the log that the job wrote"

static const struct signature signatures[] = {
    COMPRESSED("BZh", "bzip2", "bzip2 -dc"),
    COMPRESSED("\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
    COMPRESSED("\x02\x21\x4c\x18", "lz4", "lz4 -dc"),
    COMPRESSED("7z\xbc\xaf\x27\x1c", "7-Zip", "7z x -so"),
    COMPRESSED("Rar!\x1a\x07", "RAR", "unrar p -inul"),
    COMPRESSED("\x1f\x9d", "compress", "uncompress -c"),
    COMPRESSED("LZIP\x01", "lzip", "lzip -dc"),
    COMPRESSED("\x89LZO\0\r\n\x1a\n", "lzop", "lzop -dc"),
    COMPRESSED("\xff\x06\0\0sNaPpY", "snappy", "snzip -dc"),
    SIGNATURE("PK\x03\x04", "a zip archive (checkpoints of PyTorch are such)", "`unzip -p FILE | whyoom` if it holds logs"),
    SIGNATURE("PK\x05\x06", "an empty zip archive", NAME_THE_LOG),
    SIGNATURE("!<arch>\n", "an ar archive of object files or a package", NAME_THE_LOG),
    SIGNATURE("\x7f"
              "ELF",
              "a program or a library (ELF)", NAME_THE_LOG),
    SIGNATURE("\x89PNG\r\n\x1a\n", "a picture (PNG)", "whyoom reads text: copy the text out of the terminal"),
    SIGNATURE("\xff\xd8\xff", "a picture (JPEG)", "whyoom reads text: copy the text out of the terminal"),
    SIGNATURE("GIF8", "a picture (GIF)", "whyoom reads text: copy the text out of the terminal"),
    SIGNATURE("%PDF-", "a PDF document", "`pdftotext FILE - | whyoom` if it holds a log"),
    SIGNATURE("\x89HDF\r\n\x1a\n", "a file of data (HDF5)", NAME_THE_LOG),
    SIGNATURE("\x93NUMPY", "an array of NumPy", NAME_THE_LOG),
    SIGNATURE("GGUF\x01\0", "a model (GGUF)", NAME_THE_LOG),
    SIGNATURE("GGUF\x02\0", "a model (GGUF)", NAME_THE_LOG),
    SIGNATURE("GGUF\x03\0", "a model (GGUF)", NAME_THE_LOG),
    SIGNATURE("PAR1\x15", "a table (Parquet)", NAME_THE_LOG),
    SIGNATURE("ARROW1\0\0", "a table (Arrow)", NAME_THE_LOG),
    SIGNATURE("MZ\x90\0", "a program or a library (of Windows)", NAME_THE_LOG),
    SIGNATURE("SQLite format 3\0", "a database (SQLite)", "`whyoom report --store FILE` if whyoom wrote it"),
    SIGNATURE("LPKSHHRH", "a journal of systemd", "`journalctl --file FILE | whyoom`"),
};

static bool begins(struct wo_view front, const char *bytes, size_t len) {
  return front.len >= len && memcmp(front.ptr, bytes, len) == 0;
}

/* An ELF file of type 4 is the memory of a program that crashed. */
static bool is_core(struct wo_view front) {
  enum { TYPE_AT = 16, TYPE_CORE = 4, ENDIAN_AT = 5, ENDIAN_BIG = 2 };
  if (!begins(front,
              "\x7f"
              "ELF",
              4) ||
      front.len < TYPE_AT + 2)
    return false;
  return front.ptr[TYPE_AT + (front.ptr[ENDIAN_AT] == ENDIAN_BIG ? 1 : 0)] == TYPE_CORE;
}

/* Protocols 2 to 5; a memory snapshot, which is one too, is known before. */
static bool is_pickle(struct wo_view front) {
  return front.len > 2 && begins(front, "\x80", 1) && front.ptr[1] >= 2 && front.ptr[1] <= 5;
}

/* Eight bytes for the length of a header, which is JSON. */
static bool is_safetensors(struct wo_view front) {
  enum { HEADER_AT = 8 };
  return front.len > HEADER_AT + 1 && begins(wo_view_skip(front, HEADER_AT), "{\"", 2) &&
         begins(wo_view_skip(front, 4), "\0\0\0\0", 4);
}

/* Records of TensorBoard: a length of eight bytes, its checksum, and an event whose time is followed by its version. */
static bool is_events(struct wo_view front) {
  enum { EVENT_AT = 12, VERSION_AT = 21 };
  return front.len > VERSION_AT + 8 && front.ptr[EVENT_AT] == '\t' && begins(wo_view_skip(front, 4), "\0\0\0\0", 4) &&
         begins(wo_view_skip(front, VERSION_AT), "\x1a\rbrain.", 8);
}

/* Properties, a power of two as the size of the dictionary, and a length, which is mostly not known. */
static bool is_lzma(struct wo_view front) {
  return front.len >= 13 && begins(front, "\x5d\0\0", 3) &&
         (begins(wo_view_skip(front, 5), "\xff\xff\xff\xff\xff\xff\xff\xff", 8) || begins(wo_view_skip(front, 10), "\0\0\0", 3));
}

/* "BZh" alone can begin a word. */
static bool is_bzip2(struct wo_view front) {
  return front.len >= 10 && (begins(wo_view_skip(front, 4), "1AY&SY", 6) || begins(wo_view_skip(front, 4), "\x17rE8P\x90", 6));
}

const struct wo_file_kind *wo_file_kind(struct wo_view front) {
  static const struct wo_file_kind core = {"a core dump: the memory of a program that crashed", NAME_THE_LOG};
  static const struct wo_file_kind pickle = {"a pickle of Python, and no memory snapshot of PyTorch by its beginning",
                                             NAME_THE_LOG};
  static const struct wo_file_kind tensors = {"weights of a model (safetensors)", NAME_THE_LOG};
  static const struct wo_file_kind events = {"a file of TensorBoard", NAME_THE_LOG};
  static const struct wo_file_kind lzma = {"compressed with lzma, which whyoom does not expand", "`xz -dc FILE | whyoom`"};
  if (is_core(front)) return &core;
  if (is_pickle(front)) return &pickle;
  if (is_safetensors(front)) return &tensors;
  if (is_events(front)) return &events;
  if (is_lzma(front)) return &lzma;
  for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
    const struct signature *const one = &signatures[i];
    if (begins(front, one->bytes, one->len) && (one->bytes[0] != 'B' || is_bzip2(front))) return &one->kind;
  }
  return NULL;
}

/* ---- Text or not ---- */

/* In text, at most one byte in CONTROL_SHARE is a control character, and at most one in FOREIGN_SHARE is no UTF-8. */
enum { CONTROL_SHARE = 20, FOREIGN_SHARE = 4, NUL_RUN = 8 };

/* The bytes of a character of UTF-8 that begins here; 0 for none. One that the end cuts counts. */
static size_t measure_character(struct wo_view text) {
  const unsigned char c = (unsigned char)text.ptr[0];
  const size_t len = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  for (size_t i = 1; i < len && i < text.len; i++) {
    if (((unsigned char)text.ptr[i] & 0xC0) != 0x80) return 0;
  }
  return len;
}

bool wo_file_is_binary(struct wo_view front) {
  size_t controls = 0, foreign = 0, nuls = 0;
  for (size_t i = 0; i < front.len;) {
    const size_t plain = wo_clean_printable_until(front, i); /* says nothing, and is nearly all of a log */
    if (plain > i) nuls = 0;
    if (plain == front.len) break;
    i = plain;
    const unsigned char c = (unsigned char)front.ptr[i];
    const size_t len = measure_character(wo_view_skip(front, i));
    nuls = c == '\0' ? nuls + 1 : 0;
    const bool ends_run = nuls > 0 && nuls < NUL_RUN && i + 1 < front.len && front.ptr[i + 1] != '\0';
    if (ends_run) controls += nuls;
    if (c < ' ' && !memchr("\0\t\n\r\b\f\x1b", c, 7)) controls++;
    if (len == 0) foreign++;
    i += len > 0 ? len : 1;
  }
  return controls * CONTROL_SHARE > front.len || foreign * FOREIGN_SHARE > front.len;
}

/* Behind a control sequence ("ESC [ 31 m"), or the one byte at `at`. */
static size_t skip_control(struct wo_view text, size_t at) {
  if (text.ptr[at] != '\x1b' || at + 1 >= text.len || text.ptr[at + 1] != '[') return at + 1;
  for (at += 2; at < text.len && (text.ptr[at] < '@' || text.ptr[at] > '~');) at++;
  return at + 1;
}

bool wo_file_is_blank(struct wo_view text) {
  size_t at = begins(text, "\xef\xbb\xbf", 3) ? 3 : 0;
  while (at < text.len) {
    const unsigned char c = (unsigned char)text.ptr[at];
    if (c > ' ' && c != 0x7F) return false;
    at = skip_control(text, at);
  }
  return true;
}
