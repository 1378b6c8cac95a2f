# SPDX-License-Identifier: Apache-2.0
"""Many of one thing: what a reader or a stage keeps, and may walk through again for each further one.

FLOODS: name, the command, the recipe for a count. Each line has another number in the place of {i}.
"""
OOM = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 39.38 GiB of which 1.25 GiB is "
       "free. Of the allocated memory 36.53 GiB is allocated by PyTorch, and 1.24 GiB is reserved by PyTorch but unallocated.\n")
HEAD = '{"whyoom_trace": 1, "torch": "2.6"}\n'


def lines(text, before="", behind=""):
    return lambda count: [before, {"count": count, "line": text}, behind]


def repeated(text, before="", behind=""):
    return lambda count: [before, [count, text], behind]


LOGS = (
    ("ranks", lines("[rank{i}]: " + OOM)),
    ("label ranks", lines("{i}: " + OOM)),
    ("hosts", lines("srun: error: gpu{i}: task {i}: Out Of Memory\n")),
    ("tasks", lines("srun: error: gpu01: task {i}: Exited with exit code 1\n")),
    ("nodes", lines("gpu{i},", "SLURM_JOB_NODELIST=", "\n" + OOM)),
    ("node ranges", lines("gpu[{i}-9],", "   NodeList=", "\n" + OOM)),
    ("steps", lines("step {i} loss 2.1 mem 67.02 GiB\n", "", OOM)),
    ("step forms", lines("step {i} loss 2.1 mem{i} 67.02 GiB\n", "", OOM)),
    ("numbers of a step", lines("a{i}=7 ", "step 1 ", "mem 67.02 GiB\n")),
    ("tracebacks", lines('Traceback (most recent call last):\n  File "a{i}.py", line {i}, in f\n    x\nValueError: {i}\n', "", OOM)),
    ("frames", lines('  File "a{i}.py", line {i}, in f\n    x\n', "Traceback (most recent call last):\n", OOM)),
    ("chained tracebacks", lines('Traceback (most recent call last):\n  File "a.py", line {i}, in f\nValueError: {i}\n\nDuring handling of the '
                                 'above exception, another exception occurred:\n\n', "", OOM)),
    ("open tracebacks", lines('[rank{i}]: Traceback (most recent call last):\n', "", OOM)),
    ("settings", lines("batch_size: {i}\n", "", OOM)),
    ("setting keys", lines("key{i}: 8\n", "batch_size: 8\n", OOM)),
    ("setting arguments", lines("--batch_size {i} ", "srun python train.py ", "\n" + OOM)),
    ("setting words", lines("--key{i}=8 ", "srun python train.py --batch_size 8 ", "\n" + OOM)),
    ("nested settings", lambda count: ["".join(" " * min(i, 400) + "k:\n" for i in range(count)) + " " * 401 + "batch_size: 8\n" + OOM]),
    ("dotted setting", repeated("a.", "", "batch_size=8\n" + OOM)),
    ("sections", lines("[section{i}]\nbatch_size = {i}\n", "", OOM)),
    ("namespace", lines("key{i}={i}, ", "Namespace(batch_size=8, ", ")\n" + OOM)),
    ("nested namespace", repeated("a=Namespace(", "Namespace(batch_size=8, ", "\n" + OOM)),
    ("JSON settings", lines('"key{i}": {"batch_size": {i}},', "{", '"x": 1}\n' + OOM)),
    ("open JSON", repeated('{"model": ', "", '{"batch_size": 8}\n' + OOM)),
    ("lists in JSON", repeated("[", '{"batch_size": ', "\n" + OOM)),
    ("flow YAML", repeated("{a: ", "x: ", "batch_size: 8\n" + OOM)),
    ("continued lines", lines("  --key{i} 8 \\\n", "srun python train.py \\\n", "  --batch_size 8\n" + OOM)),
    ("continued lines without an end", repeated("\\\n", "srun python train.py ", OOM)),
    ("here documents", lines("cat <<EOF{i}\nbatch_size: 8\nEOF{i}\n", "#!/bin/bash\n", OOM)),
    ("open here documents", lines("cat <<EOF{i}\n", "#!/bin/bash\n", "batch_size: 8\n")),
    ("exports", lines("export A{i}=8\n", "#!/bin/bash\n", "srun python x.py --batch_size $A1\n")),
    ("directives", lines("#SBATCH --mem={i}G\n", "#!/bin/bash\n", OOM)),
    ("quotes", repeated("'\"", "#!/bin/bash\nsrun python x.py --batch_size 8 ", "\n")),
    ("braces in a script", repeated("${A:-", "#!/bin/bash\nsrun python x.py --batch_size ", "\n")),
    ("sacct rows", lines("5236.{i}|FAILED|1:0|{i}K\n", "JobID|State|ExitCode|MaxRSS\n")),
    ("sacct columns", lines("c{i}|", "JobID|State|", "\n5236|FAILED|\n")),
    ("scontrol jobs", lines("JobId={i} JobName=x\n   JobState=FAILED Reason=NonZeroExitCode Dependency=(null)\n   Command=/x{i}.sh\n\n")),
    ("scontrol fields", lines("   Key{i}=7\n", "JobId=1 JobName=x\n   JobState=OUT_OF_MEMORY Reason=OutOfMemory\n")),
    ("scontrol values", lines("A{i}=7 ", "JobId=1 ", "JobName=x\n   JobState=OUT_OF_MEMORY Reason=OutOfMemory\n")),
    ("sacct JSON", lines('{"job_id": {i}, "state": {"current": ["FAILED"]}, "steps": []},', '{"jobs":[', '{}]}\n')),
    ("kernel tasks", lines("[  100.0] [ {i}]  1000 {i}  9999999  8888888 100 0 0 python\n",
                           "[  99.0] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
                           "[  99.1] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n")),
    ("kernel blocks", lines("[  {i}.0] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n")),
    ("Xids", lines("NVRM: Xid (PCI:0000:{i}:00): 79, pid={i}, GPU has fallen off the bus.\n")),
    ("dmon rows", lines("    0  {i}     7     7     0     0\n", "# gpu     fb   bar1   ccpm     sm    mem\n# Idx     MB     MB     MB      %      %\n")),
    ("dmon cards", lines("    {i}  9000     7     7     0     0\n", "# gpu     fb   bar1   ccpm     sm    mem\n# Idx     MB     MB     MB      %      %\n")),
    ("pmon processes", lines("    0   {i}     C    7    7   -   -   9000   python{i}\n",
                             "# gpu        pid  type    sm   mem   enc   dec    fb   command\n# Idx          #   C/G     %     %     %     %    MB   name\n")),
    ("query rows", lines("2026/01/02 03:04:05.000, {i}, 1000 MiB, 81920 MiB\n", "timestamp, index, memory.used [MiB], memory.total [MiB]\n")),
    ("smi cards", lines("GPU 00000000:{i}:00.0\n    FB Memory Usage\n        Total : 81920 MiB\n        Used : 7 MiB\n", "==============NVSMI LOG==============\n")),
    ("smi XML", lines('<gpu id="{i}"><fb_memory_usage><total>7 MiB</total><used>7 MiB</used></fb_memory_usage></gpu>\n', "<nvidia_smi_log>\n")),
    ("open XML", repeated("<gpu>", "<nvidia_smi_log>\n", "\n")),
    ("gpustat users", lines("mara{i}(29500M) ", "[0] NVIDIA A100-SXM4-80GB | 45'C,  98 % | 30000 / 81920 MB | ", "\n")),
    ("runs", lines("+ srun python train.py\nstep {i}/99 loss 1\n" + OOM)),
    ("recovered", repeated("WARNING: ran out of memory, retrying with a smaller batch\n" + OOM)),
    ("failures of many sorts", repeated(OOM + "MemoryError: Unable to allocate array with shape (900000, 4096) and data type float32\n"
                                        "RuntimeError: cuFFT error: CUFFT_ALLOC_FAILED\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of "
                                        "memory while trying to allocate 3221225472 bytes.\nslurmstepd: error: Detected 1 oom_kill event in StepId=9.0. "
                                        "Some of the step tasks have been OOM Killed.\nValueError: x\nsrun: error: gpu04: task 3: Out Of Memory\n")),
    ("progress bars", lines("\r 33%|###   | {i}/24 [1:58:10<3:51:02, 866.41s/it]", "", OOM)),
    ("carriage returns", repeated("\r", "x", OOM)),
    ("escape codes", repeated("\x1b[31m", "x", OOM)),
    ("blanks", repeated(" ", "x", OOM)),
    ("empty lines", repeated("\n", "x", OOM)),
    ("NULs", repeated("\0", "x", OOM)),
    ("models", lines("model: llama{i}-7b\nmodel_name_or_path: meta/llama-{i}\n", "", OOM)),
    ("torchrun failures", lines("[{i}]:\n  time      : 2026-01-02_03:04:05\n  host      : gpu{i}\n  rank      : {i} (local_rank: 0)\n  exitcode  : 1 (pid: {i})\n"
                                "  error_file: <N/A>\n", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\ntrain.py FAILED\nFailures:\n")),
    ("wrapped messages", repeated("CUDA out of memory.\nTried to\nallocate 2.00\n")),
    ("memory summary", repeated("|===========================================================================|\n| Allocated memory | 1 GiB | 1 GiB | 1 GiB | 1 GiB |\n")),
)

RECORDINGS = (
    ("entries", lines('{"alloc": 1000000, "id": {i}}\n', HEAD)),
    ("entries, freed", lines('{"alloc": 1000000, "id": {i}}\n{"free": {i}}\n', HEAD)),
    ("sizes", lines('{"alloc": {i}000, "id": {i}}\n', HEAD)),
    ("refused", lines('{"alloc": 99999999999, "id": {i}}\n', HEAD + '{"memory_fraction": 0.1}\n')),
    ("refused with pieces", lines('{"alloc": 3000000, "id": {i}1}\n{"alloc": 9999999999, "id": {i}2}\n', HEAD)),
    ("failures", lines('{"oom": 9999999999, "device_free": {i}}\n', HEAD)),
    ("streams", lines('{"alloc": 1000, "id": {i}, "stream": {i}}\n', HEAD)),
    ("pools", lines('{"alloc": 1000, "id": {i}, "pool": [0, {i}]}\n', HEAD)),
    ("captures", lines('{"capture_begin": true, "pool": [0, {i}], "stream": 1}\n{"alloc": 1000, "id": {i}, "stream": 1}\n{"capture_end": true, "pool": [0, {i}]}\n',
                       HEAD)),
    ("open captures", lines('{"capture_begin": true, "pool": [0, 1{i}], "stream": {i}}\n{"alloc": 1000, "id": {i}, "stream": {i}}\n', HEAD)),
    ("uses by streams", lines('{"record_stream": true, "id": 1, "stream": {i}}\n', HEAD + '{"alloc": 1000, "id": 1}\n', '{"free": 1}\n')),
    ("pending frees", lines('{"alloc": 1000, "id": {i}}\n{"record_stream": true, "id": {i}, "stream": 2}\n{"free_requested": true, "id": {i}}\n', HEAD)),
    ("annotations", lines('{"annotation": "a{i}", "stage": "start", "time_us": {i}}\n', HEAD, '{"alloc": 1000, "id": 1}\n')),
    ("one annotation", repeated('{"annotation": "a", "stage": "start"}\n{"annotation": "a", "stage": "end"}\n', HEAD, '{"alloc": 1000, "id": 1}\n')),
    ("frames", lines('{"frame": {i}, "function": "f{i}", "file": "p{i}.py", "line": {i}}\n', HEAD, '{"alloc": 1000, "id": 1}\n')),
    ("stacks", lines('{"stack": {i}, "frames": [0, 1]}\n', HEAD + '{"frame": 0, "function": "f", "file": "p"}\n{"frame": 1, "function": "g", "file": "p"}\n',
                     '{"alloc": 1000, "id": 1}\n')),
    ("a deep stack", repeated('0, ', HEAD + '{"frame": 0, "function": "f", "file": "p"}\n{"stack": 0, "frames": [', '0]}\n{"alloc": 1000, "id": 1, "stack": 0}\n')),
    ("notes", lines('{"note": "n{i}"}\n', HEAD, '{"alloc": 1000, "id": 1}\n')),
    ("devices", lines('{"device": {i}}\n{"alloc": 1000, "id": {i}}\n', HEAD)),
    ("settings", lines('{"settings": "max_split_size_mb:{i}"}\n{"alloc": 1000, "id": {i}}\n', HEAD)),
    ("caches emptied", lines('{"alloc": 3000000, "id": {i}}\n{"free": {i}}\n{"empty_cache": true}\n', HEAD)),
    ("caches emptied in vain", lines('{"alloc": 3000000, "id": {i}}\n{"empty_cache": true}\n', HEAD)),
    ("expandable", lines('{"alloc": {i}000, "id": {i}}\n', '{"whyoom_trace": 1, "torch": "2.6", "settings": "expandable_segments:True"}\n')),
    ("small collected", lines('{"alloc": 30000000, "id": {i}}\n{"free": {i}}\n',
                              '{"whyoom_trace": 1, "torch": "2.6", "settings": "garbage_collection_threshold:0.1", "capacity_bytes": 99999999}\n{"memory_fraction": 0.9}\n')),
    ("segments", lines('{"segment": 2097152, "addr": 1{i}0000000}\n{"block": 2097152, "state": "free"}\n', HEAD)),
    ("blocks", repeated('{"block": 512, "state": "free"}\n', HEAD + '{"segment": 1073741824, "addr": 140736381059072}\n')),
    ("profiler events", lines('{"ph":"i","name":"[memory]","ts":{i},"pid":1,"tid":1,"args":{"Device Type":1,"Device Id":0,"Addr":{i},"Bytes":1024,'
                              '"Total Allocated":1024,"Total Reserved":2048}},\n', '{"traceEvents": [\n', '{}]}\n')),
    ("profiler spans", lines('{"ph":"X","name":"step{i}","ts":{i},"dur":9,"pid":1,"tid":{i}},\n', '{"traceEvents": [\n', '{}]}\n')),
    ("nested JSON", repeated('{"a":', '{"traceEvents": ', "\n")),
    ("keys of one object", lines('"k{i}": 1,', '{"whyoom_trace": 1, ', '"x": 1}\n{"alloc": 1000, "id": 1}\n')),
    ("a long text", repeated("x", HEAD + '{"note": "', '"}\n{"alloc": 1000, "id": 1}\n')),
    ("digits", repeated("7", HEAD + '{"alloc": ', ', "id": 1}\n')),
    ("pickle marks", repeated("(", "\x80\x02")), ("pickle lists", repeated("]", "\x80\x02")), ("pickle dicts", repeated("}", "\x80\x02")),
)
CALLS = (["replay", "--no-times"], ["replay", "--no-times", "--capacity", "24GiB"], ["replay", "--no-times", "--capacity", "64MiB"], ["replay", "--no-times", "--at", "100"],
         ["replay", "--no-times", "--chart"], ["replay", "--check"], ["replay", "--no-times", "--sweep"], ["replay", "--no-times", "--set", "expandable_segments:True"],
         ["replay", "--no-times", "--transform", "empty-cache"])
