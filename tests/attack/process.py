# SPDX-License-Identifier: Apache-2.0
"""Runs the program in a folder of its own, and measures it."""
import os
import pathlib
import resource
import select
import shutil
import signal
import sys
import time

import content

PIPE_CHUNK = 65536


class Result:
    """One run: `code` (negative: the signal), texts, processor seconds of the program, its largest memory or None, and whether the
    time limit ended it."""

    def __init__(self, code, out, err, cpu_s, peak_bytes, is_late, wall_s):
        self.code, self.out, self.err = code, out, err
        self.cpu_s, self.peak_bytes, self.is_late, self.wall_s = cpu_s, peak_bytes, is_late, wall_s


def scratch_root():
    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else os.environ.get("TMPDIR", "/tmp")


class Sandbox:
    """Folders in/ (the working folder: the inputs), home/, tmp/ and out/ below `folder`. The calling process moves there."""

    def __init__(self, folder, program, timeout_s=60.0, is_sanitized=False):
        self.folder = str(folder)
        self.program = os.path.abspath(program)
        self.timeout_s = timeout_s
        for name in ("in", "home", "tmp", "out"):
            pathlib.Path(self.folder, name).mkdir(parents=True)
        os.chdir(os.path.join(self.folder, "in"))
        self.env = {"HOME": self.folder + "/home", "TMPDIR": self.folder + "/tmp", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                    "CUDA_VISIBLE_DEVICES": ""}
        if is_sanitized:
            self.env["ASAN_OPTIONS"] = "malloc_context_size=8:exitcode=99"
            self.env["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1:exitcode=99"
        self.terminal = None
        self.runs = 0

    def close(self):
        os.chdir("/")
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- Files ----

    def clear(self):
        for name in ("in", "home", "tmp"):
            for entry in os.scandir(os.fsencode(os.path.join(self.folder, name))):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)

    def place(self, files, rules=()):
        """Writes the files of a case into the working folder, and its rule files into rules/."""
        self.clear()
        for name, parts in files:
            write(name, content.realise(parts))
        if rules:
            os.mkdir(b"rules")
            for name, parts in rules:
                write(b"rules/" + name, content.realise(parts))

    def state(self):
        """What must not change: every path below in/, home/ and tmp/ with its owner, mode, times and, if small, its bytes."""
        found = {}
        for name in ("in", "home", "tmp"):
            for folder, _, files in os.walk(os.fsencode(os.path.join(self.folder, name))):
                for file in files:
                    path = os.path.join(folder, file)
                    info = os.lstat(path)
                    small = info.st_size <= 1 << 20
                    data = pathlib.Path(os.fsdecode(path)).read_bytes() if small and os.path.isfile(path) else b""
                    found[path] = (info.st_ino, info.st_size, info.st_mode, info.st_uid, info.st_gid, info.st_mtime_ns, info.st_ctime_ns,
                                   info.st_nlink, data)
                found[folder] = os.lstat(folder).st_mode
        return found

    # ---- Runs ----

    def run(self, args, stdin=None, chunk=PIPE_CHUNK, program=None, env=None, timeout_s=None, is_terminal=False):
        """`stdin`: bytes that come through a pipe in pieces of `chunk`, or None for /dev/null (or a terminal)."""
        self.runs += 1
        out, err = self.folder + "/out/stdout", self.folder + "/out/stderr"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [(os.POSIX_SPAWN_OPEN, 1, out, flags, 0o600), (os.POSIX_SPAWN_OPEN, 2, err, flags, 0o600)]
        pipe = None
        if stdin is not None:
            pipe = os.pipe()
            actions.append((os.POSIX_SPAWN_DUP2, pipe[0], 0))
        elif is_terminal:
            if self.terminal is None:
                self.terminal = os.openpty()
            actions.append((os.POSIX_SPAWN_DUP2, self.terminal[1], 0))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.monotonic()
        program = program or self.program
        pid = os.posix_spawn(program, [program] + list(args), env or self.env, file_actions=actions)
        if pipe:
            os.close(pipe[0])
            feed(pipe[1], stdin, chunk)
        status, usage, is_late = self.wait(pid, begin + (timeout_s or self.timeout_s))
        wall_s = time.monotonic() - begin
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        # A child begins with the peak of its parent: a lower figure says nothing.
        peak = usage.ru_maxrss * 1024 if usage.ru_maxrss > before else None
        return Result(code, read(out), read(err), usage.ru_utime + usage.ru_stime, peak, is_late, wall_s)

    @staticmethod
    def wait(pid, deadline):
        is_late = False
        if sys.platform == "linux" and hasattr(os, "pidfd_open"):
            handle = os.pidfd_open(pid)
            waiter = select.poll()
            waiter.register(handle, select.POLLIN)
            if not waiter.poll(max(0, deadline - time.monotonic()) * 1000):
                is_late = True
                os.kill(pid, signal.SIGKILL)
            os.close(handle)
            _, status, usage = os.wait4(pid, 0)
            return status, usage, is_late
        while True:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                return status, usage, is_late
            if time.monotonic() > deadline and not is_late:
                is_late = True
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.001)


def write(path, data):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640)
    view = memoryview(data)
    while len(view):
        view = view[os.write(descriptor, view):]
    os.close(descriptor)


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def feed(descriptor, data, chunk):
    view = memoryview(data)
    try:
        while len(view):
            view = view[os.write(descriptor, view[:chunk]):]
    except BrokenPipeError:
        pass
    os.close(descriptor)
