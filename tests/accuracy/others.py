#!/usr/bin/env python3
"""What other estimators say of the programs that were measured: others.py > data/others.json

Needs the packages themselves (accelerate, deepspeed, llm-analysis) beside torch and transformers; their own functions are called, with the settings
that they take. Nothing is run.
"""
import importlib.metadata
import json
import pathlib
import sys

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


SAYING = {"accelerate": accelerate_says, "deepspeed": deepspeed_says, "llm-analysis": llm_analysis_says}


def main():
    cases = [run["case"] for name in ("h200.json", "stub.json") for run in json.loads((HERE / "data" / name).read_text())["runs"]]
    versions, said = {}, {}
    for name in SAYING:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(name, "is not here", file=sys.stderr)
    for case in cases:
        if case["kind"] != "lm":
            continue
        model = empty_model(case)
        for name in versions:
            try:
                figure = SAYING[name](case, model)
            except Exception as error:  # noqa: BLE001 an estimator that fails has said nothing
                print(name, case["id"], repr(error)[:200], file=sys.stderr)
                figure = None
            if figure:
                said.setdefault(case["id"], {})[name] = int(figure)
    json.dump({"about": {"how": "their own functions, called with the settings that they take", **versions}, "others": said}, sys.stdout, indent=0, sort_keys=True)


if __name__ == "__main__":
    main()
