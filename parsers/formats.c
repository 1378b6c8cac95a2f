/* The table of readers. To add one: a file fmt_<name>.c that defines it, one line here, a table test, a fuzz seed. */
#include "parsers/format.h"

extern const struct wo_format wo__format_torch_oom;
extern const struct wo_format wo__format_traceback;
extern const struct wo_format wo__format_elastic;
extern const struct wo_format wo__format_setting;
extern const struct wo_format wo__format_tf_tensor;
extern const struct wo_format wo__format_killed;
extern const struct wo_format wo__format_joined;
extern const struct wo_format wo__format_tf_dump;
extern const struct wo_format wo__format_jax_buffers;
extern const struct wo_format wo__format_kernel_kill;
extern const struct wo_format wo__format_kernel_tasks;
extern const struct wo_format wo__format_kernel_memcg;
extern const struct wo_format wo__format_scontrol;
extern const struct wo_format wo__format_sacct;
extern const struct wo_format wo__format_sacct_json;
extern const struct wo_format wo__format_seff;
extern const struct wo_format wo__format_jobstats;
extern const struct wo_format wo__format_jobstats_packed;
extern const struct wo_format wo__format_sbatch;
extern const struct wo_format wo__format_xid;
extern const struct wo_format wo__format_dmon;
extern const struct wo_format wo__format_query_csv;
extern const struct wo_format wo__format_smi_table;
extern const struct wo_format wo__format_smi_q;
extern const struct wo_format wo__format_pmon;
extern const struct wo_format wo__format_dcgmi;
extern const struct wo_format wo__format_gpustat;
extern const struct wo_format wo__format_gpustat_json;
extern const struct wo_format wo__format_smi_xml;
extern const struct wo_format wo__format_query_apps;
extern const struct wo_format wo__format_other_smi;
extern const struct wo_format wo__format_memory_summary;

/* clang-format off: one reader a line */
const struct wo_format *const wo_formats[] = {
    &wo__format_torch_oom,
    &wo__format_traceback,
    &wo__format_elastic,
    &wo__format_setting,
    &wo__format_tf_tensor,
    &wo__format_killed,
    &wo__format_joined,
    &wo__format_tf_dump,
    &wo__format_jax_buffers,
    &wo__format_kernel_kill,
    &wo__format_kernel_tasks,
    &wo__format_kernel_memcg,
    &wo__format_scontrol,
    &wo__format_sacct,
    &wo__format_sacct_json,
    &wo__format_seff,
    &wo__format_jobstats,
    &wo__format_jobstats_packed,
    &wo__format_sbatch,
    &wo__format_xid,
    &wo__format_dmon,
    &wo__format_query_csv,
    &wo__format_smi_table,
    &wo__format_smi_q,
    &wo__format_pmon,
    &wo__format_dcgmi,
    &wo__format_gpustat,
    &wo__format_gpustat_json,
    &wo__format_smi_xml,
    &wo__format_query_apps,
    &wo__format_other_smi,
    &wo__format_memory_summary,
};
/* clang-format on */

const size_t wo_format_count = sizeof wo_formats / sizeof wo_formats[0];

const struct wo_format *wo_format_find(struct wo_view name) {
  for (size_t i = 0; i < wo_format_count; i++) {
    if (wo_view_is(name, wo_formats[i]->name)) return wo_formats[i];
  }
  return NULL;
}
