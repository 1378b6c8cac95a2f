# SPDX-License-Identifier: Apache-2.0
"""The wheel: its tag, its bytes, and a clean environment that has it and then has nothing of it. The examples of the README."""
import doctest
import hashlib
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import types
import unittest
import zipfile
from unittest import mock

import whyoom
from support import PACKAGE, SAMPLES, SOURCE, WHYOOM, Case, both_ways


def has(*modules):
    return all(importlib.util.find_spec(module) is not None for module in modules)


def build_hook():
    """The module hatch_build, also where hatchling is not installed."""
    names = ["hatchling", "hatchling.builders", "hatchling.builders.hooks", "hatchling.builders.hooks.plugin",
             "hatchling.builders.hooks.plugin.interface"]
    stand_ins = {name: types.ModuleType(name) for name in names}
    stand_ins[names[-1]].BuildHookInterface = object
    spec = importlib.util.spec_from_file_location("hatch_build", PACKAGE / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, stand_ins):
        spec.loader.exec_module(module)
    return module


def elf(machine=62, headers=(), dynamic=()):
    """A program of 64 bits with these program headers (kinds), and the tags of its dynamic section."""
    table = b"".join(struct.pack("<qQ", tag, 0) for tag in dynamic)
    at = 64 + 56 * len(headers)
    rows = b"".join(struct.pack("<IIQQQQQQ", kind, 0, at, 0, 0, len(table), 0, 0) for kind in headers)
    start = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, len(headers), 0, 0, 0)
    return start + rows + table


class Tag(Case):
    def tag(self, content):
        path = self.folder / "program"
        path.write_bytes(content)
        return build_hook().platform_tag(str(path))

    def test_tags(self):
        static, dynamic = "manylinux2014_x86_64.musllinux_1_1_x86_64", "linux_x86_64"
        self.assertEqual(self.tag(elf()), static)
        self.assertEqual(self.tag(elf(headers=[1, 2], dynamic=[5, 0, 1])), static, "static, to be placed anywhere")
        self.assertEqual(self.tag(elf(headers=[1, 2], dynamic=[5, 1, 0])), dynamic, "needs a library")
        self.assertEqual(self.tag(elf(headers=[3])), dynamic, "needs a loader")
        self.assertEqual(self.tag(elf(machine=183)), "manylinux2014_aarch64.musllinux_1_1_aarch64")
        for content in (b"#!/bin/sh\n", b"", elf(machine=3), b"\x7fELF\x01\x01" + bytes(80)):
            with self.assertRaises(ValueError):
                self.tag(content)

    def test_two_parts(self):
        narrowest, static = build_hook().narrowest, "manylinux2014_x86_64.musllinux_1_1_x86_64"
        self.assertEqual(narrowest([static]), static)
        self.assertEqual(narrowest([static, "linux_x86_64"]), "linux_x86_64")
        with self.assertRaises(ValueError):
            narrowest([static, "linux_aarch64"])

    def test_helper(self):
        program, helper = self.folder / "whyoom-0.1-linux-x86_64", self.folder / "whyoom-gpu-0.1-linux-x86_64"
        program.write_bytes(elf())
        self.assertIsNone(build_hook().helper_of(str(program)))
        helper.write_bytes(elf(headers=[3]))
        self.assertEqual(build_hook().helper_of(str(program)), str(helper))
        program.write_bytes(elf(headers=[3]))
        self.assertIsNone(build_hook().helper_of(str(program)), "it loads the driver itself")

    @unittest.skipUnless(shutil.which("readelf"), "readelf is not installed")
    def test_this_program(self):
        headers = subprocess.run(["readelf", "-lW", WHYOOM], stdout=subprocess.PIPE, universal_newlines=True).stdout
        self.assertEqual(build_hook().platform_tag(WHYOOM).startswith("linux_"), "INTERP" in headers)


@unittest.skipUnless(has("hatchling", "pip"), f"hatchling or pip is not installed for {sys.executable}")
class Wheel(Case):
    def build(self, name, program=WHYOOM, **more):
        """Builds from a copy of the package, as it lies in the tree."""
        tree = self.folder / "tree"
        if not tree.exists():
            shutil.copytree(PACKAGE, tree / "packaging" / "python", ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(SOURCE / "LICENSE", tree)
            shutil.copy(SOURCE / "packaging" / "NOTICE", tree / "packaging")
        environment = {key: value for key, value in os.environ.items() if key not in ("WHYOOM", "PYTHONPATH")}
        environment.update(SOURCE_DATE_EPOCH="1700000000", PYTHONDONTWRITEBYTECODE="1", **more)
        if program:
            environment["WHYOOM_BINARY"] = str(program)
        done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
                               "--wheel-dir", str(self.folder / name), str(tree / "packaging" / "python")], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        return next((self.folder / name).glob("*.whl"))

    def test_bytes(self):
        first = self.build("first")
        for path in (self.folder / "tree").rglob("*"):
            os.utime(path, (1, 1))
        second = self.build("second", TZ="Asia/Tokyo")
        self.assertEqual(*(hashlib.sha256(path.read_bytes()).hexdigest() for path in (first, second)))
        with zipfile.ZipFile(first) as archive:
            names = archive.namelist()
            self.assertEqual(archive.read("whyoom/_bin/whyoom"), open(WHYOOM, "rb").read())
            self.assertEqual(archive.getinfo("whyoom/_bin/whyoom").external_attr >> 16 & 0o777, 0o755)
            for text in ("/LICENSE", "/NOTICE"):
                self.assertEqual(sum(name.endswith(text) for name in names), 1)
            self.assertIn("whyoom/py.typed", names)
            self.assertFalse([name for name in names if "pycache" in name or "hatch_build" in name])

    def test_tags(self):
        program, helper = self.folder / "whyoom-static", self.folder / "whyoom-gpu-static"
        for path, content in ((program, elf()), (helper, elf(headers=[3]))):
            path.write_bytes(content)
            path.chmod(0o755)
        wheel = self.build("static_wheel", program)
        self.assertEqual(wheel.name, f"whyoom-{whyoom.__version__}-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl")
        with zipfile.ZipFile(wheel) as archive:
            tags = re.findall("^Tag: (.*)$", archive.read(f"whyoom-{whyoom.__version__}.dist-info/WHEEL").decode(), re.MULTILINE)
            self.assertEqual(archive.read("whyoom/_bin/whyoom-gpu"), helper.read_bytes())
            self.assertEqual(archive.getinfo("whyoom/_bin/whyoom-gpu").external_attr >> 16 & 0o777, 0o755)
        self.assertEqual(tags, ["py3-none-manylinux2014_x86_64", "py3-none-musllinux_1_1_x86_64"])
        library = self.folder / "library"
        library.write_bytes(elf(headers=[1, 2], dynamic=[5, 1, 0]))
        both = self.build("both", program, WHYOOM_SHARED=str(library))
        self.assertEqual(both.name, f"whyoom-{whyoom.__version__}-py3-none-linux_x86_64.whl")
        with zipfile.ZipFile(both) as archive:
            self.assertEqual(archive.read("whyoom/_bin/libwhyoom.so.0"), library.read_bytes())
        plain = self.build("plain", None)
        self.assertTrue(plain.name.endswith("-py3-none-any.whl"))
        with zipfile.ZipFile(plain) as archive:
            self.assertNotIn("whyoom/_bin/whyoom", archive.namelist())

    @unittest.skipUnless(has("venv", "ensurepip"), "venv or ensurepip is not installed")
    def test_install(self):
        wheel = self.build("wheel")
        place = self.folder / "place"
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        environment = {key: value for key, value in os.environ.items() if key not in ("WHYOOM", "PYTHONPATH", "PYTHONHOME")}
        environment.update(PATH="/usr/bin:/bin", PIP_DISABLE_PIP_VERSION_CHECK="1")
        python = str(place / "bin" / "python")

        def files():
            found = {str(path.relative_to(place)) for path in place.rglob("*")}
            return {name for name in found if "__pycache__" not in name or "whyoom" in name}

        def run(*words, **more):
            return subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=str(self.folder), **more)

        before = files()
        self.assertEqual(run(python, "-m", "pip", "install", "--no-index", str(wheel)).returncode, 0)
        self.assertEqual(run(python, "-m", "pip", "check").returncode, 0)
        log = SAMPLES / "lora-7b-24g" / "slurm-90817.err"
        program = str(place / "bin" / "whyoom")
        for arguments in ([str(log)], ["--version"], ["budget", "--modl", "x"], ["--format", "json", "-"]):
            plain, ours = run(WHYOOM, *arguments, input=b"x\n"), run(program, *arguments, input=b"x\n")
            self.assertEqual((ours.returncode, ours.stdout, ours.stderr), (plain.returncode, plain.stdout, plain.stderr), arguments)
        done = run(python, "-c", f"import whyoom; print(repr(whyoom.diagnose({str(log)!r})))")
        self.assertEqual(done.stdout.decode(), "<whyoom.Diagnosis: the batch is too large (likely)>\n", done.stderr.decode())
        self.assertEqual(run(python, "-m", "pip", "uninstall", "--yes", "whyoom").returncode, 0)
        self.assertEqual(files() - before, set())
        self.assertEqual(before - files(), set())

        # Without a program inside, the script of the wheel does not call itself.
        self.assertEqual(run(python, "-m", "pip", "install", "--no-index", str(self.build("plain", None))).returncode, 0)
        environment["PATH"] = str(place / "bin")
        done = run(program, "--version")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"whyoom: the program whyoom was not found", done.stderr)


@both_ways
class Readme(Case):
    def test_examples(self):
        text = (PACKAGE / "README.md").read_text()
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 4)
        shutil.copytree(SAMPLES / "lora-7b-24g", self.folder / "job")
        self.enter(self.folder / "job")
        made = []
        stand_in = type("Trainer", (), {"__init__": lambda self, **options: made.append(options["callbacks"])})
        names = {"train": lambda: 0, "model": None, "args": None, "Trainer": stand_in, "pl": types.SimpleNamespace(Trainer=stand_in)}
        libraries = {name: types.ModuleType(name) for name in ("transformers", "lightning", "lightning.pytorch", "lightning.pytorch.callbacks")}
        libraries["transformers"].TrainerCallback = libraries["lightning.pytorch.callbacks"].Callback = type("Callback", (), {})
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
        said = []
        with mock.patch.dict(sys.modules, libraries):
            for number, block in enumerate(blocks):
                if ">>>" in block:
                    test = doctest.DocTestParser().get_doctest(block, names, f"block {number}", "README.md", 0)
                    runner.run(test, out=said.append, clear_globs=False)
                    names.update(test.globs)
                else:
                    exec(compile(block, f"README.md, block {number}", "exec"), names)
            sys.modules.pop("whyoom.transformers", None)
            sys.modules.pop("whyoom.lightning", None)
        self.assertEqual(runner.failures, 0, "".join(said))
        self.assertEqual(len(made), 2)

    def test_words(self):
        """The rules of tests/checks/check_words.py hold here, too."""
        sys.path.insert(0, str(SOURCE / "tests" / "checks"))
        self.addCleanup(sys.path.remove, str(SOURCE / "tests" / "checks"))
        import check_words

        self.assertEqual(list(check_words.complaints_of((PACKAGE / "README.md").read_text())), [])
