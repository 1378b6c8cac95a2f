/* SPDX-License-Identifier: Apache-2.0 */
/* Makes calls that cannot be used safely on untrusted text a compile error.
 *
 * Force-included into every translation unit of ours (see CMakeLists.txt), so that no file can forget it. The replacements: views
 * (view.h), bounded readers (number.h, units.h), snprintf into sized buffers. */
#ifndef WO_BANNED_H
#define WO_BANNED_H

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* C libraries make macros of some of these (glibc for Clang, with _FORTIFY_SOURCE); poisoning works on names. */
#undef alloca
#undef sprintf
#undef vsprintf
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef strtok
#pragma GCC poison strcpy strcat sprintf vsprintf strncpy strncat strtok gets
#pragma GCC poison atoi atol atoll atof sscanf fscanf scanf strtod strtof strtol strtoul strtoll strtoull
#pragma GCC poison gmtime localtime alloca setlocale

#endif
