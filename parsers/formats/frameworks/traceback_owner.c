/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of frames: packages, libraries, programs and the code of users. */
#include "parsers/formats/frameworks/traceback_owner.h"

/* Where the last `count` components of a path begin. */
static size_t last_components(struct wo_view path, int count) {
  size_t at = path.len;
  for (; at > 0; at--) {
    if ((path.ptr[at - 1] == '/' || path.ptr[at - 1] == '\\') && --count == 0) break;
  }
  return at;
}

struct wo_view wo_traceback_short_path(struct wo_view path) {
  return wo_view_skip(path, last_components(path, 4));
}

struct wo_view wo_traceback_package_path(struct wo_view path) {
  static const char *const folders[] = {"site-packages", "dist-packages"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    const struct wo_view folder = wo_view_of(folders[i]);
    const size_t at = wo_view_find_last(path, folder, path.len);
    if (at != WO_NOT_FOUND && at + folder.len < path.len) return wo_view_skip(path, at + folder.len + 1);
  }
  return wo_view_skip(path, last_components(path, 5));
}

static bool is_package(const struct wo_pairs_of *file) {
  static const char *const marks[] = {
      "site-packages",         "dist-packages", "/lib/python3", "\\lib\\python",   "<frozen",   "<string>",     "/torch/",
      "<__array_function__",   "\\Lib\\",       "/runpy.py",    "/megatron/core/", "importlib", "/lib/python2", "torchinductor",
      "unsloth_compiled_cache"}; /* code that compilers write */
  return WO_PAIRS_ANY(file, marks);
}

/* Libraries that programs are made of: a frame in one of them says nothing about which program it was. */
static const char *const libraries[] = {
    "_pytest",
    "absl",
    "accelerate",
    "aiohttp",
    "anyio",
    "apex",
    "bitsandbytes",
    "botorch",
    "click",
    "clip",
    "cloudpickle",
    "colossalai",
    "composer",
    "cupy",
    "cupyx",
    "dask",
    "datasets",
    "decorator",
    "deepspeed",
    "diffusers",
    "distributed",
    "einops",
    "equinox",
    "fabric",
    "fastai",
    "fastapi",
    "fire",
    "flash_attn",
    "flask",
    "flax",
    "gpytorch",
    "gradio",
    "grpc",
    "gsplat",
    "haiku",
    "huggingface_hub",
    "hydra",
    "ignite",
    "ipykernel",
    "IPython",
    "jax",
    "jaxlib",
    "joblib",
    "k_diffusion",
    "keras",
    "kornia",
    "liger_kernel",
    "lightning",
    "lightning_fabric",
    "linear_operator",
    "llama_cpp",
    "megatron",
    "mindspore",
    "mlflow",
    "mmcv",
    "mmengine",
    "monai",
    "multiprocess",
    "mxnet",
    "nerfacc",
    "numba",
    "numpy",
    "omegaconf",
    "onnxruntime",
    "open_clip",
    "optax",
    "optuna",
    "paddle",
    "pandas",
    "peft",
    "pkg_resources",
    "pluggy",
    "pydantic",
    "pyro",
    "pytest",
    "pytorch_lightning",
    "ray",
    "requests",
    "safetensors",
    "scipy",
    "sentence_transformers",
    "setuptools",
    "sglang",
    "sklearn",
    "starlette",
    "streamlit",
    "tensorflow",
    "tensorrt",
    "tf_keras",
    "timm",
    "tinycudann",
    "tokenizers",
    "torch",
    "torch_geometric",
    "torch_scatter",
    "torch_sparse",
    "torchaudio",
    "torchdata",
    "torchmetrics",
    "torchvision",
    "tornado",
    "tqdm",
    "transformer_engine",
    "transformers",
    "triton",
    "trl",
    "typer",
    "tyro",
    "unsloth",
    "unsloth_zoo",
    "urllib3",
    "uvicorn",
    "vllm",
    "wandb",
    "werkzeug",
    "whisper",
    "xformers",
};

/* Parts of programs that are run from their sources and that their users leave alone: they change nodes, scripts and settings. */
static bool is_engine_room(const struct wo_pairs_of *file) {
  static const char *const marks[] = {"ComfyUI/comfy/",        "ComfyUI\\comfy\\",    "ComfyUI/execution.py",
                                      "ComfyUI\\execution.py", "webui/repositories/", "webui\\repositories\\",
                                      "/sglang/srt/",          "/vllm/v1/",           "/vllm/model_executor/",
                                      "/vllm/worker/",         "/deepspeed/runtime/", "/megatron/core/"};
  return WO_PAIRS_ANY(file, marks);
}

/* `/opt/env/bin/torchrun`: a script that calls the entry point of a package. */
static bool is_starter(const struct wo_pairs_of *file) {
  static const char *const folders[] = {"/bin/", "\\Scripts\\"};
  const struct wo_view path = file->text;
  if (WO_PAIRS_ANY(file, folders) && !wo_view_ends(path, ".py")) return true;
  return wo_view_ends(path, ".exe\\__main__.py") || wo_view_ends(path, ".pyx");
}

/* Whether the part of the path below the folder of packages begins with the name of a library. */
static bool is_of_library(struct wo_view path) {
  const struct wo_view rest = wo_traceback_package_path(path);
  size_t end = 0;
  while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '\\') end++;
  return end == rest.len || WO_VIEW_ANY(wo_view_sub(rest, 0, end), wo_view_is, libraries);
}

struct wo_traceback_home wo_traceback_home_of(struct wo_view file) {
  static const char *const folders[] = {"site-packages", "dist-packages"};
  const struct wo_pairs_of pairs = wo_view_pairs(file);
  const bool is_in_package = is_package(&pairs);
  if (is_starter(&pairs)) return (struct wo_traceback_home){WO_TRACEBACK_LIBRARY, true};
  if (WO_PAIRS_ANY(&pairs, folders))
    return (struct wo_traceback_home){is_of_library(file) ? WO_TRACEBACK_LIBRARY : WO_TRACEBACK_PROGRAM, true};
  if (is_engine_room(&pairs)) return (struct wo_traceback_home){WO_TRACEBACK_PROGRAM, is_in_package};
  return (struct wo_traceback_home){is_in_package ? WO_TRACEBACK_LIBRARY : WO_TRACEBACK_USER, is_in_package};
}
