/* SPDX-License-Identifier: Apache-2.0 */
/* Every cap in the program. Each line says what the cap protects and what happens when it is reached. Reaching one is reported,
 * never silent: those of one input are in parsers/scan/caps.def, or are counted as dropped evidence. Some are not caps but a
 * reach, which says how far something is looked for: text farther away does not belong to it, so nothing is lost. */
#ifndef WO_LIMITS_H
#define WO_LIMITS_H

/* Longest stretch of one line that is looked at in one piece; longer lines are read in overlapping pieces and noted. */
#define WO_LIMIT_LINE_BYTES ((size_t)64 * 1024)

/* Overlap between two pieces of an over-long line, so that a message across the cut is still seen whole. */
#define WO_LIMIT_LINE_OVERLAP_BYTES ((size_t)8 * 1024)

/* A reach: text that is looked at in one piece for line ends that a terminal put in, in bytes and lines; lines that are longer
 * are no part of a wrapped text. */
#define WO_LIMIT_WRAP_BYTES ((size_t)32 * 1024)
#define WO_LIMIT_WRAP_LINES 1024

/* A reach: so many of these parts at the start of an input, and so many bytes at its end, are all looked at. Between them one
 * part in a few is, until a wrapped line is found. */
#define WO_LIMIT_WRAP_PARTS 8
#define WO_LIMIT_WRAP_LAST_BYTES (3 * WO_LIMIT_WRAP_BYTES)

/* Bytes of one line that is made of wrapped ones: protects the time of patterns. A longer one goes on as a line of its own, which
 * is noted. */
#define WO_LIMIT_UNWRAPPED_BYTES ((size_t)16 * 1024)

/* A reach: how far back from a finding the reader can look (last progress line, words before a wrapped message). */
#define WO_LIMIT_LOOKBACK_BYTES ((size_t)16 * 1024)

/* A reach: lines before a setting that are looked at for the structure that it is in. The second limit counts the bytes before
 * settings, on their own line too, that are looked at in one input: it protects time in logs that print settings at each step,
 * and on hostile lines. Later settings keep their own key, without a path. */
#define WO_LIMIT_LOOKBACK_LINES 250
#define WO_LIMIT_LOOKED_BACK_BYTES (UINT64_C(16) * 1024 * 1024)

/* Bytes before messages that are looked at in one input for lines and times of the same writer, and how many more for each byte
 * that was read: protects time in a flood of messages. Later searches are left out and noted. */
#define WO_LIMIT_WALKED_BYTES (UINT64_C(16) * 1024 * 1024)
#define WO_LIMIT_WALKED_PER_BYTE 16

/* Changes of one setting that are kept for one input. A key that changes more often is a measurement and no setting; it must not
 * crowd out the others, and its later values are not kept. */
#define WO_LIMIT_SETTING_CHANGES 16

/* Lines of one block (`optimizer:` and what is indented below it) that are read for keys too short to be looked for. */
#define WO_LIMIT_BLOCK_LINES 200

/* Bytes of the path of a setting ("model.optim"). Longer paths lose their outermost names. */
#define WO_LIMIT_PATH_BYTES ((size_t)160)

/* Other values of one setting that a report shows. Further ones are counted. */
#define WO_LIMIT_SETTING_OTHERS 8

/* Bytes taken from the input at a time; no cap. */
#define WO_LIMIT_READ_BYTES ((size_t)256 * 1024)

/* Expanded size of one compressed input: protects time. The rest is left unread and the input is noted as cut. */
#define WO_LIMIT_EXPANDED_BYTES (UINT64_C(64) * 1024 * 1024 * 1024)

/* Memory that a compressed format may ask for while it expands (xz -9 asks for 65 MiB): protects memory. The rest is left unread,
 * and the message says what to do. */
#define WO_LIMIT_UNPACK_BYTES ((size_t)96 * 1024 * 1024)

/* Expanded size over compressed size, looked at once more than WO_LIMIT_RATIO_FLOOR_BYTES came out: protects from gzip bombs.
 * Real logs of repeated progress bars reach about 200. */
#define WO_LIMIT_EXPANSION_RATIO 600
#define WO_LIMIT_RATIO_FLOOR_BYTES (UINT64_C(64) * 1024 * 1024)

/* Pieces of evidence kept for one job. Later ones are counted, not kept. */
#define WO_LIMIT_EVENTS ((size_t)20000)

/* Evidence of one kind kept for one job, so that a flood of one kind cannot crowd out the rest. */
#define WO_LIMIT_EVENTS_PER_KIND ((size_t)2000)

/* Bytes of a line's text kept with its evidence: what a report shows ends there. Fields are read from the whole line. */
#define WO_LIMIT_EVENT_TEXT_BYTES ((size_t)2048)

/* Memory of one job's evidence store. */
#define WO_LIMIT_STORE_BYTES ((size_t)24 * 1024 * 1024)

/* Text joined for one message that is on several lines. */
#define WO_LIMIT_MESSAGE_BYTES ((size_t)4096)

/* Job statistics packed into a comment, and what they expand to: protects the stack. About 400 nodes; further ones are noted. */
#define WO_LIMIT_PACKED_BYTES ((size_t)32 * 1024)
#define WO_LIMIT_UNPACKED_BYTES ((size_t)128 * 1024)

/* Multi-line constructs that may be open at the same time (ranks writing at once). The oldest is closed when full. */
#define WO_LIMIT_OPEN_READERS 64

/* Cards of which one input's monitoring traces are summed up; figures of further cards are counted as dropped evidence. */
#define WO_LIMIT_MONITORS 64

/* Processes of which one input's traces are summed up; rows of further ones are counted as dropped evidence. */
#define WO_LIMIT_MONITOR_PROCESSES 128

/* A reach: lines in a row that are no part of a monitoring trace, after which it counts as over: protects time in long logs that
 * hold one. */
#define WO_LIMIT_MONITOR_STRANGE_LINES 2000

/* Columns of one monitoring trace. Wider tables are not read. */
#define WO_LIMIT_MONITOR_COLUMNS 64

/* Matches of one pattern on one line: protects time on hostile lines. */
#define WO_LIMIT_MATCHES_PER_LINE 16

/* PCRE2 match, depth and heap limits: protect time and memory from pathological lines; a hit is noted with the pattern and the
 * number of lines. They count from each place where a match may start. Texts below WO_LIMIT_REGEX_SHORT_BYTES are tried with a
 * lower match limit first. */
#define WO_LIMIT_REGEX_MATCH 100000
#define WO_LIMIT_REGEX_DEPTH 2000
#define WO_LIMIT_REGEX_HEAP_KIB 1024
#define WO_LIMIT_REGEX_SHORT_BYTES ((size_t)2048)
#define WO_LIMIT_REGEX_SHORT_MATCH 2000

/* Steps of all patterns together on one line, so many and so many more for each of its bytes: protects time from hostile lines,
 * about 10 ns a step. Counted where a line is long or a pattern reached the lower limit. A line that spends it is noted in the
 * same way. */
#define WO_LIMIT_REGEX_STEPS (UINT64_C(256) * 1024)
#define WO_LIMIT_REGEX_STEPS_PER_BYTE 64

/* Nested groups of a regular expression: PCRE2 compiles them by recursion, which a small stack must hold. */
#define WO_LIMIT_REGEX_NESTING 32

/* Ranks of a job that are told apart one by one. Evidence of higher ones is noted. */
#define WO_LIMIT_RANKS 1024

/* Runs of a program that are told apart in the files of one job. It is noted if there are more. */
#define WO_LIMIT_RUNS 256

/* Files given as one job. Files that cannot be opened leave room for those that can. */
#define WO_LIMIT_INPUT_FILES 4096
#define WO_LIMIT_UNOPENED_FILES 1024

/* Logs that are read beside those that were named, because their names say that they are of the same job: protects time. The rest
 * is counted in a message. */
#define WO_LIMIT_SIBLING_LOGS ((size_t)64)

/* Jobs that one call reports one after the other: protects time and the reader. Beyond it a scan is named. */
#define WO_LIMIT_CALL_JOBS ((size_t)1000)

/* Entries of one folder of an archive, bytes of their names, memory to group them, and folders inside of each other: protect
 * memory. Entries beyond are left out. */
#define WO_LIMIT_FOLDER_FILES ((size_t)4 * 1000 * 1000)
#define WO_LIMIT_FOLDER_BYTES ((size_t)1024 * 1024 * 1024)
#define WO_LIMIT_GROUPING_BYTES ((size_t)4 * 1024 * 1024 * 1024)
#define WO_LIMIT_FOLDER_DEPTH 100u

/* Bytes of logs in one compressed tar archive, which are kept in a temporary file while they are read: protects its disk. The
 * rest is left unread, and the archive is named. Archives that are open at the same time; no cap: others wait. */
#define WO_LIMIT_ARCHIVE_BYTES (UINT64_C(16) * 1024 * 1024 * 1024)
#define WO_LIMIT_OPEN_ARCHIVES ((size_t)32)

/* Bytes of accounting in an archive that a store keeps with the list of what is in it. An archive with more is read at each scan;
 * nothing is lost. */
#define WO_LIMIT_KEPT_ACCOUNTS_BYTES ((size_t)8 * 1024 * 1024)

/* Path of a temporary file, whose folder the user names. A longer one is an error. */
#define WO_LIMIT_SPOOL_PATH_BYTES ((size_t)4096)

/* Stack of a thread that diagnoses jobs; no cap. Threads of one scan. */
#define WO_LIMIT_THREAD_STACK_BYTES ((size_t)1024 * 1024)
#define WO_LIMIT_THREADS ((size_t)256)

/* Jobs that go to a thread in one piece, and the bytes of their files from which on no further one is added: protect memory, and
 * keep the threads equally busy. */
#define WO_LIMIT_BATCH_JOBS ((size_t)32)
#define WO_LIMIT_BATCH_BYTES ((int64_t)256 * 1024)

/* Bytes at the start of a file by which a scan tells one that has grown from another of the same name; no cap. */
#define WO_LIMIT_HEAD_HASH_BYTES ((size_t)4096)

/* A reach: logs of so many bytes get a bookmark, from which a scan goes on when they have grown; smaller ones are read again. It
 * is put into the last bytes, where a line ends at which nothing is under way, and before that in steps. */
#define WO_LIMIT_BOOKMARK_FILE_BYTES (INT64_C(4) * 1024 * 1024)
#define WO_LIMIT_BOOKMARK_TAIL_BYTES (UINT64_C(1024) * 1024)
#define WO_LIMIT_BOOKMARK_STEP_BYTES (UINT64_C(16) * 1024 * 1024)

/* One bookmark, and those of one job, compressed: protect memory. Logs without one are read again. */
#define WO_LIMIT_BOOKMARK_BYTES ((size_t)4 * 1024 * 1024)
#define WO_LIMIT_BOOKMARKS_BYTES ((size_t)8 * 1024 * 1024)

/* Jobs, and files, of accounting that is looked up (40 bytes for a job, its header for a file): protect memory. */
#define WO_LIMIT_ACCOUNTS ((size_t)1000 * 1000)
#define WO_LIMIT_ACCOUNT_FILES ((size_t)65536)

/* Files of accounting that say something of one job; further ones are left out. */
#define WO_LIMIT_BATCH_ACCOUNTS ((size_t)4)

/* Folders and jobs that a scan which follows an archive keeps in mind (200 and 48 bytes each, for jobs that are being written, or
 * were reported): protect memory. Beyond so many folders all of them are looked at again and again; beyond so many jobs further
 * ones wait until others have ended. Logs that may be renamed and are known then; older ones are new then. Messages that are not
 * said again. */
#define WO_LIMIT_LIVE_FOLDERS ((size_t)65536)
#define WO_LIMIT_LIVE_JOBS ((size_t)65536)
#define WO_LIMIT_LIVE_LOGS ((size_t)1024 * 1024)
#define WO_LIMIT_LIVE_MESSAGES ((size_t)4096)

/* Commands of --exec that run at the same time, jobs that wait for one, and bytes of these jobs: protect the machine and memory.
 * A job that finds no room is counted. */
#define WO_LIMIT_EXEC_RUNNING ((size_t)4)
#define WO_LIMIT_EXEC_QUEUE ((size_t)1024)
#define WO_LIMIT_EXEC_BYTES ((size_t)16 * 1024 * 1024)

/* Seconds that such a command may take, until it is asked to end; then until it is killed; and how long a scan that ends waits
 * for commands that run. */
#define WO_LIMIT_EXEC_S 60
#define WO_LIMIT_EXEC_KILL_S 5
#define WO_LIMIT_EXEC_END_S 5

/* Bytes of one variable in the environment of such a command; a longer one is cut. */
#define WO_LIMIT_EXEC_VARIABLE_BYTES ((size_t)4096)

/* Parts of one archive that are scanned apart. */
#define WO_LIMIT_SHARDS 100000

/* One rule file: protects memory from a wrong --rules folder. */
#define WO_LIMIT_RULE_FILE_BYTES ((size_t)1024 * 1024)

/* Mistakes after which the rest of a folder of rules is not read, and complaints that `rules check` shows. */
#define WO_LIMIT_RULE_MISTAKES 200
#define WO_LIMIT_RULE_COMPLAINTS 1000

/* Nesting of rule expressions. */
#define WO_LIMIT_EXPR_DEPTH 32

/* Tallest tree, definitions expanded: bounds the stack of the evaluator. A chain "a + b + c" is as tall as it has terms. */
#define WO_LIMIT_EXPR_HEIGHT (8 * WO_LIMIT_EXPR_DEPTH)

/* Most nodes, definitions expanded each time they are used: bounds the time of one evaluation, which without it could double with
 * every "let" that uses the one before it twice. */
#define WO_LIMIT_EXPR_NODES 4096

/* Most arguments of one function call. */
#define WO_LIMIT_EXPR_ARGS 32

/* Largest number that divisor_at_most takes apart: bounds its search. */
#define WO_LIMIT_EXPR_DIVIDEND 1e7

/* Named expressions of one rule. */
#define WO_LIMIT_LETS 64

/* Definitions that all rules share: bounds how deep they can build on each other. */
#define WO_LIMIT_DEFINES 256

/* Memory of the loaded rule packs. */
#define WO_LIMIT_PACK_BYTES ((size_t)32 * 1024 * 1024)

/* Memory of one diagnosis and its report. */
#define WO_LIMIT_REPORT_BYTES ((size_t)32 * 1024 * 1024)

/* Names that --anonymize tells apart in one call, the memory that they take, the bytes of one of them, and the hosts of one list.
 * Further and longer ones have the number 0 of their kind; further hosts of a list are left out. */
#define WO_LIMIT_PSEUDONYMS ((size_t)65536)
#define WO_LIMIT_OVERHEARD ((size_t)16384) /* of lines that are not shown; further ones stay unknown */
#define WO_LIMIT_PSEUDONYM_BYTES ((size_t)16 * 1024 * 1024)
#define WO_LIMIT_PSEUDONYM_NAME_BYTES ((size_t)255)
#define WO_LIMIT_PSEUDONYM_HOSTS 4096

/* Models of one job that are told apart. */
#define WO_LIMIT_JOB_MODELS 4

/* Readings of one refused request that are kept. */
#define WO_LIMIT_SIZE_READINGS 8

/* ---- Stores of jobs (analyzer/store) ---- */

/* Pages that SQLite keeps in memory, of the store and of one that is merged into it: protect memory. No cap: others are read
 * again. */
#define WO_LIMIT_DATABASE_CACHE_BYTES ((size_t)8 * 1024 * 1024)
#define WO_LIMIT_DATABASE_SOURCE_CACHE_BYTES ((size_t)2 * 1024 * 1024)

/* One text or packed evidence in a store: protects memory from stores that others made. Reading a larger one is an error. */
#define WO_LIMIT_DATABASE_VALUE_BYTES ((size_t)64 * 1024 * 1024)

/* Evidence of one job packed for a store, before it is compressed: protects memory, of the reader too. A job with more is kept
 * without evidence. */
#define WO_LIMIT_PACKED_JOB_BYTES ((size_t)32 * 1024 * 1024)

/* How long a store waits for another process that is writing to it. Then it is an error. */
#define WO_LIMIT_DATABASE_BUSY_MS 30000

/* Options of one call that only its command has. */
#define WO_LIMIT_COMMAND_OPTIONS 96

/* Frozen models, extras and stated figures of one budget, each; rows of its table. */
#define WO_LIMIT_BUDGET_ITEMS 16
#define WO_LIMIT_MODEL_CONFIG_BYTES ((size_t)1024 * 1024)        /* a config.json */
#define WO_LIMIT_TENSORS_HEADER_BYTES ((size_t)64 * 1024 * 1024) /* the header of one safetensors file */
#define WO_LIMIT_TENSORS_FILES 4096                              /* safetensors files of one model */
#define WO_LIMIT_BUDGET_ROWS 48
#define WO_LIMIT_BUDGET_FIGURES 8

/* ---- Reports over many jobs (analyzer/fleet, analyzer/table) ---- */

/* Memory of what is said about all jobs of a store; the rows themselves are never held. */
#define WO_LIMIT_FLEET_BYTES ((size_t)32 * 1024 * 1024)

/* Rows of one list that can be asked for; what is beyond a list's rows is counted. */
#define WO_LIMIT_FLEET_ROWS ((size_t)1000)

/* Nodes that are told apart: protects memory (about 150 bytes each). Jobs on further ones are counted as on no known node. */
#define WO_LIMIT_FLEET_NODES ((size_t)65536)

/* Sweeps that are compared, by lost hours: protects time. Further ones are counted. */
#define WO_LIMIT_FLEET_SWEEPS ((size_t)1000)

/* Settings of one sweep that are compared, and different values of one of them: protect memory. A setting with more values is a
 * name or a time and separates nothing; it is left out and counted. */
#define WO_LIMIT_FLEET_KNOBS ((size_t)128)
#define WO_LIMIT_FLEET_KNOB_VALUES ((size_t)256)

/* Sums that are counted in memory while jobs are read, and bytes of their texts; no cap: others go through a table of SQLite. */
#define WO_LIMIT_FLEET_TALLIES ((size_t)16384)
#define WO_LIMIT_FLEET_TALLY_BYTES ((size_t)4 * 1024 * 1024)

/* Bits by which groups of jobs that are no sweep are known; no cap: where two groups share one, more jobs are looked at. */
#define WO_LIMIT_FLEET_GROUP_BITS ((size_t)1 << 23)

/* Columns of time in the chart of failures: longer spans are drawn by weeks, then by four weeks. */
#define WO_LIMIT_FLEET_DAYS ((size_t)92)

/* Rows of the table of failed jobs in HTML, and pages of single jobs behind it: protect the browser (about 0.6 and 4 KB each).
 * The page says how many are left out, and the command that lists them. */
#define WO_LIMIT_HTML_ROWS ((size_t)5000)
#define WO_LIMIT_HTML_PAGES ((size_t)2000)

/* Bytes of the whole report as text at the end of a job's page, and of its Markdown: protect the browser, and fit the 65 536
 * characters of a ticket on GitHub. Both say that -v has the rest. */
#define WO_LIMIT_PAGE_TEXT_BYTES ((size_t)1024 * 1024)
#define WO_LIMIT_TICKET_BYTES ((size_t)60000)

/* Bytes of text after which the writers of many rows hand it on; no cap. */
#define WO_LIMIT_DRAIN_BYTES ((size_t)64 * 1024)

/* ---- Memory printed beside training steps (parsers/steps/steps.h) ---- */

/* Longest line that is read for it, and numbers in one line: protect memory. Longer lines are left out. */
#define WO_LIMIT_STEPS_LINE_BYTES ((size_t)8192)
#define WO_LIMIT_STEPS_NUMBERS ((size_t)192)

/* Forms of such lines that are remembered at a time: protects memory. The one that was not met for longest is forgotten, and
 * found again when it is met. */
#define WO_LIMIT_STEPS_FORMS ((size_t)12)

/* Figures that are followed in one input, one for each rank and meaning (about 10 KB each): protects memory. Further ones are
 * counted as dropped. */
#define WO_LIMIT_STEPS_SERIES ((size_t)128)

/* ---- Recordings of the allocator (cuda_replay) ---- */

/* Entries of one device, 32 bytes each: protects memory. Later ones are left out and noted. */
#define WO_LIMIT_TRACE_ENTRIES ((size_t)1 << 27)

/* Devices of one recording; notes about it. */
#define WO_LIMIT_TRACE_DEVICES ((size_t)64)
#define WO_LIMIT_TRACE_NOTES ((size_t)64)

/* Texts of one recording (functions, files, annotations, notes), each distinct one kept once: protects memory. */
#define WO_LIMIT_TRACE_TEXT_BYTES ((size_t)256 * 1024 * 1024)

/* Distinct frames, and frames of all distinct stacks, of one recording: protects memory (40 and 4 bytes each). */
#define WO_LIMIT_TRACE_FRAMES ((size_t)1 << 24)
#define WO_LIMIT_TRACE_STACK_FRAMES ((size_t)1 << 28)

/* Blocks, segments and annotations of one recording, each: protects memory. */
#define WO_LIMIT_TRACE_BLOCKS ((size_t)1 << 24)

/* Categories of one call (--where), and bytes of one text in which an expression is looked for: they bound the time of a search.
 * More categories are a mistake in usage; the end of a longer text is not looked at. */
#define WO_LIMIT_CATEGORIES 16
#define WO_LIMIT_CATEGORY_TEXT_BYTES ((size_t)1024)

/* Texts on which an expression may give up (WO_LIMIT_REGEX_SHORT_MATCH); it is not looked for any more then, which is reported.
 */
#define WO_LIMIT_CATEGORY_GIVEN_UP 256

/* The page of a recording (cuda_replay/viewer): blocks that are drawn one by one, ranges of segments, columns of aggregated
 * memory, stacks, lines of all stacks as a tree, and bytes of names. They bound the file, and the time that a browser needs for
 * it. The page says what was put together. */
#define WO_LIMIT_VIEWER_BLOCKS ((size_t)50000)
#define WO_LIMIT_VIEWER_RANGES ((size_t)20000)
#define WO_LIMIT_VIEWER_COLUMNS ((size_t)4096)
#define WO_LIMIT_VIEWER_STACKS ((size_t)20000)
#define WO_LIMIT_VIEWER_NODES ((size_t)100000)
#define WO_LIMIT_VIEWER_TEXT_BYTES ((size_t)700000)

/* ---- Pickles (cuda_replay/recording/snapshot/pickle.h). The rest is left unread, and the recording is noted as cut. ---- */

/* Values waiting for their container, and values that can be referred to, 8 bytes each: protect memory. Writers that put a whole
 * list on the stack before they close it need one value for each entry. */
#define WO_LIMIT_PICKLE_STACK ((size_t)1 << 27)
#define WO_LIMIT_PICKLE_MEMO ((size_t)1 << 27)

/* Containers that are open inside of each other. Snapshots need about ten. */
#define WO_LIMIT_PICKLE_DEPTH ((size_t)1000)

/* Dicts, and lists, that were filled and belong nowhere yet (about 450 and 16 bytes each). */
#define WO_LIMIT_PICKLE_OPEN ((size_t)1 << 16)

/* Numbers that need more than 58 bits or a fraction. Snapshots have a handful. */
#define WO_LIMIT_PICKLE_NUMBERS ((size_t)1 << 22)

/* Bytes kept of one text: longer ones (names made of many templates) lose their end. Also the longest line of a protocol 0
 * pickle. */
#define WO_LIMIT_PICKLE_TEXT_BYTES ((size_t)64 * 1024)

/* ---- JSON (cuda_replay/recording/json/json_stream.h) ---- */

/* Nesting of JSON that is read (what is passed over may be deeper): protects memory. Deeper files are refused. */
#define WO_LIMIT_JSON_DEPTH 256

/* One string of JSON. Longer ones are cut, and their reader is informed. */
#define WO_LIMIT_JSON_STRING_BYTES ((size_t)1024 * 1024)

/* Digits of one number of JSON. Longer ones are refused. */
#define WO_LIMIT_JSON_NUMBER_BYTES ((size_t)1024)

/* Things that a replay on a GPU holds at one time (segments, ranges, handles of 2 MiB): protects memory. Enough for 2 TiB. */
#define WO_LIMIT_GPU_HOLDINGS ((size_t)1 << 20)

#endif
