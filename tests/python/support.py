# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the tree, folders, and programs that need torch."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import whyoom

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "packaging" / "python"
SAMPLES = SOURCE / "samples"
RECORDINGS = SOURCE / "tests" / "recordings"
WHYOOM = os.environ.get("WHYOOM", "")
STORE = pathlib.Path.home() / ".cache" / "whyoom-training"  # of tests/training/run
KEPT = ("PATH", "HOME", "LANG", "PYENV_VERSION", "WHYOOM", "WHYOOM_LIBRARY")
LIBRARY = os.environ.get("WHYOOM_TESTED_LIBRARY", "")

MESSAGE = (
    "CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.55 GiB is free. Including "
    "non-PyTorch memory, this process has 22.08 GiB memory in use. Of the allocated memory 21.03 GiB is allocated by PyTorch, and "
    "612.41 MiB is reserved by PyTorch but unallocated."
)


class Case(unittest.TestCase):
    maxDiff = None
    library = ""  # the program is asked

    def setUp(self):
        if self.library is None:
            self.skipTest("no library was built (-DWHYOOM_LIBRARY=ON)")
        self.set_environment(WHYOOM_LIBRARY=self.library)
        self.assertEqual(whyoom.backend().kind, "library" if self.library else "program")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="whyoom-python."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def enter(self, folder):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)

    def set_environment(self, **values):
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def run_python(self, text, *arguments, environment=None, python=sys.executable):
        """Runs a program in the test's folder."""
        path = self.folder / "program.py"
        path.write_text(text)
        plain = {name: os.environ[name] for name in KEPT if name in os.environ}
        plain.update(PYTHONPATH=str(PACKAGE / "src"), PYTHONDONTWRITEBYTECODE="1")
        plain.update(environment or {})
        return subprocess.run([python, str(path), *arguments], cwd=self.folder, env=plain, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, timeout=300)


def both_ways(case, without=()):
    """The tests of the class again, with the library asked in this process."""
    name = case.__name__ + "InProcess"
    made = type(name, (case,), {"__module__": case.__module__, "library": LIBRARY or None, **dict.fromkeys(without)})
    setattr(sys.modules[case.__module__], name, made)
    return case


def stores():
    """Folders of tests/training/run that hold torch, the newest one first."""
    return sorted((path for path in STORE.glob("*") if (path / "site" / "torch").is_dir()), reverse=True)


def environment_with(modules, with_card=False):
    """(environment, "") for a program that imports the modules, or (None, why not). The card is a stub, on which no kernel runs."""
    inherited = os.environ.get("PYTHONPATH", "")
    tried = [{"PYTHONPATH": os.pathsep.join(filter(None, [str(PACKAGE / "src"), inherited]))}]
    for store in stores():
        path = os.pathsep.join(filter(None, [str(PACKAGE / "src"), str(store / "site"), str(store / "extra"), inherited]))
        tried.append({"PYTHONPATH": path, "LD_LIBRARY_PATH": str(store / "stubs")})
    if with_card:
        tried = tried[1:]
    # Only torch is imported, which needs its libraries; importing the others takes long.
    check = f"""
import importlib.util
if "torch" in {modules!r}:
    import torch
for module in {modules!r}:
    importlib.util.find_spec(module) or exit(1)
"""
    for environment in tried:
        environment.update(PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
        done = subprocess.run([sys.executable, "-c", check], env={**os.environ, **environment}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            return environment, ""
    return None, f"{', '.join(modules)}: not installed for {sys.executable}"
