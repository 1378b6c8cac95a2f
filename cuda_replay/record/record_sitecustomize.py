# SPDX-License-Identifier: Apache-2.0
# Written by `whyoom record` into a folder of its own, which is first in PYTHONPATH, so that every Python process of the
# recorded command reads it at its start. It waits for the program to import torch, and for torch to initialise CUDA; then it
# switches the allocator's recording on and writes snapshots: at out-of-memory errors, at SIGUSR1 and at the exit.
#
# The program must not notice. Nothing here raises, prints (unless WHYOOM_RECORD_VERBOSE is set) or initialises CUDA, torch is not
# imported, and another sitecustomize is run in place of this one. Syntax is that of Python 2.7, because any Python may read it.
import os
import sys

_FOLDER_NAME = ".whyoom-record"
_OOM_FILES = 4  # the first three, and the last
_QUIET_FACTOR = 10  # after the dump of a later out-of-memory error, none for this many times its duration


def _say(what):
    """One line on standard error, if verbose."""
    if os.environ.get("WHYOOM_RECORD_VERBOSE"):
        try:
            sys.stderr.write("whyoom: record: process %d: %s\n" % (os.getpid(), what))
            sys.stderr.flush()
        except Exception:
            pass  # standard error may be closed


def _guarded(function):
    """The same function, without its exceptions."""

    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            _say("%s: %s: %s" % (function.__name__, type(error).__name__, error))
            return None

    return call


def _is_caught(signum):
    """Whether this process has a handler for the signal, including one that Python does not know."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) >> (signum - 1) & 1 == 1
    return False


class _Names(object):
    """Names of the files of one process."""

    def __init__(self, folder):
        self.folder = folder
        self.written = set()  # by this process, which may write them again

    @staticmethod
    def _first(*variables):
        for variable in variables:
            value = os.environ.get(variable)
            if value:
                return value
        return None

    @staticmethod
    def _clean(text):
        return "".join(c if c.isalnum() or c in "._" else "_" for c in text)[:64]

    def _rank(self):
        """From the program's own process group, or from the launcher's variables. Read late, since programs set them too."""
        distributed = getattr(sys.modules.get("torch"), "distributed", None)
        try:
            if distributed.is_available() and distributed.is_initialized():
                return str(distributed.get_rank())
        except Exception:
            pass  # no distributed package, or one that is starting or ending
        return self._first("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "LOCAL_RANK")

    def stem(self, reason):
        job = self._first("SLURM_JOB_ID", "WHYOOM_RECORD_JOB") or "pid%d" % os.getpid()
        rank = self._rank()
        who = "rank" + self._clean(rank) if rank else "pid%d" % os.getpid()
        host = os.uname()[1].split(".")[0]
        return "-".join([self._clean(job)] + [who] * (who != job) + [self._clean(host), reason])

    def begin(self, stem):
        """Opens a file that nobody had, and gives its name and descriptor. In a folder that others can write to, a name may be taken
        by a link of theirs, which is not followed."""
        import errno

        for count in range(100):
            path = os.path.join(self.folder, ".%s.%d-%d.tmp" % (stem, os.getpid(), count))
            try:
                return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
            except OSError as error:
                if error.errno != errno.EEXIST:
                    raise
        raise OSError(errno.EEXIST, "all temporary names are taken", self.folder)

    def keep(self, unfinished, stem):
        """Gives a finished file its final name. Where an earlier step of the job or another process of the rank has left one of that
        name, perhaps in this very moment, both are kept; in containers even the process id may be the same."""
        import itertools

        for count in itertools.count(1):
            ends = "" if count == 1 else "-pid%d" % os.getpid() + ("-%d" % (count - 1)) * (count > 2)
            path = os.path.join(self.folder, stem + ends + ".pickle")
            if path in self.written or self._link(unfinished, path):
                break
        if os.path.lexists(unfinished):
            os.rename(unfinished, path)
        self.written.add(path)
        return path

    @staticmethod
    def _link(unfinished, path):
        """Whether the name was free: then it belongs to the file, or will after the renaming."""
        import errno

        try:
            os.link(unfinished, path)
        except (OSError, AttributeError) as error:
            if getattr(error, "errno", None) == errno.EEXIST:
                return False
            return not os.path.lexists(path)  # a file system without links
        os.unlink(unfinished)
        return True


class _Recorder(object):
    """The recording of one process. It is made where torch.cuda is imported and armed where CUDA is initialised."""

    def __init__(self, torch, cuda):
        self.torch = torch
        self.cuda = cuda  # torch.cuda is set only later
        self.names = _Names(os.environ["WHYOOM_RECORD_DIR"])
        self.armed_pid = None  # a fork has this object, but another process id: it must not write
        self.is_own = False  # the program itself records: its settings stay
        self.is_dumping = False
        self.has_ended = False
        self.oom_count = 0
        self.signal_count = 0
        self.quiet_until = 0.0
        self.record = None

    # ---- Arming

    def prepare(self):
        """Queues the arming after the initialisation of CUDA, and watches whether the program itself switches recording."""
        if not getattr(getattr(self.torch, "version", None), "cuda", None):
            return
        memory = self.cuda.memory
        self.record = memory._record_memory_history
        memory._record_memory_history = self._observed(self.record)
        self.cuda._lazy_call(_guarded(self.arm))

    def _observed(self, record):
        import functools

        @functools.wraps(record)
        def _record_memory_history(*args, **kwargs):
            self.is_own = True
            return record(*args, **kwargs)

        return _record_memory_history

    def arm(self):
        if self.armed_pid == os.getpid():
            return
        self.armed_pid = os.getpid()
        if self.is_own:
            _say("the program records by itself; its settings stay")
        else:
            _guarded(self._start)()
        self._attach()
        self._at_exit()
        self._at_signal()

    def _start(self):
        entries = int(os.environ.get("WHYOOM_RECORD_ENTRIES", "100000"))
        stacks = os.environ.get("WHYOOM_RECORD_STACKS", "python")
        has_stacks = stacks != "none"
        if self._takes_legacy_words():
            self.record(True, record_context=has_stacks, trace_alloc_max_entries=entries, trace_alloc_record_context=has_stacks)
        else:
            self.record(
                enabled="all",
                context="all" if has_stacks else None,
                stacks=stacks if has_stacks else "python",
                max_entries=entries,
            )
        _say("recording armed")

    def _takes_legacy_words(self):
        """torch 2.0 has other parameters; later versions take both forms, the old one with other defaults."""
        import inspect

        return "trace_alloc_max_entries" in inspect.signature(self.record).parameters

    def _attach(self):
        """torch allows several observers: one of the program's own stays."""
        attach = getattr(self.torch._C, "_cuda_attach_out_of_memory_observer", None)
        if attach is None:
            _say("this torch has no out-of-memory observer")
            return
        _guarded(attach)(_guarded(self.on_oom))

    def _at_exit(self):
        """Children of multiprocessing end without atexit, but run finalizers."""
        import atexit

        finish = _guarded(self.on_exit)
        atexit.register(finish)
        process = sys.modules.get("multiprocessing.process")
        util = sys.modules.get("multiprocessing.util")
        parent = getattr(process, "parent_process", None)
        if util is not None and parent is not None and parent() is not None:
            util.Finalize(None, finish, exitpriority=0)

    # ---- SIGUSR1: the program's handlers, set before or after, work as they would without us.

    @_guarded
    def _at_signal(self):
        import functools
        import signal

        if not hasattr(signal, "SIGUSR1"):
            return
        plain_signal, plain_getsignal = signal.signal, signal.getsignal
        self.programs_handler = plain_getsignal(signal.SIGUSR1)
        if not callable(self.programs_handler) and _is_caught(signal.SIGUSR1):
            return  # a handler in C (faulthandler.register) has it, which could not be called
        plain_signal(signal.SIGUSR1, self.on_signal)  # raises in a thread other than the first: then no signal is taken

        @functools.wraps(plain_getsignal)
        def getsignal(signalnum):
            handler = plain_getsignal(signalnum)
            return self.programs_handler if handler == self.on_signal else handler

        @functools.wraps(plain_signal)
        def set_signal(signalnum, handler):
            if signalnum != signal.SIGUSR1 or plain_getsignal(signalnum) != self.on_signal:
                return plain_signal(signalnum, handler)
            plain_signal(signalnum, handler)  # which checks the handler and the thread
            before, self.programs_handler = self.programs_handler, handler
            plain_signal(signalnum, self.on_signal)
            return before

        self.plain_signal = plain_signal
        signal.getsignal, signal.signal = getsignal, set_signal

    def on_signal(self, signum, frame):
        is_ours = self.armed_pid == os.getpid()
        if is_ours:
            self.signal_count += 1
            self.dump("signal%d" % self.signal_count)
        if callable(self.programs_handler):
            self.programs_handler(signum, frame)
        elif not is_ours and self.programs_handler == 0:
            # A fork without a handler of its own dies from the signal, as it would have without us.
            self.plain_signal(signum, self.programs_handler)
            os.kill(os.getpid(), signum)

    # ---- Dumps

    def on_oom(self, *figures):
        import time

        self.oom_count += 1
        is_late = self.oom_count >= _OOM_FILES
        start = time.time()
        # Programs that retry often must not be delayed: the snapshot at the exit has these entries too.
        if is_late and start < self.quiet_until:
            return
        self.dump("oom-last" if is_late else "oom%d" % self.oom_count)
        end = time.time()
        if is_late:
            self.quiet_until = end + _QUIET_FACTOR * (end - start)

    def on_exit(self):
        if self.has_ended:
            return  # the second of finalizer and atexit
        self.has_ended = True
        choice = os.environ.get("WHYOOM_RECORD_AT_EXIT", "always")
        if choice == "always" or (choice == "oom" and self.oom_count > 0):
            self.dump("exit")

    @_guarded
    def dump(self, reason):
        """Writes under another name first: a killed process leaves no half file under the final one."""
        import pickle

        if self.armed_pid != os.getpid() or self.is_dumping:
            return
        self.is_dumping = True
        stem = self.names.stem(reason + ("-own" if self.is_own else ""))
        unfinished = None
        try:
            snapshot = self.cuda.memory._snapshot()
            unfinished, number = self.names.begin(stem)
            with os.fdopen(number, "wb") as file:
                pickle.dump(snapshot, file)
            _say("wrote " + self.names.keep(unfinished, stem))
        finally:
            self.is_dumping = False
            if unfinished and os.path.lexists(unfinished):
                os.unlink(unfinished)


class _Finder(object):
    """Finds nothing by itself; puts a call behind the execution of torch.cuda. It stays until that was executed: programs look for
    packages that they do not import yet. torch itself is left alone: an import of it that fails shows a traceback, which would
    have a line of ours."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch.cuda":
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None) if finder is not self else None
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                _guarded(self._hook)(spec.loader)
                return spec
        return None

    def _hook(self, loader):
        if loader is None or isinstance(loader, type):
            return  # a namespace, or a loader that all modules share: no torch that has CUDA
        execute = loader.exec_module

        def exec_module(module):
            loader.__dict__.pop("exec_module", None)
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                _guarded(_prepare)(module)

        loader.exec_module = exec_module


def _prepare(cuda):
    _Recorder(sys.modules["torch"], cuda).prepare()


def _run_next():
    """Imports the sitecustomize that would have been read without us, in place of this one. What it raises is its own and told by
    Python as ever; so is, by silence, that there is none."""
    del sys.modules["sitecustomize"]
    __import__("sitecustomize")


def _leave_path():
    """sys.path as the program would have had it. PYTHONPATH stays, for the processes that it starts."""
    sys.path[:] = [entry for entry in sys.path if os.path.basename(entry.rstrip("/")) != _FOLDER_NAME]
    for entry in list(sys.path_importer_cache):
        if os.path.basename(entry) == _FOLDER_NAME:
            del sys.path_importer_cache[entry]


@_guarded
def _watch():
    if not os.environ.get("WHYOOM_RECORD_DIR") or sys.version_info < (3, 6):
        return
    if "torch.cuda" in sys.modules:
        _prepare(sys.modules["torch.cuda"])
    else:
        sys.meta_path.insert(0, _Finder())


_guarded(_leave_path)()
_watch()
_run_next()
