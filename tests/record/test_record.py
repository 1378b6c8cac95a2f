#!/usr/bin/env python3
"""`whyoom record`, with a stand-in for torch (fake_torch): what the recorded program sees, and what it leaves behind.

usage: test_record.py WHYOOM [FAILING_CALLS]     the library of tests/stand_in/failing_calls.c
"""
import glob
import json
import os
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE_TORCH = os.path.join(HERE, "fake_torch")
WHYOOM = None
FAILING_CALLS = None

OOM = """
import torch
torch.allocate(30 << 20)
try:
    torch.allocate(50 << 20)
except torch.OutOfMemoryError as error:
    print(error)
"""


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="whyoom-record.")
        self.addCleanup(shutil.rmtree, self.folder)
        self.traces = os.path.join(self.folder, "whyoom-traces")
        self.log = os.path.join(self.folder, "calls")
        kept = ("PATH", "HOME", "LANG", "PYENV_VERSION", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS")
        self.environment = {name: os.environ[name] for name in kept if name in os.environ}
        self.environment.update(PYTHONPATH=FAKE_TORCH, FAKE_TORCH_LOG=self.log, PYTHONDONTWRITEBYTECODE="1")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def run_plain(self, command, **more):
        environment = dict(self.environment, **more.pop("env", {}))
        return subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=60, **more)

    def record(self, command, options=(), **more):
        return self.run_plain([WHYOOM, "record", *options, "--", *command], **more)

    def python(self, text, options=(), **more):
        """Runs a program recorded."""
        return self.record([sys.executable, self.write("program.py", text)], options, **more)

    def files(self, folder=None):
        folder = folder or self.traces
        return sorted(name for name in os.listdir(folder) if name != ".whyoom-record") if os.path.isdir(folder) else []

    def reasons(self, folder=None):
        return sorted(name[: -len(".pickle")].split("-", 2)[-1] for name in self.files(folder))

    def calls(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return [json.loads(line) for line in file]

    def snapshot(self, name):
        with open(os.path.join(self.traces, name), "rb") as file:
            return pickle.load(file)


class Unchanged(Case):
    """Exit status, standard output and standard error are those of the command."""

    PROGRAMS = {
        "exit 3": "import sys, torch; torch.allocate(1); print('out'); print('err', file=sys.stderr); sys.exit(3)",
        "exit message": "import sys, torch; torch.allocate(1); sys.exit('bye')",
        "exception": "import torch; torch.allocate(1); raise ValueError('of the program')",
        "out of memory": "import torch; torch.allocate(30 << 20); torch.allocate(50 << 20)",
        "no torch": "print('plain')",
        "os._exit": "import os, torch; torch.allocate(1); os._exit(9)",
        "killed": "import os, signal, torch; torch.allocate(1); os.kill(os.getpid(), signal.SIGKILL)",
        "terminated": "import os, signal, torch; torch.allocate(1); os.kill(os.getpid(), signal.SIGTERM)",
        "interrupt": "import os, signal, torch; torch.allocate(1); os.kill(os.getpid(), signal.SIGINT); input()",
        "threads": "import threading, torch\n"
                   "t = threading.Thread(target=torch.allocate, args=(1,)); t.start(); t.join(); print('done')",
        "input": "import sys, torch; torch.allocate(1); print(sys.stdin.read())",
        "search path": "import sys, torch; print(sys.path, [f for f in sys.path_importer_cache if 'whyoom' in f.split('/')[-1]])",
        "modules": "import sys; print(sorted(sys.modules)); import sitecustomize",
        "lookup before import": "import importlib.util; print(importlib.util.find_spec('torch').name); import torch; torch.allocate(1)",
        "loader": "import torch; print(type(torch.__loader__), vars(torch.__loader__), vars(torch.cuda.__loader__))",
        "signals": "import signal, torch; torch.allocate(1); print([signal.getsignal(s) for s in range(1, 32)])",
        "reload": "import importlib, torch; torch.allocate(1); importlib.reload(torch.version)",
        "broken pipe": "import signal; print(signal.getsignal(signal.SIGPIPE))",
    }

    def test_programs(self):
        for name, text in self.PROGRAMS.items():
            with self.subTest(name):
                path = self.write("program.py", text)
                plain = self.run_plain([sys.executable, path], input="typed\n")
                recorded = self.record([sys.executable, path], input="typed\n")
                for field in ("returncode", "stdout", "stderr"):
                    self.assertEqual(getattr(recorded, field), getattr(plain, field), field)

    def test_without_cuda(self):
        """No effect where torch has no CUDA, where there is no card, and where torch is broken."""
        path = self.write("program.py", "import torch\nprint(torch.cuda.memory._record_memory_history.__name__)\ntorch.allocate(1)")
        for kind in ("cpu", "nogpu", "broken"):
            with self.subTest(kind):
                env = {"FAKE_TORCH_CUDA": kind}
                plain, recorded = (run([sys.executable, path], env=env) for run in (self.run_plain, self.record))
                self.assertEqual((recorded.returncode, recorded.stdout, recorded.stderr), (plain.returncode, plain.stdout, plain.stderr))
                if kind != "cpu":
                    self.assertEqual((self.calls(), self.files()), ([], []))
                else:
                    self.assertEqual(len(self.files()), 0)

    def test_broken_parts(self):
        """Whatever fails inside of the recording does not reach the program."""
        path = self.write("program.py", OOM)
        for form, broken in (("2.1", "record"), ("2.1", "observer"), ("2.1", "snapshot"), ("none", "")):
            with self.subTest(form=form, broken=broken):
                env = {"FAKE_TORCH_VERSION": form, "FAKE_TORCH_BROKEN": broken}
                plain, recorded = (run([sys.executable, path], env=env) for run in (self.run_plain, self.record))
                self.assertEqual((recorded.returncode, recorded.stdout, recorded.stderr), (0, plain.stdout, plain.stderr))
                told = self.record([sys.executable, path], ["-v"], env=env)
                self.assertIn("whyoom: record: process", told.stderr)
                self.assertEqual([name for name in os.listdir(self.traces) if name.endswith(".tmp")], [])

    def test_other_commands(self):
        done = self.record(["sh", "-c", 'echo "$1"; kill -TERM $$', "sh", "a  'b\" $c"])
        self.assertEqual((done.returncode, done.stdout, done.stderr), (-signal.SIGTERM, "a  'b\" $c\n", ""))

    def test_command_that_cannot_run(self):
        missing = self.record(["no-such-command-here"])
        self.assertEqual((missing.returncode, missing.stdout), (127, ""))
        self.assertIn("whyoom: record: no-such-command-here: No such file", missing.stderr)
        refused = self.record([self.write("plain.txt", "text")])
        self.assertEqual(refused.returncode, 126)
        self.assertIn("Permission denied", refused.stderr)

    def test_options_of_the_command(self):
        """Behind the first word all belongs to the command, with or without dashes before it."""
        for dashes in ([], ["--"]):
            done = self.run_plain([WHYOOM, "record", "-o", "x", *dashes, "echo", "--format", "json", "--", "-o", "--help"])
            self.assertEqual((done.returncode, done.stdout), (0, "--format json -- -o --help\n"))

    def test_usage(self):
        for words, told in ((["record"], "wants a command"), (["record", "--entries", "0", "true"], "--entries needs a number"),
                            (["record", "--entries=9x", "true"], "--entries needs"), (["record", "--stacks", "c", "true"], "python or all"),
                            (["record", "--at-exit", "maybe", "true"], "always, oom or never"), (["record", "--sweep", "true"], "replay"),
                            (["record", "--entries=99999999999999999999", "true"], "--entries needs"),
                            (["record", "-o", "", "true"], "--output needs"), (["record", "--stacks", "none", "true"], "python or all")):
            with self.subTest(words):
                done = self.run_plain([WHYOOM, *words])
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(told, done.stderr)
        self.assertFalse(os.path.exists(self.traces))


class Recording(Case):
    """What is switched on, and what is left behind."""

    def test_replay(self):
        done = self.python(OOM, env={"RANK": "3", "SLURM_JOB_ID": "4711"})
        self.assertEqual(done.returncode, 0, done.stderr)
        host = os.uname()[1].split(".")[0].replace("-", "_")
        self.assertEqual(self.files(), ["4711-rank3-%s-exit.pickle" % host, "4711-rank3-%s-oom1.pickle" % host])
        replay = self.run_plain([WHYOOM, "replay", "--format", "json", os.path.join(self.traces, self.files()[1])])
        self.assertEqual(replay.returncode, 1, replay.stderr)
        checked = self.run_plain([WHYOOM, "replay", "--check", os.path.join(self.traces, self.files()[1])])
        self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_words_of_versions(self):
        wanted = [("2.1", [], {"enabled": "all", "context": "all", "stacks": "python", "max_entries": 100000}),
                  ("2.1", ["--stacks=all", "--entries", "7"], {"enabled": "all", "context": "all", "stacks": "all", "max_entries": 7}),
                  ("2.1", ["--no-stacks"], {"enabled": "all", "context": None, "stacks": "python", "max_entries": 100000}),
                  ("2.15", [], {"enabled": "all", "context": "all", "stacks": "python", "max_entries": 100000}),
                  ("2.0", [], {"enabled": True, "record_context": True, "trace_alloc_max_entries": 100000, "trace_alloc_record_context": True}),
                  ("2.0", ["--no-stacks"], {"enabled": True, "record_context": False, "trace_alloc_max_entries": 100000,
                                            "trace_alloc_record_context": False})]
        for form, options, words in wanted:
            with self.subTest(form=form, options=options):
                if os.path.exists(self.log):
                    os.unlink(self.log)
                done = self.python(OOM, options, env={"FAKE_TORCH_VERSION": form})
                self.assertEqual((done.returncode, done.stderr, self.calls()), (0, "", [words]))
                self.assertEqual([reason.split("-")[-1] for reason in self.reasons()].count("oom1"), 1)
                shutil.rmtree(self.traces)

    def test_import_is_not_use(self):
        """A launcher imports torch and uses no card: it leaves nothing, and CUDA is not initialised for it."""
        done = self.python("import torch; print(torch.cuda.is_initialized())")
        self.assertEqual((done.stdout, self.calls(), self.files()), ("False\n", [], []))

    def test_already_imported(self):
        """A .pth file or another sitecustomize may import torch before the program does."""
        other = self.write("site/sitecustomize.py", "import torch")
        done = self.python(OOM, env={"PYTHONPATH": FAKE_TORCH + ":" + os.path.dirname(other)})
        self.assertEqual((done.returncode, len(self.files())), (0, 2))

    def test_at_exit(self):
        fine = "import torch; torch.allocate(1)"
        for option, text, reasons in (("always", fine, ["exit"]), ("oom", fine, []), ("oom", OOM, ["exit", "oom1"]),
                                      ("never", OOM, ["oom1"]), ("always", fine + "; raise ValueError(1)", ["exit"])):
            with self.subTest(option=option, text=text):
                shutil.rmtree(self.traces, ignore_errors=True)
                self.python(text, ["--at-exit", option], env={"RANK": "0"})
                self.assertEqual([reason.split("-")[-1] for reason in self.reasons()], reasons)

    def test_many_failures(self):
        """The first three and the last; a program that retries is not held up by dumps."""
        done = self.python("import torch\nfor i in range(200):\n    try: torch.allocate(1 << 40)\n    except RuntimeError: pass",
                           env={"RANK": "0"})
        self.assertEqual(done.returncode, 0)
        ends = [name.split("-", 3)[-1] for name in self.files()]
        self.assertEqual(ends, ["exit.pickle", "oom-last.pickle", "oom1.pickle", "oom2.pickle", "oom3.pickle"])
        exit_name = [name for name in self.files() if name.endswith("exit.pickle")][0]
        self.assertEqual(len(self.snapshot(exit_name)["device_traces"][0]), 200)

    def test_own_recording(self):
        """Before and after CUDA starts, with any settings, or switched off: the choice of the program stays, and the name says so."""
        own = {"enabled": "all", "context": "alloc", "stacks": "all", "max_entries": 5}
        call = "torch.cuda.memory._record_memory_history(context='alloc', max_entries=5)\n"
        before = self.python(OOM.replace("import torch\n", "import torch\n" + call))
        self.assertEqual((before.returncode, self.calls()), (0, [own]))
        self.assertTrue(all(name.endswith("-own.pickle") for name in self.files()), self.files())
        os.unlink(self.log)
        shutil.rmtree(self.traces)
        self.python(OOM.replace("try:", call + "try:"))
        self.assertEqual(self.calls()[1:], [own])
        self.assertTrue(all(name.endswith("-own.pickle") for name in self.files()), self.files())

    def test_own_observer(self):
        done = self.python("import torch\ntorch.cuda._lazy_init()\n"
                           "torch._C._cuda_attach_out_of_memory_observer(lambda *words: print('own', len(words)))\n" + OOM)
        self.assertIn("own 4\n", done.stdout)
        self.assertEqual(len(self.files()), 2)

    def test_ranks(self):
        """A launcher that sets the ranks' variables, as torchrun does."""
        self.write("program.py", OOM)
        launcher = ("import os, subprocess, sys, torch\n"
                    "ranks = [subprocess.Popen([sys.executable, 'program.py'], env=dict(os.environ, RANK=str(r))) for r in range(4)]\n"
                    "sys.exit(sum(rank.wait() for rank in ranks))")
        done = self.record([sys.executable, self.write("launcher.py", launcher)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.files()), 8)
        self.assertEqual({name.split("-")[1] for name in self.files()}, {"rank0", "rank1", "rank2", "rank3"})
        self.assertEqual(len({name.split("-")[0] for name in self.files()}), 1)

    def test_rank_variables(self):
        for variable in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "LOCAL_RANK"):
            with self.subTest(variable):
                shutil.rmtree(self.traces, ignore_errors=True)
                self.python(OOM, env={variable: "11"})
                self.assertEqual([name.split("-")[1] for name in self.files()], ["rank11", "rank11"])

    def test_second_run_of_a_job(self):
        """A restart of the same rank in the same job keeps what the first run left."""
        for _ in range(2):
            self.python(OOM, env={"RANK": "0", "SLURM_JOB_ID": "5"})
        self.assertEqual(len(self.files()), 4)
        self.assertEqual(len([name for name in self.files() if "-pid" in name]), 2)

    def test_names_that_are_taken(self):
        """Also by a process of the same id, as in a container that was started again: nothing is overwritten."""
        taken = ("import os, sys, torch\n"
                 "stem = os.path.join(os.environ['WHYOOM_RECORD_DIR'], '5-rank0-%s-exit' % os.uname()[1].split('.')[0])\n"
                 "for name in (stem, '%s-pid%d' % (stem, os.getpid())): \n"
                 "    with open(name + '.pickle', 'w') as file: file.write('theirs')\n"
                 "torch.allocate(1)\n")
        done = self.python(taken, env={"RANK": "0", "SLURM_JOB_ID": "5"})
        self.assertEqual((done.returncode, done.stderr, len(self.files())), (0, "", 3))
        sizes = [os.path.getsize(os.path.join(self.traces, name)) for name in self.files()]
        self.assertEqual(sizes.count(len("theirs")), 2)
        self.assertTrue([name for name in self.files() if name.endswith("-2.pickle")], self.files())

    def test_file_system_without_links(self):
        text = "import os\ndef link(*names): raise OSError(95, 'not supported')\nos.link = link\n" + OOM
        for _ in range(2):
            done = self.python(text, env={"RANK": "0", "SLURM_JOB_ID": "5"})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(self.files()), 4)

    def test_full_disk(self):
        """A file that cannot be written leaves nothing behind, and the program does not notice."""
        text = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n" + OOM
        plain = self.run_plain([sys.executable, self.write("plain.py", text)])
        done = self.python(text)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain.stdout, plain.stderr))
        self.assertEqual(self.files(), [])
        self.assertIn("File too large", self.python(text, ["-v"]).stderr)

    def test_failing_calls(self):
        """Every system call that writes a dump fails once, or is the last of the process: a file is complete or not there."""
        if FAILING_CALLS is None:
            self.skipTest("without the library of failing calls")
        program = self.write("program.py", "import torch; torch.allocate(1)")
        hit = os.path.join(self.folder, "hit")
        del self.environment["FAKE_TORCH_LOG"]
        count = 0
        for plan in ("open:%d:28", "open:%d:17", "open:%d:kill", "write:%d:28", "write:%d:short", "write:%d:kill", "close:%d:5", "link:%d:1",
                     "link:%d:28", "link:%d:kill", "rename:%d:5", "unlink:%d:5", "unlink:%d:kill"):
            for number in range(1, 20):
                with self.subTest(plan % number):
                    env = {"LD_PRELOAD": FAILING_CALLS, "WO_FAIL": plan % number, "WO_FAIL_HIT": hit,
                           "WO_FAIL_PROGRAM": os.path.basename(os.path.realpath(sys.executable))}
                    words = ["%s=%s" % item for item in env.items()]
                    done = self.record(["env", *words, sys.executable, program], env={"RANK": "0", "SLURM_JOB_ID": "5"})
                    for name in [name for name in self.files() if name.endswith(".pickle")]:
                        self.assertIn("device_traces", self.snapshot(name))
                    left = [name for name in self.files() if name.endswith(".tmp")]
                    if "kill" in plan and os.path.exists(hit):
                        self.assertEqual(done.returncode, -signal.SIGKILL)
                    else:
                        self.assertEqual((done.returncode, done.stderr), (0, ""))
                        self.assertEqual(left, [] if "unlink" not in plan else left)
                    shutil.rmtree(self.traces)
                    if not os.path.exists(hit):
                        break
                    count += 1
                    os.unlink(hit)
        self.assertGreater(count, 10)

    def test_hostile_names(self):
        done = self.python(OOM, env={"RANK": "../../x y", "SLURM_JOB_ID": "/etc/passwd\n"})
        self.assertEqual((done.returncode, len(self.files())), (0, 2))
        self.assertTrue(all(name.startswith("_etc_passwd_-rank.._.._x_y-") for name in self.files()), self.files())

    def test_workers(self):
        """Forked workers that use no CUDA leave nothing, in whichever way they end; children that use it leave their own."""
        text = ("import multiprocessing, os, sys, torch\n"
                "torch.allocate(1)\n"
                "def work(): pass\n"
                "for end in (os._exit, sys.exit):\n"
                "    child = os.fork()\n"
                "    if child == 0: end(0)\n"
                "    os.waitpid(child, 0)\n"
                "worker = multiprocessing.get_context('fork').Process(target=work); worker.start(); worker.join()\n")
        done = self.python(text)
        self.assertEqual((done.returncode, len(self.files())), (0, 1), self.files())

    def test_children_of_multiprocessing(self):
        for method in ("fork", "spawn", "forkserver"):
            with self.subTest(method):
                shutil.rmtree(self.traces, ignore_errors=True)
                text = ("import multiprocessing, os\n"
                        "def work(rank):\n"
                        "    os.environ['RANK'] = str(rank)\n"
                        "    import torch\n"
                        "    torch.allocate(1)\n"
                        "if __name__ == '__main__':\n"
                        "    context = multiprocessing.get_context('%s')\n"
                        "    ranks = [context.Process(target=work, args=(r,)) for r in range(2)]\n"
                        "    for rank in ranks: rank.start()\n"
                        "    for rank in ranks: rank.join()\n" % method)
                done = self.python(text)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual([name.split("-")[1] for name in self.files()], ["rank0", "rank1"])

    def test_killed_while_dumping(self):
        """Half a file stands under no final name."""
        text = ("import os, signal, torch\n"
                "torch.allocate(1)\n"
                "class Deadly:\n"
                "    def __reduce__(self): os.kill(os.getpid(), signal.SIGKILL)\n"
                "torch.cuda.memory._snapshot = lambda device=None: {'segments': [1] * 100000, 'device_traces': Deadly()}\n")
        done = self.python(text)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual([name for name in self.files() if not name.startswith(".")], [])

    def test_size_of_the_ring(self):
        self.python("import torch\nfor i in range(50):\n    try: torch.allocate(1 << 40)\n    except RuntimeError: pass", ["--entries=8"])
        exits = [name for name in self.files() if name.endswith("exit.pickle")]
        self.assertEqual(len(self.snapshot(exits[0])["device_traces"][0]), 8)


class Signals(Case):
    WAIT = "print('ready', flush=True)\nfor i in range(600):\n    time.sleep(0.05)\n    if os.path.exists('stop'): break\n"

    def start(self, text):
        path = self.write("program.py", text)
        process = subprocess.Popen([WHYOOM, "record", "--at-exit=never", "--", sys.executable, path], cwd=self.folder, env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def stop(self, process):
        self.write("stop", "")
        out = process.communicate(timeout=60)[0]
        return process.returncode, out

    def wait_files(self, count):
        for _ in range(400):
            done = [name for name in self.files() if not name.startswith(".")]
            if len(done) >= count:
                return done
            time.sleep(0.05)
        self.fail("%d files, not %d" % (len(self.files()), count))

    def test_dump(self):
        process = self.start("import os, time, torch\ntorch.allocate(1)\n" + self.WAIT)
        for count in (1, 2):
            process.send_signal(signal.SIGUSR1)
            names = self.wait_files(count)
        self.assertEqual([name.split("-")[-1] for name in names], ["signal1.pickle", "signal2.pickle"])
        self.assertEqual(self.stop(process), (0, ""))

    def test_own_handlers(self):
        """Of the program, before or after CUDA starts: it is called, it is what the program sees, and the snapshot is written."""
        handler = "def own(number, frame): os.write(1, b'own\\n')\n"
        for text in (handler + "signal.signal(signal.SIGUSR1, own)\ntorch.allocate(1)\n",
                     handler + "torch.allocate(1)\nassert signal.signal(signal.SIGUSR1, own) == signal.SIG_DFL\n",
                     handler + "torch.allocate(1)\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
                     "assert signal.signal(signal.SIGUSR1, own) == signal.SIG_IGN\n"):
            with self.subTest(text):
                shutil.rmtree(self.traces, ignore_errors=True)
                if os.path.exists(os.path.join(self.folder, "stop")):
                    os.unlink(os.path.join(self.folder, "stop"))
                process = self.start("import os, signal, time, torch\n" + text + "assert signal.getsignal(signal.SIGUSR1) is own\n" + self.WAIT)
                process.send_signal(signal.SIGUSR1)
                self.wait_files(1)
                self.assertEqual(self.stop(process), (0, "own\n"))

    def test_handler_in_c(self):
        """faulthandler's: it stays, and there is no snapshot at the signal."""
        done = self.python("import faulthandler, os, signal, torch\nfaulthandler.register(signal.SIGUSR1)\ntorch.allocate(1)\n"
                           "os.kill(os.getpid(), signal.SIGUSR1)\nprint('on')", ["--at-exit=never"])
        self.assertEqual((done.returncode, done.stdout, self.files()), (0, "on\n", []))
        self.assertIn("most recent call first", done.stderr)

    def test_without_cuda_in_use(self):
        """A process that uses no card dies of the signal, as it would have."""
        process = self.start("import os, time, torch\n" + self.WAIT)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(timeout=60), -signal.SIGUSR1)
        process.stdout.close()

    def test_forked_worker(self):
        done = self.python("import os, signal, torch\ntorch.allocate(1)\nchild = os.fork()\n"
                           "if child == 0:\n    os.kill(os.getpid(), signal.SIGUSR1)\n    os._exit(0)\n"
                           "print(os.waitpid(child, 0)[1] == signal.SIGUSR1)", ["--at-exit=never"])
        self.assertEqual((done.stdout, self.files()), ("True\n", []))

    def test_thread(self):
        """CUDA that starts in another thread than the first: no handler can be set, the rest works."""
        done = self.python("import signal, threading, torch\nt = threading.Thread(target=torch.allocate, args=(1,)); t.start(); t.join()\n"
                           "print(signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL)")
        self.assertEqual((done.stdout, len(self.files())), ("True\n", 1))


class Snippet(Case):
    def test_snippet(self):
        """What the README and docs/record.md offer to paste is the same, and works."""
        texts = []
        for name in ("README.md", "docs/record.md"):
            with open(os.path.join(HERE, "..", "..", name), encoding="utf-8") as file:
                texts.append(file.read().split("```python\n")[1].split("```")[0])
        self.assertEqual(texts[0], texts[1])
        done = self.run_plain([sys.executable, self.write("program.py", texts[0] + OOM)], env={"RANK": "2"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for name in ("oom-rank2.pickle", "exit-rank2.pickle"):
            checked = self.run_plain([WHYOOM, "replay", "--check", os.path.join(self.folder, name)])
            self.assertEqual(checked.returncode, 0, checked.stdout)


class Environment(Case):
    """PYTHONPATH, other sitecustomize files, folders."""

    def test_chained_sitecustomize(self):
        place = self.write("site folder/sitecustomize.py", "import sys\nprint('theirs', __name__, sys.modules[__name__].__file__ == __file__)")
        env = {"PYTHONPATH": os.path.dirname(place) + ":" + FAKE_TORCH}
        done = self.python(OOM + "import sitecustomize; print(sitecustomize.__file__)", env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("theirs sitecustomize True\n"), done.stdout)
        self.assertTrue(done.stdout.endswith(place + "\n"), done.stdout)
        self.assertEqual(len(self.files()), 2)

    def test_failing_sitecustomize(self):
        """Python itself tells of it, in the same words."""
        for text in ("raise ValueError('theirs')", "import no_such_module_here", "this is no Python"):
            with self.subTest(text):
                place = self.write("site/sitecustomize.py", text)
                env = {"PYTHONPATH": os.path.dirname(place)}
                command = [sys.executable, "-c", "print('runs')"]
                plain, recorded = (run(command, env=env) for run in (self.run_plain, self.record))
                self.assertEqual((recorded.returncode, recorded.stdout, recorded.stderr), (plain.returncode, plain.stdout, plain.stderr))

    def test_usercustomize(self):
        where = self.run_plain([sys.executable, "-c", "import site; print(site.getusersitepackages())"],
                               env={"PYTHONUSERBASE": os.path.join(self.folder, "user")}).stdout.strip()
        self.write(os.path.join(where, "usercustomize.py"), "print('user')")
        done = self.python("print('program')", env={"PYTHONUSERBASE": os.path.join(self.folder, "user")})
        self.assertEqual((done.stdout, done.stderr), ("user\nprogram\n", ""))

    def test_python_path(self):
        show = [sys.executable, "-c", "import os; print(os.environ['PYTHONPATH'])"]
        ours = os.path.join(os.path.realpath(self.traces), ".whyoom-record")
        for before, after in (("/a:/b c", ours + ":/a:/b c"), ("", ours)):
            self.assertEqual(self.record(show, env={"PYTHONPATH": before}).stdout, after + "\n")
        nested = self.record([WHYOOM, "record", *show], env={"PYTHONPATH": "/a"})
        self.assertEqual(nested.stdout, ours + ":/a\n")
        del self.environment["PYTHONPATH"]
        self.assertEqual(self.record(show).stdout, ours + "\n")

    def test_recording_within_a_recording(self):
        done = self.record([WHYOOM, "record", "-o", "inner", "--", sys.executable, self.write("program.py", OOM)])
        self.assertEqual((done.returncode, done.stderr, len(self.calls())), (0, "", 1))
        self.assertEqual((len(self.files()), len(self.files(os.path.join(self.folder, "inner")))), (0, 2))

    def test_odd_folders(self):
        for name in ("with space", "quote'\"$x`", "dash/-deep/er", "ümlaut"):
            with self.subTest(name):
                done = self.python("import os\nos.chdir('/')\n" + OOM, ["-o", name])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(len(self.files(os.path.join(self.folder, name))), 2)

    def check_unrecorded(self, folder, told, home="/no/such/home"):
        done = self.python("import os\n" + OOM + "print('WHYOOM_RECORD_DIR' in os.environ)", ["-o", folder], env={"HOME": home})
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "False"))
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(told, done.stderr)
        self.assertIn("running without recording", done.stderr)

    def test_folders_that_cannot_be_used(self):
        """The program runs all the same; one line says that it is not recorded."""
        self.check_unrecorded(self.write("file", "") + "/below", "Not a directory")
        self.check_unrecorded("/proc/whyoom", "/proc/whyoom: ")
        self.check_unrecorded("a:b", "a colon")
        os.mkdir(os.path.join(self.folder, "other"))
        os.mkdir(os.path.join(self.folder, "other", ".whyoom-record"))
        os.chmod(os.path.join(self.folder, "other", ".whyoom-record"), 0o777)
        self.check_unrecorded("other", "only you can write to")
        os.mkdir(os.path.join(self.folder, "linked"))
        os.symlink("/tmp", os.path.join(self.folder, "linked", ".whyoom-record"))
        self.check_unrecorded("linked", "only you can write to")
        if os.geteuid() != 0:
            os.mkdir(os.path.join(self.folder, "locked"), 0o555)
            self.check_unrecorded("locked", "Permission denied")

    def make_folder(self, name, mode):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        os.chmod(path, mode)
        return path

    def test_folder_of_a_team(self):
        """Where others could exchange the code, it is in the user's own cache folder; the snapshots are where they should be."""
        home = self.make_folder("home", 0o755)
        cache = self.make_folder("cache", 0o700)
        for number, mode in enumerate((0o775, 0o777, 0o2770)):
            self.make_folder("team%d" % number, mode)
            for folder in ("team%d" % number, "team%d/deep/er" % number):
                for variables, place in (({"HOME": home}, home + "/.cache"), ({"HOME": home, "XDG_CACHE_HOME": cache}, cache),
                                         ({"HOME": home, "XDG_CACHE_HOME": "relative"}, home + "/.cache")):
                    with self.subTest(folder=folder, variables=variables):
                        done = self.python("import os\n" + OOM + "print(os.environ['PYTHONPATH'])", ["-o", folder], env=variables)
                        ours = os.path.join(os.path.realpath(place), "whyoom", ".whyoom-record")
                        self.assertEqual((done.returncode, done.stderr), (0, ""))
                        self.assertEqual(done.stdout.splitlines()[-1], ours + ":" + FAKE_TORCH)
                        self.assertEqual(os.listdir(ours), ["sitecustomize.py"])
                        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(ours)).st_mode), 0o700)
                        written = [name for name in self.files(os.path.join(self.folder, folder)) if name.endswith(".pickle")]
                        self.assertGreaterEqual(len(written), 2)
                        self.assertNotIn(".whyoom-record", os.listdir(os.path.join(self.folder, folder)))

    def test_no_safe_folder(self):
        """One line names the folder that is the problem, and what to do."""
        team = self.make_folder("team", 0o775)
        os.makedirs(os.path.join(team, "home"))
        self.check_unrecorded("team/deep", os.path.realpath(team) + ": others can write to it", os.path.join(team, "home"))
        self.check_unrecorded("team/deep", "chmod go-w, or choose another folder with -o")
        os.symlink("team/deep", os.path.join(self.folder, "mine"))
        self.check_unrecorded("mine", os.path.realpath(team) + ": others can write to it")
        self.assertEqual(os.listdir(os.path.join(team, "home")), [])
        os.chmod(team, 0o1777)  # only owners rename what is in it
        self.assertEqual(self.python(OOM, ["-o", "team/deep"]).stderr, "")
        self.assertIn(".whyoom-record", os.listdir(os.path.join(team, "deep")))

    def test_folder_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root gives files away")
        theirs = self.make_folder("theirs", 0o755)
        os.makedirs(os.path.join(theirs, "home"))
        os.chown(theirs, 12345, 12345)
        for home in ("/no/such/home", theirs, os.path.join(theirs, "home")):
            self.check_unrecorded("theirs/deep", os.path.realpath(theirs) + ": belongs to user 12345", home)
        self.assertEqual(sorted(os.listdir(theirs)), ["deep", "home"])
        self.assertEqual(os.listdir(os.path.join(theirs, "home")), [])

    def test_planted_links(self):
        """Names of temporary and of final files that are links of somebody else: none is followed."""
        text = ("import os, torch\n"
                "folder = os.environ['WHYOOM_RECORD_DIR']\n"
                "stem = '5-rank0-%s-exit' % os.uname()[1].split('.')[0].replace('-', '_')\n"
                "for name in ['.%s.%d.tmp' % (stem, os.getpid()), stem + '.pickle', '%s-pid%d.pickle' % (stem, os.getpid())] + \\\n"
                "        ['.%s.%d-%d.tmp' % (stem, os.getpid(), count) for count in range(3)]:\n"
                "    os.symlink('../victim', os.path.join(folder, name))\n"
                "torch.allocate(1)\n")
        victim = self.write("victim", "theirs")
        done = self.python(text, env={"RANK": "0", "SLURM_JOB_ID": "5"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(victim) as file:
            self.assertEqual(file.read(), "theirs")
        written = [name for name in self.files() if not os.path.islink(os.path.join(self.traces, name))]
        self.assertEqual([name[-len("-2.pickle"):] for name in written], ["-2.pickle"], self.files())
        self.assertEqual(len(self.snapshot(written[0])["device_traces"][0]) > 0, True)

    def test_folder_that_vanishes(self):
        done = self.python("import shutil\nshutil.rmtree('whyoom-traces')\n" + OOM)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_private_folder(self):
        self.python("pass")
        found = os.stat(os.path.join(self.traces, ".whyoom-record"))
        self.assertEqual(stat.S_IMODE(found.st_mode), 0o700)
        self.assertEqual(os.listdir(os.path.join(self.traces, ".whyoom-record")), ["sitecustomize.py"])

    def test_many_at_once(self):
        """Tasks of one job, started together on one file system."""
        path = self.write("program.py", OOM)
        tasks = [subprocess.Popen([WHYOOM, "record", sys.executable, path], cwd=self.folder, stdout=subprocess.DEVNULL,
                                  env=dict(self.environment, SLURM_JOB_ID="9", SLURM_PROCID=str(task))) for task in range(8)]
        self.assertEqual([task.wait(timeout=60) for task in tasks], [0] * 8)
        self.assertEqual(len(self.files()), 16)
        self.assertEqual(os.listdir(os.path.join(self.traces, ".whyoom-record")), ["sitecustomize.py"])

    def test_options_that_keep_python_from_it(self):
        path = self.write("program.py", "pass")
        for words, letter in ((["-I"], "I"), (["-uE"], "E"), (["-X", "dev", "-S"], "S"), (["-W", "ignore", "-B", "-I"], "I"),
                              (["--check-hash-based-pycs", "default"], None), (["-u"], None), (["-c", "pass", "-I"], None),
                              (["-Xdev"], None), (["-WError"], None)):
            with self.subTest(words):
                done = self.record(["env", sys.executable, *words, path])
                self.assertEqual(done.stderr.count("will not be recorded"), 0 if letter is None else 1, done.stderr)
                if letter is not None:
                    self.assertIn(" -%s passes over" % letter, done.stderr)
        done = self.record(["echo", "-I"])
        self.assertEqual(done.stderr, "")

    def test_other_pythons(self):
        """Every Python at hand reads the file without complaint, and runs the next one."""
        place = os.path.dirname(self.write("site/sitecustomize.py", "print('theirs')"))
        names = ["python3.%d" % minor for minor in range(6, 16)] + ["python2.7"]
        pythons = set()
        for name in names + glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python")):
            try:
                found = self.run_plain([name, "-c", "import os, sys; print(os.path.realpath(sys.executable))"])
            except OSError:
                continue
            if found.returncode == 0:  # else a shim without a program behind it
                pythons.add(found.stdout.strip())
        for python in sorted(pythons):
            with self.subTest(python):
                done = self.record([python, "-c", "print(1)"], env={"PYTHONPATH": place})
                self.assertEqual((done.stdout, done.stderr), ("theirs\n1\n", ""))
                shutil.rmtree(self.traces)
                if "python2" not in os.path.basename(python):
                    done = self.record([python, self.write("program.py", OOM)], env={"RANK": "0"})
                    self.assertEqual((done.returncode, done.stderr, len(self.files())), (0, "", 2))
        self.assertGreater(len(pythons), 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    WHYOOM = os.path.abspath(sys.argv.pop(1))
    FAILING_CALLS = os.path.abspath(sys.argv.pop(1)) if sys.argv[1:] and sys.argv[1].endswith(".so") else None
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
