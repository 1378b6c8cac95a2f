/* Where a setting comes from. Private to the modules that choose and tell settings. */
#ifndef WO_SETTING_ORIGIN_H
#define WO_SETTING_ORIGIN_H

#include "analyzer/facts.h"

/* In rising order of what they are worth; see docs/decisions/0005-what-the-program-printed-counts.md. */
enum wo_origin {
  WO_ORIGIN_FILE,        /* a configuration file, or text in a script */
  WO_ORIGIN_ECHO,        /* a configuration that a log shows; when it was printed is not known */
  WO_ORIGIN_ENVIRONMENT, /* export, or a variable */
  WO_ORIGIN_COMMAND,     /* flags and overrides */
  WO_ORIGIN_EFFECTIVE    /* printed by the program after it had read everything */
};

#endif
