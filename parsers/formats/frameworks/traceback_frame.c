/* Frames of Python tracebacks in all forms, and the classes of exceptions. */
#include "parsers/formats/frameworks/traceback_frame.h"

#include "parsers/base/number.h"

enum { LINE_MAX_NUMBER = 100000000 };

/* Reads digits at the front of *in. */
static bool read_line(struct wo_view *in, uint64_t *ret_line) {
  return wo_number_u64(in, LINE_MAX_NUMBER, ret_line) == WO_OK;
}

bool wo_traceback_read(struct wo_view text, struct wo_traceback_frame *ret_frame) {
  struct wo_view in = wo_view_trim(text);
  const bool is_escaped = wo_view_starts(in, "File \\\"");
  if (!is_escaped && !wo_view_starts(in, "File \"")) return false;
  const struct wo_view end = is_escaped ? WO_VIEW("\\\", line ") : WO_VIEW("\", line ");
  in = wo_view_skip(in, is_escaped ? 7 : 6);
  const size_t quote = wo_view_find(in, end, 0);
  if (quote == WO_NOT_FOUND) return false;
  ret_frame->file = wo_view_sub(in, 0, quote);
  in = wo_view_skip(in, quote + end.len);
  if (!read_line(&in, &ret_frame->line)) return false;
  ret_frame->function = wo_view_starts(in, ", in ") ? wo_view_trim(wo_view_skip(in, 5)) : WO_VIEW("?");
  return true;
}

/* The name before the arguments: `f(self, x)` is f. */
static struct wo_view name_of(struct wo_view text) {
  const size_t end = wo_view_find_char(text, '(', 0);
  const struct wo_view name = wo_view_trim(end == WO_NOT_FOUND ? text : wo_view_sub(text, 0, end));
  return name.len > 0 ? name : WO_VIEW("?");
}

/* Whether a word can be the file of a frame: a path, a script, or a cell. */
static bool is_file(struct wo_view word) {
  if (wo_view_find_char(word, ' ', 0) != WO_NOT_FOUND) return false;
  return wo_view_ends(word, ".py") || wo_view_ends(word, ".pyx") || wo_view_ends(word, ".ipynb") ||
         wo_view_starts(word, "<ipython-input");
}

/* `path:12` followed by `in`, whose words come behind it. Some versions write no function. */
static bool read_numbered(struct wo_view in, const char *between, struct wo_traceback_frame *ret_frame) {
  size_t at = wo_view_find(in, WO_VIEW(".py:"), 0);
  if (at == WO_NOT_FOUND) return false;
  at += 3;
  ret_frame->file = wo_view_sub(in, 0, at);
  if (!is_file(ret_frame->file)) return false;
  in = wo_view_skip(in, at + 1);
  if (!read_line(&in, &ret_frame->line)) return false;
  const bool has_function = wo_view_starts(in, between);
  if (!has_function && wo_view_trim(in).len > 0) return false;
  ret_frame->function = has_function ? name_of(wo_view_skip(in, wo_view_of(between).len)) : WO_VIEW("?");
  return true;
}

/* `Cell In[3], line 4`, `Input In [3], in <cell line: 4>()`. */
static bool read_cell(struct wo_view in, struct wo_traceback_frame *ret_frame) {
  const bool is_input = wo_view_starts(in, "Input In");
  if (!is_input && !wo_view_starts(in, "Cell In")) return false;
  const size_t end = wo_view_find_char(in, ']', 0);
  if (end == WO_NOT_FOUND) return false;
  *ret_frame = (struct wo_traceback_frame){.file = wo_view_sub(in, 0, end + 1), .function = WO_VIEW("<module>")};
  in = wo_view_skip(in, end + 1);
  if (wo_view_starts(in, ", line ")) {
    in = wo_view_skip(in, 7);
    (void)read_line(&in, &ret_frame->line);
  }
  return true;
}

/* The file of `[/x.py](https://localhost/#)`, as Colab copies it, or of the plain word. */
static struct wo_view link_text(struct wo_view word) {
  const size_t end = wo_view_find(word, WO_VIEW("]("), 0);
  return wo_view_starts(word, "[") && end != WO_NOT_FOUND ? wo_view_sub(word, 1, end) : word;
}

bool wo_traceback_read_notebook(struct wo_view text, struct wo_traceback_frame *ret_frame) {
  const struct wo_view in = wo_view_trim(text);
  if (read_cell(in, ret_frame)) return true;
  if (wo_view_starts(in, "File ")) return read_numbered(wo_view_skip(in, 5), ", in ", ret_frame);
  const size_t at = wo_view_find(in, WO_VIEW(" in "), 0);
  if (at == WO_NOT_FOUND) return false;
  const struct wo_view file = link_text(wo_view_sub(in, 0, at));
  if (!is_file(file)) return false;
  *ret_frame = (struct wo_traceback_frame){.file = file, .function = name_of(wo_view_skip(in, at + 4))};
  return true;
}

bool wo_traceback_read_rich(struct wo_view text, struct wo_traceback_frame *ret_frame) {
  return read_numbered(wo_view_trim(text), " in ", ret_frame);
}

bool wo_traceback_read_arrow(struct wo_view text, uint64_t *ret_line, struct wo_view *ret_code) {
  static const char *const arrows[] = {"\xe2\x9d\xb1", "-", ">"}; /* U+2771 */
  struct wo_view in = wo_view_trim(text);
  const size_t before = in.len;
  for (size_t i = 0; i < sizeof arrows / sizeof arrows[0]; i++) {
    while (wo_view_starts(in, arrows[i])) in = wo_view_skip(in, wo_view_of(arrows[i]).len);
  }
  if (in.len == before || !wo_view_starts(in, " ")) return false;
  in = wo_view_trim(in);
  if (!read_line(&in, ret_line)) return false;
  in = wo_view_trim(in);
  if (wo_view_starts(in, "\xe2\x94\x82")) in = wo_view_skip(in, 3); /* U+2502 */
  *ret_code = wo_view_trim(in);
  return true;
}

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

bool wo_traceback_is_package(struct wo_view file) {
  static const char *const marks[] = {"site-packages", "dist-packages", "/lib/python3",    "\\lib\\python",
                                      "<frozen",       "<string>",      "/torch/",         "<__array_function__",
                                      "\\Lib\\",       "/runpy.py",     "/megatron/core/", "importlib"};
  return WO_VIEW_ANY(file, wo_view_has, marks);
}

/* Libraries that programs are made of: a frame in one of them says nothing about which program it was. */
static bool is_library(struct wo_view package) {
  static const char *const names[] = {"torch",
                                      "torchvision",
                                      "torchaudio",
                                      "torchdata",
                                      "torchmetrics",
                                      "transformers",
                                      "accelerate",
                                      "peft",
                                      "trl",
                                      "deepspeed",
                                      "lightning",
                                      "fabric",
                                      "apex",
                                      "bitsandbytes",
                                      "flash_attn",
                                      "xformers",
                                      "triton",
                                      "vllm",
                                      "sglang",
                                      "ray",
                                      "numpy",
                                      "scipy",
                                      "pandas",
                                      "sklearn",
                                      "jax",
                                      "jaxlib",
                                      "flax",
                                      "haiku",
                                      "optax",
                                      "equinox",
                                      "tensorflow",
                                      "keras",
                                      "tf_keras",
                                      "paddle",
                                      "mindspore",
                                      "mxnet",
                                      "cupy",
                                      "cupyx",
                                      "numba",
                                      "diffusers",
                                      "datasets",
                                      "tokenizers",
                                      "safetensors",
                                      "timm",
                                      "einops",
                                      "hydra",
                                      "omegaconf",
                                      "fire",
                                      "click",
                                      "typer",
                                      "tyro",
                                      "absl",
                                      "wandb",
                                      "tqdm",
                                      "joblib",
                                      "dask",
                                      "distributed",
                                      "multiprocess",
                                      "uvicorn",
                                      "starlette",
                                      "fastapi",
                                      "gradio",
                                      "anyio",
                                      "flask",
                                      "werkzeug",
                                      "aiohttp",
                                      "requests",
                                      "urllib3",
                                      "IPython",
                                      "ipykernel",
                                      "kornia",
                                      "monai",
                                      "torch_geometric",
                                      "torch_scatter",
                                      "torch_sparse",
                                      "gpytorch",
                                      "linear_operator",
                                      "botorch",
                                      "pyro",
                                      "ignite",
                                      "fastai",
                                      "mmengine",
                                      "mmcv",
                                      "composer",
                                      "colossalai",
                                      "unsloth",
                                      "unsloth_zoo",
                                      "liger_kernel",
                                      "llama_cpp",
                                      "onnxruntime",
                                      "tensorrt",
                                      "whisper",
                                      "gsplat",
                                      "nerfacc",
                                      "tinycudann",
                                      "pytest",
                                      "_pytest",
                                      "pluggy",
                                      "setuptools",
                                      "pkg_resources",
                                      "decorator",
                                      "pydantic",
                                      "grpc",
                                      "tornado",
                                      "streamlit",
                                      "mlflow",
                                      "optuna",
                                      "k_diffusion",
                                      "clip",
                                      "open_clip",
                                      "safetensors",
                                      "cloudpickle",
                                      "megatron",
                                      "transformer_engine",
                                      "pytorch_lightning",
                                      "lightning_fabric",
                                      "sentence_transformers",
                                      "huggingface_hub"};
  return WO_VIEW_ANY(package, wo_view_is, names);
}

/* Parts of programs that are run from their sources and that their users leave alone: they change nodes, scripts and settings. */
static bool is_engine_room(struct wo_view file) {
  static const char *const marks[] = {"ComfyUI/comfy/",        "ComfyUI\\comfy\\",    "ComfyUI/execution.py",
                                      "ComfyUI\\execution.py", "webui/repositories/", "webui\\repositories\\",
                                      "/sglang/srt/",          "/vllm/v1/",           "/vllm/model_executor/",
                                      "/vllm/worker/",         "/deepspeed/runtime/", "/megatron/core/"};
  return WO_VIEW_ANY(file, wo_view_has, marks);
}

/* `/opt/env/bin/torchrun`: a script that calls the entry point of a package. */
static bool is_starter(struct wo_view file) {
  const bool is_in_bin = wo_view_has(file, "/bin/") || wo_view_has(file, "\\Scripts\\");
  return (is_in_bin && !wo_view_ends(file, ".py")) || wo_view_ends(file, ".exe\\__main__.py") || wo_view_ends(file, ".pyx");
}

enum wo_traceback_owner wo_traceback_owner_of(struct wo_view file) {
  const bool is_installed = wo_view_has(file, "site-packages") || wo_view_has(file, "dist-packages");
  if (is_starter(file)) return WO_TRACEBACK_LIBRARY;
  if (!is_installed && is_engine_room(file)) return WO_TRACEBACK_PROGRAM;
  if (!is_installed) return wo_traceback_is_package(file) ? WO_TRACEBACK_LIBRARY : WO_TRACEBACK_USER;
  struct wo_view rest = wo_traceback_package_path(file);
  size_t end = 0;
  while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '\\') end++;
  return end == rest.len || is_library(wo_view_sub(rest, 0, end)) ? WO_TRACEBACK_LIBRARY : WO_TRACEBACK_PROGRAM;
}

size_t wo_exception_class(struct wo_view text) {
  size_t at = 0;
  size_t last = 0;
  while (at < text.len && (wo_is_word(text.ptr[at]) || text.ptr[at] == '.')) {
    if (text.ptr[at] == '.') last = at + 1;
    at++;
  }
  if (at == last || (at < text.len && text.ptr[at] != ':')) return 0;
  static const char *const parts[] = {"Error",   "Exception", "Exit",  "Interrupt", "Iteration",
                                      "Warning", "Failure",   "OutOf", "Died",      "Timeout"};
  const struct wo_view name = wo_view_sub(text, last, at);
  if (WO_VIEW_ANY(name, wo_view_has, parts)) return at;
  /* Some libraries name exceptions freely: a dotted name with a capital at the end of the dots. */
  return last > 0 && name.ptr[0] >= 'A' && name.ptr[0] <= 'Z' ? at : 0;
}
