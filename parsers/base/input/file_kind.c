/* First bytes of files that are no logs. See file_kind.h. */
#include "parsers/base/input/file_kind.h"

#include <string.h>

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
    COMPRESSED("LZIP", "lzip", "lzip -dc"),
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
    SIGNATURE("GGUF", "a model (GGUF)", NAME_THE_LOG),
    SIGNATURE("PAR1", "a table (Parquet)", NAME_THE_LOG),
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

/* "BZh" alone can begin a word. */
static bool is_bzip2(struct wo_view front) {
  return front.len >= 10 && (begins(wo_view_skip(front, 4), "1AY&SY", 6) || begins(wo_view_skip(front, 4), "\x17rE8P\x90", 6));
}

const struct wo_file_kind *wo_file_kind(struct wo_view front) {
  static const struct wo_file_kind core = {"a core dump: the memory of a program that crashed", NAME_THE_LOG};
  static const struct wo_file_kind pickle = {"a pickle of Python, and no memory snapshot of PyTorch by its beginning",
                                             NAME_THE_LOG};
  static const struct wo_file_kind tensors = {"weights of a model (safetensors)", NAME_THE_LOG};
  if (is_core(front)) return &core;
  if (is_pickle(front)) return &pickle;
  if (is_safetensors(front)) return &tensors;
  for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
    const struct signature *const one = &signatures[i];
    if (begins(front, one->bytes, one->len) && (one->bytes[0] != 'B' || is_bzip2(front))) return &one->kind;
  }
  return NULL;
}
