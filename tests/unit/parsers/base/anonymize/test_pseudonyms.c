/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudonyms: what is a name, what stands for it, and what stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "parsers/base/anonymize/known_words.h"
#include "parsers/base/anonymize/pseudonyms.h"
#include "parsers/base/limits.h"

/* Learned first, as from the fields of a job. */
static struct wo_pseudonyms *make(void) {
  struct wo_pseudonyms *const p = wo_pseudonyms_new();
  assert_non_null(p);
  wo_pseudonyms_learn(p, WO_NAME_OF_USER, WO_VIEW("mara(1001)"));
  wo_pseudonyms_learn(p, WO_NAME_OF_HOST, WO_VIEW("fox-03"));
  wo_pseudonyms_learn(p, WO_NAME_OF_HOST, WO_VIEW("owl7.hpc.uni-zz.de"));
  wo_pseudonyms_learn(p, WO_NAME_OF_ACCOUNT, WO_VIEW("geolab"));
  wo_pseudonyms_learn(p, WO_NAME_OF_JOB, WO_VIEW("walrus-sft"));
  return p;
}

/* The text as it is after all of it was learned. */
static void assert_shown(const char *text, const char *expected) {
  struct wo_pseudonyms *const p = make();
  struct wo_text out = {0};
  wo_pseudonyms_learn_text(p, wo_view_of(text));
  wo_pseudonyms_add_text(p, wo_view_of(text), NULL, 0, &out);
  wo_text_add_view(&out, (struct wo_view){"", 1});
  assert_false(out.is_failed);
  assert_string_equal(out.ptr, expected);
  /* Once more: nothing changes. */
  struct wo_text again = {0};
  wo_pseudonyms_add_text(p, wo_view_of(out.ptr), NULL, 0, &again);
  wo_text_add_view(&again, (struct wo_view){"", 1});
  assert_string_equal(again.ptr, expected);
  wo_text_done(&out);
  wo_text_done(&again);
  wo_pseudonyms_free(p);
}

static const struct {
  const char *text, *shown;
} rows[] = {
    /* known names, as whole words in any case */
    {"mara's run on fox-03 and OWL7 failed", "user1's run on host1 and host2 failed"},
    {"Mara, mara_2, marathon, xmara, mara2", "user1, user1_2, marathon, xmara, user1_2"},
    {"MaraTrainer RunMara subgeolabgroup 7geolab", "user1Trainer Runuser1 subaccount1group 7_account1"},
    {"%2Fhome%2Fmara and %6d%61%72%61", "%2Fhome%2Fuser1 and user1"},
    {"2001:db8:0:1:2:3:4:5 2001:db8::7", "2001:db8::1 2001:db8::7"},
    {"walrus-sft of geolab", "job1 of account1"},
    {"at owl7.hpc.uni-zz.de, of hpc.uni-zz.de.", "at host2, of domain1.example."},
    {"say \\nmara and %2Fmara%2Fx", "say \\nuser1 and %2Fuser1%2Fx"},
    /* paths */
    {"/home/mara/hush/train_walrus.py", "/home/user1/dir1/train_file1.py"},
    {"/home/otto/hush/a.py of otto in hush", "/home/user2/dir1/a.py of user2 in dir1"},
    {"~otto/x ~/y $HOME/z", "~user2/x ~/y $HOME/z"},
    {"/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py",
     "/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py"},
    {"/usr/lib/python3.10/runpy.py", "/usr/lib/python3.10/runpy.py"},
    {"/opt/lib/python3.10/site-packages/hushlib/walrus.py", "/opt/lib/python3.10/site-packages/dir1/file1.py"},
    {"torch/_dynamo/convert_frame.py", "torch/_dynamo/convert_frame.py"},
    {"slurm-4711_3.err run4/hush-4711.out", "slurm-4711_3.err run4/file1-4711.out"},
    {"meta-llama/Llama-3.1-8B hushorg/Hush-Llama-3.1-8B", "meta-llama/Llama-3.1-8B dir1/dir2-Llama-3.1-8B"},
    {"12.3 tokens/s, 1/10, and/or", "12.3 tokens/s, 1/10, and/or"},
    {"\\/scratch\\/hush\\/x", "\\/scratch\\/dir1\\/x"},
    {"C:\\Users\\otto\\hush", "C:\\Users\\user2\\dir1"},
    {"/opt/lib/python3.10/site-packages/models/hush/x.py and models",
     "/opt/lib/python3.10/site-packages/models/dir1/x.py and models"},
    {"/opt/lib/python/hush/net.py", "/opt/lib/python/dir1/net.py"},
    {"/opt/lib/python3.10/hush/net.py", "/opt/lib/python3.10/dir1/net.py"},
    {"datasets/mara/hush.py torch/mara/hush.jsonl", "datasets/user1/file1.py torch/user1/file1.jsonl"},
    {"torch/nn/mara.py", "torch/nn/user1.py"},
    /* fields */
    {"UserId=zadok(1001) Account=zz NodeList=elk-[018-021,030] JobName=train", "UserId=user2(1001) Account=account2 "
                                                                               "NodeList=host[3-7] JobName=job2"},
    {"#SBATCH -A zzlab -J hush", "#SBATCH -A account2 -J job2"},
    {"user: Hello, host: cuda:0, node: 4", "user: Hello, host: cuda:0, node: 4"},
    {"Currently logged in as: otto (hushlab). So as: otto", "Currently logged in as: user2 (hushlab). So as: user2"},
    {"--hush-at 3 --account=zzlab", "--hush-at 3 --account=account2"},
    {"--mara-mode ----mara----", "--user1-mode ----user1----"},
    {"#SBATCH -Jhush -Azzlab -t 3", "#SBATCH -Jjob2 -Aaccount2 -t 3"},
    {"#SBATCH --mail-user=zadok --reservation=zzlab", "#SBATCH --mail-user=user2 --reservation=account2"},
    {"layers[0-3] fox-[03-04]", "layers[0-3] host[1,3]"},
    /* addresses */
    {"otto.x@uni-zz.de", "mail1@example.org"},
    {"0815otto@uni-zz.de", "mail1@example.org"},
    {"http://[2a02:1234::5]:8080/x fd00::42 a[::2]", "http://[2001:db8::1]:8080/x 2001:db8::2 a[::2]"},
    {"00:11:22:33:44:55 12:34:56 ab::cd", "2001:db8::1 12:34:56 ab::cd"},
    {"otto@elk9:~/x$", "user2@host3:~/x$"},
    {"10.1.2.3, 127.0.0.1, torch 2.1.2, cublas==12.1.3.1", "192.0.2.1, 127.0.0.1, torch 2.1.2, cublas==12.1.3.1"},
    {"fe80::1ff:fe23:4567:890a at 12:30:05, 0000:3b:00.0", "2001:db8::1 at 12:30:05, 0000:3b:00.0"},
    {"https://pytorch.org/docs/stable/notes/cuda.html#x", "https://pytorch.org/docs/stable/notes/cuda.html#x"},
    {"https://wandb.ai/otto/hush", "https://wandb.ai/dir1/dir2"},
    {"https://docs.nvidia.com/x/hush", "https://docs.nvidia.com/x/hush"},
    {"https://git.nvidia.com/otto/hush", "https://host3/dir1/dir2"},
    {"https://hushlab.s3.amazonaws.com/x", "https://host3/x"},
    {"tcp://elk9:29500", "tcp://host3:29500"},
    /* secrets */
    {"HF_TOKEN=hf_abcdefghijKLMNOPqrstuv", "HF_TOKEN=token1"},
    {"0123456789abcdef0123456789abcdef01234567", "token1"},
    {"password=hunter2x! pad_token: <pad>", "password=token1 pad_token: <pad>"},
    {"password=abc password=trainer42 secret=ab/cd,EF", "password=token1 password=token2 secret=token3"},
    {"api_key=None, password: str = null", "api_key=None, password: str = null"},
    {"Bearer abc.def-ghi012", "Bearer token1"},
    {"GPU-5d3c1a7e-0b1c-4f6e-9a51-0c2f3e1d7b99", "GPU-00000000-0000-0000-0000-000000000001"},
    {"https://otto:pw@hub.zz.de/x", "https://token1@host3/x"},
};

static void test_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) assert_shown(rows[i].text, rows[i].shown);
}

/* A machine that is called as a pseudonym is a name like others: it has one of its own, which no other has. */
static void test_names_like_pseudonyms(void **state) {
  (void)state;
  struct wo_pseudonyms *const p = wo_pseudonyms_new();
  struct wo_text out = {0};
  wo_pseudonyms_learn_hosts(p, WO_VIEW("alpha7,beta8,host1,host4,gamma9,delta3"));
  wo_pseudonyms_add_text(p, WO_VIEW("alpha7 beta8 host1 host4 gamma9 delta3"), NULL, 0, &out);
  wo_text_add_view(&out, (struct wo_view){"", 1});
  assert_string_equal(out.ptr, "host1 host2 host3 host4 host5 host6");
  wo_text_done(&out);
  wo_pseudonyms_free(p);
}

/* Common words are replaced where they are names, and stay elsewhere. */
static void test_common_words(void **state) {
  (void)state;
  struct wo_pseudonyms *const p = wo_pseudonyms_new();
  struct wo_text out = {0};
  wo_pseudonyms_learn(p, WO_NAME_OF_USER, WO_VIEW("test"));
  wo_pseudonyms_learn(p, WO_NAME_OF_HOST, WO_VIEW("gpu"));
  wo_pseudonyms_learn(p, WO_NAME_OF_JOB, WO_VIEW("train"));
  wo_pseudonyms_add_name(p, WO_NAME_OF_USER, WO_VIEW("test"), &out);
  wo_pseudonyms_add_name(p, WO_NAME_OF_USER, WO_VIEW(" root"), &out);
  wo_pseudonyms_add_text(p, WO_VIEW(" train the gpu test /home/test/train.py"), NULL, 0, &out);
  wo_text_add_view(&out, (struct wo_view){"", 1});
  assert_string_equal(out.ptr, "user1 root train the gpu test /home/user1/train.py");
  wo_text_done(&out);
  wo_pseudonyms_free(p);
}

static void test_marks(void **state) {
  (void)state;
  struct wo_pseudonyms *const p = make();
  struct wo_text out = {0};
  const struct wo_view text = WO_VIEW("of mara: CUDA out of memory on fox-03");
  size_t marks[] = {9, 27};
  wo_pseudonyms_add_text(p, text, marks, 2, &out);
  assert_true(wo_view_is(wo_view_sub((struct wo_view){out.ptr, out.len}, marks[0], marks[1]), "CUDA out of memory"));
  wo_text_done(&out);
  wo_pseudonyms_free(p);
}

/* Beyond the limit of names there is a constant, and never the name. */
static void test_limit(void **state) {
  (void)state;
  struct wo_pseudonyms *const p = wo_pseudonyms_new();
  struct wo_text out = {0};
  char name[400];
  for (unsigned i = 0; i < WO_LIMIT_PSEUDONYMS + 10; i++) {
    snprintf(name, sizeof name, "zz%uq", i);
    wo_pseudonyms_learn(p, WO_NAME_OF_USER, wo_view_of(name));
  }
  wo_pseudonyms_add_name(p, WO_NAME_OF_USER, wo_view_of(name), &out);
  wo_pseudonyms_add_text(p, WO_VIEW(" /home/latecomer/x of latecomer "), NULL, 0, &out);
  memset(name, 'q', sizeof name);
  wo_pseudonyms_add_path(p, (struct wo_view){name, sizeof name}, &out);
  wo_text_add_view(&out, (struct wo_view){"", 1});
  assert_string_equal(out.ptr, "user0 /home/user0/x of name0 dir0");
  wo_text_done(&out);
  wo_pseudonyms_free(p);
}

static void test_known_words(void **state) {
  (void)state;
  static const char *const known[] = {"torch", "rank0", "7b", "24g", "v2", "12", "a", "Qwen2Trainer", "HTTPServer", "nn"};
  static const char *const unknown[] = {"walrus", "mara", "s1234567", "WalrusTrainer", "zz1q"};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) assert_true(wo_known_word(wo_view_of(known[i])));
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) assert_false(wo_known_word(wo_view_of(unknown[i])));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts),        cmocka_unit_test(test_names_like_pseudonyms),
      cmocka_unit_test(test_common_words), cmocka_unit_test(test_marks),
      cmocka_unit_test(test_limit),        cmocka_unit_test(test_known_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
