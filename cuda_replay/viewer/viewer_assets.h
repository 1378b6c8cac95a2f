/* SPDX-License-Identifier: Apache-2.0 */
/* What pages are made of: their beginning; the style sheet and the script (viewer.css, viewer.js), compiled in. */
#ifndef WO_VIEWER_ASSETS_H
#define WO_VIEWER_ASSETS_H

#include <stddef.h>

/* Everything up to the title's text: the policy, which holds before anything else of the page. NUL-terminated. */
extern const char wo__viewer_head[];

extern const char wo__viewer_css[];
extern const size_t wo__viewer_css_bytes;
extern const char wo__viewer_js[];
extern const size_t wo__viewer_js_bytes;

#endif
