#!/bin/sh
# Whether the libraries keep to their side: what prints, ends the program, or reads the clock, the environment or the terminal is called
# by main.c alone. Only the room record/ gets and sets variables of the environment, for the command that it arms.
#
# usage: check_edges.sh LIBRARY...
set -eu
command -v nm >/dev/null 2>&1 || { echo "skipped: no nm"; exit 77; }
calls='getenv|secure_getenv|environ|__environ|setenv|unsetenv|putenv|exit|_exit|_Exit|abort|signal|sigaction|isatty|ioctl'
calls="$calls|stdout|stderr|printf|__printf_chk|vprintf|puts|putchar|perror|clock|time|clock_gettime|gettimeofday|localtime|localtime_r"
nm -A -u "$@" 2>/dev/null | grep -E " U ($calls)(@.*)?\$" | grep -vE ":record\.c\.o: +U (getenv|setenv)\$" && exit 1
# The list of calls is of use only where the program itself is caught by it.
nm -A -u "$@" 2>/dev/null | grep -qE ":record\.c\.o: +U setenv\$" || { echo "edges: nm shows no calls"; exit 1; }
echo "edges: only main.c prints, ends the program, and reads the clock and the environment"
