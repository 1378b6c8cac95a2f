/* SPDX-License-Identifier: Apache-2.0 */
/* The filter, as a program for the kernel, and when it is set. See sandbox.h. */
#include "parsers/base/command/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#if defined(__linux__) && !defined(WO_NO_SANDBOX) && defined(__has_include)
#if __has_include(<linux/seccomp.h>) && __has_include(<linux/filter.h>) && __has_include(<linux/audit.h>)
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>
#endif
#endif

/* The kernel's name of this machine's system calls. A call by the table of another machine is refused. */
#if defined(__x86_64__) && !defined(__ILP32__)
#define MACHINE_NAME AUDIT_ARCH_X86_64
#elif defined(__aarch64__) && defined(__LP64__)
#define MACHINE_NAME AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define MACHINE_NAME AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MACHINE_NAME AUDIT_ARCH_PPC64LE
#endif

#if defined(SECCOMP_SET_MODE_FILTER) && defined(SYS_seccomp) && defined(MACHINE_NAME)

/* ---- What is let through ---- */

/* Most frequent first: the kernel tries them in this order. Calls that not every machine has are left out by the preprocessor. */
static const int let_through[] = {
    SYS_read,
    SYS_write,
    SYS_close,
    SYS_fstat,
    SYS_lseek,
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_getdents64,
    /* The compiled patterns of PCRE2 become code. */
    SYS_mprotect,
    SYS_exit_group,
    SYS_exit,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_fcntl,
    SYS_futex,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_setitimer,
    SYS_ppoll,
    SYS_getrandom,
    SYS_wait4, /* for the pager, which runs outside */
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getcwd,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sysinfo,
    SYS_uname,
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_statx
    SYS_statx,
#endif
#ifdef SYS_stat
    SYS_stat,
    SYS_lstat,
#endif
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_alarm
    SYS_alarm,
#endif
#ifdef SYS_readlink
    SYS_readlink,
    SYS_access,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_membarrier
    SYS_membarrier,
#endif
};

/* TCGETS2, by which newer C libraries ask whether a file is a terminal. */
#define TERMINAL_SETTINGS_2 0x802C542Au

/* What opening a file for more than reading asks for. */
enum { WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND };

/* A flag of newer kernels: SECCOMP_FILTER_FLAG_SPEC_ALLOW. */
enum { ALLOWS_SPECULATION = 1 << 2 };

/* ---- The filter ---- */

enum { LET_THROUGH_COUNT = sizeof let_through / sizeof let_through[0], FILTER_MOST = 2 * LET_THROUGH_COUNT + 40 };

struct filter {
  struct sock_filter steps[FILTER_MOST];
  unsigned short count;
};

static void add(struct filter *filter, unsigned code, unsigned value, unsigned char if_true, unsigned char if_false) {
  assert(filter->count < FILTER_MOST);
  filter->steps[filter->count++] = (struct sock_filter){.code = (unsigned short)code, .jt = if_true, .jf = if_false, .k = value};
}

static void add_load(struct filter *filter, size_t offset) {
  add(filter, BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void add_result(struct filter *filter, unsigned result) {
  add(filter, BPF_RET | BPF_K, result, 0, 0);
}

/* The place of the lower half of an argument of a system call. */
static size_t argument(int index) {
  const size_t low = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;
  return offsetof(struct seccomp_data, args) + (size_t)index * 8 + low;
}

static void add_let_through(struct filter *filter, int call) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1);
  add_result(filter, SECCOMP_RET_ALLOW);
}

/* Opening is for reading: `flags` is the index of the argument that says so. */
static void add_open(struct filter *filter, int call, int flags) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 4);
  add_load(filter, argument(flags));
  add(filter, BPF_JMP | BPF_JSET | BPF_K, WRITES, 0, 1);
  add_result(filter, SECCOMP_RET_ERRNO | EPERM);
  add_result(filter, SECCOMP_RET_ALLOW);
}

/* Of a terminal only whether it is one, and its size. */
static void add_terminal(struct filter *filter) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 6);
  add_load(filter, argument(1));
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)TIOCGWINSZ, 2, 0);
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, TERMINAL_SETTINGS_2, 1, 0);
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)TCGETS, 0, 1);
  add_result(filter, SECCOMP_RET_ALLOW);
  add_result(filter, SECCOMP_RET_ERRNO | EPERM);
}

/* A failed assertion ends the program with a signal to itself. */
static void add_abort(struct filter *filter) {
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4);
  add_load(filter, argument(0));
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 0, 1);
  add_result(filter, SECCOMP_RET_ALLOW);
  add_result(filter, SECCOMP_RET_ERRNO | EPERM);
}

static void make_filter(struct filter *filter) {
  filter->count = 0;
  add_load(filter, offsetof(struct seccomp_data, arch));
  add(filter, BPF_JMP | BPF_JEQ | BPF_K, MACHINE_NAME, 1, 0);
  add_result(filter, SECCOMP_RET_ERRNO | ENOSYS);
  add_load(filter, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < LET_THROUGH_COUNT; i++) add_let_through(filter, let_through[i]);
  add_open(filter, SYS_openat, 2);
#ifdef SYS_open
  add_open(filter, SYS_open, 1);
#endif
  add_terminal(filter);
  add_abort(filter);
  add_result(filter, SECCOMP_RET_ERRNO | ENOSYS);
}

enum wo_status wo_sandbox_enter(struct wo_err *err) {
  struct filter filter;
  make_filter(&filter);
  const struct sock_fprog program = {.len = filter.count, .filter = filter.steps};
  /* Without the right to gain rights by running a program, any user may set a filter. */
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return wo_err_set(err, WO_E_UNKNOWN, "this system has no sandbox: %s", strerror(errno));
  /* The filter is no defence against reading by speculation, and some kernels make the whole process slower for it. */
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ALLOWS_SPECULATION, &program);
  if (result != 0 && errno == EINVAL) result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  if (result == 0) return WO_OK;
  return wo_err_set(err, WO_E_UNKNOWN, "this system has no sandbox, or allows none here: %s", strerror(errno));
}

#else

enum wo_status wo_sandbox_enter(struct wo_err *err) {
  return wo_err_set(err, WO_E_UNKNOWN, "this build of whyoom has no sandbox");
}

#endif

/* ---- Calls ---- */

/* What makes a call do more than read. */
struct more {
  const char *dashes;  /* before an option */
  struct wo_view name; /* empty for nothing */
};

static struct more find_more(const struct wo_call *call) {
  const char *const needs_more = call->command->needs_more;
  if (call->output.len > 0) return (struct more){"--", WO_VIEW("output")};
  if (!needs_more) return (struct more){"", wo_view_of(call->command->name)};
  for (size_t i = 0; i < call->given_count; i++) {
    if (wo_option_choice(needs_more, call->given[i].name) >= 0) return (struct more){"--", call->given[i].name};
  }
  const struct wo_view word = wo_view_of(call->command->words && call->word_count > 0 ? call->words[0] : NULL);
  return (struct more){"", wo_option_choice(needs_more, word) >= 0 ? word : (struct wo_view){0}};
}

enum wo_status wo_sandbox_enter_for(const struct wo_call *call, struct wo_err *err) {
  const bool is_asked = call->sandbox == WO_SANDBOX_ON;
  if (call->command->has_threads) return WO_OK;
  const struct more more = find_more(call);
  if (call->sandbox == WO_SANDBOX_OFF || (more.name.len > 0 && !is_asked)) return WO_OK;
  if (more.name.len > 0)
    return wo_err_set(err, WO_E_USAGE, "--sandbox: %s%.*s does more than read, and the sandbox would not let it", more.dashes,
                      WO_SHOWN(more.name));
  const enum wo_status status = wo_sandbox_enter(is_asked ? err : NULL);
  return is_asked ? status : WO_OK;
}
