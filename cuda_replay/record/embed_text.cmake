# cmake -DIN=FILE -DOUT=FILE.c -P embed_text.cmake: the bytes of record_sitecustomize.py as a C array (record_text.h), with a line for
# each line.
file(READ ${IN} digits HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${digits}")
string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")
file(WRITE ${OUT} "/* Made of ${IN} by embed_text.cmake. */\n#include \"cuda_replay/record/record_text.h\"\n
const char wo__record_text[] = {\n${bytes}};\nconst size_t wo__record_text_bytes = sizeof wo__record_text;\n")
