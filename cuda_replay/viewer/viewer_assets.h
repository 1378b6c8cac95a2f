/* The style sheet and the script of the page (viewer.css, viewer.js), compiled in. */
#ifndef WO_VIEWER_ASSETS_H
#define WO_VIEWER_ASSETS_H

#include <stddef.h>

extern const char wo__viewer_css[];
extern const size_t wo__viewer_css_bytes;
extern const char wo__viewer_js[];
extern const size_t wo__viewer_js_bytes;

#endif
