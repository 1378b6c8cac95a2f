# SPDX-License-Identifier: Apache-2.0
"""diagnose, replay and budget: the records against the program's own JSON, the other forms, and the errors."""
import copy
import dataclasses
import importlib.util
import json
import math
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import types
import unittest
from unittest import mock

import whyoom
from support import MESSAGE, PACKAGE, RECORDINGS, SAMPLES, SOURCE, WHYOOM, Case, both_ways
from whyoom import _budget, _diagnosis, _program, _records, _replay

PAGES = {_diagnosis.Diagnosis: "report-1", _budget.Budget: "budget-1", _replay.Replay: "replay-1"}


def printed(*arguments):
    """The program's JSON."""
    done = subprocess.run([WHYOOM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(done.stdout)


def files_of(sample):
    return sorted(path for path in sample.iterdir() if path.is_file() and path.suffix != ".md")


@both_ways
class Diagnose(Case):
    def test_samples(self):
        for sample in sorted(path for path in SAMPLES.iterdir() if any(path.glob("slurm-*.err"))):
            with self.subTest(sample.name):
                found = whyoom.diagnose(files_of(sample))
                raw = printed("--format", "json", *map(str, files_of(sample)))
                self.assertEqual(found.raw, raw)
                self.assertEqual(found.exit_status, 1)
                self.assertTrue(found.is_failure)
                self.assertEqual(found.cause.id, raw["findings"][0]["id"])
                self.assertEqual(found.job.id, raw["job"]["id"])
                self.assertEqual([fix.id for fix in found.findings[0].fixes], [fix["id"] for fix in raw["findings"][0]["fixes"]])
                self.assertEqual(found.evidence_of(found.failure.evidence).line, next(
                    item["line"] for item in raw["evidence"] if item["id"] == raw["failure"]["evidence"]))
                self.assertIn("CHANGE FIRST", str(found))

    def test_sample_program(self):
        program = (SAMPLES / "library" / "diagnose.py").read_text()
        done = self.run_python(program, *map(str, files_of(SAMPLES / "lora-7b-24g")))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout.splitlines()[0], "job 90817: 2.32 GiB more did not fit: the batch is too large for a card of 23.64 GiB")
        self.assertRegex(done.stdout, r"(?m)^  fix: micro-batch 2 -> 1.*\n  missing: [0-9]+ MiB$")
        done = self.run_python(program, "/no/such.err")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("cannot be opened", done.stderr)

    def test_wrong_input(self):
        for given in (None, True, 1.5):
            with self.assertRaisesRegex(TypeError, "the number of a job"):
                whyoom.diagnose(given)
        with self.assertRaisesRegex(whyoom.Error, "90817"):
            whyoom.diagnose(908171)  # no file here has that number
        for seconds in (math.nan, -1.0):
            with self.assertRaisesRegex(whyoom.Error, "no limit of time"):
                whyoom.diagnose("step 1\n", time_limit_seconds=seconds)
        for seconds in (math.inf, 1e12):
            self.assertEqual(whyoom.diagnose("step 1\n", time_limit_seconds=seconds).exit_status, 0)

    def test_forms(self):
        found = whyoom.diagnose(files_of(SAMPLES / "lora-7b-24g"))
        self.assertTrue(all(len(line) <= 80 for line in str(found).splitlines()[:20]))
        self.assertGreater(len(found.text(verbose=True)), len(str(found)))
        self.assertTrue(found.html().startswith("<!doctype html>") or "<html" in found.html()[:200].lower())
        self.assertIn("```", found.markdown())
        shown = found._repr_html_()
        self.assertTrue(shown.startswith('<iframe sandbox="" '))
        self.assertEqual(shown.count("<"), 2, "the page is escaped")
        self.assertEqual(repr(found), "<whyoom.Diagnosis: the batch is too large (likely)>")
        with mock.patch.object(_records, "PAGE_LIMIT_BYTES", 10):
            self.assertTrue(found._repr_html_().startswith("<pre>job "))

    def test_text(self):
        for given in (MESSAGE, MESSAGE + "\n", MESSAGE.encode(), RuntimeError(MESSAGE)):
            with self.subTest(type(given).__name__):
                found = whyoom.diagnose(given)
                self.assertEqual(found.failure.kind, "cuda_oom")
                self.assertEqual(found.inputs[0].path, "<stdin>")
                self.assertIn("OUT OF GPU MEMORY", str(found))
        self.assertEqual(whyoom.diagnose("fine\n").findings, ())
        self.assertEqual(whyoom.diagnose("no such thing", is_text=True).findings, ())
        self.assertEqual(whyoom.diagnose("\ud800 " + MESSAGE + "\n").failure.kind, "cuda_oom")
        self.assertEqual(whyoom.diagnose(b"step 1\n" * 2_000_000 + MESSAGE.encode()).failure.kind, "cuda_oom")

    def test_paths(self):
        self.enter(SAMPLES / "lora-7b-24g")
        for given in ("slurm-90817.err", pathlib.Path("slurm-90817.err"), ["slurm-90817.err"], "90817"):
            with self.subTest(given):
                self.assertEqual(whyoom.diagnose(given).job.id, "90817")
        os.chdir(self.folder)
        for name in ("-v", "4711", "a log.err"):
            pathlib.Path(name).write_text(MESSAGE + "\n")
        for given in ("-v", pathlib.Path("-v"), pathlib.Path("4711"), "a log.err"):
            with self.subTest(given):
                self.assertEqual(whyoom.diagnose(given).failure.kind, "cuda_oom")

    def test_the_same_folder_later(self):
        (self.folder / "a.err").write_text(MESSAGE + "\n")
        self.enter(self.folder)
        found = whyoom.diagnose("a.err")
        os.chdir("/")
        self.assertIn("OUT OF GPU MEMORY", str(found))
        (self.folder / "a.err").unlink()
        self.assertIn("OUT OF GPU MEMORY", str(found), "a form that was asked for is kept")
        with self.assertRaises(whyoom.Error):
            found.markdown()

    def test_anonymize_and_part(self):
        files = files_of(SAMPLES / "lora-7b-24g")
        self.assertNotIn("ws-rtx2", str(whyoom.diagnose(files, anonymize=True)))
        found = whyoom.diagnose([*files, "/no/such/file"])
        self.assertEqual(found.exit_status, 2)
        self.assertIn("/no/such/file: cannot be opened", found.messages)
        self.assertTrue(found.inputs[-1].unreadable)

    def test_rules(self):
        with self.assertRaisesRegex(whyoom.Error, "no_such_rules"):
            whyoom.diagnose(MESSAGE, rules="no_such_rules")

    def test_records(self):
        found = whyoom.diagnose(files_of(SAMPLES / "lora-7b-24g"))
        with self.assertRaises(dataclasses.FrozenInstanceError):
            found.schema = "x"
        self.assertFalse(hasattr(found, "__dict__"))
        self.assertFalse(hasattr(found.fix, "__dict__"))
        for other in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            self.assertEqual(other, found)
            self.assertEqual(str(other), str(found))
        self.assertEqual(len({found.cause.id, found.fix.id, found.fix.changes[0]}), 3, "records can be members of a set")
        with self.assertRaises(dataclasses.FrozenInstanceError):
            found.cause = None  # a property
        with self.assertRaises(dataclasses.FrozenInstanceError):
            del found.raw


@both_ways
class Replays(Case):
    def test_recordings(self):
        for path in sorted(RECORDINGS.glob("*.jsonl")):
            with self.subTest(path.name):
                found = whyoom.replay(path, device=0, no_times=True)
                self.assertEqual(found.raw, printed("replay", "--format", "json", "--no-times", "--device", "0", str(path)))
                self.assertEqual(found.verdict, found.raw["verdict"])
                self.assertIn(found.verdict, repr(found))

    def test_options(self):
        path = RECORDINGS / "fragmented.jsonl"
        found = whyoom.replay(path, sweep=True)
        self.assertEqual(whyoom.replay(path).exit_status, 1)
        self.assertEqual(found.sweep.paste, "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
        self.assertTrue(found.sweep.rows[0].fits)
        self.assertIs(whyoom.replay(path, set={"expandable_segments": True}).fits, True)
        self.assertIs(whyoom.replay(path, set="expandable_segments:True", check=False).fits, True)
        self.assertTrue(whyoom.replay(path, at=3).state.segments)
        self.assertEqual(whyoom.replay(path, where=["step=mine", "policy=other"]).categories.rows[0].name, "mine")
        self.assertIn("<iframe", found._repr_html_())
        self.assertEqual(_records.options_of({"scale": {"micro_batch": (32, 16), "seq_len": (512, 1024)}, "from_": 3, "on": None}),
                         ["--scale=micro_batch=32:16,seq_len=512:1024", "--from=3"])

    def test_several_devices(self):
        with self.assertRaisesRegex(whyoom.Error, "device=0"):
            whyoom.replay(RECORDINGS / "small.jsonl")


@both_ways
class Budgets(Case):
    OPTIONS = dict(model="llama-3.1-8b", dtype="bf16", zero=3, gpus=8, micro_batch=1, seq_len=2048, capacity=80 << 30)

    def test_options(self):
        found = whyoom.budget(**self.OPTIONS)
        self.assertEqual(found.verdict, "fits")
        self.assertIs(found.fits, True)
        self.assertEqual(found.raw, printed("budget", "--format", "json", "--model", "llama-3.1-8b", "--dtype", "bf16", "--zero", "3",
                                            "--gpus", "8", "--micro-batch", "1", "--seq-len", "2048", "--capacity", str(80 << 30)))
        self.assertLess(found.total_bytes.low, found.total_bytes.high)
        self.assertEqual({component.id for component in found.components}, {item["id"] for item in found.raw["components"]})
        self.assertTrue(str(found).startswith("fits: "))
        self.assertTrue(found._repr_html_().startswith("<pre>fits: "))
        small = whyoom.budget(**dict(self.OPTIONS, capacity="8GiB", master_weights=True, frozen=["a=7B:bf16", "b=1B:bf16"]))
        self.assertEqual((small.exit_status, small.fits), (1, False))
        self.assertEqual(sum(component.id == "frozen" for component in small.components), 2)

    def test_files(self):
        found = whyoom.budget(*files_of(SAMPLES / "lora-7b-24g"), micro_batch=1)
        self.assertEqual({item.name: item.value for item in found.inputs}["micro-batch"], 1)
        self.assertTrue(whyoom.budget(*files_of(SAMPLES / "lora-7b-24g")).measured)

    def test_schemas_have_every_name(self):
        """Each name that a schema requires is a field, and each field is a name of the schema."""
        for cls, page in PAGES.items():
            schema = json.loads((SOURCE / "docs" / "schema" / f"{page}.schema.json").read_text())
            fields = {field.name.rstrip("_") for field in dataclasses.fields(cls)} - {"raw", "messages", "exit_status", "_call"}
            self.assertEqual(set(schema["required"]) - fields, set(), page)
            self.assertEqual(fields - set(schema["properties"]), set(), page)
            module = sys.modules[cls.__module__]
            required = {name: set(part.get("required", ())) for name, part in schema["$defs"].items()}
            for name, other in vars(module).items():
                plain = "".join("_" + letter.lower() if letter.isupper() else letter for letter in name).lstrip("_")
                if dataclasses.is_dataclass(other) and plain in required:
                    self.assertEqual(required[plain] - {field.name.rstrip("_") for field in dataclasses.fields(other)}, set(), name)


@both_ways
class Errors(Case):
    def test_messages(self):
        cases = (
            (lambda: whyoom.diagnose("/no/such.err"), "/no/such.err: cannot be opened: No such file or directory", 2),
            (lambda: whyoom.diagnose("no such.err"), "no such file, and as a text it says nothing", None),
            (lambda: whyoom.diagnose([]), "no path is given", None),
            (lambda: whyoom.diagnose(""), "no path is given", None),
            (lambda: whyoom.replay([]), "no path is given", None),
            (lambda: whyoom.budget(version=True), "version is no option here", None),
            (lambda: whyoom.diagnose(b""), "is empty", 2),
            (lambda: whyoom.diagnose("a\0b"), "cannot be the name of a file", None),
            (lambda: whyoom.diagnose("a\ud800b.err"), "cannot be the name of a file", None),
            (lambda: whyoom.diagnose(SAMPLES), "several jobs", 1),
            (lambda: whyoom.budget(modl=3), "unknown option --modl; did you mean --model", 2),
            (lambda: whyoom.budget(model="nope"), "no model of known shape", 2),
            (lambda: whyoom.budget(format="html"), "format is no option here", None),
            (lambda: whyoom.replay("/no/such"), "cannot be opened", 2),
            (lambda: whyoom.replay(RECORDINGS / "small.jsonl", diff=True), "diff is no option here", None),
            (lambda: whyoom.diagnose(b"x" * 100, size_limit_bytes=10), "100 bytes, more than the limit of 10", None),
            (lambda: whyoom.diagnose(MESSAGE, size_limit_bytes=len(MESSAGE)), "answer has more than", None),
        )
        for call, words, status in cases:
            with self.subTest(words):
                with self.assertRaises(whyoom.Error) as caught:
                    call()
                self.assertIn(words, str(caught.exception))
                self.assertEqual(caught.exception.exit_status, status)
        with self.assertRaises(TypeError):
            whyoom.diagnose([3])


class Programs(Case):
    def program(self, text):
        path = self.folder / "whyoom"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        self.set_environment(WHYOOM=str(path))

    def test_strange_programs(self):
        for text, words in (
            ("sleep 60", "no answer within 0.3 seconds"),
            ("exec cat /dev/zero", "more than 268435456 bytes|no answer within"),
            ("kill -SEGV $$", "ended by signal 11"),
            ("echo hello", "is no JSON"),
            ("echo '{}'", "several jobs"),
            ("echo '{\"schema\": \"whyoom.report/1\"}'", "lacks"),
            ("exit 0", r"no answer \(exit status 0\)"),
            ("echo oops >&2; exit 70", "^oops$"),
            ("head -c 1000000 /dev/zero | tr '\\0' '['", "is no JSON"),
        ):
            with self.subTest(text):
                self.program(text)
                with self.assertRaisesRegex(whyoom.Error, words):
                    whyoom.diagnose(b"x\n" * 1_000_000, time_limit_seconds=0.3 if "sleep" in text or "zero" in text[:14] else 60)

    def test_lookup(self):
        self.program("echo whyoom; exit 2")
        path = os.environ["WHYOOM"]
        self.assertEqual(_program.find(), path)
        self.set_environment(WHYOOM="/no/such")
        with self.assertRaisesRegex(whyoom.Error, r"\$WHYOOM is no program: /no/such"):
            _program.find()
        # A script in PATH may be the one of this package, which would call itself for ever; relative folders are left out.
        real = self.folder / "bin"
        real.mkdir()
        (real / "whyoom").symlink_to(WHYOOM)
        self.enter(real)
        self.set_environment(WHYOOM=None, PATH=f".::{self.folder}:{real}")
        self.assertEqual(_program.find(), str(real / "whyoom"))
        os.environ["PATH"] = f".::{self.folder}"
        with self.assertRaisesRegex(whyoom.Error, "was not found"):
            _program.find()
        bundled = self.folder / "bundled"
        bundled.write_text("")
        bundled.chmod(0o755)
        with mock.patch.object(_program, "bundled_path", return_value=bundled):
            self.assertEqual(_program.find(), str(bundled))
        bundled.chmod(stat.S_IRUSR)

    def test_command(self):
        for arguments, status in ((["--version"], 0), (["budget", "--modl"], 2)):
            plain = subprocess.run([WHYOOM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            done = subprocess.run([sys.executable, "-B", "-m", "whyoom", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=dict(os.environ, PYTHONPATH=str(PACKAGE / "src")))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, plain.stdout, plain.stderr))


@both_ways
class Pandas(Case):
    def test_without(self):
        found = whyoom.budget(**Budgets.OPTIONS)
        with mock.patch.dict(sys.modules, pandas=None):
            with self.assertRaisesRegex(ImportError, "needs pandas, which is not installed"):
                found.to_pandas()

    def test_rows(self):
        """The rows that pandas is given, with a stand-in."""
        stand_in = types.SimpleNamespace(json_normalize=lambda rows: rows)
        found = whyoom.diagnose(files_of(SAMPLES / "lora-7b-24g"))
        with mock.patch.dict(sys.modules, pandas=stand_in):
            self.assertEqual(found.to_pandas(), found.raw["findings"])
            self.assertEqual(found.to_pandas("fixes")[0]["finding"], found.cause.id)
            self.assertEqual(len(found.to_pandas("facts")), len(found.facts))
            self.assertEqual(whyoom.replay(RECORDINGS / "fragmented.jsonl", sweep=True).to_pandas("sweep")[0]["fits"], True)
            self.assertEqual(whyoom.budget(**Budgets.OPTIONS).to_pandas()[0]["id"], "weights")
            with self.assertRaisesRegex(ValueError, "there is no table 'x'; there are evidence, "):
                found.to_pandas("x")

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_with(self):
        table = whyoom.budget(**Budgets.OPTIONS).to_pandas()
        self.assertEqual(table["bytes.assumed"][0], whyoom.budget(**Budgets.OPTIONS).components[0].bytes.assumed)
        self.assertIn("cost.speed", whyoom.diagnose(files_of(SAMPLES / "lora-7b-24g")).to_pandas("fixes"))


class Types(Case):
    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_mypy(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(self.folder)], cwd=PACKAGE, stdout=subprocess.PIPE,
                              universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_versions_agree(self):
        self.assertEqual(printed("--format", "json", str(SAMPLES / "lora-7b-24g" / "slurm-90817.err"))["tool"]["version"], whyoom.__version__)

    def test_first_lines(self):
        for path in [*PACKAGE.rglob("*.py"), *pathlib.Path(__file__).parent.glob("*.py")]:
            if path.name != "py.typed":
                self.assertIn("# SPDX-License-Identifier: Apache-2.0", path.read_text().splitlines()[:2], path)
