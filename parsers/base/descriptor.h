/* Paths that mean an open descriptor. */
#ifndef WO_DESCRIPTOR_H
#define WO_DESCRIPTOR_H

/* The number in /dev/fd/N and /proc/self/fd/N, 0 for /dev/stdin, or -1 for every other path. */
int wo_path_descriptor(const char *path);

#endif
