/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of every page. See viewer_assets.h. */
#include "cuda_replay/viewer/viewer_assets.h"

/* Nothing is loaded, sent or embedded. Style and script are in the page itself. */
const char wo__viewer_head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:\"/>\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
    "<meta name=\"color-scheme\" content=\"light dark\"/>\n<meta name=\"referrer\" content=\"no-referrer\"/>\n<title>";
