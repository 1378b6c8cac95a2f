#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peak of one training program as people write them: transformers, PEFT, bitsandbytes, torchvision; on a card or over the stub libraries.

usage: program.py CASES OUT [--lanes N] [--seconds N] [--only PATTERN] [--needs OUT... --capacity BYTES]

CASES is a JSON list (cases.py); OUT gets one JSON line for each case that ran: its settings, the peak of tensors in use and of reserved memory over
the steps, and where in the step the first one was. Each case runs in a process of its own, forked behind the imports, N of them at a time. Models are
made from their configuration with random weights: nothing is loaded.
"""
import argparse
import gc
import json
import os
import re
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import shapes  # noqa: E402

STEPS = 3


def make_language_model(torch, case):
    """The model on the card, as from_pretrained gives it in this number format."""
    import transformers
    name, settings = shapes.CONFIGURATIONS[case["model"]]
    config = getattr(transformers, name)(**settings)
    dtype = torch.float32 if case["dtype"] in ("fp32", "amp") else getattr(torch, {"bf16": "bfloat16", "fp16": "float16"}[case["dtype"]])
    kind = transformers.AutoModelForMaskedLM if case.get("masked") else transformers.AutoModelForCausalLM
    with torch.device("cuda"):
        model = kind.from_config(config, dtype=dtype, attn_implementation=case.get("attention", "sdpa"))
    model.config.use_cache = False
    return model


def quantise(torch, model, case):
    """Puts bitsandbytes' layers in the place of linear ones, all but the head, as the loader of transformers does."""
    import bitsandbytes as bnb
    compute = torch.bfloat16 if case["dtype"] == "bf16" else torch.float16
    head = model.get_output_embeddings()
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is not torch.nn.Linear or child is head:
                continue
            if case["quantize"] == "4bit":
                made = bnb.nn.Linear4bit(child.in_features, child.out_features, bias=child.bias is not None, compute_dtype=compute,
                                         compress_statistics=case.get("double_quant", True), quant_type="nf4", device="meta")
                made.weight = bnb.nn.Params4bit(child.weight.data, requires_grad=False, compress_statistics=case.get("double_quant", True),
                                                quant_type="nf4", module=made)
            else:
                made = bnb.nn.Linear8bitLt(child.in_features, child.out_features, bias=child.bias is not None, has_fp16_weights=False, device="meta")
                made.weight = bnb.nn.Int8Params(child.weight.data.cpu(), requires_grad=False, has_fp16_weights=False)
            if child.bias is not None:
                made.bias = torch.nn.Parameter(child.bias.data)
            setattr(parent, name, made.cuda())
            del child
    setattr(model, "is_loaded_in_" + case["quantize"], True)
    gc.collect()
    return model


def adapt(torch, model, case):
    import peft
    if case.get("quantize"):
        model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=bool(case.get("checkpointing")),
                                                     gradient_checkpointing_kwargs={"use_reentrant": bool(case.get("reentrant"))})
    targets = {"attention": ["q_proj", "v_proj"], "all-linear": "all-linear", "default": None}[case.get("targets", "all-linear")]
    return peft.get_peft_model(model, peft.LoraConfig(r=case["lora_rank"], lora_alpha=2 * case["lora_rank"], lora_dropout=case.get("lora_dropout", 0.0),
                                                      target_modules=targets, task_type="CAUSAL_LM", use_dora=bool(case.get("dora"))))


def make_optimizer(torch, model, case):
    parameters = [p for p in model.parameters() if p.requires_grad]
    kind = case.get("optimizer", "adamw")
    if kind == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-5)
    if kind == "adamw-fused":
        return torch.optim.AdamW(parameters, lr=1e-5, fused=True)
    if kind == "adamw-single":
        return torch.optim.AdamW(parameters, lr=1e-5, foreach=False)
    if kind == "sgd":
        return torch.optim.SGD(parameters, lr=1e-5)
    if kind == "sgd-momentum":
        return torch.optim.SGD(parameters, lr=1e-5, momentum=0.9)
    if kind == "adafactor":
        from transformers.optimization import Adafactor
        return Adafactor(parameters, lr=1e-5, relative_step=False, scale_parameter=False, warmup_init=False)
    if kind == "muon":
        return Both(torch, model)
    if kind == "galore":
        return galore(model, case)
    import bitsandbytes as bnb
    return {"adam8bit": bnb.optim.AdamW8bit, "paged-adam8bit": bnb.optim.PagedAdamW8bit, "lion8bit": bnb.optim.Lion8bit, "lion": bnb.optim.Lion}[kind](
        parameters, lr=1e-5)


class Both:
    """Muon for the matrices of layers, AdamW for the rest, as its authors advise."""

    def __init__(self, torch, model):
        tables = {id(module.weight) for module in (model.get_input_embeddings(), model.get_output_embeddings())}
        of_muon = [p for p in model.parameters() if p.requires_grad and p.ndim == 2 and id(p) not in tables]
        chosen = {id(p) for p in of_muon}
        self.both = [torch.optim.Muon(of_muon, lr=1e-4), torch.optim.AdamW([p for p in model.parameters() if p.requires_grad and id(p) not in chosen], lr=1e-5)]

    def step(self):
        for one in self.both:
            one.step()

    def zero_grad(self, set_to_none=True):
        for one in self.both:
            one.zero_grad(set_to_none=set_to_none)


def galore(model, case):
    """GaLore's AdamW for all linear layers, with the rank and gap that transformers takes."""
    from galore_torch import GaLoreAdamW
    import torch
    if os.environ.get("WHYOOM_STUB_BYTES"):  # its workspace is that of a kernel, and there is none
        def svd(matrix, full_matrices=False):
            least = min(matrix.shape)
            return matrix.new_empty(matrix.shape[0], least), matrix.new_empty(least), matrix.new_empty(least, matrix.shape[1])
        torch.linalg.svd = svd
    linear = [module.weight for module in model.modules() if type(module) is torch.nn.Linear and module is not model.get_output_embeddings()]
    chosen = {id(p) for p in linear}
    rest = [p for p in model.parameters() if p.requires_grad and id(p) not in chosen]
    return GaLoreAdamW([{"params": rest}, {"params": linear, "rank": case.get("galore_rank", 128), "update_proj_gap": 200, "scale": 0.25, "proj_type": "std"}],
                       lr=1e-5, no_deprecation_warning=True)


# ---- Several cards ----

def join(torch, case):
    """This process as rank 0 of so many whose collectives do nothing: what one rank keeps is what it would keep among real ones."""
    from torch.testing._internal.distributed.fake_pg import FakeStore
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(case["gpus"]), MASTER_ADDR="localhost", MASTER_PORT="29500")
    # Comparisons with other ranks, which send nothing here.
    torch.distributed._verify_params_across_processes = lambda *_: None
    if case["strategy"].startswith("ddp"):
        # Its buckets do not depend on the number of ranks, and its reducer needs collectives that end.
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        return
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=case["gpus"])


def layers_of(torch, model):
    """The decoder layers: the longest list of modules."""
    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    return list(max(lists, key=len))


def share(torch, model, case):
    """The model as DDP, FSDP1 or FSDP2 wrap it."""
    strategy = case["strategy"]
    layers = layers_of(torch, model)
    mixed = case["dtype"] == "amp"
    if strategy.startswith("ddp"):
        return torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=strategy == "ddp-view", device_ids=[0])
    if strategy.startswith("fsdp2"):
        from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if mixed else MixedPrecisionPolicy()
        for layer in layers:
            fully_shard(layer, mp_policy=policy, reshard_after_forward=strategy != "fsdp2-grad")
        fully_shard(model, mp_policy=policy, reshard_after_forward=strategy != "fsdp2-grad")
        return model
    from functools import partial
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, buffer_dtype=torch.bfloat16) if mixed else None
    kind = ShardingStrategy.SHARD_GRAD_OP if strategy == "fsdp1-grad" else ShardingStrategy.FULL_SHARD
    return FullyShardedDataParallel(model, auto_wrap_policy=partial(transformer_auto_wrap_policy, transformer_layer_cls={type(layers[0])}),
                                    mixed_precision=policy, sharding_strategy=kind, use_orig_params=True, device_id=0)


def run_deepspeed(torch, case, model, forward_of):
    """DeepSpeed's engine with its defaults beside the stage."""
    import deepspeed
    for module in list(sys.modules.values()):
        if module.__name__.startswith("deepspeed."):
            for name in ("assert_lst_len_same_as_other_ranks", "get_lst_from_rank0"):
                if hasattr(module, name):
                    setattr(module, name, lambda numbers: numbers)
    stage = int(case["strategy"][-1])
    zero = {"stage": stage}
    if case.get("offload_optimizer"):
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": False}
    if case.get("offload_params"):
        zero["offload_param"] = {"device": "cpu", "pin_memory": False}
    settings = {"train_micro_batch_size_per_gpu": case["micro_batch"], "gradient_accumulation_steps": case.get("grad_accum", 1), "gradient_clipping": 1.0,
                "bf16": {"enabled": case["dtype"] == "bf16"}, "zero_optimization": zero, "zero_allow_untested_optimizer": True,
                "zero_force_ds_cpu_optimizer": False}
    parameters = [p for p in model.parameters() if p.requires_grad]
    engine, _, _, _ = deepspeed.initialize(model=model, optimizer=torch.optim.AdamW(parameters, lr=1e-5), config=settings, dist_init_required=False)
    gc.collect()
    torch.cuda.empty_cache()
    start = torch.cuda.memory_allocated()
    mark = Marks(torch, case)
    for _ in range(STEPS):
        for _ in range(case.get("grad_accum", 1)):
            loss = forward_of(engine)()
            mark("forward")
            engine.backward(loss)
            mark("backward")
            del loss
            engine.step()
            mark("optimizer")
    return {"peaks": mark.peaks, "start_bytes": start}


class Marks:
    """The peak of each part of a step."""

    def __init__(self, torch, case):
        self.torch, self.peaks = torch, {}
        if case.get("card_bytes"):  # a smaller card, for the steps: how a model comes there is not looked at
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction(case["card_bytes"] / torch.cuda.get_device_properties(0).total_memory)
        torch.cuda.reset_peak_memory_stats()

    def __call__(self, part):
        peak = self.torch.cuda.max_memory_allocated()
        self.peaks[part] = max(peak, self.peaks.get(part, 0))
        self.torch.cuda.reset_peak_memory_stats()


def steps(torch, case, forward, model, optimizer):
    """Steps of a plain loop; forward() gives the loss of one micro-batch."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    mark = Marks(torch, case)
    for _ in range(case.get("steps", STEPS)):
        for _ in range(case.get("grad_accum", 1)):
            is_cast = case["dtype"] == "amp" and not case.get("strategy", "").startswith("fsdp")
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=is_cast):
                loss = forward()
            mark("forward")
            loss.backward()
            mark("backward")
            del loss
        if case.get("clip", True):
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        mark("clip")
        optimizer.step()
        mark("optimizer")
        optimizer.zero_grad(set_to_none=True)
    return mark.peaks


def run_language_model(torch, case):
    import transformers
    model = make_language_model(torch, case)
    vocabulary = model.config.vocab_size
    if case.get("liger"):
        from liger_kernel.transformers import _apply_liger_kernel_to_instance
        _apply_liger_kernel_to_instance(model=model)
    if case.get("quantize"):
        model = quantise(torch, model, case)
    if case.get("checkpointing"):
        model.gradient_checkpointing_enable({"use_reentrant": bool(case.get("reentrant"))})
        if case.get("lora_rank"):
            model.enable_input_require_grads()
    total = sum(p.numel() * (2 if p.dtype == torch.uint8 else 1) for p in model.parameters())
    if case.get("lora_rank"):
        model = adapt(torch, model, case)
    model.train()
    gc.collect()
    torch.cuda.empty_cache()
    b, s = case["micro_batch"], case["seq_len"]
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    facts = {"parameters": total, "trained": trained, "start_bytes": torch.cuda.memory_allocated()}
    ids = torch.randint(0, vocabulary, (b, s), device="cpu")
    if case.get("trl"):
        facts["peaks"] = run_trl(torch, case, model, ids)
        return facts
    if case.get("trainer"):
        facts["peaks"] = run_trainer(torch, transformers, case, model, ids)
        return facts
    device_ids = ids.cuda()
    mask = None  # as transformers makes of one without padding
    if case.get("padding"):
        mask = torch.ones_like(device_ids)
        mask[1:, -s // 4:] = 0

    def forward_of(called):
        return lambda: called(input_ids=device_ids, attention_mask=mask, labels=device_ids).loss

    if case.get("strategy", "").startswith("zero"):
        join(torch, case)
        facts.update(run_deepspeed(torch, case, model, forward_of))
        return facts
    if case.get("strategy"):
        join(torch, case)
        model = share(torch, model, case)
        gc.collect()
        torch.cuda.empty_cache()
        facts["start_bytes"] = torch.cuda.memory_allocated()
    facts["peaks"] = steps(torch, case, forward_of(model), model, make_optimizer(torch, model, case))
    return facts


def run_trainer(torch, transformers, case, model, ids):
    """transformers' Trainer with the user's arguments."""
    rows = [{"input_ids": row, "labels": row} for row in ids]

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return len(rows) * STEPS * case.get("grad_accum", 1)

        def __getitem__(self, at):
            return rows[at % len(rows)]

    names = {"adamw": "adamw_torch", "adamw-fused": "adamw_torch_fused", "adam8bit": "adamw_bnb_8bit", "paged-adam8bit": "paged_adamw_8bit",
             "paged-adam32bit": "paged_adamw_32bit", "sgd": "sgd", "adafactor": "adafactor", "lion": "lion_32bit", "lion8bit": "lion_8bit"}
    arguments = transformers.TrainingArguments(
        output_dir="/tmp/whyoom-accuracy", per_device_train_batch_size=case["micro_batch"], gradient_accumulation_steps=case.get("grad_accum", 1),
        max_steps=STEPS, bf16=bool(case.get("trainer_bf16")), optim=names[case.get("optimizer", "adamw-fused")], report_to=[], save_strategy="no",
        logging_strategy="no", disable_tqdm=True, gradient_checkpointing=bool(case.get("checkpointing")),
        gradient_checkpointing_kwargs={"use_reentrant": bool(case.get("reentrant"))} if case.get("checkpointing") else None, dataloader_num_workers=0)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=Rows())
    mark = Marks(torch, case)
    trainer.train()
    mark("all")
    return mark.peaks


def run_trl(torch, case, model, ids):
    """TRL's trainers with their defaults: supervised, or of preferences, where each sample is a pair."""
    import datasets
    import transformers
    import trl
    datasets.fingerprint.Hasher.hash = classmethod(lambda *_: os.urandom(8).hex())  # it cannot hash what it makes here, and nothing is kept
    arguments = dict(output_dir="/tmp/whyoom-accuracy", per_device_train_batch_size=case["micro_batch"], gradient_accumulation_steps=1, max_steps=STEPS, bf16=True,
                     optim="adamw_torch_fused", report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True, max_length=case["seq_len"],
                     gradient_checkpointing=bool(case.get("checkpointing")), gradient_checkpointing_kwargs={"use_reentrant": False}, dataloader_num_workers=0)
    if case.get("loss_type"):
        arguments["loss_type"] = case["loss_type"]
    tokenizer = Words(transformers)
    rows = [row.tolist() for row in ids] * (STEPS + 1)
    mark = Marks(torch, case)
    if case["trl"] == "sft":
        trainer = trl.SFTTrainer(model=model, args=trl.SFTConfig(dataset_kwargs={"skip_prepare_dataset": True}, **arguments), processing_class=tokenizer.made,
                                 train_dataset=datasets.Dataset.from_dict({"input_ids": rows, "labels": rows}))
    else:
        half = case["seq_len"] // 2
        parts = {"prompt_ids": [row[:half] for row in rows], "chosen_ids": [row[half:] for row in rows], "rejected_ids": [row[half:] for row in rows]}
        parts |= {"prompt_input_ids": parts["prompt_ids"], "chosen_input_ids": parts["chosen_ids"], "rejected_input_ids": parts["rejected_ids"]}
        parts |= {"prompt": ["a"] * len(rows), "chosen": ["b"] * len(rows), "rejected": ["c"] * len(rows)}
        trl.DPOTrainer._prepare_dataset = lambda self, dataset, *_, **__: dataset
        trainer = trl.DPOTrainer(model=model, args=trl.DPOConfig(**arguments), processing_class=tokenizer.made, train_dataset=datasets.Dataset.from_dict(parts))
    trainer.train()
    mark("all")
    return mark.peaks


class Words:
    """A tokenizer of a few words, since none can be loaded."""

    def __init__(self, transformers):
        from tokenizers import Tokenizer, models
        words = Tokenizer(models.WordLevel({"a": 0, "b": 1, "c": 2, "[PAD]": 3, "[EOS]": 4}, unk_token="a"))
        self.made = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", eos_token="[EOS]")


def run_vision(torch, case):
    import torchvision
    torch.backends.cudnn.enabled = not os.environ.get("WHYOOM_STUB_BYTES")  # it asks its library for plans, and there is none
    model = getattr(torchvision.models, case["model"])(weights=None).cuda()
    if case.get("channels_last"):
        model = model.to(memory_format=torch.channels_last)
    model.train()
    facts = {"parameters": sum(p.numel() for p in model.parameters())}
    facts["trained"] = facts["parameters"]
    images = torch.randn(case["micro_batch"], 3, case["image"], case["image"], device="cuda")
    labels = torch.zeros(case["micro_batch"], dtype=torch.long, device="cuda")
    optimizer = make_optimizer(torch, model, case)
    facts["start_bytes"] = torch.cuda.memory_allocated()

    def forward():
        made = model(images)
        made = made[0] if isinstance(made, tuple) else made
        return torch.nn.functional.cross_entropy(made, labels)

    facts["peaks"] = steps(torch, case, forward, model, optimizer)
    return facts


def run_inference(torch, case):
    """generate() of a whole batch: prompt of seq_len, new_tokens more."""
    model = make_language_model(torch, case)
    model.config.use_cache = True
    model.eval()
    facts = {"parameters": sum(p.numel() for p in model.parameters()), "trained": 0, "start_bytes": torch.cuda.memory_allocated()}
    ids = torch.zeros((case["micro_batch"], case["seq_len"]), dtype=torch.long, device="cuda")
    mark = Marks(torch, case)
    with torch.inference_mode():
        made = model(input_ids=ids, use_cache=True)
        mark("prefill")
        cache = made.past_key_values
        made = None
        for _ in range(case.get("new_tokens", 8)):
            made = model(input_ids=ids[:, :1], past_key_values=cache, use_cache=True)
            cache = made.past_key_values
        mark("decode")
    facts["peaks"] = mark.peaks
    return facts


def run_context(torch, _):
    """What a process takes of the card outside the allocator: at first, with cuBLAS, with cuDNN. To be run alone."""
    def outside():
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        return total - free - torch.cuda.memory_reserved()

    free_before = None
    try:
        import pynvml
        pynvml.nvmlInit()
        free_before = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used
    except Exception:  # noqa: BLE001 then it is not known
        pass
    torch.zeros(1, device="cuda")
    facts = {"before_bytes": free_before, "context_bytes": outside()}
    one = torch.randn(256, 256, device="cuda", dtype=torch.bfloat16)
    (one @ one).sum().item()
    facts["with_cublas_bytes"] = outside()
    torch.nn.functional.conv2d(torch.randn(8, 3, 64, 64, device="cuda"), torch.randn(8, 3, 3, 3, device="cuda")).sum().item()
    facts["with_cudnn_bytes"] = outside()
    import torchvision
    torchvision.models.resnet18().cuda()(torch.randn(4, 3, 64, 64, device="cuda")).sum().backward()
    facts["with_network_bytes"] = outside()
    facts["peaks"] = {"all": torch.cuda.max_memory_allocated()}
    return facts


KINDS = {"lm": run_language_model, "vision": run_vision, "inference": run_inference, "context": run_context}


def run_case(case):
    import torch
    facts = {"id": case["id"]}
    begin = time.monotonic()
    try:
        torch.manual_seed(1)
        facts.update(KINDS[case["kind"]](torch, case))
        facts["reserved_bytes"] = torch.cuda.memory_stats()["reserved_bytes.all.peak"]
        facts["allocated_bytes"] = max(facts["peaks"].values())
    except torch.OutOfMemoryError as error:
        facts["failed"] = "out of memory: " + str(error)[:200]
    except Exception:  # noqa: BLE001 one case that fails is no reason to lose the others
        facts["failed"] = traceback.format_exc()[-1500:]
    facts["seconds"] = round(time.monotonic() - begin, 1)
    return facts


def import_all():
    """What cases use, imported without a look at the card: a process that has looked cannot be forked."""
    import torch
    asked = {"is_available": True, "device_count": 1, "get_device_capability": (9, 0)}
    real = {name: getattr(torch.cuda, name) for name in asked}
    for name, answer in asked.items():
        setattr(torch.cuda, name, lambda *_, answer=answer: answer)
    import transformers.masking_utils
    # It looks at values, which the stubs do not have; these batches are not packed.
    transformers.masking_utils.find_packed_sequence_indices = lambda *_: None
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, Trainer, TrainingArguments  # noqa: F401
    import peft  # noqa: F401
    import torchvision  # noqa: F401
    for name, function in real.items():
        setattr(torch.cuda, name, function)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("out")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=10 ** 6)
    parser.add_argument("--only", default="")
    parser.add_argument("--needs", nargs="*", help="OUT of an earlier call: what each takes, so that those beside each other have room")
    parser.add_argument("--capacity", type=int, default=0, help="bytes that those beside each other may take in all")
    args = parser.parse_args()
    with open(args.cases, encoding="utf-8") as file:
        cases = [case for case in json.load(file) if re.search(args.only, case["id"])]
    import_all()
    needs = {}
    for path in args.needs or []:
        with open(path, encoding="utf-8") as file:
            needs.update({facts["id"]: facts.get("reserved_bytes", 0) for facts in map(json.loads, file)})
    end = time.monotonic() + args.seconds
    children, waiting, again = {}, list(cases), []

    def need(case):
        return needs.get(case["id"], args.capacity) if args.capacity else 0

    while waiting or children or again:
        if not waiting and not children:
            waiting, again, args.lanes = again, [], 1  # what a neighbour left no room for, alone
        left = args.capacity - sum(need(case) for case in children.values())
        fitting = next((case for case in waiting if need(case) <= left or not children), None)
        if fitting and len(children) < args.lanes and time.monotonic() < end:
            waiting.remove(fitting)
            child = os.fork()
            if child == 0:
                facts = run_case(fitting)
                with open(args.out, "a", encoding="utf-8") as file:
                    file.write(json.dumps({**facts, "case": fitting}) + "\n")
                os._exit(3 if facts.get("failed", "").startswith("out of memory") else 0)
            children[child] = fitting
            continue
        if not children:
            break
        pid, status = os.wait()
        case = children.pop(pid)
        if status:
            print(case["id"], "ended with status", status, flush=True)
        if os.waitstatus_to_exitcode(status) == 3 and args.lanes > 1:
            again.append(case)
    print("not begun:", len(waiting), flush=True)


if __name__ == "__main__":
    main()
