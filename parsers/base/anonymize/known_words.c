/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of words. See known_words.h. */
#include "parsers/base/anonymize/known_words.h"

#include <string.h>

enum { WORD_BYTES_MAX = 24, SHORT_NUMBER_MAX = 3, UNIT_MAX = 2 };

/* In arrays and not behind pointers, which would all be relocated at each start of the program. */
static const char words[][WORD_BYTES_MAX + 1] = {
#define WO_WORD(word) #word,
#include "parsers/base/anonymize/known_words.def"
#undef WO_WORD
};

static bool any_word(struct wo_view view, bool (*holds)(struct wo_view, const char *), const char *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (holds(view, list + i * (WORD_BYTES_MAX + 1))) return true;
  }
  return false;
}

#define ANY_WORD(view, holds, list) any_word((view), (holds), (list)[0], sizeof(list) / sizeof(list)[0])

static bool is_listed(struct wo_view lower) {
  char word[WORD_BYTES_MAX + 1];
  if (lower.len > WORD_BYTES_MAX) return false;
  for (size_t i = 0; i < lower.len; i++) word[i] = wo_lower(lower.ptr[i]);
  word[lower.len] = '\0';
  size_t low = 0, high = sizeof words / sizeof words[0];
  while (low < high) {
    const size_t mid = low + (high - low) / 2;
    const int order = strcmp(words[mid], word);
    if (order == 0) return true;
    if (order < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return false;
}

/* A number, or a word of the list with or without one. */
static bool is_plain_word(struct wo_view word) {
  size_t head = 0, tail = word.len;
  if (word.len <= 1 || is_listed(word) || (word.len == 2 && wo_is_alpha(word.ptr[0]) && wo_is_alpha(word.ptr[1]))) return true;
  while (head < word.len && wo_is_digit(word.ptr[head])) head++;
  if (head == word.len) return true;
  while (tail > head && wo_is_digit(word.ptr[tail - 1])) tail--;
  const struct wo_view letters = wo_view_sub(word, head, tail);
  for (size_t i = 0; i < letters.len; i++) {
    if (!wo_is_alpha(letters.ptr[i])) return false;
  }
  if (head > 0) return tail == word.len && (letters.len <= UNIT_MAX || is_listed(letters));
  return tail < word.len && (letters.len == 1 ? word.len - tail <= SHORT_NUMBER_MAX : is_listed(letters));
}

/* End of the part at `at` of a word as classes are written: "Qwen2" and "Trainer" of "Qwen2Trainer", "HTTP" and "Server". */
static size_t part_end(struct wo_view word, size_t at) {
  size_t end = at + 1;
  const bool is_upper = wo_is_alpha(word.ptr[at]) && wo_lower(word.ptr[at]) != word.ptr[at];
  while (is_upper && end < word.len && wo_is_alpha(word.ptr[end]) && wo_lower(word.ptr[end]) != word.ptr[end]) end++;
  const bool is_run = end > at + 1;
  if (is_run && end < word.len && wo_is_alpha(word.ptr[end])) return end - 1;
  while (end < word.len && wo_lower(word.ptr[end]) == word.ptr[end]) end++;
  return end;
}

bool wo_known_word(struct wo_view word) {
  if (is_plain_word(word)) return true;
  for (size_t at = 0; at < word.len;) {
    const size_t end = part_end(word, at);
    if ((at == 0 && end == word.len) || !is_plain_word(wo_view_sub(word, at, end))) return false;
    at = end;
  }
  return true;
}

bool wo_known_name(struct wo_view name) {
  for (size_t at = 0; at < name.len;) {
    size_t end = at;
    while (end < name.len && (wo_is_alnum(name.ptr[end]) || (unsigned char)name.ptr[end] >= 0x80)) end++;
    if (end > at && !wo_known_word(wo_view_sub(name, at, end))) return false;
    at = end + 1;
  }
  return true;
}

static const char publishers[][WORD_BYTES_MAX + 1] = {"01-ai",
                                                      "ai21labs",
                                                      "allenai",
                                                      "apple",
                                                      "baichuan-inc",
                                                      "BAAI",
                                                      "bigcode",
                                                      "bigscience",
                                                      "black-forest-labs",
                                                      "CohereForAI",
                                                      "cerebras",
                                                      "databricks",
                                                      "deepseek-ai",
                                                      "distilbert",
                                                      "EleutherAI",
                                                      "facebook",
                                                      "facebookresearch",
                                                      "FacebookAI",
                                                      "google",
                                                      "google-bert",
                                                      "google-t5",
                                                      "HuggingFaceH4",
                                                      "HuggingFaceFW",
                                                      "HuggingFaceTB",
                                                      "huggingface",
                                                      "ibm-granite",
                                                      "internlm",
                                                      "lmsys",
                                                      "meta-llama",
                                                      "microsoft",
                                                      "mistralai",
                                                      "moonshotai",
                                                      "mosaicml",
                                                      "NousResearch",
                                                      "nvidia",
                                                      "NVIDIA",
                                                      "openai",
                                                      "openai-community",
                                                      "openbmb",
                                                      "OpenGVLab",
                                                      "OpenAssistant",
                                                      "pytorch",
                                                      "Qwen",
                                                      "runwayml",
                                                      "Salesforce",
                                                      "stabilityai",
                                                      "state-spaces",
                                                      "tiiuae",
                                                      "TinyLlama",
                                                      "THUDM",
                                                      "teknium",
                                                      "togethercomputer",
                                                      "unsloth",
                                                      "vllm-project",
                                                      "xai-org",
                                                      "zai-org",
                                                      "deepspeedai",
                                                      "hpcaitech",
                                                      "hiyouga",
                                                      "Dao-AILab",
                                                      "CompVis",
                                                      "lllyasviel",
                                                      "liuhaotian",
                                                      "tatsu-lab",
                                                      "roneneldan",
                                                      "sentence-transformers",
                                                      "intfloat",
                                                      "tensorflow",
                                                      "jax-ml",
                                                      "ggml-org",
                                                      "ggerganov"};

bool wo_known_publisher(struct wo_view name) {
  return ANY_WORD(name, wo_view_is_nocase, publishers);
}

/* "docs.pytorch.org" ends as "pytorch.org"; names that a site gives to its users ("lab.s3.amazonaws.com") are not of it. */
static bool is_public_label(struct wo_view label, const char *site) {
  static const char *const labels[] = {"www",  "docs", "developer", "forums", "discuss", "download", "api",     "raw",   "hub",
                                       "blog", "cdn",  "storage",   "pypi",   "files",   "gist",     "cdn-lfs", "colab", "learn"};
  return WO_VIEW_ANY(label, wo_view_is_nocase, labels) || strcmp(site, "readthedocs.io") == 0;
}

static bool is_of(struct wo_view host, const char (*sites)[WORD_BYTES_MAX + 1], size_t count) {
  for (size_t i = 0; i < count; i++) {
    const size_t len = strlen(sites[i]);
    if (host.len < len || !wo_view_is_nocase(wo_view_skip(host, host.len - len), sites[i])) continue;
    if (host.len == len) return true;
    if (host.ptr[host.len - len - 1] == '.' && is_public_label(wo_view_sub(host, 0, host.len - len - 1), sites[i])) return true;
  }
  return false;
}

bool wo_known_docs_host(struct wo_view host) {
  static const char sites[][WORD_BYTES_MAX + 1] = {
      "pytorch.org",     "nvidia.com",  "python.org",     "pypi.org",   "arxiv.org", "tensorflow.org", "readthedocs.io",
      "schedmd.com",     "kernel.org",  "jax.dev",        "amd.com",    "intel.com", "vllm.ai",        "deepspeed.ai",
      "json-schema.org", "w3.org",      "lightning.ai",   "apache.org", "gnu.org",   "rapids.ai",      "openmp.org",
      "open-mpi.org",    "openucx.org", "onnxruntime.ai", "numpy.org",  "scipy.org", "cupy.dev",       "ray.io",
      "aka.ms",          "debian.org",  "ubuntu.com"};
  return is_of(host, sites, sizeof sites / sizeof sites[0]);
}

bool wo_known_web_host(struct wo_view host) {
  static const char sites[][WORD_BYTES_MAX + 1] = {"github.com",
                                                   "githubusercontent.com",
                                                   "gitlab.com",
                                                   "huggingface.co",
                                                   "wandb.ai",
                                                   "kaggle.com",
                                                   "googleapis.com",
                                                   "google.com",
                                                   "microsoft.com",
                                                   "amazonaws.com",
                                                   "comet.com",
                                                   "neptune.ai",
                                                   "clear.ml",
                                                   "modelscope.cn",
                                                   "localhost",
                                                   "docker.io",
                                                   "docker.com",
                                                   "nvcr.io",
                                                   "hf.co",
                                                   "127.0.0.1",
                                                   "0.0.0.0",
                                                   "gmail.com",
                                                   "stackoverflow.com"};
  return wo_known_docs_host(host) || is_of(host, sites, sizeof sites / sizeof sites[0]);
}

bool wo_known_system_user(struct wo_view name) {
  static const char users[][WORD_BYTES_MAX + 1] = {"root",  "nobody", "slurm", "daemon", "system", "user", "nvidia-persistenced",
                                                   "(null)"};
  return ANY_WORD(name, wo_view_is_nocase, users);
}

bool wo_known_model(struct wo_view name) {
  static const char families[][WORD_BYTES_MAX + 1] = {
      "llama",     "qwen",   "mistral", "mixtral",   "gemma", "phi",      "falcon",   "bloom",    "opt-",
      "gpt",       "neox",   "pythia",  "olmo",      "yi-",   "deepseek", "internlm", "baichuan", "glm",
      "starcoder", "vicuna", "bert",    "bart",      "t5",    "vit-",     "clip",     "resnet",   "whisper",
      "wav2vec",   "sdxl",   "flux",    "diffusion", "mamba", "rwkv",     "nemotron", "granite",  "smollm"};
  return ANY_WORD(name, wo_view_has_nocase, families);
}

bool wo_known_package(struct wo_view name) {
  static const char packages[][WORD_BYTES_MAX + 1] = {
      "accelerate", "apex",        "bitsandbytes", "c10",          "aten",
      "datasets",   "deepspeed",   "diffusers",    "fairscale",    "fairseq",
      "flash_attn", "jax",         "jaxlib",       "lightning",    "megatron",
      "numpy",      "nvidia",      "onnxruntime",  "peft",         "pytorch_lightning",
      "ray",        "sglang",      "tensorflow",   "timm",         "tokenizers",
      "torch",      "torchvision", "torchaudio",   "transformers", "triton",
      "trl",        "unsloth",     "verl",         "vllm",         "xformers",
      "torchgen",   "torchtitan",  "torchtune",    "composer",     "scipy",
      "pandas"};
  return ANY_WORD(name, wo_view_is, packages);
}

/* Behind the last dot; empty if there is none, or nothing before it. */
static struct wo_view ending_of(struct wo_view name) {
  size_t at = name.len;
  while (at > 0 && name.ptr[at - 1] != '.') at--;
  return at > 1 ? wo_view_skip(name, at) : (struct wo_view){0};
}

bool wo_known_file_ending(struct wo_view name) {
  static const char endings[][WORD_BYTES_MAX + 1] = {
      "py",   "pyc",     "pyx",   "ipynb",       "sh",   "bash", "sbatch", "slurm",  "json",   "jsonl", "yaml", "yml",
      "toml", "ini",     "cfg",   "conf",        "txt",  "md",   "rst",    "html",   "css",    "log",   "err",  "out",
      "csv",  "tsv",     "xml",   "pt",          "pth",  "bin",  "ckpt",   "pkl",    "pickle", "h5",    "hdf5", "npy",
      "npz",  "parquet", "arrow", "safetensors", "gguf", "onnx", "db",     "sqlite", "tar",    "gz",    "tgz",  "xz",
      "zst",  "zip",     "whl",   "so",          "sif",  "sqsh", "img",    "c",      "cc",     "cpp",   "cxx",  "cu",
      "cuh",  "h",       "hpp",   "js",          "ts",   "rs",   "go",     "java",   "png",    "jpg",   "jpeg", "svg",
      "pdf",  "mp4",     "wav",   "fasta",       "pdb",  "nc",   "lock",   "pid",    "sock",   "env",   "pem"};
  const struct wo_view ending = ending_of(name);
  return ending.len > 0 && ANY_WORD(ending, wo_view_is_nocase, endings);
}

bool wo_known_host_ending(struct wo_view name) {
  static const char endings[][WORD_BYTES_MAX + 1] = {"edu", "com", "org", "net",   "gov",     "mil", "de", "fr",
                                                     "uk",  "ch",  "nl",  "eu",    "jp",      "cn",  "ca", "au",
                                                     "se",  "fi",  "dk",  "local", "cluster", "lan", "kr", "internal"};
  const struct wo_view ending = ending_of(name);
  return ending.len > 0 && ANY_WORD(ending, wo_view_is_nocase, endings);
}
