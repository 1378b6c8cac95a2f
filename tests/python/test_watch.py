# SPDX-License-Identifier: Apache-2.0
"""whyoom.watch and the callbacks: with stand-ins, and with real torch, transformers and Lightning where these are installed."""
import contextlib
import io
import os
import pathlib
import sys
import types
from unittest import mock

import whyoom
from support import MESSAGE, Case, both_ways, environment_with

OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})
XlaRuntimeError = type("XlaRuntimeError", (RuntimeError,), {"__module__": "jaxlib"})


class Cuda:
    """A stand-in for torch.cuda."""

    def __init__(self, is_initialized=True, dump=None):
        self.is_available = lambda: True
        self.is_initialized = lambda: is_initialized
        self.current_device = lambda: 0
        self.mem_get_info = lambda index: (1664 << 20, 24207 << 20)
        self.get_device_name = lambda index: "A card, of sorts"
        self.memory = types.SimpleNamespace(_dump_snapshot=dump or (lambda path: pathlib.Path(path).write_bytes(b"\x80\x04N.")))


@both_ways
class Watch(Case):
    def setUp(self):
        super().setUp()
        self.enter(self.folder)
        self.set_environment(RANK=None, SLURM_JOB_ID=None, SLURM_PROCID=None, LOCAL_RANK=None, WORLD_SIZE=None)
        patch = mock.patch.object(sys, "argv", ["train.py"])
        patch.start()
        self.addCleanup(patch.stop)

    def left(self, above="whyoom-traces"):
        folder = pathlib.Path(above)
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []

    def raised(self, error, **options):
        """Standard error of a watched block that raises."""
        said = io.StringIO()
        with self.assertRaises(type(error)) as caught, contextlib.redirect_stderr(said):
            with whyoom.watch(**options):
                raise error
        self.assertIs(caught.exception, error)
        return said.getvalue()

    def test_which_errors(self):
        for error, is_one in (
            (OutOfMemoryError("x"), True),
            (RuntimeError("CUDA error: out of memory"), True),
            (RuntimeError("CUDA Out Of Memory"), True),
            (XlaRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes."), True),
            (RuntimeError("shapes differ"), False),
            (ValueError("out of memory"), False),
            (KeyboardInterrupt(), False),
            (None, False),
        ):
            self.assertEqual(whyoom.is_out_of_memory(error), is_one, error)
        wrapped = ValueError("of the trainer")
        wrapped.__cause__ = OutOfMemoryError("x")
        self.assertTrue(whyoom.is_out_of_memory(wrapped))

    def test_other_errors_and_none(self):
        self.assertEqual(self.raised(ValueError("x")), "")
        self.assertEqual(self.raised(SystemExit(3)), "")
        with whyoom.watch() as watched:
            pass
        self.assertIsInstance(watched, whyoom.watch)
        self.assertEqual(os.listdir("."), [])

    def test_error(self):
        said = self.raised(OutOfMemoryError(MESSAGE), settings={"per_device_train_batch_size": 2, "gradient_accumulation_steps": 8})
        self.assertIn("OUT OF GPU MEMORY: the batch is too large", said)
        self.assertIn("settings.yaml:2  per_device_train_batch_size:  2 -> 1", said)
        self.assertEqual([name.partition("/")[2] for name in self.left()], ["error.txt", "settings.yaml"])
        self.raised(OutOfMemoryError(MESSAGE))
        self.assertEqual(len(os.listdir("whyoom-traces")), 2, "nothing is written over")

    def test_once(self):
        error = OutOfMemoryError(MESSAGE)
        said = io.StringIO()
        with self.assertRaises(OutOfMemoryError), contextlib.redirect_stderr(said):
            with whyoom.watch():
                with whyoom.watch():
                    raise error
        self.assertEqual(said.getvalue().count("OUT OF GPU MEMORY"), 1)

    def test_decorator(self):
        @whyoom.watch(folder="mine")
        def train(value):
            if value:
                raise OutOfMemoryError(MESSAGE)
            return 7

        self.assertEqual(train(0), 7)
        with self.assertRaises(OutOfMemoryError), contextlib.redirect_stderr(io.StringIO()):
            train(1)
        self.assertTrue(self.left("mine"))

    def test_ranks_and_command(self):
        self.set_environment(RANK="3", SLURM_JOB_ID="4711", WORLD_SIZE="8")
        with mock.patch.object(sys, "argv", ["train.py", "--batch-size", "16"]):
            said = self.raised(OutOfMemoryError(MESSAGE))
        self.assertIn("whyoom, rank 3: all that is known is in whyoom-traces/4711-rank3-", said)
        folder = next(pathlib.Path("whyoom-traces").iterdir())
        self.assertIn("train.py --batch-size 16", (folder / "command.txt").read_text())
        self.assertIn("world_size: 8", (folder / "settings.yaml").read_text())

    def test_secrets(self):
        settings = {"hub_token": "hf_x", "api_key": "x", "max_tokens": 5, "bf16": True, "name": "a\nb", "list": [1], "none": None}
        with mock.patch.object(sys, "argv", ["train.py", "--hub-token", "hf_x"]):
            self.raised(OutOfMemoryError(MESSAGE), settings=settings)
        folder = next(pathlib.Path("whyoom-traces").iterdir())
        self.assertEqual((folder / "settings.yaml").read_text(), "bf16: true\nmax_tokens: 5\n")
        self.assertFalse((folder / "command.txt").exists())

    def test_snapshot(self):
        with mock.patch.dict(sys.modules, torch=types.SimpleNamespace(cuda=Cuda())):
            said = self.raised(OutOfMemoryError(MESSAGE))
        self.assertIn("OUT OF GPU MEMORY", said)
        self.assertEqual([name.partition("/")[2] for name in self.left()], ["devices.csv", "error.txt", "memory.pickle"])
        folder = next(pathlib.Path("whyoom-traces").iterdir())
        self.assertIn("0, A card  of sorts, 24207 MiB, 22543 MiB", (folder / "devices.csv").read_text())

    def test_faults(self):
        """The program's own error goes on, whatever fails."""

        def full(path):
            pathlib.Path(path).write_bytes(b"half")
            raise OSError("disk full")

        with mock.patch.dict(sys.modules, torch=types.SimpleNamespace(cuda=Cuda(dump=full))):
            said = self.raised(OutOfMemoryError(MESSAGE))
        self.assertIn("no snapshot: OSError: disk full", said)
        self.assertIn("OUT OF GPU MEMORY", said)
        self.assertEqual([name.partition("/")[2] for name in self.left()], ["devices.csv", "error.txt"])
        with mock.patch.dict(sys.modules, torch=types.SimpleNamespace(cuda=Cuda(is_initialized=False, dump=full))):
            self.assertNotIn("snapshot", self.raised(OutOfMemoryError(MESSAGE)))
        pathlib.Path("a_file").write_text("")
        said = self.raised(OutOfMemoryError(MESSAGE), folder="a_file")
        self.assertIn("nothing is left behind", said)
        self.assertIn("OUT OF GPU MEMORY", said)
        broken = type("Broken", (OutOfMemoryError,), {"__str__": lambda self: 1 / 0, "__module__": "torch"})
        self.raised(broken())
        with mock.patch("whyoom._watch._report", side_effect=KeyboardInterrupt):
            self.assertIn("no diagnosis: KeyboardInterrupt", self.raised(OutOfMemoryError(MESSAGE)))
        self.set_environment(WHYOOM="/no/such", WHYOOM_LIBRARY="")
        self.assertIn("no diagnosis: $WHYOOM is no program", self.raised(OutOfMemoryError(MESSAGE)))
        with mock.patch.object(sys, "stderr", None):
            with self.assertRaises(OutOfMemoryError):
                with whyoom.watch():
                    raise OutOfMemoryError(MESSAGE)

    def test_imports(self):
        done = self.run_python("import sys, whyoom\nprint([name for name in ('torch', 'transformers', 'lightning', 'jax', 'pandas', 'numpy') "
                               "if name in sys.modules])")
        self.assertEqual((done.stdout, done.stderr), ("[]\n", ""))


class Real(Case):
    """Programs with the real libraries."""

    def need(self, *modules, with_card=False):
        environment, why = environment_with(modules, with_card)
        if environment is None:
            self.skipTest(why)
        return environment

    def test_torch(self):
        environment = self.need("torch")
        done = self.run_python(TORCH, "--batch-size", "16", environment=dict(environment, CUDA_VISIBLE_DEVICES=""))
        self.assertEqual(done.returncode, 1)
        self.assertIn("OUT OF GPU MEMORY: the batch is too large", done.stderr)
        self.assertTrue(done.stderr.rstrip().splitlines()[-1].startswith("torch.OutOfMemoryError: CUDA out of memory."))
        self.assertEqual(done.stdout, "step 0\nstep 1\n")
        self.assertEqual(sorted(path.name for path in self.folder.glob("whyoom-traces/*/*")), ["command.txt", "error.txt"])

    def test_torch_with_a_card(self):
        environment = self.need("torch", with_card=True)
        done = self.run_python(CARD, environment=environment)
        self.assertIn("OUT OF GPU MEMORY: a cap refused it, not the card", done.stderr)
        snapshot = next(self.folder.glob("whyoom-traces/*/memory.pickle"))
        found = whyoom.replay(snapshot)
        self.assertEqual(found.trace.format, "snapshot")
        self.assertGreater(found.trace.allocs, 4)

    def transformers(self, *words):
        environment = self.need("torch", "transformers", "accelerate")
        return self.run_python(TRANSFORMERS, *words, environment=dict(environment, CUDA_VISIBLE_DEVICES=""))

    def test_transformers(self):
        done = self.transformers()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("fine True\ncaught\nfreed\n", done.stdout)
        self.assertEqual(done.stderr.count("OUT OF GPU MEMORY"), 1, done.stderr)
        self.assertIn("per_device_train_batch_size:  2 -> 1", done.stderr)
        self.assertIn("gradient_accumulation_steps:  4 -> 8", done.stderr)
        settings = next(self.folder.glob("whyoom-traces/*/settings.yaml")).read_text()
        self.assertIn("num_hidden_layers: 1\n", settings)
        self.assertNotIn("hub_token", settings)

    def test_transformers_added_later(self):
        done = self.transformers("late")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("OUT OF GPU MEMORY"), 1, done.stderr)
        self.assertIn("per_device_train_batch_size:  2 -> 1", done.stderr)

    def test_lightning(self):
        for module in ("lightning.pytorch", "pytorch_lightning"):
            with self.subTest(module):
                environment, why = environment_with(("torch", module))
                if environment is None:
                    self.skipTest(why)
                done = self.run_python(LIGHTNING.replace("lightning.pytorch", module),
                                       environment=dict(environment, CUDA_VISIBLE_DEVICES=""))
                self.assertEqual(done.returncode, 1)
                self.assertIn("accumulate_grad_batches:  4 -> 8", done.stderr)
                self.assertIn("batch_size:               2 -> 1", done.stderr)

    def test_jax(self):
        done = self.run_python(JAX, environment=self.need("jax"))
        self.assertIn("OUT OF GPU MEMORY", done.stderr)


both_ways(Real, without=("test_torch_with_a_card", "test_transformers_added_later"))  # they take long, and ask as the others do

TORCH = f"""
import sys, torch, whyoom
layer = torch.nn.Linear(8, 8)
def train():
    for step in range(4):
        loss = layer(torch.ones(int(sys.argv[2]), 8)).sum()
        if step == 2:
            raise torch.OutOfMemoryError({MESSAGE!r})
        loss.backward()
        print("step", step, flush=True)
with whyoom.watch():
    train()
"""

CARD = """
import torch, whyoom
torch.cuda.memory._record_memory_history(max_entries=100000, stacks="python")
torch.cuda.set_per_process_memory_fraction(0.01)
layers = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(4))).cuda()
with whyoom.watch():
    for step in range(1, 50):
        layers(torch.zeros(1024 * step, 2048, device="cuda")).sum().backward()
"""

TRANSFORMERS = f"""
import gc, sys, weakref, torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments
from whyoom.transformers import WhyoomCallback
hook = sys.excepthook
class Model(LlamaForCausalLM):
    fails = False
    def forward(self, input_ids=None, labels=None, **more):
        if self.fails and self.training and trainer.state.global_step == 1:
            raise torch.OutOfMemoryError({MESSAGE!r})
        return super().forward(input_ids=input_ids, labels=labels, **more)
model = Model(LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
                          num_key_value_heads=2))
data = [dict(input_ids=[1, 2, 3, 4], labels=[1, 2, 3, 4])] * 16
args = TrainingArguments("out", per_device_train_batch_size=2, gradient_accumulation_steps=4, use_cpu=True, report_to=[],
                         disable_tqdm=True, hub_token="hf_secret", save_strategy="no", num_train_epochs=1)
def made(callbacks=()):
    return Trainer(model=model, args=args, train_dataset=data, callbacks=list(callbacks))
def is_freed(callbacks):
    # Whether a Trainer goes when its last name does, before the collector of circles runs.
    gc.collect()
    gc.disable()
    trainer = made(callbacks)
    known = weakref.ref(trainer)
    del trainer
    gc.enable()
    return known() is None
if "late" in sys.argv:
    Model.fails = True
    trainer = made()
    trainer.add_callback(WhyoomCallback())
    trainer.train()
trainer = made([WhyoomCallback()])
trainer.train()
trainer.evaluate(data)
print("fine", sys.excepthook is hook)
Model.fails = True
try:
    trainer.train()
except torch.OutOfMemoryError:
    print("caught")
print("freed" if is_freed([WhyoomCallback()]) == is_freed([]) else "held")
"""

LIGHTNING = f"""
import torch, lightning.pytorch as pl
from whyoom.lightning import WhyoomCallback
class Module(pl.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        if index == 2:
            raise torch.OutOfMemoryError({MESSAGE!r})
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
trainer = pl.Trainer(callbacks=[WhyoomCallback()], accelerator="cpu", logger=False, enable_checkpointing=False, max_epochs=1,
                     enable_progress_bar=False, accumulate_grad_batches=4)
trainer.fit(Module(), torch.utils.data.DataLoader(torch.zeros(32, 4), batch_size=2))
"""

JAX = """
import jax, whyoom
with whyoom.watch():
    raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.")
"""
