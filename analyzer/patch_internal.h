/* Private to patch_*.c. */
#ifndef WO_PATCH_INTERNAL_H
#define WO_PATCH_INTERNAL_H

#include "parsers/base/status.h"
#include "parsers/base/text.h"

/* Reads a plain file to its end; *ret_text is released with wo_text_done. WO_E_KIND for links and devices. */
enum wo_status wo__patch_read(const char *path, struct wo_text *ret_text, struct wo_err *err);

#endif
