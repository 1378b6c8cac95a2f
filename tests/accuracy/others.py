#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What other estimators say of the programs that were measured: others.py > data/others.json

Needs the packages themselves (accelerate, deepspeed, llm-analysis) beside torch and transformers; their own functions are called, with the settings
that they take. Nothing is run. Megatron-LM and EleutherAI's cookbook are no packages: each is taken from a clone, which --megatron and --cookbook name.
What is not here keeps the figures that data/others.json has of it.
"""
import argparse
import contextlib
import importlib.metadata
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import shapes  # noqa: E402


def empty_model(case):
    import torch
    import transformers
    name, settings = shapes.CONFIGURATIONS[case["model"]]
    kind = transformers.AutoModelForMaskedLM if case.get("masked") else transformers.AutoModelForCausalLM
    with torch.device("meta"):
        return kind.from_config(getattr(transformers, name)(**settings), dtype=torch.float32)


def accelerate_says(case, model):
    """`accelerate estimate-memory`: training of all weights with Adam; it takes the number format and nothing else."""
    from accelerate.commands.estimate import estimate_training_usage
    from accelerate.utils import calculate_maximum_sizes
    if case.get("lora_rank") or case.get("optimizer", "adamw") not in ("adamw", "adamw-fused", "adamw-single") or case.get("gpus"):
        return None
    total, _ = calculate_maximum_sizes(model)
    half = case["dtype"] != "fp32"
    sizes = estimate_training_usage(total if not half or case["dtype"] == "amp" else total // 2, "float16" if case["dtype"] == "amp" else
                                    "float32" if not half else "bfloat16")
    return max(sizes.values())


def deepspeed_says(case, model):
    """The estimators of DeepSpeed's stages: model states alone."""
    from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs
    from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs
    if not case.get("strategy", "").startswith("zero") or case.get("lora_rank"):
        return None
    total = sum(parameter.numel() for parameter in model.parameters())
    offload = bool(case.get("offload_optimizer"))
    if case["strategy"] == "zero3":
        largest = max(sum(p.numel() for p in module.parameters(recurse=False)) for module in model.modules())
        return estimate_zero3_model_states_mem_needs(total, largest, num_gpus_per_node=case["gpus"], cpu_offload=offload,
                                                     cpu_offload_params=bool(case.get("offload_params")), zero_init=True)[1]
    return estimate_zero2_model_states_mem_needs(total, num_gpus_per_node=case["gpus"], cpu_offload=offload)[1]


def llm_analysis_says(case, model):
    """LLMAnalysis.training on one card, with the model's shape; it knows 16-bit training with fp32 states."""
    from llm_analysis.analysis import ActivationRecomputation, LLMAnalysis
    from llm_analysis.config import DtypeConfig, ModelConfig, ParallelismConfig, get_gpu_config_by_name
    whole = case.get("optimizer", "adamw") in ("adamw", "adamw-fused", "adamw-single") and not case.get("lora_rank") and not case.get("gpus")
    if not whole or case["dtype"] == "fp32" or case.get("masked"):
        return None
    config = model.config
    shape = ModelConfig(name=case["model"], num_layers=config.num_hidden_layers, n_head=config.num_attention_heads, hidden_dim=config.hidden_size,
                        vocab_size=config.vocab_size, max_seq_len=case["seq_len"], num_key_value_heads=getattr(config, "num_key_value_heads", None),
                        ffn_embed_dim=getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    again = ActivationRecomputation.FULL if case.get("checkpointing") else ActivationRecomputation.NONE
    analysis = LLMAnalysis(shape, get_gpu_config_by_name("a100-sxm-80gb"), DtypeConfig(), ParallelismConfig())
    done = analysis.training(batch_size_per_gpu=case["micro_batch"], gradient_accumulation_steps=1, seq_len=case["seq_len"], total_num_tokens=10 ** 9,
                             activation_recomputation=again, flash_attn=case.get("attention") != "eager",
                             mlp_gated_linear_units=getattr(config, "hidden_act", "") == "silu")
    return done["(weight+op_state+grad+act)_memory_per_gpu"]


# ---- From clones ----

CLONES = {"megatron-lm": "megatron/training/theoretical_memory_usage.py", "cookbook": "calc/calc_transformer_mem.py"}
ASSUMES = {
    "megatron-lm": "report_theoretical_memory, without sequence parallelism: 16-bit weights, fp32 gradients, weights and Adam states (18 bytes a "
                   "parameter; DeepSpeed's stage 1 as its distributed optimizer, 6 + 12 / cards), 34 bytes a token and hidden channel in each layer "
                   "whatever the block, no scores, 16-bit logits, 5 % more; nothing of checkpointing, fp32, other optimizers, ZeRO 2 and 3",
    "megatron-lm-selective": "the same weights, with compute_activation_memory, which its report takes for sequence parallelism with selective recomputation: "
                             "18 + 4 ffn / hidden bytes, fp32 logits",
    "cookbook": "calc_mem: 12 bytes a parameter of Adam (8 of SGD with momentum) in whatever format, embedding and head apart, scores without checkpointing; "
                "weights and gradients told as 16 or 32 bits; no logits",
}


def module_from(path):
    """One file of a clone; of its package only what it calls, which imports the whole of Megatron."""
    sys.modules["cloned"] = package = types.ModuleType("cloned")
    package.__path__ = []
    sys.modules["cloned.utils"] = utils = types.ModuleType("cloned.utils")
    utils.is_hybrid_model, utils.print_rank_0 = lambda args: False, print
    spec = importlib.util.spec_from_file_location(f"cloned.{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shape_of(case, model):
    config = model.config
    first = lambda *names: next((value for value in (getattr(config, name, None) for name in names) if value), None)  # noqa: E731
    heads, hidden = first("num_attention_heads", "n_head"), first("hidden_size", "n_embd")
    return {"layers": first("num_hidden_layers", "n_layer"), "heads": heads, "hidden": hidden, "ffn": first("intermediate_size", "ffn_dim", "n_inner") or 4 * hidden,
            "kv_heads": 1 if first("multi_query") else first("num_key_value_heads") or heads, "head_dim": first("head_dim") or hidden // heads,
            "gated": any("gate_" in name for name, _ in model.named_parameters()), "tied": bool(first("tie_word_embeddings")),
            "rms": any(type(module).__name__.endswith("RMSNorm") for module in model.modules())}


def megatron_says(case, model, module, selective=False):
    mixed = case["dtype"] != "fp32" or case.get("trainer_bf16")
    if not mixed or case.get("optimizer", "adamw") not in ("adamw", "adamw-fused", "adamw-single") or case.get("lora_rank") or case.get("checkpointing"):
        return None
    strategy = case.get("strategy", "")
    if case.get("gpus") and strategy not in ("ddp", "ddp-view", "zero1"):
        return None
    shape, cards = shape_of(case, model), case.get("gpus", 1)
    args = types.SimpleNamespace(
        num_layers=shape["layers"], hidden_size=shape["hidden"], ffn_hidden_size=shape["ffn"], num_attention_heads=shape["heads"],
        kv_channels=shape["head_dim"], group_query_attention=shape["kv_heads"] != shape["heads"], num_query_groups=shape["kv_heads"], swiglu=shape["gated"],
        untie_embeddings_and_output_weights=not shape["tied"], normalization="RMSNorm" if shape["rms"] else "LayerNorm",
        padded_vocab_size=-(-model.config.vocab_size // 128) * 128, seq_length=case["seq_len"], micro_batch_size=case["micro_batch"], world_size=cards,
        data_parallel_size=cards, use_distributed_optimizer=strategy == "zero1", tensor_model_parallel_size=1, pipeline_model_parallel_size=1,
        virtual_pipeline_model_parallel_size=None, expert_model_parallel_size=1, expert_tensor_parallel_size=1, sequence_parallel=selective,
        recompute_granularity="selective" if selective else None, num_experts=None, moe_shared_expert_intermediate_size=None, moe_latent_size=None,
        moe_router_topk=2, mtp_num_layers=None, multi_latent_attention=False, add_bias_linear=not shape["rms"])
    with contextlib.redirect_stdout(io.StringIO()):
        return module.report_theoretical_memory(args, num_microbatches=case.get("grad_accum", 1))[2] * 2 ** 20


def megatron_selective_says(case, model, module):
    return megatron_says(case, model, module, selective=True)


def cookbook_says(case, model, module):
    """Its options, as one would give them; what it prints for each card."""
    optimizer = {"adamw": "adamw", "adamw-fused": "adamw", "adamw-single": "adamw", "sgd-momentum": "sgd_momentum"}.get(case.get("optimizer", "adamw"))
    strategy = case.get("strategy", "")
    if not optimizer or case.get("lora_rank") or case.get("offload_optimizer") or strategy.startswith("fsdp"):
        return None
    shape, half = shape_of(case, model), case["dtype"] == "bf16"
    mixed = case["dtype"] == "amp" or case.get("trainer_bf16") and not half
    options = {"num-gpus": case.get("gpus", 1), "zero-stage": strategy[-1] if strategy.startswith("zero") else 0, "batch-size-per-gpu": case["micro_batch"],
               "sequence-length": case["seq_len"], "vocab-size": model.config.vocab_size, "hidden-size": shape["hidden"], "num-attention-heads": shape["heads"],
               "num-layers": shape["layers"], "ffn-expansion-factor": shape["ffn"] / shape["hidden"], "num-mlp-linears": 3 if shape["gated"] else 2,
               "kv-size-ratio": shape["kv_heads"] / shape["heads"], "low-prec-bytes-per-val": 2 if half or mixed else 4, "bytes-per-grad-ele": 2 if half else 4,
               "optimizer": optimizer}
    words = [f"--{name}={value}" for name, value in options.items()]
    words += ([] if half else ["--disable-mixed-precision"]) + (["--checkpoint-activations"] if case.get("checkpointing") else [])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        module.calc_mem(module.config_parser().parse_args(words))
    return float(re.search(r"Required for Training: ([\d.]+) GiB", printed.getvalue())[1]) * 2 ** 30


SAYING = {"accelerate": accelerate_says, "deepspeed": deepspeed_says, "llm-analysis": llm_analysis_says}
CLONED = {"megatron-lm": ("megatron-lm", megatron_says), "megatron-lm-selective": ("megatron-lm", megatron_selective_says),
          "cookbook": ("cookbook", cookbook_says)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--megatron", type=pathlib.Path, metavar="CLONE")
    parser.add_argument("--cookbook", type=pathlib.Path, metavar="CLONE")
    given = parser.parse_args()
    cases = [run["case"] for name in ("h200.json", "stub.json") for run in json.loads((HERE / "data" / name).read_text())["runs"]]
    before = json.loads((HERE / "data" / "others.json").read_text())
    versions, said, saying = {}, {}, dict(SAYING)
    for name in SAYING:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(name, "is not here", file=sys.stderr)
    clones = {"megatron-lm": given.megatron, "cookbook": given.cookbook}
    modules = {name: module_from(clone / CLONES[name]) for name, clone in clones.items() if clone}
    for name, (source, says) in CLONED.items():
        if source in modules:
            log = ["git", "-C", clones[source], "log", "-1", "--format=%h of %cs", "--abbrev=10"]
            versions[name] = subprocess.run(log, capture_output=True, text=True, check=True).stdout.strip()
            saying[name] = lambda case, model, says=says, module=modules[source]: says(case, model, module)
    kept = {name: version for name, version in before["about"].items() if name in (*SAYING, *CLONED) and name not in versions}
    for case, figures in before["others"].items():
        for name in kept.keys() & figures.keys():
            said.setdefault(case, {})[name] = figures[name]
    for case in cases:
        if case["kind"] != "lm":
            continue
        model = empty_model(case)
        for name in versions:
            try:
                figure = saying[name](case, model)
            except Exception as error:  # noqa: BLE001 an estimator that fails has said nothing
                print(name, case["id"], repr(error)[:200], file=sys.stderr)
                figure = None
            if figure:
                said.setdefault(case["id"], {})[name] = int(figure)
    about = {"how": "their own functions, called with the settings that they take", "assumes": ASSUMES, **kept, **versions}
    json.dump({"about": about, "others": said}, sys.stdout, indent=0, sort_keys=True)


if __name__ == "__main__":
    main()
