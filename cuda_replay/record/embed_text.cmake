# SPDX-License-Identifier: Apache-2.0
# cmake -DIN=FILE -DOUT=FILE.c -DNAME=SYMBOL -DHEADER=HEADER -P embed_text.cmake: the bytes of a file as the C array SYMBOL, which HEADER
# declares, with its length SYMBOL_bytes; a line for each line.
file(READ ${IN} digits HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${digits}")
string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")
file(WRITE ${OUT} "/* Made of ${IN} by embed_text.cmake. */\n#include \"${HEADER}\"\n
const char ${NAME}[] = {\n${bytes}};\nconst size_t ${NAME}_bytes = sizeof ${NAME};\n")
