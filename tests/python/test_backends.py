# SPDX-License-Identifier: Apache-2.0
"""The library and the program: the same answers, which of them is asked, and what ends a call of the library."""
import gzip
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import whyoom
from support import LIBRARY, MESSAGE, PACKAGE, RECORDINGS, SAMPLES, SOURCE, WHYOOM, Case
from whyoom import _library, _program
from whyoom._question import Limits, Question, half_time

LORA = SAMPLES / "lora-7b-24g"
TRACE = LORA / "trace-90817.jsonl"
SMALL, FRAGMENTED = RECORDINGS / "small.jsonl", RECORDINGS / "fragmented.jsonl"
MODEL = ("--model=llama-3.1-8b", "--dtype=bf16", "--zero=3", "--gpus=8", "--micro-batch=1", "--seq-len=2048", "--capacity=80GiB")
NAMES = ("whyoom_version", "whyoom_run", "whyoom_result_code", "whyoom_result_text", "whyoom_result_messages", "whyoom_free", "whyoom_seconds_now")

# Options and paths; "%" is a folder of the test.
DIAGNOSES = (
    ((), (LORA / "slurm-90817.err", LORA / "slurm-90817.out", LORA / "run_lora.sh")),
    (("--anonymize",), (LORA / "slurm-90817.err",)),
    (("--width=100", "--verbose"), (SAMPLES / "grpo-micro-batch" / "slurm-4471902.err",)),
    ((), (LORA,)),
    ((), (LORA / "slurm-90817.err", "/no/such/file")),
    ((), ("/no/such/file",)),
    ((), (TRACE,)),
    ((), ("%/empty.err",)),
    ((), ("%/zeros.err",)),
    ((), ("%/zeros.err", "%/log.err.gz")),
    ((), ("4711",)),
    ((), ("replay",)),
    ((), ("",)),
    (("--rules=%/rules",), (LORA / "slurm-90817.err",)),
    (("--rules=/no/such/folder",), (LORA / "slurm-90817.err",)),
    (("--rules=",), (LORA / "slurm-90817.err",)),
    (("--capacity=8GiB",), (LORA / "slurm-90817.err",)),
    (("--width=3",), (LORA / "slurm-90817.err",)),
    (("--exit-zero",), (LORA / "slurm-90817.err",)),
)
TEXTS = (MESSAGE.encode(), b"", b"\n\n", b"fine\n", b"\x00\xff" * 4096, gzip.compress(MESSAGE.encode()), b"\x1f\x8b broken",
         (LORA / "slurm-90817.err").read_bytes(), TRACE.read_bytes(), b"step 1\n" * 300_000 + MESSAGE.encode())
BUDGETS = (
    (MODEL, ()),
    ((*MODEL, "--capacity=8GiB", "--frozen=reference=7B:bf16"), ()),
    (("--params=70e9",), ()),
    (("--micro-batch=1",), (LORA / "slurm-90817.err", LORA / "run_lora.sh")),
    ((), (LORA / "slurm-90817.err", SAMPLES / "kept-losses" / "slurm-734912.err")),
    ((), ()),
    (("--model=nope",), ()),
    (("--modl=x",), ()),
    (("--params=many",), ()),
    (("--params",), ()),
    ((), ("/no/such/file",)),
)
REPLAYS = (
    ((), (SMALL,)),
    (("--device=0",), (SMALL,)),
    (("--device=7",), (SMALL,)),
    (("--sweep",), (FRAGMENTED,)),
    (("--set=expandable_segments:True", "--capacity=1GiB"), (FRAGMENTED,)),
    (("--set=nonsense:1",), (FRAGMENTED,)),
    (("--check",), (FRAGMENTED,)),
    (("--at=3",), (FRAGMENTED,)),
    (("--at=999999",), (FRAGMENTED,)),
    (("--scale=micro_batch=32:16",), (TRACE,)),
    (("--transform=checkpoint", "--transform=8bit-optimizer"), (TRACE,)),
    (("--where=step=mine",), (FRAGMENTED,)),
    (("--diff",), (FRAGMENTED, SMALL)),
    (("--anonymize",), (FRAGMENTED, SMALL)),
    (("--exit-zero",), (FRAGMENTED,)),
    ((), (LORA / "slurm-90817.err",)),
    ((), ("/no/such/file", FRAGMENTED)),
    (("--chart", "--sweep"), (FRAGMENTED,)),
)


@unittest.skipUnless(LIBRARY, "no library was built (-DWHYOOM_LIBRARY=ON)")
class Same(Case):
    library = LIBRARY

    def setUp(self):
        super().setUp()
        (self.folder / "empty.err").write_text("")
        (self.folder / "zeros.err").write_bytes(bytes(5000))
        (self.folder / "log.err.gz").write_bytes(gzip.compress(MESSAGE.encode()))
        (self.folder / "slurm-4711.out").write_text(MESSAGE + "\n")
        (self.folder / "rules").mkdir()
        (self.folder / "rules" / "broken.json").write_text("{")
        self.enter(self.folder)
        self.set_environment(HOME=str(self.folder), XDG_CONFIG_HOME=None, WHYOOM_RULES=None)

    def compare(self, question):
        """Both answers; the test fails where they differ."""
        ours, plain = whyoom_library().ask(question), _program.ask(question, WHYOOM)
        self.assertEqual(ours.exit_status, plain.exit_status, question)
        self.assertEqual(ours.messages, plain.messages, question)
        self.assertEqual(ours.output, plain.output, question)
        return ours

    def compare_all(self, command, cases, forms, *more):
        """The number of different answers, and the exit statuses."""
        found = set()
        for options, paths in cases:
            for form in forms:
                words = [word.replace("%", str(self.folder)) for word in (*options, *map(str, paths))]
                with self.subTest(command=command, form=form, words=words):
                    found.add(self.compare(Question(command, (f"--format={form}", *more, *words[: len(options)]),
                                                    tuple(words[len(options) :]))))
        return len(found), {answer.exit_status for answer in found}

    def test_diagnoses(self):
        count, statuses = self.compare_all("diagnose", DIAGNOSES, ("json", "text", "html", "markdown", "oneline", "nonsense"))
        self.assertGreater(count, 30)
        self.assertEqual(statuses, {0, 1, 2})
        # Other forms of several jobs are a table from the program, and are not asked for.
        self.compare_all("diagnose", (((), (SAMPLES,)), ((), (LORA, SAMPLES / "kept-losses"))), ("json", "oneline"))

    def test_texts(self):
        for text in TEXTS:
            for form in ("json", "html", "text"):
                with self.subTest(text=text[:20], form=form):
                    self.compare(Question("diagnose", (f"--format={form}",), (), text))

    def test_budgets(self):
        self.assertEqual(self.compare_all("budget", BUDGETS, ("json", "text", "html"))[1], {0, 1, 2})

    def test_replays(self):
        count, statuses = self.compare_all("replay", REPLAYS, ("json", "text", "html"), "--no-times")
        self.assertGreater(count, 30)
        self.assertEqual(statuses, {0, 1, 2, 3})

    def test_times(self):
        """Without --no-times a replay says how long it took, from the library too."""
        self.assertGreater(whyoom.replay(FRAGMENTED).seconds, 0)

    def test_rules_of_the_site(self):
        log = (str(LORA / "slurm-90817.err"),)
        question = Question("diagnose", ("--format=json",), log)
        self.set_environment(WHYOOM_RULES=str(self.folder / "rules"))
        self.assertIn("broken.json", self.compare(question).messages)
        self.set_environment(WHYOOM_RULES="")
        self.assertEqual(self.compare(question).exit_status, 1)
        (self.folder / ".config" / "whyoom").mkdir(parents=True)
        shutil.copytree(self.folder / "rules", self.folder / ".config" / "whyoom" / "rules")
        self.assertEqual(self.compare(question).exit_status, 1, "WHYOOM_RULES is empty: none")
        del os.environ["WHYOOM_RULES"]
        self.assertIn(".config/whyoom/rules/broken.json", self.compare(question).messages)
        self.set_environment(XDG_CONFIG_HOME=str(self.folder / "elsewhere"))
        self.assertEqual(self.compare(question).exit_status, 1)
        good = Question("diagnose", ("--format=json", f"--rules={SOURCE / 'rules' / 'packs' / 'causes'}"), log)
        self.set_environment(WHYOOM_RULES=str(self.folder / "rules"))
        self.assertNotIn("broken.json", self.compare(good).messages)

    def test_threads(self):
        """Eight threads at once have what one has."""
        logs = sorted(SAMPLES.glob("*/slurm-*.err"))[:4]
        expected = {log: (whyoom.diagnose(log), whyoom.diagnose(log).html()) for log in logs}
        wrong, ready = [], threading.Barrier(8)

        def work(start):
            ready.wait()
            for number in range(8):
                log = logs[(start + number) % len(logs)]
                found = whyoom.diagnose(log)
                if (found, found.html()) != expected[log]:
                    wrong.append(log)

        threads = [threading.Thread(target=work, args=(start,)) for start in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


def whyoom_library():
    return _library.choose(whyoom.__version__).library


@unittest.skipUnless(LIBRARY, "no library was built (-DWHYOOM_LIBRARY=ON)")
class Ends(Case):
    """Calls that take too long, and Ctrl-C."""

    library = LIBRARY

    def long_recording(self):
        """A segment in which two blocks come and go, so often that a replay takes a while."""
        path, at, sizes = self.folder / "long.jsonl", 140736381059072, (4194304, 3145728)
        blocks = [f'"addr":{at}', f'"addr":{at + sizes[0]}']
        steps = "".join(f'{{"{step}":{size},{block}}}\n' for step in ("alloc", "free_requested", "free_completed")
                        for size, block in zip(sizes, blocks))
        path.write_text('{"whyoom_trace":1,"torch":"2.6"}\n{"device":0,"has_segments":true}\n'
                        f'{{"segment_alloc":20971520,{blocks[0]}}}\n' + ROUNDS * steps +
                        f'{{"segment":20971520,{blocks[0]}}}\n{{"block":20971520,"state":"free"}}\n')
        return path

    def seconds(self, call):
        begin = time.monotonic()
        call()
        return time.monotonic() - begin

    def left(self):
        """Calls of the library that are not over yet."""
        return [thread for thread in threading.enumerate() if thread.name == "whyoom"]

    def test_half_time(self):
        """A long log is read no further at half of the time, and what was read is reported."""
        log = self.folder / "long.err.gz"
        log.write_bytes(gzip.compress(MESSAGE.encode() + b"\n") + 100 * gzip.compress(b"a line of a log that goes on and on\n" * 100_000))
        whole = self.seconds(lambda: self.assertEqual(whyoom.diagnose(log).inputs[0].lines, 10_000_001))
        with mock.patch.object(_library, "half_time", return_value=whole / 4):
            found = whyoom.diagnose(log)
        self.assertEqual(found.exit_status, 2)
        self.assertIn("the time limit is reached; the rest is not read", found.messages)
        self.assertEqual(found.failure.kind, "cuda_oom")
        self.assertLess(found.inputs[0].lines, 10_000_001)

    def test_half_of_what(self):
        limits = Limits(8.0, None)
        self.assertEqual(half_time(Question("diagnose", limits=limits)), 4.0)
        self.assertEqual(half_time(Question("diagnose", limits=Limits(1e9, None))), 86400.0, "the most that --time-limit takes")
        self.assertIsNone(half_time(Question("replay", limits=limits)))
        self.assertIsNone(half_time(Question("diagnose", limits=Limits(None, None))))

    def test_time_limit(self):
        """A long replay is given up, and ends by itself soon."""
        path = self.long_recording()
        whole = self.seconds(lambda: whyoom.replay(path, sweep=True))
        begin = time.monotonic()
        with self.assertRaisesRegex(whyoom.Error, "^there was no answer within [0-9.]+ seconds$"):
            whyoom.replay(path, sweep=True, time_limit_seconds=whole / 8)
        self.assertLess(time.monotonic() - begin, whole / 2)
        while self.left() and time.monotonic() - begin < whole:
            time.sleep(0.001)
        self.assertLess(time.monotonic() - begin, whole / 2)

    def test_interrupt(self):
        """Ctrl-C ends the waiting at once, and the process goes on."""
        path = self.long_recording()
        whole = self.seconds(lambda: whyoom.replay(path, sweep=True))
        program = self.folder / "asks.py"
        program.write_text(INTERRUPTED)
        process = subprocess.Popen([sys.executable, "-B", str(program), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   universal_newlines=True, env=dict(os.environ, PYTHONPATH=str(PACKAGE / "src")))
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "asking\n")
        time.sleep(whole / 8)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, errors), (0, ""))
        said, waited = output.splitlines()
        self.assertEqual(said, "interrupted, and then: the batch is too large")
        self.assertLess(float(waited), whole / 2)


ROUNDS = 100_000
INTERRUPTED = f"""
import sys, time, whyoom
whyoom.backend()
print("asking", flush=True)
begin = time.monotonic()
try:
    whyoom.replay(sys.argv[1], sweep=True)
except KeyboardInterrupt:
    waited = time.monotonic() - begin
    print("interrupted, and then:", whyoom.diagnose({str(LORA / 'slurm-90817.err')!r}).cause.headline)
    print(waited)
"""


class Choice(Case):
    """Which of them is asked, and why."""

    def shared_object(self, text):
        """A library made of C, or the test is skipped."""
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            self.skipTest("there is no C compiler")
        source, path = self.folder / "stub.c", self.folder / f"stub{len(list(self.folder.iterdir()))}.so"
        source.write_text(text)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
        return path

    def passed_over(self, path):
        """Why the library is not used. The program answers in its place."""
        self.set_environment(WHYOOM_LIBRARY=str(path))
        who = whyoom.backend()
        self.assertEqual((who.kind, who.path), ("program", WHYOOM))
        self.assertEqual(whyoom.diagnose(MESSAGE).failure.kind, "cuda_oom")
        self.assertEqual(len(who.passed_over), 1)
        self.assertIn(f"not used: {who.passed_over[0]}", str(who))
        return who.passed_over[0]

    def stub(self, version, names=NAMES):
        functions = [f"void *{name}(void) {{ return 0; }}" for name in names if name != "whyoom_version"]
        return self.shared_object("\n".join([*functions, f'const char *whyoom_version(void) {{ return "{version}"; }}\n']))

    def test_other_version(self):
        path = self.stub("9.8.7")
        self.assertEqual(self.passed_over(path), f"{path}: it is version 9.8.7, and this package is version {whyoom.__version__}")

    def test_lacks_a_function(self):
        for name in NAMES[1:]:
            with self.subTest(name):
                path = self.stub(whyoom.__version__, [other for other in NAMES if other != name])
                why = self.passed_over(path)
                self.assertTrue(why.startswith(f"{path}: it is no libwhyoom of this version: "), why)
                self.assertIn(name, why)

    def test_no_library(self):
        path = self.folder / "libwhyoom.so.0"
        self.assertEqual(self.passed_over(path), f"{path}: cannot open shared object file: No such file or directory")
        path.write_text("no library " * 100)
        other = self.copy(path)
        self.assertRegex(self.passed_over(other), f"^{other}: .")
        self.assertIn(str(self.folder), self.passed_over(self.folder))

    def copy(self, path):
        """Another name, since what was tried once is not tried again."""
        return pathlib.Path(shutil.copy(path, self.folder / "other.so"))

    def test_not_wanted(self):
        self.assertEqual(self.passed_over(""), "$WHYOOM_LIBRARY is empty: no library is wanted")

    def test_system(self):
        """Without $WHYOOM_LIBRARY the system's is looked for."""
        done = self.run_python("import whyoom; print(whyoom.backend())", environment={"WHYOOM_LIBRARY": ""})
        self.assertEqual(done.stdout, f"program {WHYOOM}\nnot used: $WHYOOM_LIBRARY is empty: no library is wanted\n", done.stderr)
        os.environ.pop("WHYOOM_LIBRARY")
        done = self.run_python("import whyoom; print(whyoom.backend())", environment={"LD_LIBRARY_PATH": str(self.folder)})
        if done.stdout.startswith("program"):
            self.assertIn("not used: libwhyoom.so.0: cannot open shared object file", done.stdout)
        path = self.stub("9.8.7")
        path.rename(self.folder / "libwhyoom.so.0")
        done = self.run_python("import whyoom; print(whyoom.backend())", environment={"LD_LIBRARY_PATH": str(self.folder)})
        self.assertIn("not used: libwhyoom.so.0: it is version 9.8.7", done.stdout, done.stderr)

    def test_nobody(self):
        self.set_environment(WHYOOM="/no/such", WHYOOM_LIBRARY="/no/such.so")
        who = whyoom.backend()
        self.assertEqual((who.kind, who.path, len(who.passed_over)), ("none", "", 2))
        with self.assertRaisesRegex(whyoom.Error, r"^\$WHYOOM is no program: /no/such; /no/such.so: cannot open shared object file"):
            whyoom.diagnose(MESSAGE)

    @unittest.skipUnless(LIBRARY, "no library was built (-DWHYOOM_LIBRARY=ON)")
    def test_library(self):
        self.set_environment(WHYOOM_LIBRARY=os.path.relpath(LIBRARY), WHYOOM="/no/such")
        self.assertEqual(whyoom.backend(), whyoom.Backend("library", LIBRARY, ()))
        self.assertEqual(whyoom.diagnose(MESSAGE).failure.kind, "cuda_oom")
        # Some questions are for the program alone.
        with self.assertRaisesRegex(whyoom.Error, "is no program"):
            whyoom.replay(FRAGMENTED, plot=self.folder / "memory.svg")
        self.set_environment(WHYOOM=WHYOOM)
        whyoom.replay(FRAGMENTED, plot=self.folder / "memory.svg")
        self.assertTrue((self.folder / "memory.svg").read_text().startswith("<svg"))

    @unittest.skipUnless(LIBRARY, "no library was built (-DWHYOOM_LIBRARY=ON)")
    def test_another_folder(self):
        """A path is that of the folder where it was given; the library has but the present one."""
        self.set_environment(WHYOOM_LIBRARY=LIBRARY)
        (self.folder / "a.err").write_text(MESSAGE + "\n")
        self.enter(self.folder)
        near, far = whyoom.diagnose("a.err"), whyoom.diagnose(self.folder / "a.err")
        os.chdir("/")
        asked = near._call._question
        self.assertFalse(whyoom_library().can_answer(asked))
        self.assertTrue(whyoom_library().can_answer(far._call._question))
        self.assertFalse(whyoom_library().can_answer(asked._replace(paths=(), options=("--rules=mine",))))
        self.assertTrue(whyoom_library().can_answer(asked._replace(paths=(), options=("--rules=/mine", "--anonymize"))))
        self.assertEqual(near.text(), far.text().replace(f"{self.folder}/", ""))
        self.set_environment(WHYOOM="/no/such")
        self.assertIn("a.err", far.markdown())
        with self.assertRaisesRegex(whyoom.Error, "is no program"):
            near.markdown()

    @unittest.skipUnless(LIBRARY, "no library was built (-DWHYOOM_LIBRARY=ON)")
    def test_no_thread(self):
        self.set_environment(WHYOOM_LIBRARY=LIBRARY)
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start new thread")):
            self.assertEqual(whyoom.diagnose(MESSAGE).failure.kind, "cuda_oom")

    def test_without_ctypes(self):
        """A Python that was built without it still asks the program."""
        done = self.run_python("import sys; sys.modules['_ctypes'] = None; import whyoom; print(whyoom.backend()); whyoom.diagnose('a\\n')",
                               environment={"WHYOOM_LIBRARY": LIBRARY or "/no/such"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith(f"program {WHYOOM}\nnot used: no library can be loaded: "), done.stdout)

    def test_bundled(self):
        """One inside of the package comes before the system's."""
        os.environ.pop("WHYOOM_LIBRARY")
        bundled = self.stub("1.2.3")
        with mock.patch.object(_library, "bundled_path", return_value=bundled):
            library, passed_over = _library.choose("another key")
        self.assertTrue(passed_over[0].startswith(f"{bundled}: it is version 1.2.3"), passed_over)
